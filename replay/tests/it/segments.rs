//! Goal: sizes and digests of a request are all derived from one string of bytes. Method: parts of
//! recorded bodies are added up and digested here, by hand.

use ledger::history::ListWalker;
use ledger::wire::PartKind;
use sha2::{Digest as _, Sha256};

use crate::support::{bodies, import};

#[test]
fn m50_segments_of_a_request_add_up_to_its_bytes_and_their_digests_to_its_digests() {
    for case in ["codex-std", "opencode-anthropic-std", "pi-gemini-std", "qwen-code-std"] {
        let imported = import(case);
        let history = imported.recording.history();
        let mut walker = ListWalker::new(history);
        let bodies = bodies(case);
        for (request, body) in history.requests().iter().zip(&bodies) {
            let lists = walker.lists(request.captured.request).unwrap().clone();
            let gaps = lists.items.len().saturating_sub(1) as u64;
            let marks: u64 = request.overlays().iter().map(|mark| mark.bytes.len()).sum();
            let all = || lists.head.iter().chain(&lists.items).chain(&lists.tail);
            let parts: u64 = all().map(|part| history.part(*part).bytes).sum();
            let bytes = parts + gaps * request.captured.separator.len() + marks;
            assert_eq!(bytes, request.captured.body_bytes, "{case}");
            let digest = <[u8; 32]>::from(Sha256::digest(body));
            assert_eq!(digest, request.captured.body_digest, "{case}");
            let component = |kinds: &[PartKind]| -> [u8; 32] {
                let of = all().map(|part| history.part(*part));
                let of = of.filter(|part| kinds.contains(&history.skeleton(part).kind));
                let mut hasher = Sha256::new();
                of.for_each(|part| hasher.update(part.digest));
                hasher.finalize().into()
            };
            let expected = [
                component(&[PartKind::System]),
                component(&[PartKind::Tools]),
                component(&[PartKind::Options]),
                component(&[PartKind::Item, PartKind::Verbatim]),
            ];
            assert_eq!(request.captured.component_digests, expected, "{case}");
        }
    }
}
