//! The primitives, each a pure function of its arguments.

pub mod atomic;
pub mod cap;
pub mod clear;
pub mod retain;
pub(crate) mod stack;
pub mod window;
