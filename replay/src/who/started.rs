//! Which call started the conversation of a sub-agent, where no event tells it.
//!
//! On the wire nobody says so. What is there: the client names the parent of a conversation, and
//! the tool that started it answers with the id that the client gave it. The first call of the
//! parent whose output holds that id, and whose arguments do not, is the one. Neither the words of
//! a prompt nor nearness in time join anything.

use std::collections::BTreeMap;
use std::path::Path;

use artifacts::StoreReader;
use ledger::content::Content;
use ledger::id::{SessionId, ToolCallId};
use projector::identity::Card;

use super::Who;

/// Shorter ids may stand in any text.
const ID_BYTES_MIN: usize = 16;
/// Longer outputs are not searched.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;

/// Calls by the conversation that they started.
pub(super) fn started(dir: &Path, who: &Who) -> BTreeMap<SessionId, ToolCallId> {
    let mut wanted = Vec::new();
    for (session, facts) in &who.sessions {
        let own = facts.client_session.as_ref().and_then(Content::as_inline);
        let (Some(parent), Some(own)) = (facts.parent, own) else { continue };
        let of_parent = who.sessions.get(&parent).and_then(|facts| facts.client_session.as_ref());
        // Side requests of a conversation go under its own id.
        if own.len() >= ID_BYTES_MIN && of_parent.and_then(Content::as_inline) != Some(own) {
            wanted.push((*session, parent, own));
        }
    }
    if wanted.is_empty() {
        return BTreeMap::new();
    }
    let Ok(store) = StoreReader::open(&dir.join("art")) else { return BTreeMap::new() };
    let started = |(session, parent, id)| {
        let of_parent = who.view.calls().iter().filter(|(_, card)| card.session() == Some(parent));
        let naming = of_parent.filter_map(|(call, card)| Some((named(card, id, &store)?, *call)));
        Some((session, naming.min()?.1))
    };
    wanted.into_iter().filter_map(started).collect()
}

/// The event of the first output that holds `id`, when the call was not given it.
fn named(card: &Card, id: &[u8], store: &StoreReader) -> Option<u64> {
    if card.given.arguments.as_ref().is_some_and(|arguments| holds(arguments, id, store)) {
        return None;
    }
    let holding = |output: &projector::identity::card::Output| {
        output.texts.iter().any(|text| holds(&text.text, id, store))
    };
    card.outputs.iter().find(|(_, output)| holding(output)).map(|(seq, _)| seq)
}

fn holds(content: &Content, id: &[u8], store: &StoreReader) -> bool {
    if content.len() > OUTPUT_BYTES_MAX {
        return false;
    }
    let Ok(bytes) = content.read(store) else { return false };
    bytes.windows(id.len()).any(|window| window == id)
}
