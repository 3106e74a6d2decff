//! A request as it was ready to be sent, and the fact that it was sent.

use bincode::de::Decoder;
use bincode::enc::Encoder;
use bincode::error::{DecodeError, EncodeError};
use bincode::{Decode, Encode};
use sha2::{Digest as _, Sha256};

use super::message::{PartUse, Splice};
use crate::content::Content;
use crate::id::{PartNo, RequestId, SessionId};
use crate::wire::{Dialect, Escape};

/// What can be claimed of a recorded request, best first. A rung is never raised later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Rung {
    /// Every byte on the connection, transfer coding included.
    WireExact,
    /// The body, byte for byte, after content decoding.
    BodyExact,
    /// The body, byte for byte, but for redacted spans.
    ExactModuloRedaction,
    /// The same JSON value.
    CanonicalEqual,
    /// Rebuilt from something that is not the body.
    Reconstructed,
    /// Something is known to be missing.
    Lossy,
}

impl Rung {
    /// All rungs, best first.
    pub const ALL: [Self; 6] = [
        Self::WireExact,
        Self::BodyExact,
        Self::ExactModuloRedaction,
        Self::CanonicalEqual,
        Self::Reconstructed,
        Self::Lossy,
    ];

    /// The name used on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::WireExact => "wire-exact",
            Self::BodyExact => "body-exact",
            Self::ExactModuloRedaction => "exact-modulo-redaction",
            Self::CanonicalEqual => "canonical-equal",
            Self::Reconstructed => "reconstructed",
            Self::Lossy => "lossy",
        }
    }
}

/// How the body travelled.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Transfer {
    /// Content coding that was undone (`zstd`, `gzip`), if any.
    pub content_coding: Option<String>,
    /// Bytes as sent, coded; equal to the body's length without a coding.
    pub sent_bytes: u64,
}

/// Why a body was kept as one verbatim part.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Unsplit {
    /// A fixed phrase with an offset, never content.
    pub reason: String,
}

/// A mark that this request carries on an item (`cache_control`).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Overlay {
    /// Position of the item in the message list.
    pub item: u32,
    /// Offset in the item's literal (its bytes without what fills the slots).
    pub offset: u32,
    /// The bytes that stand there.
    pub bytes: Content,
}

/// Changes of the three lists that make up a body, against the base request's lists.
#[derive(Clone, Debug, PartialEq, Eq, Default, Encode, Decode)]
pub struct Splices {
    /// Parts before the messages.
    pub head: Vec<Splice<PartUse>>,
    /// Messages, by number only: what is new in them was told by the events before.
    pub items: Vec<Splice<PartNo>>,
    /// Parts after the messages.
    pub tail: Vec<Splice<PartUse>>,
}

/// Which context policy a request was made under, where it was drawn, and how likely it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Propensity {
    /// Id of the policy that was drawn: SHA-256 of its canonical bytes.
    pub policy: [u8; 32],
    /// Which draw of the run, from 0: requests of one draw share its policy.
    pub draw: u32,
    /// The probability with which it was drawn, in millionths, from 1 to 1,000,000.
    pub millionths: u32,
}

impl Propensity {
    /// A certain draw, in millionths.
    pub const CERTAIN: u32 = 1_000_000;
}

/// A request was ready to be sent.
///
/// Version 1 has all fields but the last one; version 2 is version 1 and a [`Propensity`] behind
/// it, and is written only where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestCaptured {
    /// Its identity.
    pub request: RequestId,
    /// The conversation it belongs to.
    pub session: SessionId,
    /// Attempt, from 1: a send that repeats a failed one without new messages counts on.
    pub attempt: u16,
    /// The first attempt, when this is not it.
    pub attempt_of: Option<RequestId>,
    /// Tag of the [`Dialect`].
    pub dialect: u8,
    /// The model it names.
    pub model: Option<Content>,
    /// Length of the redacted body, in bytes.
    pub body_bytes: u64,
    /// SHA-256 of the redacted body.
    pub body_digest: [u8; 32],
    /// SHA-256 over the digests of the system, tools, options and message parts, in this order
    /// of components; tells which one drifted.
    pub component_digests: [[u8; 32]; 4],
    /// What can be claimed of it.
    pub rung: Rung,
    /// Spans that redaction replaced in it.
    pub redactions: u32,
    /// How it travelled.
    pub transfer: Transfer,
    /// Canonical bytes of the context policy in force, where the harness told it.
    pub policy: Option<Content>,
    /// Why the body is one verbatim part, if it is.
    pub unsplit: Option<Unsplit>,
    /// The request whose lists the splices start from; `None` starts from empty lists.
    pub base: Option<RequestId>,
    /// What stands between two messages.
    pub separator: Content,
    /// Escape switches seen in the body: how a text of ours has to be written into it.
    pub escape: Escape,
    /// Changes against the base.
    pub splices: Splices,
    /// Marks on messages, items ascending, then offsets.
    pub overlays: Vec<Overlay>,
    /// How likely its policy was, where that was drawn.
    pub propensity: Option<Box<Propensity>>,
}

/// Encodes and decodes the fields of version 1, in their order.
macro_rules! version_1 {
    ($($field:ident)*) => {
        impl Encode for RequestCaptured {
            fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
                $(self.$field.encode(encoder)?;)*
                Ok(())
            }
        }

        impl<C> Decode<C> for RequestCaptured {
            fn decode<D: Decoder<Context = C>>(decoder: &mut D) -> Result<Self, DecodeError> {
                Ok(Self { $($field: Decode::decode(decoder)?,)* propensity: None })
            }
        }
    };
}

version_1! {
    request session attempt attempt_of dialect model body_bytes body_digest component_digests rung
    redactions transfer policy unsplit base separator escape splices overlays
}

impl RequestCaptured {
    /// Names of the components that a request which was put together does not have. Its options
    /// are never known to be all.
    pub fn absent(&self) -> Vec<&'static str> {
        if self.rung < Rung::Reconstructed {
            return Vec::new();
        }
        let empty: [u8; 32] = Sha256::digest([]).into();
        // In Chat Completions the system prompt is one of the messages.
        let in_list = self.dialect == Dialect::OpenAiChat.tag();
        let named = ["system", "tools"].into_iter().zip(self.component_digests);
        let absent =
            named.filter(|(name, digest)| *digest == empty && !(in_list && *name == "system"));
        absent.map(|(name, _)| name).chain(["options"]).collect()
    }
}

/// Header fields, whole or as what changed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Headers {
    /// All fields in order: name, value.
    Full(Vec<(Content, Content)>),
    /// The fields of an earlier message of the same direction with some values replaced.
    Changed {
        /// The request whose fields are meant.
        of: RequestId,
        /// Position of a field, and its value here.
        values: Vec<(u16, Content)>,
    },
}

/// A request was sent.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Dispatched {
    /// Which one.
    pub request: RequestId,
    /// When, Unix nanoseconds, where it is known.
    pub at_unix_ns: Option<u64>,
    /// HTTP method.
    pub method: Content,
    /// URL as sent.
    pub url: Content,
    /// Header fields.
    pub headers: Headers,
}
