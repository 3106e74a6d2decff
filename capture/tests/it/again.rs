//! Goal: importing is idempotent and never touches what is there. Method: the same file twice,
//! another file of the same name, and folders that are no recordings; all bytes compared.

use std::fs;

use capture::import::{FileError, ImportError, NameTaken};

use crate::support::{Exchange, files, har_of, import, recorded, told};

fn file_of(message: &str) -> String {
    har_of(&[Exchange::chat(&[&format!(r#"{{"role":"user","content":"{message}"}}"#)])])
}

#[test]
fn the_same_file_again_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.har");
    fs::write(&file, recorded("codex-std")).unwrap();
    let out = folder.path().join("out");
    let first = import(&file, &out).unwrap();
    let before = files(&out);
    let second = import(&file, &out).unwrap();
    assert!(!first.skipped && second.skipped && second.complete);
    assert_eq!((second.requests, &second.recording), (first.requests, &first.recording));
    assert_eq!(files(&out), before);
    // The same content under another coding is the same source.
    fs::remove_file(&file).unwrap();
    let packed = folder.path().join("run.har.zst");
    fs::write(&packed, zstd::encode_all(recorded("codex-std").as_slice(), 1).unwrap()).unwrap();
    assert!(import(&packed, &out).unwrap().skipped);
    assert_eq!(files(&out), before);
}

#[test]
fn another_file_of_the_same_name_is_refused_and_nothing_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.har");
    let out = folder.path().join("out");
    fs::write(&file, file_of("one")).unwrap();
    import(&file, &out).unwrap();
    let before = files(&out);
    let whole = file_of("two");
    for other in [whole.as_str(), &whole[..whole.len() - 1], "", "text", &(file_of("one") + " ")] {
        fs::write(&file, other).unwrap();
        let error = import(&file, &out).unwrap_err();
        assert!(
            matches!(error, ImportError::File(FileError::Taken(NameTaken::Other { .. }))),
            "{}",
            told(&error)
        );
        assert_eq!(files(&out), before);
    }
}

#[test]
fn a_recording_of_a_cut_file_is_not_taken_for_the_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.har");
    let out = folder.path().join("out");
    let whole = file_of("one");
    fs::write(&file, &whole[..whole.len() - 2]).unwrap();
    assert!(matches!(import(&file, &out), Err(ImportError::Har { kept: Some(_), .. })));
    let before = files(&out);
    for bytes in [&whole[..whole.len() - 2], whole.as_str()] {
        fs::write(&file, bytes).unwrap();
        assert!(matches!(
            import(&file, &out),
            Err(ImportError::File(FileError::Taken(NameTaken::Incomplete { .. })))
        ));
        assert_eq!(files(&out), before);
    }
}

#[test]
fn a_folder_or_file_that_is_no_recording_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.har");
    fs::write(&file, file_of("one")).unwrap();
    let out = folder.path().join("out");
    fs::create_dir_all(out.join("run")).unwrap();
    fs::write(out.join("run/notes"), "mine").unwrap();
    let before = files(&out);
    assert!(matches!(
        import(&file, &out),
        Err(ImportError::File(FileError::Taken(NameTaken::Other { .. })))
    ));
    assert_eq!(files(&out), before);
    fs::remove_dir_all(&out).unwrap();
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("run"), "mine").unwrap();
    assert!(import(&file, &out).is_err());
    assert_eq!(fs::read(out.join("run")).unwrap(), b"mine");
}

#[test]
fn a_damaged_recording_is_named_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.har");
    fs::write(&file, file_of("one")).unwrap();
    let out = folder.path().join("out");
    import(&file, &out).unwrap();
    let (log, mut bytes) =
        files(&out).into_iter().find(|(path, _)| path.extension() == Some("seg".as_ref())).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&log, bytes).unwrap();
    let before = files(&out);
    let error = import(&file, &out).unwrap_err();
    assert!(
        matches!(error, ImportError::File(FileError::Taken(NameTaken::Existing { .. }))),
        "{}",
        told(&error)
    );
    assert_eq!(files(&out), before);
}

#[test]
fn two_imports_with_the_same_identity_give_the_same_bytes() {
    let secret = file_of("sk-ant-api03-DummyDummyDummy-0001 \\n sk-ant-api03-DummyDummyDummy-0002");
    for har in [recorded("codex-faults"), recorded("gemini-cli-std"), secret.into_bytes()] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.har");
        fs::write(&file, har).unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        import(&file, &one).unwrap();
        import(&file, &two).unwrap();
        let relative = |out: &std::path::Path| -> Vec<_> {
            let all = files(out).into_iter();
            // The lock tells people which process holds it.
            all.map(|(path, bytes)| (path.strip_prefix(out).unwrap().to_path_buf(), bytes))
                .filter(|(path, _)| !path.ends_with("LOCK"))
                .collect()
        };
        assert!(relative(&one).len() >= 4);
        assert!(relative(&one) == relative(&two));
    }
}

#[test]
fn a_file_whose_name_gives_no_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in [".har", ".har.zst", ".json"] {
        let file = folder.path().join(name);
        fs::write(&file, file_of("one")).unwrap();
        let error = import(&file, &folder.path().join("out")).unwrap_err();
        assert!(
            matches!(error, ImportError::File(FileError::NoName { .. })),
            "{name}: {}",
            told(&error)
        );
    }
    let missing = import(&folder.path().join("none.har"), folder.path()).unwrap_err();
    assert!(matches!(missing, ImportError::File(FileError::Open { .. })));
    assert!(!folder.path().join("none").exists());
}
