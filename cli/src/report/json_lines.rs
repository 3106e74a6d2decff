//! JSON over many lines, for diffs: every token keeps its bytes, only white space between them
//! changes.
//!
//! A parser and printer would hide what a diff is for: the order of members, the spelling of
//! numbers, escapes. A string is also broken behind each escaped line feed, so that texts read
//! as lines; what comes out is therefore for reading and no JSON.

/// Columns of one level.
const INDENT: usize = 2;
/// Deeper levels are not indented further.
const DEPTH_MAX: usize = 40;

/// Spreads a body over lines. Bytes that are no JSON come out with their order unchanged, too.
pub(crate) fn pretty(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + body.len() / 4);
    let mut depth = 0_usize;
    let mut bytes = body.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'"' => {
                out.push(byte);
                string(&mut bytes, depth, &mut out);
            }
            b'{' | b'[' => {
                out.push(byte);
                depth += 1;
                while bytes.next_if(u8::is_ascii_whitespace).is_some() {}
                if !matches!(bytes.peek(), Some(b'}' | b']')) {
                    line(depth, &mut out);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if !matches!(out.last(), Some(b'{' | b'[')) {
                    line(depth, &mut out);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(depth, &mut out);
            }
            b':' => out.extend_from_slice(b": "),
            other => out.push(other),
        }
    }
    out.push(b'\n');
    out
}

/// The rest of a string, to its closing quote.
fn string(bytes: &mut impl Iterator<Item = u8>, depth: usize, out: &mut Vec<u8>) {
    while let Some(byte) = bytes.next() {
        out.push(byte);
        match byte {
            b'"' => return,
            b'\\' => {
                let Some(escaped) = bytes.next() else { return };
                out.push(escaped);
                if escaped == b'n' {
                    line(depth + 1, out);
                }
            }
            _ => {}
        }
    }
}

fn line(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.resize(out.len() + INDENT * depth.min(DEPTH_MAX), b' ');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_keep_their_spelling_and_texts_read_as_lines() {
        let body = br#"{"b" :1.0e0, "a":[ ] ,"c":[{},[1,"x\ny\"{"]]}"#;
        let expected = "{\n  \"b\": 1.0e0,\n  \"a\": [],\n  \"c\": [\n    {},\n    [\n      1,\n\
                        \x20     \
                        \"x\\n\n        y\\\"{\"\n    ]\n  ]\n}\n";
        assert_eq!(String::from_utf8(pretty(body)).unwrap(), expected);
    }

    #[test]
    fn what_is_cut_or_no_json_keeps_its_bytes_but_white_space() {
        let body = br#"{"a":["b\\",true,{"c":null}]}"#;
        let bare = |bytes: &[u8]| -> Vec<u8> {
            bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
        };
        for end in 0..=body.len() {
            assert_eq!(bare(&pretty(&body[..end])), body[..end], "{end}");
        }
        assert_eq!(pretty(b"]]}\xff"), b"\n]\n]\n}\xff\n");
    }
}
