//! payload
