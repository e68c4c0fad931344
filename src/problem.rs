//! A mistake in the rules: where it is, what it is, what to do. And how it is shown to a person.

use std::fmt;
use std::sync::{Arc, OnceLock};

use unicode_width::UnicodeWidthStr;

/// One file of the rules folder, as read.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path as a person would name it: relative to where the program was called.
    pub path: String,
    /// The whole text.
    pub text: String,
    hidden: OnceLock<Hidden>,
}

/// Words after which a line may hold a secret, where it is not known what does.
const SUSPICIOUS: [&str; 3] = ["token:", "password", "secret"];

impl SourceFile {
    /// A file as read.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into(), hidden: OnceLock::new() }
    }

    /// Tells what no message may show: secrets that stand in the text, and values that come from elsewhere. The first
    /// telling counts.
    pub fn hide(&self, hidden: Hidden) {
        let _ = self.hidden.set(hidden);
    }

    /// A message without what is hidden.
    fn blot(&self, message: String) -> String {
        let Some(hidden) = self.hidden.get() else { return message };
        hidden.written.iter().chain(&hidden.external).fold(message, |message, text| blot(&message, text))
    }

    /// One line, from 1, with its secrets blotted out. As wide as the line is.
    fn line(&self, number: u32) -> Option<String> {
        let line = self.text.lines().nth(number as usize - 1)?.to_owned();
        let Some(hidden) = self.hidden.get() else {
            // The file could not even be parsed, so a secret can be anywhere after such a word.
            let start = SUSPICIOUS.iter().filter_map(|word| line.find(word).map(|at| at + word.len())).min();
            return Some(match start {
                Some(start) => format!("{}{}", &line[..start], "•".repeat(line[start..].chars().count())),
                None => line,
            });
        };
        Some(hidden.written.iter().fold(line, |line, secret| blot(&line, secret)))
    }
}

/// What no message about a file may show.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hidden {
    /// Secrets that stand in the file.
    pub written: Vec<String>,
    /// Values of variables and of other files, secret or not.
    pub external: Vec<String>,
}

/// Fewer characters are no secret, and blotting them out would only garble the text.
const SHORTEST_SECRET: usize = 4;

fn blot(text: &str, hidden: &str) -> String {
    let width = hidden.chars().count();
    if width < SHORTEST_SECRET { text.to_owned() } else { text.replace(hidden, &"•".repeat(width)) }
}

/// A stretch of one line of a [`SourceFile`].
#[derive(Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Arc<SourceFile>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// How many characters to underline; at least 1 is drawn.
    pub width: u32,
}

impl Place {
    /// The start of `file`: for mistakes that belong to no line.
    pub fn start_of(file: Arc<SourceFile>) -> Self {
        Self { file, line: 1, column: 1, width: 0 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.path, self.line, self.column)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The rules cannot be used.
    Error,
    /// They can, but this is hardly meant.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One mistake. Texts are lower-case, quote the offending value and never hold a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Where it is; `None` for what concerns the folder as a whole.
    pub place: Option<Place>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Problem {
    /// A mistake at `place`.
    pub fn at(place: &Place, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            place: Some(place.clone()),
            message: place.file.blot(message.into()),
            help: None,
        }
    }

    /// A mistake of the folder as a whole.
    pub fn anywhere(message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, place: None, message: message.into(), help: None }
    }

    /// Something at `place` that is hardly meant.
    pub fn warning(place: &Place, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::at(place, message) }
    }

    /// Adds what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        let help = help.into();
        self.help = Some(match &self.place {
            Some(place) => place.file.blot(help),
            None => help,
        });
        self
    }

    /// The sort key that puts problems in reading order.
    fn order(&self) -> (&str, u32, u32) {
        self.place.as_ref().map_or(("", 0, 0), |p| (p.file.path.as_str(), p.line, p.column))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.severity.name(), self.message)?;
        let mut margin = String::new();
        if let Some(place) = &self.place {
            margin = " ".repeat(place.line.to_string().len());
            writeln!(f, "{margin}--> {place}")?;
            write_excerpt(f, place, &margin)?;
        }
        match &self.help {
            Some(help) => writeln!(f, "{margin} = help: {help}"),
            None => Ok(()),
        }
    }
}

/// A longer line is shown in part.
const LONGEST_LINE: usize = 120;

/// The line itself with a caret below it.
fn write_excerpt(f: &mut fmt::Formatter<'_>, place: &Place, margin: &str) -> fmt::Result {
    let Some(line) = place.file.line(place.line) else { return Ok(()) };
    let (line, column) = crop(&line, place.column as usize);
    let before: String = line.chars().take(column - 1).collect();
    let under: String = line.chars().skip(column - 1).take(place.width as usize).collect();
    // A tab stays a tab, so that the caret lines up whatever width the terminal gives it.
    let indent: String = before
        .chars()
        .map(|c| if c == '\t' { "\t".to_owned() } else { " ".repeat(c.to_string().width()) })
        .collect();
    writeln!(f, "{margin} |")?;
    writeln!(f, "{} | {line}", place.line)?;
    writeln!(f, "{margin} | {indent}{}", "^".repeat(under.width().max(1)))
}

/// At most [`LONGEST_LINE`] characters of a line around a column, and the column within them.
fn crop(line: &str, column: usize) -> (String, usize) {
    let length = line.chars().count();
    if length <= LONGEST_LINE {
        return (line.to_owned(), column);
    }
    let start = column.saturating_sub(LONGEST_LINE / 2).min(length - LONGEST_LINE);
    let kept: String = line.chars().skip(start).take(LONGEST_LINE).collect();
    let end = if start + LONGEST_LINE < length { "…" } else { "" };
    match start {
        0 => (format!("{kept}{end}"), column),
        start => (format!("…{kept}{end}"), column - start + 1),
    }
}

/// All mistakes found so far. Collecting goes on after each, so that one run tells everything.
#[derive(Debug, Default)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Adds one.
    pub fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// Whether none was found.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many were found.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them in reading order, without exact repetitions.
    pub fn into_sorted(mut self) -> Vec<Problem> {
        self.0.sort_by(|a, b| a.order().cmp(&b.order()));
        self.0.dedup();
        self.0
    }
}

/// The name among `known` that `given` most likely stands for.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let closeness = |name: &str| strsim::jaro_winkler(&given.to_lowercase(), &name.to_lowercase());
    known
        .into_iter()
        .map(|name| (closeness(name), name))
        .filter(|(closeness, _)| *closeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// `did you mean "x"?`, or the list of what is known.
pub fn suggestion<'a>(given: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(name) = nearest(given, known.clone()) {
        return format!("did you mean {name:?}?");
    }
    let all: Vec<&str> = known.into_iter().collect();
    match all.as_slice() {
        [] => "there is none".to_owned(),
        all => format!("known are: {}", all.join(", ")),
    }
}
