//! Goal: no byte of a secret reaches the disk. Method: dummy keys in texts that are stored raw,
//! then a search through every file; a word that is no secret shows that the search works.

use artifacts::redact::Redactor;
use artifacts::{Source as _, Store};

use crate::support::{IDENT, files, folder, reader};

fn dummy(prefix: &str, length: usize) -> String {
    prefix.chars().chain("q7W8e9R0t1Y2u3I4o5P6".chars().cycle().take(length)).collect()
}

#[test]
fn m13_no_planted_key_is_found_in_any_file() {
    let keys = [
        dummy("sk-ant-api03-", 90),
        dummy("ghp_", 36),
        dummy("AIza", 35),
        dummy("", 64),
        [dummy("eyJ", 20), dummy("eyJ", 30), dummy("", 43)].join("."),
    ];
    let folder = folder();
    let mut store = Store::create(folder.path(), IDENT).expect("created");
    let redactor = Redactor::core();
    let mut references = Vec::new();
    for (number, key) in keys.iter().enumerate() {
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----");
        let text = if number == 3 { pem } else { format!("canary {key} end") };
        references.push(store.put(&redactor.redact(text.as_bytes())).expect("stored"));
        store.sync().expect("durable");
        let header = redactor.redact_header("x-api-key", key.as_bytes());
        references.push(store.put(&header).expect("stored"));
        let url = format!("https://host/?key={key}");
        references.push(store.put(&redactor.redact_url(url.as_bytes())).expect("stored"));
    }
    store.seal().expect("sealed");

    let reader = reader(folder.path());
    let mut places: Vec<Vec<u8>> =
        files(folder.path()).into_iter().map(|(_, bytes)| bytes).collect();
    places.extend(
        references.iter().map(|artifact| reader.read(artifact).expect("readable").to_vec()),
    );
    let found = |needle: &[u8]| {
        places.iter().any(|place| place.windows(needle.len()).any(|window| window == needle))
    };
    assert!(found(b"canary "), "the search finds what is there");
    for key in &keys {
        // Any eight bytes of the random part give too much away.
        for piece in key.as_bytes().windows(8).skip(13) {
            assert!(!found(piece));
        }
    }
}
