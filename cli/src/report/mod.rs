//! Helpers of the commands' output: numbers for people, tables, diffs. JSON documents are structs
//! of the commands themselves.

pub(crate) mod json_lines;
pub(crate) mod money;
pub(crate) mod number;
pub(crate) mod table;
pub(crate) mod udiff;
