//! Contract tests of live recording: a real listener on loopback, clients that write bytes, and
//! upstreams that answer what the test says.

#[cfg(test)]
mod client;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod socket;
#[cfg(test)]
mod stage;
