//! The classes of change.

/// A class of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// One byte of an artifact file.
    ArtifactByte,
    /// One byte of a log file.
    FrameByte,
    /// A message is missing from a request.
    DroppedPart,
    /// A message is in a request twice.
    DuplicatedPart,
    /// Two messages of a request have changed places.
    ReorderedParts,
    /// The events do not tell of a message that was sent: only the fold can notice.
    DroppedMessage,
    /// The events tell of two messages in another order: only the fold can notice.
    ReorderedMessages,
    /// Two members of an object have changed places.
    KeyOrder,
    /// A number is spelled differently.
    NumberFormat,
    /// A tool schema was edited.
    ToolSchema,
    /// A text was brought into another Unicode normal form.
    UnicodeNormalization,
    /// The last character of a tool output is gone.
    TruncatedArtifact,
    /// A time of day was put into a prompt.
    ClockInPrompt,
    /// A request was not captured.
    SkippedCapture,
    /// A cache mark stands elsewhere.
    MovedCacheMark,
    /// Two tool outputs have changed places.
    SwappedOutputs,
    /// The recorded digest of a request is another.
    ForgedDigest,
    /// A part was changed and every digest with it: only the accepted head tells.
    ForgedHistory,
    /// Another policy than the one in force is projected.
    StalePolicy,
    /// A field of a policy is missing.
    DroppedPolicyField,
}

/// What a canonical comparison makes of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgiven {
    /// It would be noticed too.
    No,
    /// It is forgiven by design: the value is the same.
    ByDesign,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 20] = [
        Self::ArtifactByte,
        Self::FrameByte,
        Self::DroppedPart,
        Self::DuplicatedPart,
        Self::ReorderedParts,
        Self::DroppedMessage,
        Self::ReorderedMessages,
        Self::KeyOrder,
        Self::NumberFormat,
        Self::ToolSchema,
        Self::UnicodeNormalization,
        Self::TruncatedArtifact,
        Self::ClockInPrompt,
        Self::SkippedCapture,
        Self::MovedCacheMark,
        Self::SwappedOutputs,
        Self::ForgedDigest,
        Self::ForgedHistory,
        Self::StalePolicy,
        Self::DroppedPolicyField,
    ];

    /// The name used in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::ArtifactByte => "artifact_byte",
            Self::FrameByte => "frame_byte",
            Self::DroppedPart => "dropped_part",
            Self::DuplicatedPart => "duplicated_part",
            Self::ReorderedParts => "reordered_parts",
            Self::DroppedMessage => "dropped_message",
            Self::ReorderedMessages => "reordered_messages",
            Self::KeyOrder => "key_order",
            Self::NumberFormat => "number_format",
            Self::ToolSchema => "tool_schema",
            Self::UnicodeNormalization => "unicode_normalization",
            Self::TruncatedArtifact => "truncated_artifact",
            Self::ClockInPrompt => "clock_in_prompt",
            Self::SkippedCapture => "skipped_capture",
            Self::MovedCacheMark => "moved_cache_mark",
            Self::SwappedOutputs => "swapped_outputs",
            Self::ForgedDigest => "forged_digest",
            Self::ForgedHistory => "forged_history",
            Self::StalePolicy => "stale_policy",
            Self::DroppedPolicyField => "dropped_policy_field",
        }
    }

    /// False for changes that are the same whatever the recording is.
    pub fn is_of_recording(self) -> bool {
        self != Self::DroppedPolicyField
    }

    /// What a canonical comparison makes of it.
    pub fn forgiven(self) -> Forgiven {
        match self {
            Self::KeyOrder => Forgiven::ByDesign,
            _ => Forgiven::No,
        }
    }
}
