//! Helpers of the commands' output: numbers for people, tables. JSON documents are structs of
//! the commands themselves.

pub(crate) mod number;
pub(crate) mod table;
