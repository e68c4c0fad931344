//! What the tests share.

pub mod command;
pub mod disk;
pub mod fast;
pub mod gateway;
pub mod load;
pub mod raw;
pub mod samples;
pub mod scene;
pub mod sockets;
pub mod wait;
pub mod wire;

pub use gateway::{Answer, Gateway};
pub use scene::Scene;
