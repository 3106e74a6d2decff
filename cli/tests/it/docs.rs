//! The reference says what the program says.

use crate::program::Folder;

const CLI: &str = include_str!("../../../docs/reference/cli.md");
const EXIT_CODES: &str = include_str!("../../../docs/reference/exit-codes.md");

#[test]
fn the_reference_is_what_help_markdown_prints() {
    let page = Folder::new().run(&["help-markdown"]).text();
    let differs = page.lines().zip(CLI.lines()).position(|(found, expected)| found != expected);
    assert!(
        page == CLI,
        "docs/reference/cli.md differs from line {:?} on; write it with\n  cargo run -p \
         counterfold-cli -- help-markdown > docs/reference/cli.md",
        differs.map(|line| line + 1)
    );
}

/// The commands as the headings of the reference name them.
fn commands() -> Vec<Vec<&'static str>> {
    let headings = CLI.lines().filter_map(|line| line.strip_prefix("## counterfold"));
    headings.map(|words| words.split_whitespace().collect()).collect()
}

#[test]
fn the_help_of_every_command_stands_in_the_reference() {
    let folder = Folder::new();
    let commands = commands();
    assert!(commands.len() >= 20, "{commands:?}");
    for words in commands {
        let help = folder.run(&[words.as_slice(), &["--help"]].concat());
        assert_eq!(help.code, 0);
        let lines: Vec<_> = help.text().lines().map(|line| line.trim_end().to_owned()).collect();
        let help = lines.join("\n");
        assert!(CLI.contains(help.trim_end()), "{words:?}:\n{help}");
    }
}

#[test]
fn the_help_of_every_command_has_examples_and_exit_codes() {
    for section in CLI.split("\n## ").skip(1) {
        let name = section.lines().next().unwrap();
        assert!(section.contains("\nExamples:\n  counterfold "), "{name}");
        assert!(section.contains("\nExit codes:\n  0  "), "{name}");
    }
}

#[test]
fn the_exit_codes_of_every_command_are_in_their_table() {
    for words in commands().iter().filter(|words| !words.is_empty()) {
        let name = words.join(" ");
        // Groups have no exit codes of their own.
        if !["import", "policy", "rules"].contains(&name.as_str()) {
            assert!(EXIT_CODES.contains(&format!("| `{name}` |")), "{name}");
        }
    }
}
