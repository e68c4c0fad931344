//! Cutting texts to a number of bytes without breaking a character.

use std::borrow::Cow;

use super::TAGS_LIMIT;

const ELLIPSIS: &str = "…";

/// `text` in at most `limit` bytes. A cut ends in `…` (inside the limit) and falls on a character boundary.
pub fn truncate(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let Some(room) = limit.checked_sub(ELLIPSIS.len()) else {
        return Cow::Borrowed(&text[..text.floor_char_boundary(limit)]);
    };
    let kept = text[..text.floor_char_boundary(room)].trim_end();
    Cow::Owned(format!("{kept}{ELLIPSIS}"))
}

/// Drops the tags that would push the comma-joined list over [`TAGS_LIMIT`].
pub(super) fn fit_tags(tags: &mut Vec<String>) {
    let mut total = 0;
    tags.retain(|tag| {
        let with_this = total + tag.len() + usize::from(total > 0);
        let fits = with_this <= TAGS_LIMIT;
        if fits {
            total = with_this;
        }
        fits
    });
}
