//! Why a decision is what it is.

use std::sync::Arc;

use crate::rules::condition::Finding;
use crate::rules::source::Rule;
use crate::rules::template::{Note, Notes};

/// Everything noticed while deciding.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// One entry per item of a `split`; exactly one without.
    pub items: Vec<ItemTrace>,
}

/// The rules one item met.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemTrace {
    /// The item's position, where the source has a `split`.
    pub index: Option<usize>,
    /// Up to the rule that ended it.
    pub rules: Vec<RuleTrace>,
}

/// One rule and what it found.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleTrace {
    /// Its name.
    pub name: Arc<str>,
    /// Where it stands.
    pub place: String,
    /// Whether all its conditions held.
    pub matched: bool,
    /// Every condition with what it found.
    pub findings: Vec<Finding>,
    /// What rendering left unsaid.
    pub notes: Vec<FieldNote>,
    /// What went wrong; a fallback notification was made for each.
    pub failures: Vec<String>,
}

/// A remark about one field's template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldNote {
    /// The field, such as `title`.
    pub field: String,
    /// The remark.
    pub note: Note,
}

impl RuleTrace {
    pub(super) fn of(rule: &Rule) -> Self {
        Self {
            name: rule.name.clone(),
            place: rule.place.clone(),
            matched: false,
            findings: Vec::new(),
            notes: Vec::new(),
            failures: Vec::new(),
        }
    }
}

/// Moves the notes of one render into the trace, each field and note once.
pub(super) fn note_missing(trace: Option<&mut RuleTrace>, field: &str, notes: Option<Notes>) {
    let (Some(trace), Some(notes)) = (trace, notes) else { return };
    for note in notes.take() {
        let note = FieldNote { field: field.to_owned(), note };
        if !trace.notes.contains(&note) {
            trace.notes.push(note);
        }
    }
}
