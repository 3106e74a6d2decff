//! Goal: the functions of `projector::maka` give what the source's own code gives. Method: its
//! recorded inputs and outputs (`fixtures/vectors`), brute-force twins, and its rules one by one.

mod env;
mod history;
mod make;
mod numbers;
mod prune;
mod requests;
mod twins;
mod vectors;
