//! Tests through the public door: the program itself, real HTTP, a real store, a strict stand-in for ntfy.
#![allow(unreachable_pub, reason = "nothing reaches into a test binary")]

mod support;

mod arrows;
mod connections;
mod durability;
mod edges;
mod first_steps;
mod full_store;
mod reload;
mod shutdown;
