//! What a signature covers: a small template of `{body}`, `{timestamp}`, `{id}` and `{url}`.

/// A parsed template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signs(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Body,
    Timestamp,
    Id,
    Url,
}

/// Why a text is no such template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSigns {
    /// There is no such ingredient.
    #[error("unknown ingredient \"{{{0}}}\"")]
    Unknown(String),
    /// A brace is open.
    #[error("a `{{` is not closed")]
    Open,
    /// Whoever can change the body without the signature noticing can send anything.
    #[error("the body is not signed")]
    NoBody,
}

/// What the template is filled with.
#[derive(Debug)]
pub(super) struct Ingredients<'a> {
    pub(super) body: &'a [u8],
    pub(super) timestamp: &'a str,
    pub(super) id: &'a str,
    pub(super) url: String,
}

impl Signs {
    /// Only the body.
    pub fn body() -> Self {
        Self(vec![Part::Body])
    }

    /// Reads a template such as `{id}.{timestamp}.{body}`.
    ///
    /// # Errors
    /// [`InvalidSigns`].
    pub fn parse(text: &str) -> Result<Self, InvalidSigns> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, left) = after.split_once('}').ok_or(InvalidSigns::Open)?;
            parts.push(Part::Text(before.to_owned()));
            parts.push(ingredient(name)?);
            rest = left;
        }
        parts.push(Part::Text(rest.to_owned()));
        parts.retain(|part| *part != Part::Text(String::new()));
        if parts.contains(&Part::Body) { Ok(Self(parts)) } else { Err(InvalidSigns::NoBody) }
    }

    /// Whether `{timestamp}` is in it.
    pub fn needs_timestamp(&self) -> bool {
        self.0.contains(&Part::Timestamp)
    }

    /// Whether `{id}` is in it.
    pub fn needs_id(&self) -> bool {
        self.0.contains(&Part::Id)
    }

    /// Whether `{url}` is in it.
    pub fn needs_url(&self) -> bool {
        self.0.contains(&Part::Url)
    }

    pub(super) fn render(&self, with: &Ingredients<'_>) -> Vec<u8> {
        let mut message = Vec::with_capacity(with.body.len() + 64);
        for part in &self.0 {
            message.extend_from_slice(match part {
                Part::Text(text) => text.as_bytes(),
                Part::Body => with.body,
                Part::Timestamp => with.timestamp.as_bytes(),
                Part::Id => with.id.as_bytes(),
                Part::Url => with.url.as_bytes(),
            });
        }
        message
    }
}

fn ingredient(name: &str) -> Result<Part, InvalidSigns> {
    match name {
        "body" => Ok(Part::Body),
        "timestamp" => Ok(Part::Timestamp),
        "id" => Ok(Part::Id),
        "url" => Ok(Part::Url),
        other => Err(InvalidSigns::Unknown(other.to_owned())),
    }
}
