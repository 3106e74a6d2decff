//! Goal: a request finds its conversation by the client's own header, else by how its messages
//! begin, and nothing joins what it does not belong to. Method: short sequences of requests; the
//! lane of each compared with the one that it belongs to.

use ledger::wire::Dialect;

use super::*;

/// Assigns requests one after the other, as the importer does.
#[derive(Default)]
struct Sim {
    lanes: Lanes,
    opened: u32,
    headers: Vec<(String, Vec<u8>)>,
    tools: bool,
}

/// What became of a request: its conversation, and how that was opened if it is new.
#[derive(Debug, PartialEq, Eq)]
enum Went {
    On(u32),
    New(u32, SessionBasis, Option<u32>),
}

impl Sim {
    fn with(&mut self, headers: &[(&str, &str)]) -> &mut Self {
        let field = |(name, value): &(&str, &str)| ((*name).to_owned(), value.as_bytes().to_vec());
        self.headers = headers.iter().map(field).collect();
        self
    }

    fn tools(&mut self, tools: bool) -> &mut Self {
        self.tools = tools;
        self
    }

    fn body(&mut self, dialect: Dialect, body: &str) -> Went {
        let prepared = Prepared::new(dialect, body.as_bytes());
        assert!(prepared.unsplit().is_none(), "{body}");
        let assigned = self.lanes.assign(&prepared, &self.headers);
        assert_eq!(assigned.chains.len(), prepared.items.len());
        let (session, went) = match &assigned.lane {
            Lane::Known(session) => (*session, Went::On(session.number())),
            Lane::New { basis, parent, client_session } => {
                assert_eq!(client_session.is_some(), *basis != SessionBasis::Content);
                let number = self.opened;
                self.opened += 1;
                let parent = parent.map(SessionId::number);
                (SessionId::new(number), Went::New(number, *basis, parent))
            }
        };
        self.lanes.remember(assigned, session);
        went
    }

