//! Goal: conversations are recorded as the lanes say, with what the client calls them, and many of
//! them cost what they bring. Method: small runs with headers, read back; the log of a run twice
//! as long compared in size.

use ledger::event::SessionBasis;
use ledger::id::SessionId;

use crate::support::{Exchange, Run, files};

fn message(text: &str) -> String {
    format!(r#"{{"role":"user","content":"{text}"}}"#)
}

#[test]
fn conversations_are_recorded_with_their_names_and_parents() {
    let run = Run::of(&[
        Exchange::chat(&[&message("go")]).header("thread-id", "root"),
        Exchange::chat(&[&message("sub")])
            .header("Thread-Id", "child")
            .header("X-Codex-Parent-Thread-Id", "root"),
        Exchange::chat(&[&message("go"), &message("on")]).header("thread-id", "root"),
        Exchange::chat(&[&message("go")]),
    ]);
    assert_eq!(run.lanes(), [vec![1, 3], vec![2], vec![4]]);
    let told: Vec<_> = run
        .history
        .sessions()
        .iter()
        .map(|session| {
            let opened = &session.opened;
            let name = opened.client_session.as_ref().map(|name| run.text(name));
            (opened.basis, opened.parent.map(SessionId::number), name)
        })
        .collect();
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(
        told,
        [
            (SessionBasis::Header, None, name("root")),
            (SessionBasis::Header, Some(0), name("child")),
            (SessionBasis::Content, None, None),
        ]
    );
}

#[test]
fn a_part_that_two_conversations_share_is_stored_once() {
    let text = message(&"the same long text ".repeat(100));
    let one = Run::of(&[Exchange::chat(&[&text])]);
    let two = Run::of(&[
        Exchange::chat(&[&text]).header("thread-id", "a"),
        Exchange::chat(&[&text]).header("thread-id", "b"),
    ]);
    assert_eq!(two.lanes(), [vec![1], vec![2]]);
    assert_eq!(two.history.parts().len(), one.history.parts().len());
    assert_eq!(two.store.len(), one.store.len());
}

#[test]
fn twice_as_many_requests_on_the_side_make_twice_as_long_a_log() {
    let log_bytes = |count: usize| {
        let mut exchanges = vec![Exchange::chat(&[&message("go")]).header("x-session-id", "s")];
        for number in 0..count {
            let title = Exchange::chat(&[&message(&format!("title {number:05}"))]);
            exchanges.push(title.header("x-session-id", &format!("s{number:05}")));
        }
        let run = Run::of(&exchanges);
        assert_eq!(run.history.sessions().len(), count + 1);
        let log = files(&run.recording.join("log"));
        log.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    };
    let (some, twice) = (log_bytes(500), log_bytes(1000));
    assert!(twice * 100 < some * 205, "{some} bytes, then {twice}");
}
