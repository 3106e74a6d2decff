//! The primitives, each a pure function of its arguments.

pub(crate) mod arguments;
pub mod atomic;
pub mod clear;
pub(crate) mod inject;
pub(crate) mod media;
pub(crate) mod memory;
pub(crate) mod overflow;
pub(crate) mod pairs;
pub(crate) mod reads;
pub(crate) mod reasoning;
pub(crate) mod repair;
pub mod result;
pub mod retain;
pub(crate) mod stack;
pub(crate) mod summary;
pub mod template;
pub(crate) mod total;
pub mod window;
