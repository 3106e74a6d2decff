//! A reader that goes away early.

use std::io::Read as _;
use std::process::Stdio;

use crate::har;
use crate::program::Folder;

#[test]
fn a_closed_pipe_is_no_failure() {
    let folder = Folder::new();
    folder.write("large.har", har::large().as_bytes());
    folder.run(&["import", "har", "large.har", "--into", "runs"]);
    let mut command = folder.command(&["cat", "runs/large@1"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut first = [0];
    out.read_exact(&mut first).unwrap();
    drop(out);
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    let status = child.wait().unwrap();
    assert_eq!((first, status.code(), err.as_str()), ([b'{'], Some(0), ""));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let folder = Folder::with_recording();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = folder.command(&["stats", "runs"]);
    let output = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let output = output.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(err.starts_with("error: cannot write to standard output\ncaused by: "), "{err}");
}
