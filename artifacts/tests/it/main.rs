//! The contract of the crate through its public API: bytes on disk, damage, and the model.

mod corpus;
mod cuts;
mod damage;
mod flips;
mod golden;
mod model;
mod peer;
mod secrets;
mod support;
