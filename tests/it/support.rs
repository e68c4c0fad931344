//! What the tests share.

pub mod gateway;
pub mod samples;
pub mod scene;
pub mod wait;

pub use gateway::{Answer, Gateway};
pub use scene::Scene;
