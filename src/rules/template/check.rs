//! Finding at load what handlebars would find only when rendering: unknown helpers, tables and names.

use std::collections::BTreeSet;

use handlebars::template::{
    BlockParam, DecoratorTemplate, HelperTemplate, Parameter, Subexpression, Template as Parsed,
    TemplateElement,
};
use handlebars::{Path, TemplateErrorReason};

use super::helpers;
use super::print::{PRINT, PROBE, SEEN};
use crate::payload::Part;
use crate::problem::{nearest, suggestion};
use crate::rules::selector::Selector;
use crate::rules::table::Tables;

/// The names a template may begin a path with.
const NAMESPACES: [&str; 9] =
    ["body", "item", "headers", "query", "path", "let", "source", "rule", "received_at"];
/// Helpers of handlebars itself, beside which ours stand.
const BUILT_IN: [&str; 16] = [
    "if", "unless", "each", "with", "lookup", "raw", "eq", "ne", "gt", "gte", "lt", "lte", "and", "or",
    "not", "len",
];
/// Helpers that ask whether something is there: a missing value is an answer, not an omission.
const TOLERANT: [&str; 18] = [
    "if", "unless", "each", "with", "lookup", "raw", "eq", "ne", "gt", "gte", "lt", "lte", "and", "or",
    "not", "len", "default", "contains",
];

/// What templates may refer to, and the queries they turned out to need.
#[derive(Debug)]
pub struct Vocabulary<'a> {
    /// The tables by name.
    pub tables: &'a Tables,
    /// Whether `item` means something here.
    pub split: bool,
    /// Whether this is an answer of a source with a signature, where `sign` means something.
    pub signs: bool,
    /// The names bound by `let`, where they are known.
    pub bindings: Vec<String>,
    /// Every query given to the `jsonpath` helper.
    pub queries: Vec<Selector>,
    /// Every table that the `table` helper names.
    pub used_tables: BTreeSet<String>,
    /// The part of the body that templates look at.
    pub reads: Part,
}

/// A mistake in a template, with its position inside the template's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateMistake {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// Parses, checks and rewrites one template.
pub(super) fn parse(text: &str, vocabulary: &mut Vocabulary<'_>) -> Result<Parsed, Vec<TemplateMistake>> {
    let mut parsed = Parsed::compile(text).map_err(|error| vec![syntax_mistake(text, &error)])?;
    let mut walk =
        Walk { vocabulary, mistakes: Vec::new(), locals: Vec::new(), line: 1, column: 1, asked: Vec::new() };
    walk.template(&mut parsed);
    if walk.mistakes.is_empty() { Ok(parsed) } else { Err(walk.mistakes) }
}

fn syntax_mistake(text: &str, error: &handlebars::TemplateError) -> TemplateMistake {
    if let Some((line, column)) = unclosed(text) {
        let message = "invalid template syntax".to_owned();
        return TemplateMistake { line, column, message, help: "this `{{` is not closed by `}}`".to_owned() };
    }
    let (line, column) = error.pos().unwrap_or((1, 1));
    let (message, help) = match error.reason() {
        TemplateErrorReason::InvalidSyntax(_) => (
            "invalid template syntax".to_owned(),
            "an expression is {{path}}, {{helper path}} or {{#if path}}…{{/if}}; blocks must be closed",
        ),
        other => (other.to_string(), "close each block with the name that opened it"),
    };
    TemplateMistake { line, column, message, help: help.to_owned() }
}

/// Where the last `{{` stands, when nothing closes it.
fn unclosed(text: &str) -> Option<(usize, usize)> {
    let open = text.rfind("{{").filter(|open| !text[*open..].contains("}}"))?;
    let before = &text[..open];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    Some((before.matches('\n').count() + 1, before[line_start..].chars().count() + 1))
}

struct Walk<'v, 't> {
    vocabulary: &'v mut Vocabulary<'t>,
    mistakes: Vec<TemplateMistake>,
    /// Block parameters in scope.
    locals: Vec<String>,
    line: usize,
    column: usize,
    /// Paths that the current element only asks about.
    asked: Vec<Path>,
}

impl Walk<'_, '_> {
    fn template(&mut self, template: &mut Parsed) {
        let elements = std::mem::take(&mut template.elements);
        let mut mappings = std::mem::take(&mut template.mapping).into_iter();
        for mut element in elements {
            let mapping = mappings.next();
            if let Some(mapping) = &mapping {
                (self.line, self.column) = (mapping.0, mapping.1);
            }
            let outer = std::mem::take(&mut self.asked);
            self.element(&mut element);
            let asked = std::mem::replace(&mut self.asked, outer);
            match &mapping {
                Some(mapping) => {
                    template.elements.extend(asked.into_iter().map(probe));
                    template.mapping.resize(template.elements.len(), mapping.clone());
                }
                // `{{else if}}` has no place of its own and must stay alone in its branch: what it asks is
                // asked before the whole block.
                None => self.asked.extend(asked),
            }
            template.elements.push(element);
            template.mapping.extend(mapping);
        }
    }

