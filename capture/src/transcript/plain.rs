//! A conversation without branches, for formats that tell one message after the other.

use ledger::recorder::RecordError;
use ledger::wire::Dialect;

use super::anthropic::{self, Answer};
use super::json;
use super::scribe::{Scribe, Setting, Tag, Talk};

/// One conversation in the common form.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    pub(crate) talk: Talk,
    pub(crate) setting: Setting,
}

impl Plain {
    pub(crate) fn open(
        scribe: &mut Scribe,
        parent: Option<Talk>,
        name: Option<&str>,
    ) -> Result<Self, RecordError> {
        let talk = scribe.open(Dialect::AnthropicMessages, parent, name)?;
        Ok(Self { talk, setting: Setting::default() })
    }

    /// Sets a member of the bodies to come.
    pub(crate) fn set(&mut self, name: &'static str, value: Vec<u8>) {
        self.setting.set(name, value);
    }

    /// Sets the system prompt; several texts of it are put together.
    pub(crate) fn system(&mut self, text: &str) {
        self.set("system", json::quoted(text));
    }

    /// Somebody said something.
    pub(crate) fn user(&self, scribe: &mut Scribe, tag: Tag, text: &str) {
        scribe.say(self.talk, tag, anthropic::text_message("user", text));
    }

    /// A call returned.
    pub(crate) fn result(&self, scribe: &mut Scribe, call_id: &str, text: &str, is_error: bool) {
        let item = anthropic::result_message(call_id, text, is_error);
        scribe.say(self.talk, Tag::Result, item);
    }

    /// The model was asked, and answered.
    pub(crate) fn answer(
        &mut self,
        scribe: &mut Scribe,
        answer: &Answer,
    ) -> Result<(), RecordError> {
        if answer.model.is_some() {
            self.setting.model.clone_from(&answer.model);
        }
        if let Some(request) = scribe.ask(self.talk, &self.setting)? {
            scribe.answer(self.talk, request, &answer.document())?;
        }
        scribe.say(self.talk, Tag::Answer, answer.message());
        Ok(())
    }

    /// The model had said this in a part of the run that is told elsewhere.
    pub(crate) fn said_before(&self, scribe: &mut Scribe, answer: &Answer) {
        scribe.say(self.talk, Tag::Answer, answer.message());
    }
}
