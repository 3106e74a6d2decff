//! `show REC call-N`: one call's whole life.

use ledger::event::{Dropped, Event};
use ledger::id::ToolCallId;
use ledger::identity::InvocationId;
use projector::identity::{Asked, Card, Evidence, Facts, Held};
use replay::Recording;
use replay::shown::{Shown, shown};
use replay::who::Who;
use serde::Serialize;

use crate::args::Format;
use crate::error::{Ended, Failure, Kind, map};
use crate::event::{full, word};
use crate::inputs::Place;
use crate::tree::Node;
use crate::ui::Ui;
use crate::who::{self, LogFacts, node, number};

type Members = Vec<(&'static str, Node)>;

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    log: LogFacts,
    call: u64,
    id: Option<String>,
    life: Node,
}

/// The number in `call-N`, `call-RUN-N` or `cN`, from 1.
pub(super) fn number_in(word: &str) -> Option<u32> {
    let digits = match word.strip_prefix("call-") {
        Some(rest) => rest.rsplit('-').next()?,
        None => word.strip_prefix('c')?,
    };
    digits.parse::<u32>().ok()?.checked_sub(1)
}

pub(super) fn run(place: &Place, call: u32, format: Format, ui: &mut Ui) -> Ended {
    let who = who::read(place)?;
    let call = ToolCallId::new(call);
    let card = who.view.calls().get(&call).filter(|card| !card.asked.is_empty());
    let Some(card) = card else {
        let words = format!(
            "no call {}: {} has {}",
            number(call.number()),
            place.shown.display(),
            who.view.calls().len()
        );
        return Err(Failure::new(Kind::NotFound, words)
            .hint("`counterfold calls` lists the calls with their numbers")
            .into());
    };
    let mut life = beginning(card);
    life.push(("hooks", hooks(&who, call)));
    life.push(("questions", questions(&who, card)));
    life.push(("attempts", attempts(card)));
    life.push(("outputs", outputs(card)));
    life.push(("result", result(card)));
    if !card.children.is_empty() || !card.children_ended.is_empty() {
        life.push(("subagents", subagents(card)));
        let elsewhere = card.depends_on();
        if !elsewhere.is_empty() {
            let runs = elsewhere.iter().map(|run| run.to_string().into());
            life.push(("whole_output_only_in_runs", Node::List(runs.collect())));
        }
    }
    let started = who.started_by.iter().filter(|(_, by)| **by == call);
    let started: Vec<Node> = started.map(|(session, _)| number(session.number()).into()).collect();
    if !started.is_empty() {
        life.push(("conversations_named_in_output", Node::List(started)));
    }
    if matches!(card.asked.first(), Some(Asked::Answer { .. })) {
        life.push(("later_requests", later(place, call)?));
    }
    let document = Document {
        schema: "counterfold.call/1",
        log: LogFacts::of(&who, place),
        call: number(call.number()),
        id: who.run.map(|run| InvocationId { run, call }.to_string()),
        life: Node::Map(life),
    };
    match format {
        Format::Json => ui.json(&document)?,
        Format::Table => {
            let mut out = String::new();
            Node::from(document.call).write("call", 0, &mut out);
            Node::from(document.id.clone()).write("id", 0, &mut out);
            if let Node::Map(members) = &document.life {
                for (name, value) in members {
                    value.write(name, 0, &mut out);
                }
            }
            ui.bytes(out.as_bytes())?;
        }
    }
    who::end(&who, ui)
}

/// Where it comes from, and what was asked for.
fn beginning(card: &Card) -> Members {
    let mut members: Members = vec![
        ("state", card.state().name().into()),
        ("session", card.session().map(|session| number(session.number())).into()),
    ];
    match card.asked.first() {
        Some(Asked::Answer { request, item, .. }) => {
            members.push(("asked_by_answer_to_request", request.ordinal().into()));
            members.push(("item", (*item).into()));
        }
        Some(Asked::Turn { turn, position, .. }) => {
            members.push(("turn", turn.map(|turn| number(turn.number())).into()));
            members.push(("position", (*position).into()));
        }
        Some(Asked::Observed { turn, lane, .. }) => {
            members.push(("turn", turn.map(|turn| number(turn.number())).into()));
            members.push(("lane", lane.name().into()));
            members.push(("ambiguous", lane.is_ambiguous().into()));
        }
        None => {}
    }
    members.push(("asked_at_event", card.asked.first_seq().into()));
    members.push(("tool", node(card.given.name.as_ref())));
    members.push(("arguments", node(card.given.arguments.as_ref())));
    if card.effective_arguments() != card.given.arguments.as_ref() {
        members.push(("arguments_in_force", node(card.effective_arguments())));
    }
    members
}

fn hooks(who: &Who, call: ToolCallId) -> Node {
    let mut list = Vec::new();
    for (id, record) in who.view.hooks_of(call) {
        let resolved = record.resolve();
        let evidence = resolved.evidence.iter().map(|(seq, standing, piece)| {
            let event: Event = match piece {
                Evidence::Outcome(event) => event.clone().into(),
                Evidence::Review(event) => event.clone().into(),
            };
            Node::Map(vec![
                ("event", (*seq).into()),
                ("standing", word(standing)),
                ("says", full(&event)),
            ])
        });
        list.push(Node::Map(vec![
            ("hook", id.to_string().into()),
            ("revision", resolved.revision.map(ledger::id::Revision::number).into()),
            ("evidence", Node::List(evidence.collect())),
        ]));
    }
    Node::List(list)
}

