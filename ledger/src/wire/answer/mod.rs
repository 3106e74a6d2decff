//! Reduces a provider's answer, streamed or whole, to what the model said.
//!
//! This is a pure function of the decoded body: it does not keep the answer (the caller
//! stores its bytes), does not look at the status, and decides nothing. It never fails:
//! what it does not understand is counted, and what arrived before a cut is kept, because
//! clients act on it and send it back.
//!
//! ```text
//!   body -> sse -> events -\
//!                           > one reducer per dialect -> items, usage, stop, end
//!   body -> JSON document -/
//! ```
//!
//! Time and memory are linear in the body.

mod anthropic;
mod gemini;
mod head;
mod leaf;
mod openai_chat;
mod openai_responses;
mod sse;

use crate::wire::Dialect;

use head::{Head, Misread};
use leaf::Leaf;

/// What one answer said, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What the model produced, in the order of the answer.
    pub items: Vec<AnswerItem>,
    /// The last count of tokens that the provider gave for each kind.
    pub usage: Option<Usage>,
    /// Why the model stopped, in the provider's word.
    pub stop: Option<String>,
    /// The model that the answer names.
    pub model: Option<String>,
    /// The provider's own id of the answer. An attribute, never a key.
    pub provider_id: Option<String>,
    /// Whether the answer is whole.
    pub end: End,
    /// Whether the body was an event stream; if not, it was a document.
    pub streamed: bool,
    /// How many events (or parts of a document) were not understood or not kept: unknown
    /// types, broken JSON, strings that are not Unicode, second choices. The torn last
    /// event of a cut answer is not among them, since [`End::Cut`] speaks of it.
    pub unparsed_events: u32,
    /// Set where the answer reports an error, before or instead of its end.
    pub error: Option<AnswerError>,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The dialect's last event was there, or the document was complete. An answer that
    /// failed in an orderly way (`response.failed`, an error document) has ended too.
    Terminal,
    /// The answer began, and its bytes stop before its end.
    Cut,
    /// Nothing of an answer could be read.
    NotStarted,
}

/// One thing that the model produced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerItem {
    /// Text for the reader; at the end of a cut answer perhaps only its beginning.
    Text {
        /// The text.
        text: String,
        /// The id of the message item that it belongs to.
        item_id: Option<String>,
    },
    /// Reasoning in the clear; at the end of a cut answer perhaps only its beginning.
    Thinking {
        /// The text.
        text: String,
        /// The provider's signature of the text.
        signature: Option<String>,
        /// The id of the item that it belongs to.
        item_id: Option<String>,
    },
    /// A call of one of the client's tools.
    ToolCall {
        /// The provider's id that the tool's result will name.
        call_id: Option<String>,
        /// The id of the item, where the dialect has one beside the call id.
        item_id: Option<String>,
        /// The tool's name; empty where the answer was cut before it.
        name: String,
        /// The arguments as on the wire: the JSON text the model wrote, however malformed,
        /// or the free text of a custom tool. Empty where the wire has none.
        arguments: String,
        /// Whether the answer closed the call and no event was lost within it. It does
        /// not say that the arguments are valid JSON.
        complete: bool,
    },
    /// Something whole that has no place above: encrypted reasoning, a provider's own
    /// tools, refusals, media.
    Opaque {
        /// The wire's name for it.
        kind: String,
        /// Its exact JSON text.
        raw: Vec<u8>,
    },
}

/// Token counts as the provider reports them: they are neither added up nor compared, and
/// whether a kind includes another differs by dialect. Absent is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read; cached ones are included but for Anthropic.
    pub input_tokens: Option<u64>,
    /// Tokens written; reasoning is included but for Gemini.
    pub output_tokens: Option<u64>,
    /// Tokens read from the provider's cache.
    pub cache_read_tokens: Option<u64>,
    /// Tokens written to the provider's cache.
    pub cache_write_tokens: Option<u64>,
    /// Tokens of reasoning.
    pub reasoning_tokens: Option<u64>,
    /// The provider's sum.
    pub total_tokens: Option<u64>,
}

/// The provider's names for an error. Its message is left out, as it may quote the prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerError {
    /// The class, such as `overloaded_error` or `RESOURCE_EXHAUSTED`.
    pub kind: Option<String>,
    /// The code, such as `rate_limit_exceeded` or `429`.
    pub code: Option<String>,
}

/// Reduces a decoded body. `mime` decides only where the bytes leave it open whether the
/// body is a stream or a document, since error documents are often labelled as streams.
pub fn reduce(dialect: Dialect, mime: &str, body: &[u8]) -> Answer {
    match dialect {
        Dialect::AnthropicMessages => run::<anthropic::Messages>(mime, body),
        Dialect::OpenAiChat => run::<openai_chat::Chat>(mime, body),
        Dialect::OpenAiResponses => run::<openai_responses::Responses>(mime, body),
        Dialect::GeminiGenerate => run::<gemini::Generate>(mime, body),
    }
}

