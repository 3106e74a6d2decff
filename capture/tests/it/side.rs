//! Goal: what a client wrote beside the wire is joined to the right call or counted, in every
//! format, and no archive stops an import, loses what was recorded or leaks a secret. Method: one
//! small conversation with sessions made by hand as folders and archives; every cut of one.

use std::fs;
use std::path::{Path, PathBuf};

use artifacts::Source as _;
use artifacts::redact::Redactor;
use capture::import::{ImportOptions, import_har};
use capture::side::{SideNoteKind, SideReport};
use ledger::event::{Dropped, OutputFound};
use ledger::fs::LogReader;
use ledger::history::History;
use tempfile::TempDir;

use crate::support::{CHAT, Exchange, files, har_of, quoted};

/// What the client sent for the three calls.
const SENT: [&str; 3] = [
    "the first words of it ... cut",
    "see /srv/x/tool-output/tool_77.log for the whole",
    "whole already",
];

const IDS: [&str; 3] = ["call_a", "call_b", "call_c"];

fn conversation(words: &str, ids: [&str; 3]) -> Vec<Exchange> {
    let call = |id: &&str| {
        format!(
            r#"{{"id":"{id}","type":"function","function":{{"name":"sh","arguments":"{{}}"}}}}"#
        )
    };
    let calls: Vec<_> = ids.iter().map(call).collect();
    let asked =
        format!(r#"{{"role":"assistant","content":null,"tool_calls":[{}]}}"#, calls.join(","));
    let user: &str = &format!(r#"{{"role":"user","content":"{words}"}}"#);
    let answer = format!(r#"{{"choices":[{{"message":{asked},"finish_reason":"stop"}}]}}"#);
    let result = |(id, text): (&&str, &&str)| {
        format!(r#"{{"role":"tool","tool_call_id":"{id}","content":{}}}"#, quoted(text))
    };
    let results: Vec<_> = ids.iter().zip(&SENT).map(result).collect();
    let second: [&str; 5] = [user, &asked, &results[0], &results[1], &results[2]];
    vec![
        Exchange::chat(&[user]).answer(answer),
        Exchange::post(CHAT, format!(r#"{{"model":"m","messages":[{}]}}"#, second.join(","))),
    ]
}

/// A recording that was made with a session.
struct Joined {
    _folder: TempDir,
    recording: PathBuf,
    history: History,
    report: SideReport,
}

impl Joined {
    fn of(session: &[(&str, &str)]) -> Self {
        Self::with(&conversation("go", IDS), &|folder| {
            let path = folder.join("session");
            for (name, text) in session {
                let file = path.join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            path
        })
    }

    fn with(exchanges: &[Exchange], session: &dyn Fn(&Path) -> PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.har");
        fs::write(&file, har_of(exchanges)).unwrap();
        let session = session(folder.path());
        let mut options = ImportOptions {
            name: None,
            session: Some(&session),
            recorder: "test",
            now_unix_ns: 1,
            identity: None,
            redactor: Redactor::core(),
            progress: &mut |_entries, _bytes| {},
        };
        let report = import_har(&file, &folder.path().join("out"), &mut options).unwrap();
        assert!(report.complete);
        let history = ledger::fs::history(&mut LogReader::open(&report.recording).unwrap());
        let report_of_side = report.side.clone().unwrap();
        assert_eq!(report_of_side.path, session);
        let history = history.unwrap();
        assert_eq!(history.requests().len(), exchanges.len());
        Self {
            _folder: folder,
            recording: report.recording.clone(),
            history,
            report: report_of_side,
        }
    }

    /// What was found of a call: the format and its pieces.
    fn found(&self, call: usize) -> Vec<(String, Vec<String>)> {
        let store = artifacts::StoreReader::open(&self.recording.join("art")).unwrap();
        let read = |found: &OutputFound| {
            let whole = found.dropped == Dropped::Bytes(0);
            assert_eq!(whole, found.pieces.len() == 1);
            let text = |piece: &ledger::event::Returned| {
                let bytes = store.read(piece.text.artifact().unwrap()).unwrap();
                String::from_utf8(bytes.to_vec()).unwrap()
            };
            (found.source.clone(), found.pieces.iter().map(text).collect())
        };
        self.history.calls()[call].found.iter().map(read).collect()
    }

    fn notes(&self) -> Vec<(SideNoteKind, u64)> {
        self.report.notes().iter().map(|note| (note.kind, note.count)).collect()
    }
}

fn whole(source: &str, text: &str) -> Vec<(String, Vec<String>)> {
    vec![(source.to_owned(), vec![text.to_owned()])]
}

/// A file of each format with one output of `call_a`: the format, its path, its text.
fn formats(json: &str) -> [(&'static str, &'static str, String); 8] {
    [
        (
            "codex-rollout",
            "h/.codex/sessions/2026/rollout-1.jsonl",
            format!(
                "{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"s\"}}}}\r\n\n\
                 {{\"type\":\"event_msg\",\"payload\":{{\"type\":\"item_completed\",\"item\":\
                 {{\"type\":\"CommandExecution\",\"id\":\"call_a\",\"aggregated_output\":{json}}}}}}}"
            ),
        ),
        (
            "codex-rollout",
            "sessions/rollout-old.jsonl",
            format!(
                "{{\"type\":\"event_msg\",\"payload\":{{\"type\":\"exec_command_end\",\
                 \"call_id\":\"call_a\",\"aggregated_output\":{json}}}}}\n"
            ),
        ),
        (
            "acp",
            "acp.jsonl",
            format!(
                "{{\"t\":1,\"msg\":{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":\
                 {{\"sessionId\":\"s\",\"update\":{{\"toolCallId\":\"call_a\",\"rawOutput\":\
                 {{\"aggregated_output\":{json}}}}}}}}}}}\n"
            ),
        ),
        (
            "mini-trajectory",
            "x.traj.json",
            format!(
                "{{\"info\":{{}},\"messages\":[{{\"role\":\"user\",\"content\":\"x\"}},\
                 {{\"role\":\"tool\",\"tool_call_id\":\"call_a\",\"content\":\"y\",\"extra\":\
                 {{\"raw_output\":{json}}}}}]}}"
            ),
        ),
        (
            "pi-session",
            "s.jsonl",
            format!(
                "{{\"type\":\"session\",\"version\":3,\"id\":\"i\"}}\n{{\"type\":\"message\",\
                 \"message\":{{\"role\":\"toolResult\",\"toolCallId\":\"call_a\",\"content\":\
                 [{{\"type\":\"text\",\"text\":{json}}}]}}}}\n"
            ),
        ),
        (
            "gemini-chat",
            "p/chats/session-1.jsonl",
            format!(
                "{{\"sessionId\":\"i\"}}\n{{\"type\":\"gemini\",\"toolCalls\":[{{\"id\":\
                 \"sh__call_a\",\"result\":[{{\"functionResponse\":{{\"response\":{{\"output\":\
                 {json}}}}}}}]}}]}}\n"
            ),
        ),
        (
            "gemini-spill",
            "p/tool-outputs/session-1/sh_sh__call_a_x1y2.txt",
            format!("{{\n  \"output\": {json}\n}}"),
        ),
        (
            "cline-messages",
            "1.messages.json",
            format!(
                "{{\"messages\":[{{\"role\":\"user\",\"content\":\"x\"}},{{\"content\":[{{\"type\":\
                 \"tool_result\",\"tool_use_id\":\"call_a\",\"content\":[{{\"query\":\"q\",\
                 \"result\":{json},\"success\":true}}]}}]}}]}}"
            ),
        ),
    ]
}

#[test]
fn t41_every_format_gives_the_output_of_its_call_and_makes_no_second_call() {
    let text = "the first words of it \u{e9} and \"all\" the rest\n";
    for (format, path, file) in formats(&quoted(text)) {
        let joined = Joined::of(&[(path, &file)]);
        assert_eq!(joined.found(0), whole(format, text), "{path}");
        assert_eq!((joined.found(1), joined.found(2)), (Vec::new(), Vec::new()), "{path}");
        assert_eq!(joined.notes(), [], "{path}");
        let report = &joined.report;
        assert_eq!((report.calls, report.whole, report.ends), (3, 1, 0), "{path}");
        assert_eq!(joined.history.calls().len(), 3, "{path}");
        assert_eq!(report.formats.keys().copied().collect::<Vec<_>>(), [format]);
        assert_eq!(report.stopped, None);
        // What was sent is still what was sent.
        assert_eq!(joined.history.calls()[0].dropped, Dropped::Unknown);
    }
}

#[test]
fn a_spilled_file_is_found_by_the_path_in_the_sent_text_and_others_are_left_alone() {
    let joined = Joined::of(&[
        ("home/x/tool-output/tool_77.log", "for the whole: everything"),
        ("home/other/tool_77.log", "another folder"),
        ("home/x/tool-output/tool_78.log", "another name"),
    ]);
    assert_eq!(joined.found(1), whole("spill", "for the whole: everything"));
    assert_eq!((joined.found(0), joined.found(2)), (Vec::new(), Vec::new()));
    assert_eq!(joined.report.formats.into_iter().collect::<Vec<_>>(), [("spill", 1)]);
    assert_eq!(joined.report.files, 3);
}

#[test]
fn what_an_agent_cut_itself_is_two_ends_and_not_a_whole() {
    let (head, tail) = ("the first words of it ".repeat(9), "and the last words ".repeat(11));
    let cut = "\n... command output truncated for persistence ...\n";
    let tail = &tail[..head.len()];
    let line = |output: &str| {
        format!(
            "{{\"type\":\"event_msg\",\"payload\":{{\"type\":\"item_completed\",\"item\":{{\"type\":\
             \"CommandExecution\",\"id\":\"call_a\",\"aggregated_output\":{}}}}}}}\n",
            quoted(output)
        )
    };
    let path = "sessions/rollout-1.jsonl";
    let joined = Joined::of(&[(path, &line(&[&head, cut, tail].concat()))]);
    let ends = vec![head.clone(), tail.to_owned()];
    assert_eq!(joined.found(0), [("codex-rollout".to_owned(), ends)]);
    assert_eq!((joined.report.whole, joined.report.ends), (0, 1));
    // The same words elsewhere are the command's own.
    let own = [&head, cut, tail, "more of it that was printed"].concat();
    let joined = Joined::of(&[(path, &line(&own))]);
    assert_eq!(joined.found(0), whole("codex-rollout", &own));
}

#[test]
fn t40_what_cannot_be_joined_is_counted() {
    let line = |id: &str, output: &str| {
        format!(
            "{{\"messages\":[{{\"tool_call_id\":\"{id}\",\"extra\":{{\"raw_output\":\"{output}\"}}}}]}}"
        )
    };
    let joined = Joined::of(&[
        ("0.traj.json", "{\"messages\": [tr"),
        ("1.traj.json", &line("call_z", "of no call at all")),
        ("2.traj.json", &line("call_a", "nothing like what was sent")),
        ("3.traj.json", &line("call_a", "nothing like what was sent")),
        ("4/tool-outputs/sh_nothing_here.txt", "of nobody"),
        ("5/sessions/rollout-1.jsonl", "{\"type\":\"event_msg\",\"payload\":{}}\n{broken\n"),
    ]);
    assert_eq!(
        joined.notes(),
        [
            (SideNoteKind::Unparsed, 3),
            (SideNoteKind::NoSuchCall, 1),
            (SideNoteKind::NotReferred, 1),
            (SideNoteKind::Unlike, 1),
            (SideNoteKind::Again, 1),
        ]
    );
    assert_eq!(joined.found(0), whole("mini-trajectory", "nothing like what was sent"));
    // Two conversations whose provider hands out the same ids.
    let twice = [conversation("go", IDS), conversation("come back", IDS)].concat();
    let twice = Joined::with(&twice, &|folder| {
        fs::create_dir(folder.join("s")).unwrap();
        fs::write(folder.join("s/s.traj.json"), line("call_a", "which one?")).unwrap();
        folder.join("s")
    });
    assert_eq!(twice.notes(), [(SideNoteKind::SeveralCalls, 1)]);
}

/// A small archive with a name that needs a record of its own.
fn archive() -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut add = |name: &str, text: &str| {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, text.as_bytes()).unwrap();
    };
    add(&format!("{}/tool-output/tool_77.log", "deep/".repeat(30)), "for the whole: all of it");
    add(
        "b.traj.json",
        "{\"messages\":[{\"tool_call_id\":\"call_a\",\"extra\":{\"raw_output\":\"the first words \
         of it and more\"}}]}",
    );
    builder.into_inner().unwrap()
}

#[test]
fn an_archive_is_read_plain_and_compressed() {
    let packed = zstd::encode_all(archive().as_slice(), 3).unwrap();
    for bytes in [archive(), packed] {
        let joined = Joined::with(&conversation("go", IDS), &|folder| {
            let path = folder.join("s.tar");
            fs::write(&path, &bytes).unwrap();
            path
        });
        assert_eq!(joined.found(0), whole("mini-trajectory", "the first words of it and more"));
        assert_eq!(joined.found(1), whole("spill", "for the whole: all of it"));
        assert_eq!(joined.report.stopped, None);
    }
}

#[test]
fn no_cut_and_no_flipped_byte_of_an_archive_stops_the_import() {
    let whole = archive();
    let mut stopped = 0;
    let mut run = |bytes: &[u8]| {
        let joined = Joined::with(&conversation("go", IDS), &|folder| {
            let path = folder.join("s.tar");
            fs::write(&path, bytes).unwrap();
            path
        });
        stopped += u64::from(joined.report.stopped.is_some());
        assert!(joined.report.whole <= 2);
    };
    for cut in (0..whole.len()).step_by(173) {
        run(&whole[..cut]);
    }
    for at in (0..whole.len()).step_by(211) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x41;
        run(&flipped);
    }
    assert!(stopped > 10, "{stopped}");
    let missing = Joined::with(&conversation("go", IDS), &|folder| folder.join("gone"));
    assert!(missing.report.stopped.unwrap().starts_with("session does not open"));
}

#[test]
fn no_secret_of_a_session_gets_into_the_recording() {
    let secret = "sk-ant-api03-DummyDummyDummy-leaked-001";
    let text = format!("for the whole: key={secret} and more");
    let joined = Joined::of(&[("x/tool-output/tool_77.log", &text)]);
    let found = joined.found(1);
    assert!(found[0].1[0].starts_with("for the whole: key="));
    assert!(!found[0].1[0].contains("leaked"));
    assert_eq!(joined.history.calls()[1].found[0].redactions, 1);
    for (path, bytes) in files(&joined.recording) {
        let leak = bytes.windows(6).any(|window| window == b"leaked");
        assert!(!leak, "{}", path.display());
    }
}