    fn element(&mut self, element: &mut TemplateElement) {
        match element {
            TemplateElement::Expression(call) | TemplateElement::HtmlExpression(call) => {
                self.expression(call)
            }
            TemplateElement::HelperBlock(call) => self.block(call),
            TemplateElement::PartialExpression(call)
            | TemplateElement::PartialBlock(call)
            | TemplateElement::DecoratorExpression(call)
            | TemplateElement::DecoratorBlock(call) => self.partial(call),
            TemplateElement::RawString(_) | TemplateElement::Comment(_) => {}
            _ => self.report("unknown template element", "use expressions and blocks only"),
        }
    }

    fn expression(&mut self, call: &mut HelperTemplate) {
        let name = name_of(&call.name);
        let bare = call.params.is_empty() && call.hash.is_empty();
        if !bare || self.is_helper(&name) {
            self.call(call, &name);
            return print_result(call);
        }
        self.path(&name);
        match Path::parse(&name) {
            Ok(path) => {
                call.params = vec![Parameter::Path(path)];
                call.name = Parameter::Name(PRINT.to_owned());
            }
            Err(_) => self.report(format!("invalid path {name:?}"), "a path looks like body.list.0.name"),
        }
    }

    fn block(&mut self, call: &mut HelperTemplate) {
        let name = name_of(&call.name);
        self.call(call, &name);
        let outer = self.locals.len();
        match &call.block_param {
            Some(BlockParam::Single(name)) => self.locals.push(name_of(name)),
            Some(BlockParam::Pair((first, second))) => self.locals.extend([name_of(first), name_of(second)]),
            _ => {}
        }
        // Inside `each` and `with` bare names are fields of the current value.
        let relative = matches!(name.as_str(), "each" | "with") && call.block_param.is_none();
        if relative {
            self.locals.push("*".to_owned());
        }
        call.template.iter_mut().for_each(|inner| self.template(inner));
        self.locals.truncate(outer);
        call.inverse.iter_mut().for_each(|inner| self.template(inner));
    }

    fn partial(&mut self, call: &DecoratorTemplate) {
        let name = name_of(&call.name);
        self.report(format!("partials and decorators are not supported: {name:?}"), "write the text out");
    }

    fn call(&mut self, call: &mut HelperTemplate, name: &str) {
        if name == helpers::SIGN && !self.vocabulary.signs {
            let help = "use it in the `respond` of a source that is verified by a signature";
            return self.report("\"sign\" means nothing here", help);
        }
        if !self.is_helper(name) {
            let known = BUILT_IN.iter().copied().chain(helpers::names());
            return self.report(format!("unknown helper {name:?}"), suggestion(name, known));
        }
        self.check_lookup(name, &call.params);
        let tolerant = TOLERANT.contains(&name);
        for parameter in call.params.iter_mut().chain(call.hash.values_mut()) {
            self.parameter(parameter, tolerant);
        }
        if let Some(fault) = helpers::arity_fault(name, call.params.len()) {
            self.report(fault, "see the list of helpers in docs/rules.md");
        }
    }

    fn parameter(&mut self, parameter: &mut Parameter, tolerant: bool) {
        match parameter {
            Parameter::Path(_) | Parameter::Name(_) => {
                let name = name_of(parameter);
                self.path(&name);
                if let (true, Ok(path)) = (tolerant, Path::parse(&name)) {
                    self.asked.push(path);
                }
                if !tolerant {
                    let inner = std::mem::replace(parameter, Parameter::Name(String::new()));
                    let seen = Parameter::Name(SEEN.to_owned());
                    *parameter =
                        Parameter::Subexpression(Subexpression::new(seen, vec![inner], Default::default()));
                }
            }
            Parameter::Subexpression(inner) => {
                if let TemplateElement::Expression(call) = inner.element.as_mut() {
                    let name = name_of(&call.name);
                    self.call(call, &name);
                }
            }
            _ => {}
        }
    }

