//! Contract tests of replay over recorded runs of real clients.

mod brute;
mod damage;
mod golden;
mod recordings;
mod support;
