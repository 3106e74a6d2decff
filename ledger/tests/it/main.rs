//! The contract of the crate, through its public API only.

// `cfg(test)` tells clippy that helpers beside the test functions are test code too.
#[cfg(test)]
#[cfg(feature = "fs")]
mod bit_flips;
#[cfg(test)]
#[cfg(feature = "fs")]
mod cut_everywhere;
#[cfg(test)]
#[cfg(feature = "fs")]
mod follow;
#[cfg(test)]
mod fuzzed;
#[cfg(test)]
#[cfg(feature = "fs")]
mod identity;
#[cfg(test)]
#[cfg(feature = "fs")]
mod log_damage;
#[cfg(test)]
#[cfg(feature = "fs")]
mod log_golden;
#[cfg(test)]
#[cfg(feature = "fs")]
mod log_support;
#[cfg(test)]
#[cfg(feature = "fs")]
mod log_writer;
#[cfg(test)]
#[cfg(feature = "fs")]
mod recording;
#[cfg(test)]
#[cfg(feature = "fs")]
mod repair;
#[cfg(test)]
#[cfg(feature = "fs")]
mod second_reader;
