//! ntfy
