//! What an event holds or names: all of its contents, wherever they stand in it.

use super::{
    AcceptedCall, Added, AliasesAdvertised, AnswerItem, Answered, ApprovalAnswered, ApprovalAsked,
    ApprovalRetracted, Compacted, ContextEdited, Dispatched, Event, Headers, Hole, HoleValue,
    HookPublished, ImportedRecord, MessageAdded, NameSeen, Offered, OutputFound, Overlay, PartDef,
    PartUse, PrincipalBound, PrincipalForked, PrincipalMinted, PrincipalObserved, PrincipalStopped,
    RequestCaptured, ResultSettled, Returned, ReviewUpdated, RunClosed, RunOpened, SessionClosed,
    SessionOpened, SessionReset, Skeleton, SkeletonUse, Splice, Splices, SubagentEnded,
    SubagentSpawned, ToolCalled, ToolDispatched, ToolEnded, ToolObserved, ToolReturned,
    TurnAccepted, TurnEnded, TurnStarted, UserPrompted,
};
use crate::content::Content;

/// Something with contents in it.
pub(super) trait Contents {
    /// Shows all of them, in the order of the fields; by default there are none.
    fn contents<'a>(&'a self, _see: &mut dyn FnMut(&'a Content)) {}
}

impl Event {
    /// Shows all contents of the event: redacted bytes that are in it, and artifacts it names.
    pub fn contents<'a>(&'a self, see: &mut dyn FnMut(&'a Content)) {
        match self {
            Self::RunOpened(body) => body.contents(see),
            Self::RunClosed(body) => body.contents(see),
            Self::SessionOpened(body) => body.contents(see),
            Self::MessageAdded(body) => body.contents(see),
            Self::ContextEdited(body) => body.contents(see),
            Self::RequestCaptured(body) => body.contents(see),
            Self::RequestDispatched(body) => body.contents(see),
            Self::ResponseReceived(body)
            | Self::ResponseFailed(body)
            | Self::ResponseAborted(body) => body.contents(see),
            Self::ToolCalled(body) => body.contents(see),
            Self::ToolReturned(body) => body.contents(see),
            Self::OutputFound(body) => body.contents(see),
            Self::ImportedRecord(body) => body.contents(see),
            // They name texts and rules, and hold nothing of them.
            Self::RedactionFailed(_) | Self::RedactionConfigured(_) | Self::SpansReplaced(_) => {}
            Self::Identity(body) => body.contents(see),
        }
    }
}

impl Contents for Content {
    fn contents<'a>(&'a self, see: &mut dyn FnMut(&'a Content)) {
        see(self);
    }
}

impl<T: Contents> Contents for Option<T> {
    fn contents<'a>(&'a self, see: &mut dyn FnMut(&'a Content)) {
        if let Some(inner) = self {
            inner.contents(see);
        }
    }
}

impl<T: Contents> Contents for Vec<T> {
    fn contents<'a>(&'a self, see: &mut dyn FnMut(&'a Content)) {
        for inner in self {
            inner.contents(see);
        }
    }
}

impl<T: Contents> Contents for Splice<T> {
    fn contents<'a>(&'a self, see: &mut dyn FnMut(&'a Content)) {
        self.insert.contents(see);
    }
}

impl Contents for Headers {
    fn contents<'a>(&'a self, see: &mut dyn FnMut(&'a Content)) {
        match self {
            Self::Full(fields) => {
                for (name, value) in fields {
                    see(name);
                    see(value);
                }
            }
            Self::Changed { values, .. } => {
                for (_, value) in values {
                    see(value);
                }
            }
        }
    }
}

impl Contents for HoleValue {
    fn contents<'a>(&'a self, see: &mut dyn FnMut(&'a Content)) {
        if let Self::Own(content) = self {
            see(content);
        }
    }
}

impl Contents for SkeletonUse {
    fn contents<'a>(&'a self, see: &mut dyn FnMut(&'a Content)) {
        if let Self::New(skeleton) = self {
            skeleton.contents(see);
        }
    }
}

impl Contents for PartUse {
    fn contents<'a>(&'a self, see: &mut dyn FnMut(&'a Content)) {
        if let Self::New(part) = self {
            part.contents(see);
        }
    }
}

/// Lists the fields with contents of each kind of struct.
macro_rules! contents {
    ($($name:ident: $($field:ident)+;)*) => {
        $(impl Contents for $name {
            fn contents<'a>(&'a self, see: &mut dyn FnMut(&'a Content)) {
                $(self.$field.contents(see);)+
            }
        })*
    };
}

contents! {
    AcceptedCall: name arguments provider_call provider_item;
    Added: part;
    AliasesAdvertised: servers tools;
    AnswerItem: text item_id call_id name;
    Answered: headers body items stop answer_id;
    ApprovalAnswered: option;
    ApprovalAsked: options foreign_ask;
    Compacted: summary;
    ContextEdited: splices;
    Dispatched: method url headers;
    Hole: value;
    HookPublished: message arguments;
    ImportedRecord: bytes;
    MessageAdded: added;
    NameSeen: name;
    Offered: id;
    OutputFound: pieces;
    Overlay: bytes;
    PartDef: skeleton holes;
    PrincipalBound: instance process;
    PrincipalObserved: tool_session;
    RequestCaptured: model policy separator splices overlays;
    Returned: text;
    ReviewUpdated: rule reason sources;
    RunOpened: source;
    SessionOpened: client_session aliases;
    Skeleton: literal;
    Splices: head tail;
    SubagentEnded: output;
    ToolDispatched: arguments;
    ToolEnded: raw;
    ToolObserved: names tool_kind arguments provider_call;
    ToolReturned: output;
    TurnAccepted: text reasoning calls;
    UserPrompted: text;
}

impl Contents for ApprovalRetracted {}
impl Contents for PrincipalForked {}
impl Contents for PrincipalMinted {}
impl Contents for PrincipalStopped {}
impl Contents for ResultSettled {}
impl Contents for RunClosed {}
impl Contents for SessionClosed {}
impl Contents for SessionReset {}
impl Contents for SubagentSpawned {}
impl Contents for ToolCalled {}
impl Contents for TurnEnded {}
impl Contents for TurnStarted {}
