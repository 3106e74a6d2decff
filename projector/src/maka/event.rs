//! An event of the source's ledger: its JSON, whole, and the parts of it that are looked at.

use super::json::{Json, Object};
use super::number::Number;
use super::text::Text;

/// An event. Its JSON is kept whole, because digests cover all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    json: Object,
    id: Text,
    content: Option<Content>,
}

/// What an event holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A text.
    Text {
        /// The text.
        text: Text,
    },
    /// What the model thought.
    Thinking {
        /// The text.
        text: Text,
        /// The provider's signature.
        signature: Option<Text>,
    },
    /// A call of a tool.
    Call {
        /// The provider's id of the call.
        id: Text,
        /// The tool.
        name: Text,
        /// Its arguments; no value when they are absent.
        args: Json,
    },
    /// The result of a tool.
    Response(Response),
    /// A failure of the run.
    Error {
        /// Its message.
        message: Text,
        /// Its reason.
        reason: Option<Text>,
        /// Its code.
        code: Option<Text>,
    },
    /// A kind that this program does not know.
    Other {
        /// The kind.
        kind: Text,
    },
}

/// The result of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The provider's id of the call.
    pub id: Text,
    /// The tool.
    pub name: Text,
    /// The result; no value when it is absent.
    pub result: Json,
    /// The tool failed.
    pub is_error: bool,
    /// The provider ran it, and this is what it gave back.
    pub provider_output: Option<Json>,
}

impl Response {
    /// What is counted: what the provider gave back, if it ran the tool.
    pub fn measured(&self) -> &Json {
        self.provider_output.as_ref().unwrap_or(&self.result)
    }
}

/// Why a value is no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// It is no object.
    #[error("an event that is no object")]
    NoObject,
    /// A field is missing or of another type.
    #[error("an event without a proper `{field}`")]
    Field {
        /// The field.
        field: &'static str,
    },
}

impl Event {
    /// Reads an event.
    ///
    /// # Errors
    /// It is no object, or has no id, or a content without what its kind needs.
    pub fn from_json(json: Json) -> Result<Self, EventError> {
        let Json::Object(json) = json else { return Err(EventError::NoObject) };
        let id = text(&json, "id").ok_or(EventError::Field { field: "id" })?;
        let content = match json.get("content") {
            None | Some(Json::Undefined | Json::Null) => None,
            Some(Json::Object(content)) => Some(Content::read(content)?),
            Some(_) => return Err(EventError::Field { field: "content" }),
        };
        Ok(Self { json, id, content })
    }

    /// The event as JSON.
    pub fn json(&self) -> Json {
        Json::Object(self.json.clone())
    }

    /// Its id.
    pub fn id(&self) -> &Text {
        &self.id
    }

    /// What it holds.
    pub fn content(&self) -> Option<&Content> {
        self.content.as_ref()
    }

    /// The result that it holds.
    pub fn response(&self) -> Option<&Response> {
        match &self.content {
            Some(Content::Response(response)) => Some(response),
            _ => None,
        }
    }

    /// A member that is a string; the empty text if there is none.
    pub fn text(&self, member: &str) -> Text {
        text(&self.json, member).unwrap_or_default()
    }

    /// The key of its turn.
    pub fn turn_key(&self) -> Text {
        let turn = self.text("turnId");
        if turn.is_empty() { Text::from("<unknown-turn>") } else { turn }
    }

    /// A member of its `refs` that is a string.
    pub fn reference(&self, member: &str) -> Option<Text> {
        text(self.json.get("refs")?.as_object()?, member)
    }

    /// A member.
    pub fn get(&self, member: &str) -> Option<&Json> {
        self.json.get(member)
    }

    /// Its time, in milliseconds.
    pub fn time(&self) -> Number {
        self.json.get("ts").and_then(Json::as_number).unwrap_or(Number::ZERO)
    }

    /// It is a piece of something that a later event holds whole.
    pub fn is_partial(&self) -> bool {
        self.json.get("partial").is_some_and(Json::is_true)
    }

    /// The model does not see it.
    pub fn is_hidden(&self) -> bool {
        self.json.get("modelVisibility").and_then(Json::as_text).is_some_and(|it| *it == "hidden")
    }

    /// The name of what it holds.
    pub fn kind(&self) -> Text {
        let kind = self.json.get("content").and_then(|content| content.get("kind"));
        kind.and_then(Json::as_text).cloned().unwrap_or_else(|| Text::from("none"))
    }

    /// The same event with another result.
    #[must_use]
    pub fn with_result(&self, result: Json) -> Self {
        let Some(Content::Response(response)) = &self.content else { return self.clone() };
        let content = match self.json.get("content") {
            Some(Json::Object(content)) => content.clone().with("result", result.clone()),
            _ => return self.clone(),
        };
        let response = Response { result, ..response.clone() };
        Self {
            json: self.json.clone().with("content", Json::Object(content)),
            id: self.id.clone(),
            content: Some(Content::Response(response)),
        }
    }
}

impl Content {
    fn read(content: &Object) -> Result<Self, EventError> {
        let need = |field| text(content, field).ok_or(EventError::Field { field });
        let kind = need("kind")?;
        Ok(match kind.to_utf8().as_str() {
            "text" => Self::Text { text: need("text")? },
            "thinking" => {
                Self::Thinking { text: need("text")?, signature: text(content, "signature") }
            }
            "function_call" => Self::Call {
                id: need("id")?,
                name: need("name")?,
                args: content.get("args").cloned().unwrap_or(Json::Undefined),
            },
            "function_response" => {
                let provider = content.get("providerExecuted").is_some_and(Json::is_true);
                let output = content.get("providerOutput").filter(|it| **it != Json::Undefined);
                Self::Response(Response {
                    id: need("id")?,
                    name: need("name")?,
                    result: content.get("result").cloned().unwrap_or(Json::Undefined),
                    is_error: content.get("isError").is_some_and(Json::is_true),
                    provider_output: output.filter(|_| provider).cloned(),
                })
            }
            "error" => Self::Error {
                message: need("message")?,
                reason: text(content, "reason"),
                code: text(content, "code"),
            },
            _ => Self::Other { kind },
        })
    }
}

fn text(object: &Object, member: &str) -> Option<Text> {
    object.get(member)?.as_text().cloned()
}
