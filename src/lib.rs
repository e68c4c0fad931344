//! Hookbell turns webhooks into ntfy notifications by rules kept in git.
//!
//! The modules in reading order; imports point to earlier ones only, and a test holds them to it.
#![deny(missing_docs)]

pub mod clock;
pub mod footprint;
pub mod logging;
pub mod metrics;
pub mod notification;
pub mod priority;
pub mod problem;
pub mod secret;
pub mod words;

pub mod auth;
pub mod payload;
pub mod rules;

pub mod cases;
pub mod ntfy;
pub mod outbox;
pub mod pipeline;

pub mod delivery;
pub mod operator;
pub mod reload;
pub mod server;

pub mod cli;
pub mod settings;
