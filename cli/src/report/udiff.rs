//! A unified diff of two texts as text, and the alignment that every diff of lines uses.

use std::ops::Range;

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

/// Texts whose changed lines multiply to more than this are not aligned line by line.
const ALIGNED_MAX: usize = 4_000_000;
/// Lines around each change.
const CONTEXT_LINES: usize = 3;

/// Appends the hunks to `out`, until that has grown by `bytes_max`.
pub(crate) fn write(left: &str, right: &str, bytes_max: usize, out: &mut String) {
    let old: Vec<&str> = left.lines().collect();
    let new: Vec<&str> = right.lines().collect();
    let full = out.len().saturating_add(bytes_max);
    for group in group_diff_ops(ops(&old, &new), CONTEXT_LINES) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let span = |start: usize, end: usize| format!("{},{}", start + 1, end - start);
        let olds = span(first.old_range().start, last.old_range().end);
        let news = span(first.new_range().start, last.new_range().end);
        out.push_str(&["@@ -", &olds, " +", &news, " @@\n"].concat());
        for op in group {
            let (tag, olds, news) = op.as_tag_tuple();
            let removed = old.get(olds).unwrap_or_default().iter();
            let added = new.get(news).unwrap_or_default().iter();
            let lines: Vec<(&str, &str)> = match tag {
                DiffTag::Equal => removed.map(|line| (" ", *line)).collect(),
                _ => removed.map(|l| ("-", *l)).chain(added.map(|l| ("+", *l))).collect(),
            };
            for (sign, line) in lines {
                let room = full.saturating_sub(out.len());
                if line.len() >= room {
                    let cut = line.get(..line.floor_char_boundary(room)).unwrap_or_default();
                    out.push_str(&[sign, cut, "\n(cut: the diff is too long)\n"].concat());
                    return;
                }
                out.push_str(&[sign, line, "\n"].concat());
            }
        }
    }
}

/// What to do to get from the old lines to the new ones.
pub(crate) fn ops(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = |lines: usize| lines - head;
    let most = rest(old.len()).min(rest(new.len()));
    let ends = old.iter().rev().zip(new.iter().rev()).take(most);
    let tail = ends.take_while(|(a, b)| a == b).count();
    let olds = head..old.len() - tail;
    let news = head..new.len() - tail;
    let mut ops = Vec::new();
    if head > 0 {
        ops.push(DiffOp::Equal { old_index: 0, new_index: 0, len: head });
    }
    middle(old, new, olds.clone(), news.clone(), &mut ops);
    if tail > 0 {
        ops.push(DiffOp::Equal { old_index: olds.end, new_index: news.end, len: tail });
    }
    ops
}

fn middle(
    old: &[&str],
    new: &[&str],
    olds: Range<usize>,
    news: Range<usize>,
    ops: &mut Vec<DiffOp>,
) {
    let (old_index, new_index) = (olds.start, news.start);
    let (old_len, new_len) = (olds.len(), news.len());
    match (old_len, new_len) {
        (0, 0) => {}
        (_, 0) => ops.push(DiffOp::Delete { old_index, old_len, new_index }),
        (0, _) => ops.push(DiffOp::Insert { old_index, new_index, new_len }),
        _ if old_len.saturating_mul(new_len) > ALIGNED_MAX => {
            ops.push(DiffOp::Replace { old_index, old_len, new_index, new_len });
        }
        _ => {
            let olds = old.get(olds).unwrap_or_default();
            let news = new.get(news).unwrap_or_default();
            for op in capture_diff_slices(Algorithm::Myers, olds, news) {
                ops.push(moved(op, old_index, new_index));
            }
        }
    }
}

/// The same operation behind so many lines.
fn moved(op: DiffOp, old: usize, new: usize) -> DiffOp {
    match op {
        DiffOp::Equal { old_index, new_index, len } => {
            DiffOp::Equal { old_index: old_index + old, new_index: new_index + new, len }
        }
        DiffOp::Delete { old_index, old_len, new_index } => {
            DiffOp::Delete { old_index: old_index + old, old_len, new_index: new_index + new }
        }
        DiffOp::Insert { old_index, new_index, new_len } => {
            DiffOp::Insert { old_index: old_index + old, new_index: new_index + new, new_len }
        }
        DiffOp::Replace { old_index, old_len, new_index, new_len } => DiffOp::Replace {
            old_index: old_index + old,
            old_len,
            new_index: new_index + new,
            new_len,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_have_context_and_an_end() {
        let left = "a\nb\nc\nd\ne\nf\ng\n";
        let mut out = String::new();
        write(left, &left.replace('e', "E"), 1000, &mut out);
        assert_eq!(out, "@@ -2,6 +2,6 @@\n b\n c\n d\n-e\n+E\n f\n g\n");
        let mut out = String::new();
        write(left, left, 1000, &mut out);
        assert_eq!(out, "");
        write("", &"x\u{e9}".repeat(100), 20, &mut out);
        assert!(out.ends_with("\n(cut: the diff is too long)\n"), "{out}");
        assert!(out.len() < 80, "{out}");
    }

    /// Applies operations to the old lines, taking new ones where they ask for them.
    fn applied<'t>(old: &[&'t str], new: &[&'t str], ops: &[DiffOp]) -> Vec<&'t str> {
        let mut out = Vec::new();
        for op in ops {
            let lines = match op.tag() {
                DiffTag::Equal => old[op.old_range()].iter(),
                _ => new[op.new_range()].iter(),
            };
            out.extend(lines);
        }
        out
    }

    #[test]
    fn operations_lead_from_the_old_lines_to_the_new_ones() {
        let cases: [(&[&str], &[&str]); 7] = [
            (&[], &[]),
            (&["a"], &["a"]),
            (&["a", "b", "c"], &["a", "x", "c"]),
            (&["a", "b", "b", "b"], &["a", "b"]),
            (&["a"], &[]),
            (&[], &["a"]),
            (&["a", "b", "c", "d", "e"], &["c", "x", "e", "e"]),
        ];
        for (old, new) in cases {
            assert_eq!(applied(old, new, &ops(old, new)), new, "{old:?}");
        }
    }
}
