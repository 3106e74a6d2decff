//! The budget stack of one source system, Apache Maka, as its revision f19eede has it.
//!
//! Pure functions over that system's own events and messages: what it measures, prunes, folds,
//! keeps and hashes. They are kept apart from this program's own policies, and they speak its
//! dialect to the letter: UTF-16 units, doubles, members in its order. Texts that it writes into
//! prompts come in as [`texts::Texts`]. Nothing here reads a file, a clock or an environment;
//! archives are functions that the caller gives.

pub mod active_prune;
pub mod archive;
pub mod assemble;
mod big;
pub mod block;
pub mod checkpoint;
pub mod collate;
pub mod compact;
pub mod event;
pub mod json;
pub mod mid_turn;
pub mod number;
pub mod order;
mod parse;
pub mod plan;
pub mod policy;
pub mod prepared;
pub mod request_shape;
pub mod retention;
pub mod retrieval;
pub mod ruler;
pub mod search;
pub mod stable;
pub mod stale_prune;
pub mod supersession;
pub mod synthesis;
pub mod tail_buffer;
pub mod text;
pub mod texts;
pub mod tools;
pub mod truncate;
