//! What the tests share.

pub mod gateway;
pub mod load;
pub mod process;
pub mod raw;
pub mod samples;
pub mod wait;

pub use gateway::{Answer, Gateway};
