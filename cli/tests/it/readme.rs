//! Goal: the outputs that README.md shows are what the program prints. Method: every `console`
//! block is run in the root of the repository and compared.

use std::path::Path;
use std::process::Command;

#[test]
fn the_outputs_in_the_readme_are_real() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let mut blocks = 0;
    for block in readme.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        let (command, shown) = block.split_once('\n').unwrap();
        let words = command.strip_prefix("$ counterfold ").unwrap().split(' ');
        let output = Command::new(env!("CARGO_BIN_EXE_counterfold"))
            .args(words)
            .env("COLUMNS", "110")
            .current_dir(root)
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(without_heads(&printed), without_heads(shown), "{command}");
        blocks += 1;
    }
    assert_eq!(blocks, 2);
}

/// Recordings have random ids, and with them the heads of their logs: `12:0123456789ab`.
fn without_heads(text: &str) -> String {
    let is_head = |word: &str| {
        word.split_once(':').is_some_and(|(seq, chain)| {
            seq.parse::<u64>().is_ok()
                && chain.len() == 12
                && u64::from_str_radix(chain, 16).is_ok()
        })
    };
    let line = |line: &str| {
        let words = line.split(' ').map(|word| if is_head(word) { "<head>" } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
