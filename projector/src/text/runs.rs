//! Runs of equal lines, written once with their number. Lines are ended by LF.

use alloc::string::{String, ToString as _};

/// The text with runs of lines written once, each followed by the marker, whose `{n}` is the
/// number of further lines. A run stays where that would not be shorter, in UTF-16 units; the
/// last run is held against its further lines only. Roo Code's rule.
pub(super) fn squeeze(text: &str, marker: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n').peekable();
    let mut run: Option<(&str, u64)> = None;
    while let Some(line) = lines.next() {
        run = match run {
            Some((first, further)) if first == line => Some((first, further + 1)),
            Some((first, further)) => {
                flush(&mut out, first, further, further + 1, marker);
                Some((line, 0))
            }
            None => Some((line, 0)),
        };
        if let (Some((first, further)), None) = (run, lines.peek()) {
            flush(&mut out, first, further, further, marker);
        }
    }
    out
}

fn flush(out: &mut String, line: &str, further: u64, against: u64, marker: &str) {
    let units = |text: &str| text.encode_utf16().count() as u64;
    let marker = marker.replace("{n}", &further.to_string());
    out.push_str(line);
    if further > 0 && units(&marker) < units(line) * against {
        out.push_str(&marker);
        return;
    }
    for _ in 0..further {
        out.push_str(line);
    }
}

#[cfg(test)]
mod tests {
    use super::squeeze;

    #[test]
    fn runs_are_written_once_where_that_is_shorter() {
        let long = "0123456789\n";
        let marker = "<{n}>\n";
        for (text, shown) in [
            ("", alloc::string::String::new()),
            ("a", "a".into()),
            ("a\na\nb\n", "a\na\nb\n".into()),
            (&long.repeat(3), alloc::format!("{long}<2>\n")),
            (&alloc::format!("{}x", long.repeat(2)), alloc::format!("{long}<1>\nx")),
            (&alloc::format!("{long}0123456789"), alloc::format!("{long}0123456789")),
        ] {
            let shown: alloc::string::String = shown;
            assert_eq!(squeeze(text, marker), shown);
        }
    }
}
