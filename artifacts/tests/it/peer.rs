//! Goal: the redactor holds up on the inputs on which Apache Maka's was recorded. Its marker and
//! its rules are its own; what is asked for is that once is enough, and that no word is taken for
//! a secret that the peer does not take for one.

use artifacts::redact::Redactor;
use serde_json::Value;

const VECTORS: &str = include_str!("../../../fixtures/vectors/source-vectors.json");

#[test]
fn m15_redacting_is_idempotent_and_takes_no_word_for_a_secret() {
    let redactor = Redactor::core();
    let all: Value = serde_json::from_str(VECTORS).unwrap();
    let mut kept = 0;
    for case in all["vectors"]["redactSecrets"].as_array().unwrap() {
        let (given, wanted) = (case["input"].as_str().unwrap(), case["out"].as_str().unwrap());
        let once = redactor.redact(given.as_bytes()).into_owned();
        let again = redactor.redact(once.as_bytes());
        assert_eq!(again.as_bytes(), once.as_bytes(), "{given}");
        // The peer keeps what looks like a signed token or the head of a key. So may we.
        let shaped = given.starts_with("-----BEGIN") || given.starts_with("eyJ");
        if wanted == given && !shaped {
            assert!(!once.is_changed(), "{given}");
            kept += 1;
        }
    }
    assert_eq!(kept, 4);
}
