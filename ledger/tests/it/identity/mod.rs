//! Goal: ids are minted once, a turn is accepted as a whole or not at all, and what is damaged
//! never leads to somebody else. Method: real recordings in temporary folders, one test per
//! statement, named by its id; damage on every single record of a log.

mod calls;
mod hooks;
mod legacy;
mod principal_laws;
mod principals;
mod schema;
mod support;
