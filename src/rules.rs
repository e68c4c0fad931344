//! The rule language: written types, compiled types, and the way from one to the other.

pub mod compile;
pub mod condition;
pub(crate) mod decode;
pub mod external;
pub mod index;
pub mod live;
pub mod matcher;
pub(crate) mod node;
#[cfg(test)]
mod properties;
mod raw;
pub mod request;
pub mod schema;
pub mod selector;
pub mod set;
pub mod source;
pub mod table;
pub mod target;
pub mod template;

pub(crate) use self::decode::parse_duration;
