//! Who did what, from events: pure reducers that live recording and later reading share.
//!
//! ```text
//! (seq, event) -> [view]          calls, hooks, questions, turns: sets of facts, joined by id
//!              -> [conversation]  messages in order, what waits, what was held back
//!              -> [lanes]         who carries a call out, and whether the log agrees
//! ```
//!
//! A [`View`] keeps facts under their sequence numbers and works its answers out when it is
//! asked. So the order of arrival does not matter, a fact that comes twice counts once, and two
//! views join to the view of both logs. [`View::take_settled`] hands out what is finished, so that
//! a live reader's memory grows with what is open and not with what happened.

pub mod ask;
pub mod card;
pub mod conversation;
mod facts;
pub mod hook;
pub mod lanes;
pub mod pairing;
pub mod turn;
mod view;

pub use ask::{Ask, AskState};
pub use card::{Asked, Attempt, Card, CardState, Ended, Held};
pub use conversation::{CallEntry, Conversation, Conversations, Entry, Message, ResultView, State};
pub use facts::Facts;
pub use hook::{Evidence, Record, Resolved, Standing};
pub use lanes::{LaneFinding, Lanes};
pub use pairing::PairFault;
pub use turn::Turn;
pub use view::{Loose, View};
