//! Tests through the public door: the program itself, real HTTP, a real store, a strict stand-in for ntfy.
#![allow(unreachable_pub, reason = "nothing reaches into a test binary")]

mod support;

mod admin;
mod answers;
mod arrows;
mod bad_config;
mod bodies;
mod codes;
mod commands;
mod connections;
mod documents;
mod durability;
mod edges;
mod first_steps;
mod large_store;
mod limits;
mod networks;
mod operating;
mod records;
mod refusals;
mod reload;
mod repeats;
mod rule_tests;
mod shipped;
mod shutdown;
mod trouble;
