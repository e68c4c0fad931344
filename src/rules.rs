//! rules
pub mod target;
