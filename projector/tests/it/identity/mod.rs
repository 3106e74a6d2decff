//! Goal: identities join what belongs together and nothing else. Method: small logs by hand for
//! each statement, named by its id, and random logs for the laws that hold for all.

mod conversations;
mod hooks;
mod lanes;
mod laws;
mod make;
mod memory;