    /// `table` and `jsonpath` name something that must exist when the rules are loaded.
    fn check_lookup(&mut self, name: &str, params: &[Parameter]) {
        let literal = match params.first() {
            Some(Parameter::Literal(serde_json::Value::String(text))) => Some(text.clone()),
            _ => None,
        };
        match (name, literal) {
            ("table", Some(table)) if !self.vocabulary.tables.contains_key(&table) => {
                let known = self.vocabulary.tables.keys().map(String::as_str);
                let help = suggestion(&table, known);
                self.report(format!("unknown table {table:?}"), help);
            }
            ("table", Some(table)) => {
                self.vocabulary.used_tables.insert(table);
            }
            ("jsonpath" | "all", Some(query)) => match Selector::parse(&query) {
                Ok(selector) => {
                    self.vocabulary.reads.add(selector.names().into_iter());
                    self.vocabulary.queries.push(selector);
                }
                Err(error) => self.report(error.to_string(), "a jsonpath looks like $.list[*].name"),
            },
            ("table" | "jsonpath" | "all", None) => self.report(
                format!("the first argument of {name:?} must be a text in quotes"),
                format!("write it like {{{{{name} '…' body.x}}}}"),
            ),
            _ => {}
        }
    }

    fn path(&mut self, path: &str) {
        let inside = self.locals.iter().any(|name| name == "*");
        if let Some(names) = names_in_body(path, inside) {
            self.vocabulary.reads.add(names.into_iter());
        }
        let first = path.split(['.', '/', '[']).next().unwrap_or_default();
        let local = path.starts_with(['@', '.']) || first == "this" || first.is_empty();
        if inside && first == "body" && path.len() > first.len() {
            return self.report(
                format!("{path:?} means a field of the current value inside this block"),
                format!("write {:?} for the webhook's", format!("@root.{path}")),
            );
        }
        if local || self.locals.iter().any(|name| name == "*" || name == first) {
            return;
        }
        if first == "item" && !self.vocabulary.split {
            return self.report("\"item\" means nothing here: the source has no split", "use body");
        }
        if NAMESPACES.contains(&first) {
            return self.check_binding(path, first);
        }
        let help = match nearest(first, NAMESPACES).or_else(|| nearest(first, helpers::names())) {
            Some(name) => format!("did you mean {:?}?", path.replacen(first, name, 1)),
            None => format!("values live in a namespace: did you mean {:?}?", format!("body.{path}")),
        };
        self.report(format!("unknown name {path:?}"), help);
    }

    fn check_binding(&mut self, path: &str, first: &str) {
        let Some(name) = path.strip_prefix("let.").map(|rest| rest.split(['.', '[']).next().unwrap_or(rest))
        else {
            return;
        };
        if first == "let" && !self.vocabulary.bindings.iter().any(|known| known == name) {
            let help = suggestion(name, self.vocabulary.bindings.iter().map(String::as_str));
            self.report(format!("unknown name {path:?}: no `let` binds it before this"), help);
        }
    }

    fn is_helper(&self, name: &str) -> bool {
        BUILT_IN.contains(&name) || name == helpers::SIGN || helpers::names().any(|known| known == name)
    }

    fn report(&mut self, message: impl Into<String>, help: impl Into<String>) {
        self.mistakes.push(TemplateMistake {
            line: self.line,
            column: self.column,
            message: message.into(),
            help: help.into(),
        });
    }
}

/// The names that lead from the body to what a path means, or `None` when that is not of the body. In doubt all of the
/// body: too much does no harm.
fn names_in_body(path: &str, inside_block: bool) -> Option<Vec<&str>> {
    let (before_literal, _) = path.split_once('[').unwrap_or((path, ""));
    let mut names = before_literal.split(['.', '/']).filter(|name| !matches!(*name, "" | "this" | "@root"));
    match names.clone().next() {
        Some(_) => {
            names.find(|name| *name == "body")?;
            Some(names.take_while(|name| name.parse::<usize>().is_err()).collect())
        }
        // `this` and its like: in a block a value that is read already, else everything.
        None if inside_block && !path.starts_with("..") && !path.starts_with('@') => None,
        None => Some(Vec::new()),
    }
}

/// What a helper makes is printed like any other value: `{{h x}}` becomes `{{print (h x)}}`.
fn print_result(call: &mut HelperTemplate) {
    let name = std::mem::replace(&mut call.name, Parameter::Name(PRINT.to_owned()));
    let (params, hash) = (std::mem::take(&mut call.params), std::mem::take(&mut call.hash));
    call.params = vec![Parameter::Subexpression(Subexpression::new(name, params, hash))];
}

fn probe(path: Path) -> TemplateElement {
    let name = Parameter::Name(PROBE.to_owned());
    *Subexpression::new(name, vec![Parameter::Path(path)], Default::default()).element
}

fn name_of(parameter: &Parameter) -> String {
    match parameter {
        Parameter::Name(name) => name.clone(),
        Parameter::Path(Path::Relative((_, raw)) | Path::Local((_, _, raw))) => raw.clone(),
        Parameter::Literal(literal) => literal.to_string(),
        _ => String::new(),
    }
}
