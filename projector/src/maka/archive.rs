//! Archived tool results: the text that is archived, the reference to it, and the placeholder
//! that stands in its place.

use alloc::format;
use alloc::string::String;

use super::json::{Json, Object};
use super::ruler::{UnitsPerToken, wide};
use super::stable;
use super::text::Text;

/// Version of the placeholders.
pub const REWRITE_VERSION: u64 = 1;

/// Where a placeholder came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An old result, replaced before a turn.
    Stale,
    /// A result of the current turn, replaced before its next step.
    Active,
}

impl Origin {
    /// The `kind` of its placeholders.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Stale => "maka.archived_tool_result",
            Self::Active => "maka.active_archived_tool_result",
        }
    }

    /// The `reason` of its placeholders.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Stale => "stale_tool_result_pruned_before_compact",
            Self::Active => "active_current_turn_tool_result_pruned_before_next_step",
        }
    }

    /// The member that says where the result was: an event, or a turn.
    fn place(self) -> &'static str {
        match self {
            Self::Stale => "runtimeEventId",
            Self::Active => "turnId",
        }
    }
}

/// The text that is archived for a result: its JSON; `undefined` for no value.
pub fn serialize(result: &Json) -> Text {
    result.stringify().unwrap_or_else(|| Text::from("undefined"))
}

/// The result that an archived text stands for.
pub fn deserialize(serialized: &Text) -> Json {
    if *serialized == "undefined" {
        return Json::Undefined;
    }
    Json::parse(serialized).unwrap_or_else(|| Json::String(serialized.clone()))
}

/// What is known of an archived text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// SHA-256 of its UTF-8, in hexadecimal digits.
    pub sha256: String,
    /// Its estimated tokens.
    pub tokens: u64,
    /// Bytes of its UTF-8.
    pub bytes: u64,
}

impl Body {
    /// Measures a text.
    pub fn of(serialized: &Text, per_token: UnitsPerToken) -> Self {
        Self {
            sha256: stable::text_hash(serialized),
            tokens: per_token.tokens(serialized.len()),
            bytes: wide(serialized.utf8_bytes()),
        }
    }
}

/// An archived result: whose it is, and where its text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveRef {
    /// The event whose result it was.
    pub event_id: Text,
    /// The provider's id of the call.
    pub call_id: Text,
    /// The tool.
    pub tool: Text,
    /// The artifact.
    pub artifact_id: Text,
    /// The text.
    pub body: Body,
}

impl ArchiveRef {
    /// True when it is the archive of exactly this.
    pub fn matches(&self, event_id: &Text, call_id: &Text, tool: &Text, body: &Body) -> bool {
        self.event_id == *event_id
            && self.call_id == *call_id
            && self.tool == *tool
            && !self.artifact_id.is_empty()
            && self.body == *body
    }
}

/// The artifact id that the source derives for a stale result.
pub fn artifact_id(session: &Text, event: &Text, call: &Text, tool: &Text, sha256: &str) -> Text {
    let string = |text: &Text| Json::String(text.clone());
    let value = Json::object([
        ("sessionId", string(session)),
        ("runtimeEventId", string(event)),
        ("toolCallId", string(call)),
        ("toolName", string(tool)),
        ("bodySha256", Json::string(sha256)),
        ("rewriteVersion", Json::natural(REWRITE_VERSION)),
    ]);
    let text = value.stringify().unwrap_or_default();
    stable::short_id("tool-result-archive-", &text).into()
}

/// The address under which the model can read an archived text.
pub fn resource_ref(artifact_id: &Text, sha256: &str, bytes: u64) -> Text {
    let artifact = percent_encoded(artifact_id);
    let sha256 = percent_encoded(&Text::from(sha256));
    format!("maka://archive/{artifact}/{sha256}/{bytes}").into()
}

/// Reads an address: artifact id, hash and bytes.
pub fn parse_resource_ref(address: &str) -> Option<(String, String, u64)> {
    let path = address.strip_prefix("maka://archive/")?;
    let mut parts = path.split('/');
    let (artifact, sha256, bytes) = (parts.next()?, parts.next()?, parts.next()?);
    let artifact_fits = (1..=160).contains(&artifact.len())
        && artifact.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let hash_fits = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digits = bytes.bytes().all(|byte| byte.is_ascii_digit()) && !bytes.starts_with('0');
    let fits = artifact_fits && hash_fits && digits && parts.next().is_none();
    // 2^53 - 1 is the largest integer that the source takes for exact.
    let bytes = bytes.parse().ok().filter(|bytes| fits && *bytes < 1 << 53)?;
    Some((artifact.into(), sha256.into(), bytes))
}

fn percent_encoded(text: &Text) -> String {
    text.to_utf8().bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            out.push(char::from(byte));
        } else {
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            let digit = |half: u8| DIGITS.get(usize::from(half)).copied().unwrap_or(b'0');
            out.extend(['%', char::from(digit(byte >> 4)), char::from(digit(byte & 0xf))]);
        }
        out
    })
}

