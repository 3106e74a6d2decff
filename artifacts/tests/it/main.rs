//! The contract of the crate through its public API: bytes on disk, damage, and the model.

// `cfg(test)` tells clippy that helpers beside the test functions are test code too.
#[cfg(test)]
mod codecs;
mod corpus;
mod cuts;
mod damage;
mod flips;
#[cfg(test)]
mod fuzzed;
mod golden;
mod model;
mod peer;
mod secrets;
mod support;
