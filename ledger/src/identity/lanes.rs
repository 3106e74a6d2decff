//! Who carries a call out that an agent protocol shows: the agent, or the client over a tool
//! server. Decided by the names that the session advertised, exactly, and by nothing later.

use std::collections::{BTreeSet, VecDeque};

use crate::event::{AliasForm, Lane, NameSource};
use crate::id::ToolCallId;

/// The names that a session's bridged tools may have. Immutable once made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AliasSet {
    servers: Vec<Vec<u8>>,
    tools: BTreeSet<Vec<u8>>,
}

impl AliasSet {
    /// The names that follow from the servers and tools of a session. Without a server there is
    /// no name, since nothing is bridged. Empty tool names are no names.
    pub fn new<'a>(
        servers: impl IntoIterator<Item = &'a [u8]>,
        tools: impl IntoIterator<Item = &'a [u8]>,
    ) -> Self {
        let servers: Vec<_> = servers.into_iter().map(<[u8]>::to_vec).collect();
        if servers.is_empty() {
            return Self::default();
        }
        let tools = tools.into_iter().filter(|tool| !tool.is_empty()).map(<[u8]>::to_vec);
        Self { servers, tools: tools.collect() }
    }

    /// True when no name is bridged.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The form in which `name` is one of the set; `None` when it is not. Whole names only, and
    /// every byte counts.
    pub fn form(&self, name: &[u8]) -> Option<AliasForm> {
        if self.tools.contains(name) {
            return Some(AliasForm::Bare);
        }
        self.servers.iter().find_map(|server| self.form_of(server, name))
    }

    fn form_of(&self, server: &[u8], name: &[u8]) -> Option<AliasForm> {
        let tool_behind = |prefix: &[u8], separator: &[u8]| {
            let rest = name.strip_prefix(prefix)?.strip_prefix(server)?;
            self.tools.get(rest.strip_prefix(separator)?)
        };
        if tool_behind(b"mcp__", b"__").is_some() {
            Some(AliasForm::Double)
        } else if tool_behind(b"mcp_", b"_").is_some() {
            Some(AliasForm::Single)
        } else if tool_behind(b"", b"__").is_some() {
            Some(AliasForm::Server)
        } else {
            None
        }
    }

    /// The lane of a call with these names. A name that says its server weighs more than a bare
    /// one; what matches nothing is native.
    pub fn lane<'a>(&self, names: impl IntoIterator<Item = &'a [u8]>) -> Lane {
        let forms = names.into_iter().filter_map(|name| self.form(name));
        forms.max().map_or(Lane::Native, Lane::Bridged)
    }

    /// True when `name` holds the name of an advertised tool and is none of the set: perhaps a
    /// form that is not known here.
    pub fn resembles(&self, name: &[u8]) -> bool {
        self.form(name).is_none()
            && self.tools.iter().any(|tool| memchr::memmem::find(name, tool).is_some())
    }

    /// Every name of the set, for listings: as many as servers times tools times three, and the
    /// tools.
    pub fn names(&self) -> BTreeSet<Vec<u8>> {
        let mut names = self.tools.clone();
        for (server, tool) in
            self.servers.iter().flat_map(|s| self.tools.iter().map(move |tool| (s, tool)))
        {
            names.insert([b"mcp_", server.as_slice(), b"_", tool].concat());
            names.insert([b"mcp__", server.as_slice(), b"__", tool].concat());
            names.insert([server.as_slice(), b"__", tool].concat());
        }
        names
    }
}

impl Lane {
    /// True when the client carries the call out.
    pub fn is_bridged(self) -> bool {
        matches!(self, Self::Bridged(_))
    }

    /// True when only a bare name matched, which a tool of the agent itself may have as well.
    pub fn is_ambiguous(self) -> bool {
        self == Self::Bridged(AliasForm::Bare)
    }

    /// The word in listings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Bridged(_) => "bridged",
        }
    }
}

impl NameSource {
    /// Where a name stands, as a path in the message.
    pub fn path(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::RawTool => "rawInput.tool",
            Self::Meta => "_meta.goose.toolCall.toolName",
            Self::MetaFlat => "_meta.goose.toolName",
        }
    }
}

/// The name of a tool without its server, for display. What is stored keeps its whole name.
pub fn display_name(name: &str) -> &str {
    let behind = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    behind.map(|(_, tool)| tool).filter(|tool| !tool.is_empty()).unwrap_or(name)
}

/// Bridged calls of a turn that wait for their dispatch, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue(VecDeque<ToolCallId>);

impl Queue {
    /// A call was shown. Native ones never wait here.
    pub fn shown(&mut self, call: ToolCallId, lane: Lane) {
        if lane.is_bridged() {
            self.0.push_back(call);
        }
    }

    /// The call that the next dispatch is for.
    pub fn oldest(&self) -> Option<ToolCallId> {
        self.0.front().copied()
    }

    /// True while a call waits.
    pub fn holds(&self, call: ToolCallId) -> bool {
        self.0.contains(&call)
    }

    /// A call was dispatched, or ended without that.
    pub fn remove(&mut self, call: ToolCallId) {
        if let Some(at) = self.0.iter().position(|waiting| *waiting == call) {
            self.0.remove(at);
        }
    }

    /// Forgets what was left of the turn before.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Calls that wait.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when none waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
