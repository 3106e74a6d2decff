//! Contract tests of replay over recorded runs of real clients.

mod brute;
mod damage;
mod golden;
mod mutants;
mod recordings;
mod selftest;
mod support;
