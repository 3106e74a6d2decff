//! What each later request showed of a call's result.

use std::collections::BTreeMap;

use ledger::event::HoleValue;
use ledger::history::{Base, History, ListWalker};
use ledger::id::{PartNo, RequestId, ToolCallId};
use ledger::wire::SlotKind;

/// What a request showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The output as it was recorded.
    Output {
        /// Bytes of it in the request, as they were escaped there.
        escaped_bytes: u64,
    },
    /// A result of the call with another text: the client put something in its place.
    Other {
        /// Bytes of the message that holds it.
        message_bytes: u64,
    },
    /// No result of the call.
    Nothing,
}

/// For each request of the call's conversation behind the one that was answered with the call:
/// what it showed of the result, in order.
///
/// # Errors
/// A list change does not fit.
pub fn shown(history: &History, call: ToolCallId) -> Result<Vec<(RequestId, Shown)>, Base> {
    let Some((asked_by, item)) = history.call(call).and_then(|call| call.asked) else {
        return Ok(Vec::new());
    };
    let Some(session) = history.request(asked_by).map(ledger::history::Request::session) else {
        return Ok(Vec::new());
    };
    let parts = parts(history, call, (asked_by, item));
    let later = history.sessions().get(session.index());
    let later = later.into_iter().flat_map(|session| &session.requests);
    let mut walker = ListWalker::new(history);
    let mut out = Vec::new();
    for request in later.copied().filter(|request| *request > asked_by) {
        let items = &walker.lists(request)?.items;
        let found = items.iter().filter_map(|part| parts.get(part)).copied();
        let best = found.max_by_key(|shown| matches!(shown, Shown::Output { .. }));
        out.push((request, best.unwrap_or(Shown::Nothing)));
    }
    Ok(out)
}

/// The parts that hold a result of the call.
fn parts(
    history: &History,
    call: ToolCallId,
    (asked_by, item): (RequestId, u16),
) -> BTreeMap<PartNo, Shown> {
    let mut parts = BTreeMap::new();
    for (part, number) in history.parts().iter().zip(0..) {
        let mut output_bytes = None;
        let mut is_result = false;
        let slots = &history.skeleton(part).slots;
        for (hole, slot) in part.holes.iter().zip(slots) {
            match hole.value {
                HoleValue::Output { call: of, .. } if of == call => {
                    *output_bytes.get_or_insert(0) += hole.escaped_bytes;
                }
                HoleValue::AnswerCallId { request, item: of }
                    if slot.kind == SlotKind::RESULT_CALL_ID =>
                {
                    is_result |= (request, of) == (asked_by, item);
                }
                _ => {}
            }
        }
        let shown = match output_bytes {
            Some(escaped_bytes) => Shown::Output { escaped_bytes },
            None if is_result => Shown::Other { message_bytes: part.bytes },
            None => continue,
        };
        parts.insert(PartNo::new(number), shown);
    }
    parts
}
