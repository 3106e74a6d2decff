//! Goal: an import holds one entry at a time, however long the file is. Method: a file of many
//! large entries is imported by a process of its own, whose peak is compared with that of a file
//! of a few.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;

use crate::support::{CHAT, Exchange, Run, har_of, import};

/// Tells the child of a test what to import.
const FILE: &str = "COUNTERFOLD_TEST_IMPORT";
const ENTRY_BYTES: usize = 1 << 20;

/// Writes a HAR of model requests whose bodies and answers share nothing.
fn write(path: &Path, entries: usize) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    file.write_all(br#"{"log":{"entries":["#).unwrap();
    let mut state = 1_u64;
    for entry in 0..entries {
        let mut text = String::with_capacity(ENTRY_BYTES);
        while text.len() < ENTRY_BYTES / 2 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            write!(text, "{:012x} ", state >> 16).unwrap();
        }
        let comma = if entry > 0 { "," } else { "" };
        let answer = format!(
            r#"{{\"output\":[{{\"type\":\"message\",\"content\":[{{\"type\":\"output_text\",
            \"text\":\"x{text}\"}}]}}]}}"#
        );
        write!(
            file,
            r#"{comma}{{"request":{{"method":"POST","url":"/responses",
                "postData":{{"text":"{{\"input\":\"{text}\"}}"}}}},
                "response":{{"status":200,"content":{{"text":"{}"}}}}}}"#,
            answer.replace('\n', " ")
        )
        .unwrap();
    }
    file.write_all(b"]}}").unwrap();
    file.flush().unwrap();
}

/// The highest resident size of this process so far, in bytes.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// Imports a file in a process that runs one test alone; its peak comes back.
fn peak_of(file: &Path) -> u64 {
    let test = "memory::a_long_file_needs_no_more_memory_than_a_short_one";
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(FILE, file)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&child.stdout).into_owned();
    let peak = told.lines().find_map(|line| line.split_once("peak_bytes=")?.1.parse().ok());
    peak.unwrap_or_else(|| panic!("{told}{}", String::from_utf8_lossy(&child.stderr)))
}

#[test]
#[cfg(target_os = "linux")]
fn a_long_file_needs_no_more_memory_than_a_short_one() {
    if let Some(file) = std::env::var_os(FILE) {
        let folder = tempfile::tempdir().unwrap();
        let report = import(Path::new(&file), folder.path()).unwrap();
        assert!(report.complete && report.requests > 0);
        println!("\npeak_bytes={}", peak_bytes().unwrap());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let peak = |entries: usize| {
        let file = folder.path().join(format!("{entries}.har"));
        write(&file, entries);
        peak_of(&file)
    };
    let (short, long) = (peak(4), peak(64));
    let grown = long.saturating_sub(short);
    // 60 MB more in the file; what may grow is the index of parts and texts.
    assert!(grown < 8 << 20, "{short} bytes for 4 entries, {long} for 64");
}

#[test]
#[cfg(target_os = "linux")]
fn a_long_string_in_a_body_comes_back_in_a_few_times_its_own_size() {
    // 64 MB, so that the test is quick; 200 MB take 0.7 GB and the same way.
    let line = r"a line of the output of a tool, \u00e9\n";
    let text = line.repeat((64 << 20) / line.len());
    let body = format!(r#"{{"messages":[{{"role":"user","content":"{text}"}}]}}"#);
    let har = har_of(&[Exchange::post(CHAT, body.clone())]);
    Run::of_file(har.as_bytes()).assert_exact(0, body.as_bytes(), true);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.har");
    std::fs::write(&file, &har).unwrap();
    let peak = peak_of(&file);
    assert!(peak < 5 * har.len() as u64, "{peak} bytes");
}