    /// A request with these messages; a capital first letter makes it a system message.
    fn send(&mut self, messages: &str) -> Went {
        let message = |text: &str| {
            let system = text.starts_with(|first: char| first.is_ascii_uppercase());
            let role = if system { "system" } else { "user" };
            format!(r#"{{"role":"{role}","content":"{text}"}}"#)
        };
        let messages: Vec<_> = messages.split_whitespace().map(message).collect();
        let tools = if self.tools { r#","tools":[{"name":"sh"}]"# } else { "" };
        let body = format!(r#"{{"messages":[{}]{tools}}}"#, messages.join(","));
        self.body(Dialect::OpenAiChat, &body)
    }
}

use SessionBasis::{Content, Header, Side};

#[test]
fn every_header_that_names_a_conversation_keeps_it_together_and_apart() {
    for (header, _) in SESSION_HEADERS {
        let mut sim = Sim::default();
        let shouted = header.to_ascii_uppercase();
        assert_eq!(sim.with(&[(header, "a")]).send("one"), Went::New(0, Header, None), "{header}");
        assert_eq!(sim.with(&[(&shouted, "a")]).send("one two"), Went::On(0), "{header}");
        assert_eq!(sim.with(&[(header, "b")]).send("one"), Went::New(1, Header, None), "{header}");
        assert_eq!(sim.with(&[(header, "a")]).send("one two three"), Went::On(0), "{header}");
        assert_eq!(sim.with(&[]).send("one"), Went::New(2, Content, None), "{header}");
        assert_eq!(sim.with(&[(header, "")]).send("one"), Went::On(2), "{header}");
    }
}

#[test]
fn the_most_specific_header_decides() {
    let mut sim = Sim::default();
    let agent = [("x-claude-code-session-id", "s"), ("x-claude-code-agent-id", "a")];
    assert_eq!(sim.with(&agent[..1]).send("one"), Went::New(0, Header, None));
    assert_eq!(sim.with(&agent).send("one"), Went::New(1, Header, Some(0)));
    assert_eq!(sim.with(&agent[..1]).send("one two"), Went::On(0));
    assert_eq!(sim.with(&agent).send("one two"), Went::On(1));
    let codex = [("session_id", "root"), ("x-session-id", "x"), ("thread-id", "t")];
    assert_eq!(sim.with(&codex).send("one"), Went::New(2, Header, None));
    assert_eq!(sim.with(&codex[2..]).send("one two"), Went::On(2));
}

#[test]
fn a_parent_is_linked_where_it_is_known() {
    for (header, parent) in SESSION_HEADERS {
        let Some(parent) = parent else { continue };
        // Claude Code names the parent by the header that names a main conversation.
        let main =
            if SESSION_HEADERS.iter().any(|(name, _)| *name == parent) { parent } else { header };
        let mut sim = Sim::default();
        let orphan = [(header, "o"), (parent, "p")];
        assert_eq!(sim.with(&orphan).send("early"), Went::New(0, Header, None), "{header}");
        assert_eq!(sim.with(&[(main, "p")]).send("one"), Went::New(1, Header, None), "{header}");
        let child = [(header, "c"), (parent, "p")];
        assert_eq!(sim.with(&child).send("one"), Went::New(2, Header, Some(1)), "{header}");
        assert_eq!(sim.with(&child).send("one two"), Went::On(2), "{header}");
        assert_eq!(sim.with(&orphan).send("early bird"), Went::On(0), "{header}");
    }
}

#[test]
fn requests_without_tools_beside_a_conversation_are_on_its_side() {
    let mut sim = Sim::default();
    sim.with(&[("x-session-id", "s")]);
    assert_eq!(sim.tools(true).send("one"), Went::New(0, Header, None));
    assert_eq!(sim.tools(false).send("title:one"), Went::New(1, Side, Some(0)));
    assert_eq!(sim.tools(true).send("one two"), Went::On(0));
    assert_eq!(sim.tools(false).send("title:two"), Went::New(2, Side, Some(0)));
    // The same once more is a retry, and the history without tools is still the history.
    assert_eq!(sim.tools(false).send("title:two"), Went::On(2));
    assert_eq!(sim.tools(false).send("one two three"), Went::On(0));
}

#[test]
fn a_title_that_comes_first_is_not_the_conversation() {
    let mut sim = Sim::default();
    sim.with(&[("x-session-id", "s")]);
    assert_eq!(sim.tools(false).send("title:one"), Went::New(0, Header, None));
    assert_eq!(sim.tools(true).send("one"), Went::New(1, Header, None));
    assert_eq!(sim.tools(true).send("compacted"), Went::On(1));
    assert_eq!(sim.tools(false).send("title:two"), Went::New(2, Side, Some(1)));
    let child = [("x-session-id", "c"), ("x-parent-session-id", "s")];
    assert_eq!(sim.with(&child).tools(true).send("one"), Went::New(3, Header, Some(1)));
}

#[test]
fn a_rewritten_history_stays_in_its_conversation() {
    let mut sim = Sim::default();
    sim.with(&[("thread-id", "t")]).tools(true);
    assert_eq!(sim.send("System one two three"), Went::New(0, Header, None));
    assert_eq!(sim.send("System summary"), Went::On(0));
    assert_eq!(sim.send("System summary four"), Went::On(0));
    assert_eq!(sim.send("Other"), Went::On(0));
    assert_eq!(sim.send(""), Went::On(0));
}

#[test]
fn without_headers_the_longest_common_beginning_decides() {
    let mut sim = Sim::default();
    assert_eq!(sim.send("System one"), Went::New(0, Content, None));
    assert_eq!(sim.send("System other"), Went::New(1, Content, None));
    assert_eq!(sim.send("System one two"), Went::On(0));
    assert_eq!(sim.send("System other two"), Went::On(1));
    assert_eq!(sim.send("one"), Went::New(2, Content, None));
    assert_eq!(sim.send("Changed one"), Went::New(3, Content, None));
    // A fork joins the conversation that it comes from, and so does what is shorter.
    assert_eq!(sim.send("System one fork"), Went::On(0));
    assert_eq!(sim.send("System one fork on"), Went::On(0));
    assert_eq!(sim.send("System one"), Went::On(0));
    // Without tools too: there is no other sign of a side request.
    assert_eq!(sim.tools(true).send("System one two three"), Went::On(0));
}

#[test]
fn a_conversation_that_grew_out_of_another_is_told_by_the_longest_beginning() {
    let mut sim = Sim::default();
    assert_eq!(sim.with(&[("thread-id", "t")]).send("a b"), Went::New(0, Header, None));
    assert_eq!(sim.with(&[]).send("a b c"), Went::New(1, Content, None));
    assert_eq!(sim.send("a b c d"), Went::On(1));
    assert_eq!(sim.with(&[("thread-id", "t")]).send("a b c d"), Went::On(0));
}

#[test]
fn system_messages_alone_join_nothing() {
    let mut sim = Sim::default();
    assert_eq!(sim.send("System Developer"), Went::New(0, Content, None));
    assert_eq!(sim.send("System Developer"), Went::New(1, Content, None));
    assert_eq!(sim.send("System Developer one"), Went::New(2, Content, None));
    assert_eq!(sim.send("System Developer two"), Went::New(3, Content, None));
    assert_eq!(sim.send(""), Went::New(4, Content, None));
    assert_eq!(sim.send(""), Went::New(5, Content, None));
    // But a user's message before them is a beginning.
    assert_eq!(sim.send("System Developer one System"), Went::On(2));
}

#[test]
fn marks_and_surroundings_make_no_difference_but_the_dialect_does() {
    let mut sim = Sim::default();
    let body = |mark: &str, more: &str| {
        format!(
            r#"{{"messages":[{{"role":"user",
                "content":[{{"type":"text","text":"a"{mark}}}]}}]{more}}}"#
        )
    };
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    let plain = body("", "");
    assert_eq!(sim.body(Dialect::AnthropicMessages, &plain), Went::New(0, Content, None));
    assert_eq!(sim.body(Dialect::AnthropicMessages, &body(mark, "")), Went::On(0));
    assert_eq!(sim.body(Dialect::AnthropicMessages, &body("", r#","model":"other""#)), Went::On(0));
    assert_eq!(sim.body(Dialect::OpenAiChat, &plain), Went::New(1, Content, None));
}

#[test]
fn only_a_list_with_a_tool_in_it_offers_tools() {
    for (tools, side) in [
        (r#""tools":[]"#, true),
        (r#""tools" : [ ]"#, true),
        (r#""tools":null"#, true),
        (r#""tools":[{}]"#, false),
        (r#""tools" : [ {"name":"f"} ]"#, false),
    ] {
        let mut sim = Sim::default();
        sim.with(&[("thread-id", "t")]).tools(true).send("one");
        let went = sim.body(Dialect::OpenAiChat, &format!(r#"{{{tools},"messages":["x"]}}"#));
        let expected = if side { Went::New(1, Side, Some(0)) } else { Went::On(0) };
        assert_eq!(went, expected, "{tools}");
    }
}

#[test]
fn many_requests_on_the_side_cost_what_they_bring() {
    let mut sim = Sim::default();
    sim.with(&[("x-session-id", "s")]).tools(true).send("main");
    for number in 0..1000 {
        let went = sim.tools(false).send(&format!("title:{number}"));
        assert_eq!(went, Went::New(number + 1, Side, Some(0)));
        let went = sim.tools(true).send(&format!("main turn{number}"));
        assert_eq!(went, Went::On(0));
    }
    // A beginning for every message that was new, and nothing else: no list is gone through to
    // find one of them.
    assert_eq!(sim.lanes.beginnings.len(), 1 + 1000 + 1000);
    assert_eq!(sim.lanes.mains.len(), 1);
}
