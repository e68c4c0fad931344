//! The helpers of the rule language.

mod chat;
mod money;
mod text;
mod time;
mod value;

use std::collections::BTreeMap;
use std::sync::Arc;

use handlebars::{
    Context, Handlebars, Helper, HelperDef, RenderContext, RenderError, RenderErrorReason, ScopedJson,
};
use serde_json::Value;

use super::print::text_of;
use crate::auth::Signature;
use crate::rules::selector::{Root, Selector};
use crate::rules::table::Tables;

/// What a helper is called with. A missing value is null.
struct Arguments<'a> {
    values: Vec<&'a Value>,
    named: BTreeMap<&'a str, &'a Value>,
    /// When the webhook came, as RFC 3339.
    received_at: &'a Value,
}

impl Arguments<'_> {
    fn value(&self, index: usize) -> &Value {
        self.values.get(index).copied().unwrap_or(&Value::Null)
    }

    fn text(&self, index: usize) -> String {
        text_of(self.value(index))
    }

    fn named_text(&self, name: &str) -> Option<String> {
        self.named.get(name).map(|value| text_of(value))
    }
}

/// What went wrong, for the fallback notification and the trace.
type Outcome = Result<Value, String>;

/// A helper that depends on nothing but its arguments.
struct Pure {
    name: &'static str,
    /// How many arguments it takes at least and at most.
    arity: (usize, usize),
    call: fn(&Arguments<'_>) -> Outcome,
}

const PURE: [&[Pure]; 5] = [text::HELPERS, value::HELPERS, time::HELPERS, chat::HELPERS, money::HELPERS];

/// The helper that only answers know: a text's signature under the source's own secret.
pub(super) const SIGN: &str = "sign";

/// The names of all helpers of ours.
pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
    PURE.into_iter().flatten().map(|helper| helper.name).chain(["table", "jsonpath", "all"])
}

/// The mistake of calling `name` with `given` arguments, if it is one.
pub(super) fn arity_fault(name: &str, given: usize) -> Option<String> {
    let (least, most) = match name {
        "table" => (2, 2),
        "jsonpath" | "all" => (1, 2),
        SIGN => (1, 1),
        _ => PURE.into_iter().flatten().find(|helper| helper.name == name)?.arity,
    };
    (given < least || given > most).then(|| match (least, most) {
        (least, usize::MAX) => format!("{name:?} takes at least {least} arguments, found {given}"),
        (least, most) if least == most => format!("{name:?} takes {least} arguments, found {given}"),
        (least, most) => format!("{name:?} takes {least} to {most} arguments, found {given}"),
    })
}

pub(super) fn register(registry: &mut Handlebars<'static>, tables: Tables, queries: Vec<Selector>) {
    for helper in PURE.into_iter().flatten() {
        registry.register_helper(helper.name, Box::new(helper));
    }
    registry.register_helper("table", Box::new(TableHelper(tables)));
    let queries: Queries =
        Arc::new(queries.into_iter().map(|query| (query.text().to_owned(), query)).collect());
    registry
        .register_helper("jsonpath", Box::new(JsonPathHelper { queries: Arc::clone(&queries), list: false }));
    registry.register_helper("all", Box::new(JsonPathHelper { queries, list: true }));
}

impl HelperDef for &'static Pure {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        context: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let arguments = Arguments {
            values: helper.params().iter().map(|param| param.value()).collect(),
            named: helper.hash().iter().map(|(name, value)| (*name, value.value())).collect(),
            received_at: context.data().get("received_at").unwrap_or(&Value::Null),
        };
        match (self.call)(&arguments) {
            Ok(value) => Ok(ScopedJson::Derived(value)),
            Err(reason) => Err(RenderErrorReason::Other(format!("{}: {reason}", self.name)).into()),
        }
    }
}

/// `{{sign text}}`.
pub(super) struct Sign<'a>(pub(super) &'a Signature);

impl HelperDef for Sign<'_> {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let text = helper.param(0).map(|param| text_of(param.value())).unwrap_or_default();
        Ok(ScopedJson::Derived(self.0.hash(text.as_bytes()).into()))
    }
}

/// `{{table 'name' key}}`: nothing when neither a key nor a glob of the table fits.
struct TableHelper(Tables);

impl HelperDef for TableHelper {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let text = |index| helper.param(index).map(|param| text_of(param.value())).unwrap_or_default();
        let found = self.0.get(&text(0)).and_then(|table| table.get(&text(1)));
        Ok(ScopedJson::Derived(found.map_or(Value::Null, Value::from)))
    }
}

/// By their text.
type Queries = Arc<BTreeMap<String, Selector>>;

/// `{{jsonpath '$.a[*].b'}}`, or on another value: `{{jsonpath '$.b' item}}`. One node stays what it is, several become a
/// list. `{{#each (all '$.a[*]')}}` is a list always.
struct JsonPathHelper {
    queries: Queries,
    list: bool,
}

impl HelperDef for JsonPathHelper {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        context: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let query = helper.param(0).map(|param| text_of(param.value())).unwrap_or_default();
        let Some(selector) = self.queries.get(&query) else {
            return Err(RenderErrorReason::Other(format!("jsonpath: {query:?} is not a literal")).into());
        };
        let root = match (helper.param(1), selector.root()) {
            (Some(param), _) => param.value(),
            (None, Root::Item) => context.data().get("item").unwrap_or(&Value::Null),
            (None, Root::Body) => context.data().get("body").unwrap_or(&Value::Null),
        };
        let found = selector.select(root);
        Ok(ScopedJson::Derived(match found.as_slice() {
            [] if !self.list => Value::Null,
            [one] if !self.list => (*one).clone(),
            several => several.iter().map(|value| (*value).clone()).collect(),
        }))
    }
}