/// Why a newer result makes one needless, as its placeholder tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supersession {
    /// The rule.
    pub reason: &'static str,
    /// The newer call.
    pub by_call: Text,
    /// Hash of the failure that the newer result resolved.
    pub failure_sha256: Option<String>,
}

/// A placeholder.
#[derive(Clone, Copy, Debug)]
pub struct Placeholder<'a> {
    /// Where it comes from.
    pub origin: Origin,
    /// Id of the event, or of the turn.
    pub place: &'a Text,
    /// The provider's id of the call.
    pub call_id: &'a Text,
    /// The tool.
    pub tool: &'a Text,
    /// The artifact.
    pub artifact_id: &'a Text,
    /// The archived text.
    pub body: &'a Body,
    /// What tells the model how to read it.
    pub read_instructions: &'a str,
    /// What made it needless.
    pub supersession: Option<&'a Supersession>,
}

impl Placeholder<'_> {
    /// The placeholder as the result that it is, its members in the source's order.
    pub fn json(&self) -> Json {
        let string = |text: &Text| Json::String(text.clone());
        let address = resource_ref(self.artifact_id, &self.body.sha256, self.body.bytes);
        let shown = [
            ("kind", Json::string(self.origin.kind())),
            ("rewriteVersion", Json::natural(REWRITE_VERSION)),
            ("artifactId", string(self.artifact_id)),
            ("resourceRef", string(&address)),
            ("readInstructions", Json::string(self.read_instructions)),
            (self.origin.place(), string(self.place)),
            ("toolCallId", string(self.call_id)),
            ("toolName", string(self.tool)),
            ("bodySha256", Json::string(&self.body.sha256)),
            ("originalEstimatedTokens", Json::natural(self.body.tokens)),
            ("originalBytes", Json::natural(self.body.bytes)),
            ("reason", Json::string(self.origin.reason())),
        ];
        let supersession = self.supersession.map(|by| ("supersession", supersession(by)));
        let members = shown.into_iter().chain(supersession);
        Json::Object(Object::from_members(members.map(|(name, value)| (Text::from(name), value))))
    }
}

fn supersession(by: &Supersession) -> Json {
    let shown = [
        ("reason", Json::string(by.reason)),
        ("supersededByToolCallId", Json::String(by.by_call.clone())),
    ];
    let failure = by.failure_sha256.as_deref();
    let members =
        shown.into_iter().chain(failure.map(|it| ("failureBodySha256", Json::string(it))));
    Json::Object(Object::from_members(members.map(|(name, value)| (Text::from(name), value))))
}

/// Reads a placeholder; `None` for any other result.
pub fn placeholder(value: &Json, origin: Origin) -> Option<ArchiveRef> {
    let text = |name: &str| value.get(name)?.as_text().filter(|text| !text.is_empty()).cloned();
    let count = |name: &str| value.get(name)?.as_number().filter(|it| it.is_positive());
    let is = |name: &str, wanted: &str| text(name).is_some_and(|found| found == wanted);
    let version = value.get("rewriteVersion")?.as_number()?.to_u64()?;
    if !is("kind", origin.kind()) || version != REWRITE_VERSION || !is("reason", origin.reason()) {
        return None;
    }
    let body = Body {
        sha256: text("bodySha256")?.to_utf8(),
        tokens: count("originalEstimatedTokens")?.floor(),
        bytes: count("originalBytes")?.floor(),
    };
    Some(ArchiveRef {
        event_id: text(origin.place())?,
        call_id: text("toolCallId")?,
        tool: text("toolName")?,
        artifact_id: text("artifactId")?,
        body,
    })
}

/// True for a result that was replaced before a step of the current turn: its placeholder, or a
/// text that spells it.
pub fn is_active_placeholder(value: &Json) -> bool {
    match value {
        Json::String(text) => Json::parse(text).is_some_and(|value| is_active(&value)),
        other => is_active(other),
    }
}

fn is_active(value: &Json) -> bool {
    let whole = placeholder(value, Origin::Active);
    let usable = whole.is_some_and(|reference| !reference.artifact_id.trim().is_empty());
    let supersession = value.get("supersession").filter(|found| **found != Json::Undefined);
    usable && supersession.is_none_or(is_supersession)
}

fn is_supersession(value: &Json) -> bool {
    let text = |name: &str| value.get(name).and_then(Json::as_text);
    let Some(reason) = text("reason") else { return false };
    let known = ["exact_duplicate", "newer_read_covers_range", "newer_snapshot"];
    let failure = value.get("failureBodySha256").filter(|found| **found != Json::Undefined);
    let hash_fits = if *reason == "failure_resolved" {
        let is_hash = |text: &Text| {
            let digit = |unit: &u16| matches!(unit, 0x30..=0x39 | 0x61..=0x66);
            text.len() == 64 && text.units().iter().all(digit)
        };
        failure.and_then(Json::as_text).is_some_and(is_hash)
    } else {
        failure.is_none() && known.iter().any(|known| *reason == *known)
    };
    hash_fits && text("supersededByToolCallId").is_some_and(|by| !by.is_empty())
}
