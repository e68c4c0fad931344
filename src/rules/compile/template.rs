//! From a text with a place to a [`Template`], with mistakes mapped back onto the file.

use super::selector::quoted;
use crate::problem::{Place, Problem, Problems};
use crate::rules::decode::At;
use crate::rules::template::{Template, TemplateMistake, Vocabulary};

/// Parses one template.
pub(super) fn compile_template(
    text: &At<String>,
    vocabulary: &mut Vocabulary<'_>,
    problems: &mut Problems,
) -> Option<Template> {
    match Template::parse(&text.value, vocabulary) {
        Ok(template) => Some(template),
        Err(mistakes) => {
            for mistake in mistakes {
                let place = place_of(&mistake, text);
                problems.push(Problem::at(&place, mistake.message).help(mistake.help));
            }
            None
        }
    }
}

/// Parses a template where there is one.
pub(super) fn compile_optional(
    text: Option<&At<String>>,
    vocabulary: &mut Vocabulary<'_>,
    problems: &mut Problems,
) -> Option<Template> {
    text.and_then(|text| compile_template(text, vocabulary, problems))
}

/// A position inside the template as a place in the file. YAML removes a block's indentation, and a
/// quoted text starts one column after its quote.
fn place_of(mistake: &TemplateMistake, text: &At<String>) -> Place {
    let start = &text.place;
    let lines = start.file.text.lines().count();
    let in_block = text.value.contains('\n') && !quoted(start);
    let line = if in_block { start.line as usize + mistake.line - 1 } else { start.line as usize };
    let column = start.column as usize + mistake.column - 1 + usize::from(quoted(start));
    let source = start.file.text.lines().nth(line.min(lines) - 1).unwrap_or_default();
    // From the expression's braces to where it closes; one character where there is no expression.
    let rest: String = source.chars().skip(column - 1).collect();
    if !rest.starts_with("{{")
        && let Some(found) = search(mistake, text)
    {
        return found;
    }
    let width =
        rest.find("}}").filter(|_| rest.starts_with("{{")).map_or(1, |end| rest[..end + 2].chars().count());
    Place {
        file: start.file.clone(),
        line: u32::try_from(line.min(lines)).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(u32::MAX),
        width: u32::try_from(width).unwrap_or(1),
    }
}

/// Where YAML moved the text about, as in a folded scalar: the first place from the scalar's start on that has the
/// same expression.
fn search(mistake: &TemplateMistake, text: &At<String>) -> Option<Place> {
    let line = text.value.lines().nth(mistake.line - 1)?;
    let expression: String = line.chars().skip(mistake.column - 1).collect();
    let expression = expression.get(..expression.find("}}")? + 2).filter(|e| e.starts_with("{{"))?;
    let start = text.place.line as usize - 1;
    let (offset, line, at) = text
        .place
        .file
        .text
        .lines()
        .skip(start)
        .enumerate()
        .find_map(|(offset, line)| Some((offset, line, line.find(expression)?)))?;
    let count = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    Some(Place {
        file: text.place.file.clone(),
        line: u32::try_from(start + offset + 1).ok()?,
        column: count(&line[..at]) + 1,
        width: count(expression),
    })
}
