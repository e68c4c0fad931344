//! The fake server as its users meet it: over TCP.

mod client;
mod contract;
mod faults;
mod limits;
mod others;