fn questions(who: &Who, card: &Card) -> Node {
    let mut list = Vec::new();
    for id in &card.asks {
        let Some(ask) = who.view.asks().get(id) else { continue };
        let verdict = ask.verdict();
        list.push(Node::Map(vec![
            ("question", number(id.number()).into()),
            ("state", who.view.ask_state(*id).name().into()),
            ("asked_at_event", ask.asked.first_seq().into()),
            ("asker", ask.asked.first().map(|asked| word(&asked.asker)).into()),
            ("offered", (ask.asked.first().map_or(0, |asked| asked.options.len()) as u64).into()),
            ("answered_at_event", verdict.map(|(seq, _)| seq).into()),
            ("taken", node(verdict.and_then(|(_, answer)| answer.option.as_ref()))),
            ("stray_receipts", (ask.stray().count() as u64).into()),
        ]));
    }
    Node::List(list)
}

fn attempts(card: &Card) -> Node {
    let mut numbers: Vec<u16> = card.attempts.keys().copied().collect();
    numbers.extend(card.ends.iter().map(|(_, end)| end.attempt));
    numbers.sort_unstable();
    numbers.dedup();
    let one = |attempt: u16| {
        let dispatch = card.attempts.get(&attempt);
        let end = card.ends.iter().find(|(_, end)| end.attempt == attempt);
        Node::Map(vec![
            ("attempt", attempt.into()),
            ("dispatched_at_event", dispatch.and_then(Facts::first_seq).into()),
            (
                "correlation",
                dispatch.and_then(|facts| facts.first()).map(|d| word(&d.correlation)).into(),
            ),
            ("ended_at_event", end.map(|(seq, _)| seq).into()),
            ("outcome", end.map(|(_, end)| word(&end.outcome)).into()),
            ("raw", node(end.and_then(|(_, end)| end.raw.as_ref()))),
        ])
    };
    Node::List(numbers.into_iter().map(one).collect())
}

fn outputs(card: &Card) -> Node {
    let one = |(seq, output): (u64, &projector::identity::card::Output)| {
        let texts = output.texts.iter().map(|text| {
            Node::Map(vec![("text", node(Some(&text.text))), ("bytes", text.text.len().into())])
        });
        let dropped = match output.dropped {
            Dropped::Unknown => "unknown".into(),
            Dropped::Bytes(bytes) => bytes.into(),
        };
        Node::Map(vec![
            ("event", seq.into()),
            ("texts", Node::List(texts.collect())),
            ("dropped_bytes", dropped),
        ])
    };
    let mut list: Vec<_> = card.outputs.iter().map(one).collect();
    list.extend(card.found.iter().map(|(seq, ())| {
        Node::Map(vec![("event", seq.into()), ("found_beside_the_wire", true.into())])
    }));
    Node::List(list)
}

fn result(card: &Card) -> Node {
    match card.held() {
        Held::No if card.outputs.is_empty() => "none".into(),
        Held::No => "shown".into(),
        Held::Waiting(review) => format!("held back by {review}").into(),
        Held::Released(review) => format!("held back by {review}, then released").into(),
        Held::Refused(review) => format!("held back by {review}, and refused").into(),
    }
}

fn subagents(card: &Card) -> Node {
    let spawned = card.children.iter().map(|(seq, child)| {
        Node::Map(vec![("spawned_at_event", seq.into()), ("child", child_word(*child))])
    });
    let ended = card.children_ended.iter().map(|(seq, ended)| {
        Node::Map(vec![
            ("ended_at_event", seq.into()),
            ("child", child_word(ended.child)),
            ("outcome", word(&ended.outcome)),
            ("output", node(ended.output.as_ref())),
        ])
    });
    Node::List(spawned.chain(ended).collect())
}

fn child_word(child: ledger::event::Child) -> Node {
    use ledger::event::Child;
    match child {
        Child::Session(session) => format!("session {}", number(session.number())).into(),
        Child::Run(run) => format!("run {run}").into(),
        Child::Unknown => "unknown".into(),
    }
}

/// What each later request showed of the result; requests that showed the same stand together.
fn later(place: &Place, call: ToolCallId) -> Result<Node, Failure> {
    let recording = Recording::open(&place.folder).map_err(|error| map::load(&error))?;
    let shown = shown(recording.history(), call).map_err(|base| {
        let words = format!("lists of request {} do not fit", base.request.ordinal());
        Failure::new(Kind::Damage, words)
    })?;
    let mut list: Vec<(u64, u64, u64, Shown)> = Vec::new();
    for (request, what) in shown {
        match list.last_mut() {
            Some((_, last, count, before)) if *before == what => {
                *last = request.ordinal();
                *count += 1;
            }
            _ => list.push((request.ordinal(), request.ordinal(), 1, what)),
        }
    }
    let one = |(first, last, count, what): (u64, u64, u64, Shown)| {
        let (what, bytes) = match what {
            Shown::Output { escaped_bytes } => ("output", Some(escaped_bytes)),
            Shown::Other { message_bytes } => ("another text in its place", Some(message_bytes)),
            Shown::Nothing => ("nothing", None),
        };
        Node::Map(vec![
            ("first", first.into()),
            ("last", last.into()),
            // Requests of other conversations may stand between the first and the last.
            ("requests", count.into()),
            ("shows", what.into()),
            ("bytes", bytes.into()),
        ])
    };
    Ok(Node::List(list.into_iter().map(one).collect()))
}

#[cfg(test)]
mod tests {
    use super::number_in;

    #[test]
    fn calls_are_named_by_their_number_or_their_whole_id() {
        assert_eq!(number_in("call-3"), Some(2));
        assert_eq!(number_in("c1"), Some(0));
        assert_eq!(number_in("call-00112233445566778899aabbccddeeff-12"), Some(11));
        for word in ["3", "call-0", "call-", "cx", "call-x", ""] {
            assert_eq!(number_in(word), None, "{word}");
        }
    }
}
