//! The primitives, each a pure function of its arguments.

pub mod cap;
pub mod clear;
pub(crate) mod stack;
pub mod window;
