//! The contract of the projector, over its public API: small runs built by hand.

// `cfg(test)` tells clippy that helpers beside the test functions are test code too.
#[cfg(test)]
mod cases;
#[cfg(test)]
mod chats;
#[cfg(test)]
mod histories;
#[cfg(test)]
mod identity;
#[cfg(test)]
mod live;
#[cfg(test)]
mod maka;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod naive;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod pairs;
#[cfg(test)]
mod presets;
#[cfg(test)]
mod property;
#[cfg(test)]
mod random;
#[cfg(test)]
mod run;
#[cfg(test)]
mod slow;
#[cfg(test)]
mod slow_cache;
#[cfg(test)]
mod slow_lines;
#[cfg(test)]
mod snapshot;
#[cfg(test)]
mod texts;
#[cfg(test)]
mod vectors;
#[cfg(test)]
mod wide;
