//! The primitives, each a pure function of its arguments.

pub mod atomic;
pub mod cap;
pub mod clear;
pub mod result;
pub mod retain;
pub(crate) mod stack;
pub mod template;
pub mod window;
