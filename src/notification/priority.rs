//! How loudly a notification arrives.

use serde::{Serialize, Serializer};

/// ntfy's five priorities. Published as a number: the JSON form takes nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// 1: no sound, no vibration, folded away.
    Min = 1,
    /// 2: no sound, no vibration.
    Low = 2,
    /// 3: short sound and vibration.
    Default = 3,
    /// 4: long vibration, pops over.
    High = 4,
    /// 5: very long vibration, pops over.
    Max = 5,
}

/// The text is no priority.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid priority {0:?}: use 1 to 5, or min, low, default, high, max or urgent")]
pub struct InvalidPriority(pub String);

impl Priority {
    /// Reads `1` to `5`, or a name in any case.
    pub fn parse(text: &str) -> Result<Self, InvalidPriority> {
        match text.trim().to_ascii_lowercase().as_str() {
            "1" | "min" => Ok(Self::Min),
            "2" | "low" => Ok(Self::Low),
            "3" | "default" => Ok(Self::Default),
            "4" | "high" => Ok(Self::High),
            "5" | "max" | "urgent" => Ok(Self::Max),
            _ => Err(InvalidPriority(text.trim().to_owned())),
        }
    }
}

impl Serialize for Priority {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8)
    }
}
