//! Trajectories of SWE-agent (`.traj`) and of mini-swe-agent (`.traj.json`).
//!
//! A trajectory of mini holds the messages as they are sent, and in each answer the response of
//! the provider. One of SWE-agent holds actions and observations beside the history; its windows
//! over the history act when a request is made and are not on record.

use ledger::recorder::RecordError;
use ledger::wire::Dialect;

use super::adapter::{Adapter, Fold, Look, Source, Stop, fold_records, with_document};
use super::anthropic::{self, Answer, object};
use super::json::{self, Json};
use super::plain::Plain;
use super::rows::{Row, Unread};
use super::scribe::{Fate, Scribe, Setting, Tag, Talk};

pub(super) struct MiniTrajectory;
pub(super) struct SweTrajectory;

fn is_chat(json: &Json<'_>) -> bool {
    json.str("role").is_some() && json.get("content").is_some()
}

/// Keeps the members of a document beside its lists as one row.
pub(super) fn head(
    document: &Json<'_>,
    without: &[&str],
    scribe: &mut Scribe,
) -> Result<(), RecordError> {
    let own = document.members().iter().filter(|(name, _)| !without.contains(&name.as_ref()));
    let members: Vec<(&str, &[u8])> = own.map(|(name, value)| (name.as_ref(), value.raw)).collect();
    let head = object(&members);
    let row = Row { index: 0, offset: 0, raw: &head, read: Err(Unread::NotJson) };
    scribe.account(&row, Fate::Aside("facts about the session"))
}

impl Adapter for MiniTrajectory {
    fn name(&self) -> &'static str {
        "mini-swe-agent"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        look.document.is_some_and(|document| {
            let named = document
                .str("trajectory_format")
                .is_some_and(|format| format.starts_with("mini-swe-agent"));
            let stats = document.at(&["info", "model_stats"]).is_some();
            let messages = document.items("messages");
            (named || stats) && !messages.is_empty() && messages.iter().all(is_chat)
        })
    }

    fn looks_beside(&self) -> bool {
        true
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        with_document(source, scribe, &mut |document, scribe| {
            if let Some(format) = document.name("trajectory_format") {
                scribe.tally.version(format);
            }
            if let Some(cost) = document.at(&["info", "model_stats", "instance_cost"]) {
                scribe.tally.cost_of(cost);
            }
            head(document, &["messages"], scribe)?;
            let talk = scribe.open(Dialect::OpenAiChat, None, document.name("instance_id"))?;
            fold_records(document.items("messages"), scribe, &mut Chat { talk })
        })
    }
}

/// Messages of Chat Completions, one after the other.
pub(super) struct Chat {
    pub(super) talk: Talk,
}

impl Fold for Chat {
    fn row(&mut self, _row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        if !is_chat(json) {
            return Ok(Fate::Unknown("record that is no message"));
        }
        let own = json.members().iter().filter(|(name, _)| name != "extra");
        let members: Vec<(&str, &[u8])> = own.map(|(name, it)| (name.as_ref(), it.raw)).collect();
        let item = object(&members);
        match json.str("role") {
            Some("assistant") => {
                let response = json.at(&["extra", "response"]).filter(|it| it.is_object());
                let model = response.and_then(|response| response.name("model"));
                let setting = Setting::of_model(model);
                if let Some(request) = scribe.ask(self.talk, &setting)? {
                    let body = match response {
                        Some(response) if response.get("choices").is_some() => {
                            response.raw.to_vec()
                        }
                        _ => chat_answer(&item),
                    };
                    scribe.answer(self.talk, request, &body)?;
                }
                scribe.say(self.talk, Tag::Answer, item);
            }
            Some("tool" | "function") => {
                scribe.say(self.talk, Tag::Result, item);
            }
            Some("exit") => {
                return Ok(Fate::Aside("end of the run"));
            }
            _ => {
                scribe.say(self.talk, Tag::Prompt, item);
            }
        }
        Ok(Fate::Used)
    }

    fn end(&mut self, _scribe: &mut Scribe) -> Result<(), Stop> {
        Ok(())
    }
}

