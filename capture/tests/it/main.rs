//! Contract tests of the import: HAR files in, recordings out, read back by the ledger.

mod again;
mod bodies;
mod cuts;
mod links;
mod memory;
mod redaction;
mod retries;
mod shapes;
mod support;
