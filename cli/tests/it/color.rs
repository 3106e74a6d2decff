//! Colors: never in a pipe, never with `NO_COLOR`, always when asked for.

use crate::program::{Folder, ran};

const ESCAPE: char = '\u{1b}';

#[test]
fn a_pipe_gets_no_colors_and_always_means_always() {
    let folder = Folder::with_recording();
    let has_color = |words: &[&str]| folder.run(words).text().contains(ESCAPE);
    assert!(!has_color(&["verify", "runs"]));
    assert!(!has_color(&["--color", "never", "verify", "runs"]));
    assert!(has_color(&["--color", "always", "verify", "runs"]));
    assert!(has_color(&["diff", "runs/tiny@2", "-p", "cap-2k", "--color=always"]));
    assert!(has_color(&["verify", "--help", "--color=always"]));
    let error = |words: &[&str]| folder.run(words).err;
    assert!(!error(&["verify", "nowhere"]).contains(ESCAPE));
    assert!(error(&["verify", "nowhere", "--color=always"]).contains(ESCAPE));
}

#[test]
fn no_color_does_not_change_a_pipe_and_an_option_outweighs_it() {
    let folder = Folder::with_recording();
    let with_no_color = |words: &[&str]| {
        let mut command = folder.command(words);
        command.env("NO_COLOR", "1");
        ran(command)
    };
    assert!(!with_no_color(&["verify", "runs"]).text().contains(ESCAPE));
    assert!(!with_no_color(&["verify", "nowhere"]).err.contains(ESCAPE));
    assert!(with_no_color(&["--color=always", "verify", "runs"]).text().contains(ESCAPE));
}