/// One dialect's fold over the events of an answer.
trait Reduce: Default {
    /// Takes in one event of a stream.
    fn event(&mut self, head: &mut Head, name: &str, data: &[u8]) -> Result<(), Misread>;

    /// Takes in the `[DONE]` of Chat, which proxies also append to the other dialects.
    fn done(&mut self, _head: &mut Head) {}

    /// Takes in a whole answer.
    fn document(&mut self, head: &mut Head, data: &[u8]) -> Result<(), Misread>;

    /// Hands out the items, those that never ended included where they can be partial.
    fn finish(self, head: &mut Head) -> Vec<AnswerItem>;
}

fn run<R: Reduce>(mime: &str, body: &[u8]) -> Answer {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let mut head = Head::default();
    let mut reducer = R::default();
    let labelled_stream = mime.to_ascii_lowercase().contains("event-stream");
    let streamed = match body.trim_ascii_start() {
        [b'{', ..] => {
            read_document(&mut reducer, &mut head, body);
            false
        }
        [b'[', rest @ ..] => {
            read_list(&mut reducer, &mut head, rest);
            false
        }
        [] => labelled_stream,
        _ => {
            let events = read_stream(&mut reducer, &mut head, body);
            if events == 0 && !labelled_stream {
                head.skip();
            }
            events > 0 || labelled_stream
        }
    };
    let items = reducer.finish(&mut head);
    let end = head.end();
    Answer {
        items,
        usage: head.usage,
        stop: head.stop,
        model: head.model,
        provider_id: head.provider_id,
        end,
        streamed,
        unparsed_events: head.unparsed,
        error: head.error,
    }
}

/// Feeds the events of a stream; says how many there were.
fn read_stream<R: Reduce>(reducer: &mut R, head: &mut Head, body: &[u8]) -> u64 {
    let mut events = 0;
    for event in sse::SseEvents::new(body) {
        events += 1;
        let name = std::str::from_utf8(event.name).unwrap_or_default();
        let data = event.data.trim_ascii();
        match data {
            b"" => continue,
            b"[DONE]" => {
                reducer.done(head);
                continue;
            }
            _ => {}
        }
        if let Err(why) = reducer.event(head, name, data) {
            let torn = !event.closed && matches!(why, Misread::Damaged(_));
            if !torn || head.terminal {
                head.misread(&why);
            }
        }
    }
    events
}

fn read_document<R: Reduce>(reducer: &mut R, head: &mut Head, body: &[u8]) {
    match serde_json::from_slice::<Leaf<'_>>(body) {
        Ok(_) => {
            if let Err(why) = reducer.document(head, body) {
                head.misread(&why);
            }
            head.terminal = true;
        }
        Err(error) if is_torn(body, &error) => head.started = true,
        Err(error) => head.misread(&error.into()),
    }
}

/// Feeds the elements of a list one by one, as far as they go: Gemini streams that way
/// where no event stream was asked for. `rest` begins behind the opening bracket.
fn read_list<R: Reduce>(reducer: &mut R, head: &mut Head, mut rest: &[u8]) {
    loop {
        rest = rest.trim_ascii_start();
        match rest {
            [] => {
                head.started = true;
                return;
            }
            [b']', tail @ ..] => {
                head.terminal = true;
                if !tail.trim_ascii().is_empty() {
                    head.skip();
                }
                return;
            }
            [b',', tail @ ..] => rest = tail,
            _ => {
                let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<Leaf<'_>>();
                let read = values.next();
                let used = values.byte_offset();
                match read {
                    Some(Ok(leaf)) => {
                        let data = leaf.raw().unwrap_or_default().as_bytes();
                        if let Err(why) = reducer.event(head, "", data) {
                            head.misread(&why);
                        }
                    }
                    Some(Err(error)) if is_torn(rest, &error) => {
                        head.started = true;
                        return;
                    }
                    Some(Err(error)) => return head.misread(&error.into()),
                    None => return,
                }
                rest = rest.get(used..).unwrap_or_default();
            }
        }
    }
}

/// Whether the text is JSON as far as it goes. The place of the error decides, not its
/// class: within a number an early end is a syntax error.
fn is_torn(data: &[u8], error: &serde_json::Error) -> bool {
    let lines = memchr::memchr_iter(b'\n', data).count() + 1;
    let column = data.len() - memchr::memrchr(b'\n', data).map_or(0, |at| at + 1);
    (error.line(), error.column()) == (lines, column)
}

#[cfg(test)]
mod tests;
