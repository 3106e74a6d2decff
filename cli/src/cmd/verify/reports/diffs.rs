//! One file per request that failed: what differs in it.

use std::fs;
use std::path::Path;

use super::super::Checked;
use crate::error::{Failure, file};
use crate::output;

/// Writes the files into a folder, which is made if it is not there. Files of earlier runs stay.
pub(super) fn write(folder: &Path, checked: &Checked) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| file("make", folder, &error))?;
    for (index, verified) in checked.all.iter().enumerate() {
        let mut stem = stem(&verified.label);
        let twice = |other: &super::super::Verified| self::stem(&other.label) == stem;
        if checked.all.iter().filter(|other| twice(other)).count() > 1 {
            stem = format!("{stem}.{}", index + 1);
        }
        for detail in &verified.details {
            let name = format!("{stem}@{}.diff", detail.request);
            let head = format!("{:12}{}\n", "recording:", crate::text::one_line(&verified.label));
            output::write(&folder.join(name), [&head, detail.text.as_str()].concat().as_bytes())?;
        }
    }
    Ok(())
}

/// A label as the name of a file, on every system.
fn stem(label: &str) -> String {
    const CHARS_MAX: usize = 100;
    let usable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let stem: String =
        label.chars().take(CHARS_MAX).map(|c| if usable(c) { c } else { '_' }).collect();
    stem.trim_start_matches('.').to_owned()
}
