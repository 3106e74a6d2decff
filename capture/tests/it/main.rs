//! Contract tests of the import: HAR files in, recordings out, read back by the ledger.

// `cfg(test)` tells clippy that helpers beside the test functions are test code too.
#[cfg(test)]
mod acp;
#[cfg(test)]
mod again;
#[cfg(test)]
mod bodies;
#[cfg(test)]
mod cuts;
#[cfg(test)]
mod lanes;
#[cfg(test)]
mod links;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod redaction;
#[cfg(test)]
mod retries;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod side;
#[cfg(test)]
mod support;