/// An answer of Chat Completions around a message.
pub(super) fn chat_answer(message: &[u8]) -> Vec<u8> {
    let choice = object(&[("index", b"0"), ("message", message), ("finish_reason", b"\"stop\"")]);
    object(&[("object", b"\"chat.completion\""), ("choices", &anthropic::list(&[choice]))])
}

impl Adapter for SweTrajectory {
    fn name(&self) -> &'static str {
        "swe-agent"
    }

    fn takes(&self, look: &Look<'_>) -> bool {
        look.document.is_some_and(|document| {
            let steps = document.items("trajectory");
            let is_step =
                |step: &Json<'_>| step.get("action").is_some() && step.get("observation").is_some();
            let history = document.get("history").is_some() || document.get("info").is_some();
            history && document.get("trajectory").is_some() && steps.iter().all(is_step)
        })
    }

    fn read(&self, source: &mut Source<'_>, scribe: &mut Scribe) -> Result<(), Stop> {
        with_document(source, scribe, &mut |document, scribe| {
            if let Some(version) = document.at(&["info", "swe_agent_version"]).and_then(Json::text)
            {
                scribe.tally.version(version);
            }
            head(document, &["trajectory", "history"], scribe)?;
            stats(document, scribe);
            let mut plain = Plain::open(scribe, None, document.name("environment"))?;
            let mut before = Beginning { plain: &mut plain, over: false };
            fold_records(document.items("history"), scribe, &mut before)?;
            let mut steps = Steps { plain: &mut plain, number: 0 };
            fold_records(document.items("trajectory"), scribe, &mut steps)
        })
    }
}

/// Sums over the run, which no step tells.
fn stats(document: &Json<'_>, scribe: &mut Scribe) {
    let Some(stats) = document.at(&["info", "model_stats"]) else { return };
    let (sent, received) = (stats.number("tokens_sent"), stats.number("tokens_received"));
    scribe.tally.tokens_elsewhere.add(sent, received, None, None);
    if let Some(cost) = stats.get("instance_cost").or_else(|| stats.get("total_cost")) {
        scribe.tally.cost_of(cost);
    }
}

/// The history up to the first step: system prompt, demonstrations and the task. What comes after
/// stands in the steps again.
struct Beginning<'p> {
    plain: &'p mut Plain,
    over: bool,
}

impl Fold for Beginning<'_> {
    fn row(&mut self, _row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        let role = json.str("role").unwrap_or_default();
        let demonstration = json.flag("is_demo");
        self.over |= role == "assistant" && !demonstration;
        if self.over {
            return Ok(Fate::Aside("message that the steps hold as well"));
        }
        let text = json.get("content").map(anthropic::texts).unwrap_or_default();
        match role {
            "system" => self.plain.system(&text),
            "assistant" => {
                let blocks = vec![anthropic::text_block(&text)];
                self.plain.said_before(scribe, &Answer { blocks, ..Answer::default() });
            }
            "user" | "tool" => self.plain.user(scribe, Tag::Prompt, &text),
            _ => return Ok(Fate::Unknown("message of an unknown role")),
        }
        Ok(Fate::Used)
    }

    fn end(&mut self, _scribe: &mut Scribe) -> Result<(), Stop> {
        Ok(())
    }
}

struct Steps<'p> {
    plain: &'p mut Plain,
    number: u64,
}

impl Fold for Steps<'_> {
    fn row(&mut self, _row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        self.number += 1;
        let id = format!("step-{}", self.number);
        let said = json.name("response").or_else(|| json.name("thought"));
        let mut blocks: Vec<Vec<u8>> = said.map(anthropic::text_block).into_iter().collect();
        let action = json.str("action").unwrap_or_default();
        let calls = !action.trim().is_empty();
        if calls {
            let arguments = object(&[("command", &json::quoted(action))]);
            blocks.push(anthropic::call_block(&id, "action", &arguments));
        }
        let answer = Answer { blocks, ..Answer::default() };
        self.plain.answer(scribe, &answer)?;
        let observation = json.get("observation").map(anthropic::texts).unwrap_or_default();
        if calls {
            self.plain.result(scribe, &id, &observation, false);
        } else if !observation.is_empty() {
            self.plain.user(scribe, Tag::Result, &observation);
        }
        Ok(Fate::Used)
    }

    fn end(&mut self, _scribe: &mut Scribe) -> Result<(), Stop> {
        Ok(())
    }
}
