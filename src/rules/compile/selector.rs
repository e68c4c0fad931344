//! From text to a [`Selector`], with the mistake at its character.

use crate::problem::{Place, Problem, Problems};
use crate::rules::selector::Selector;

/// Parses a JSONPath that stands at `place`.
pub(super) fn parse_selector(text: &str, place: &Place, problems: &mut Problems) -> Option<Selector> {
    match Selector::parse(text) {
        Ok(selector) => Some(selector),
        Err(error) => {
            let mut place = place.clone();
            if let Some(column) = error.column {
                let quote = u32::from(quoted(&place));
                place.column += u32::try_from(column).unwrap_or(1) - 1 + quote;
                place.width = 1;
            }
            problems.push(Problem::at(&place, error.to_string()).help(
                "a jsonpath looks like $.a.b, $.list[0].x, $['odd key'] or $.list[?@.state=='x'].name",
            ));
            None
        }
    }
}

/// Whether what stands at `place` begins with a quote.
pub(super) fn quoted(place: &Place) -> bool {
    let line = place.file.text.lines().nth(place.line as usize - 1).unwrap_or_default();
    matches!(line.chars().nth(place.column as usize - 1), Some('"' | '\''))
}
