//! Hookbell turns webhooks into ntfy notifications by rules kept in git.
//!
//! The modules in reading order; imports point to earlier ones only, and a test holds them to it.
#![deny(missing_docs)]

pub mod secret;
pub mod problem;
pub mod notification;
pub mod metrics;
pub mod logging;

pub mod payload;
pub mod auth;
pub mod rules;

pub mod pipeline;
pub mod outbox;
pub mod ntfy;

pub mod delivery;
pub mod reload;
pub mod server;

pub mod settings;
pub mod cli;
