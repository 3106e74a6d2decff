//! Changes of texts and literals, each as small as its class allows.

use ledger::wire::span::{Cursor, ScanError, ValueKind};

/// Composed characters and what they decompose to.
const COMPOSED: [(char, &str); 6] = [
    ('\u{e9}', "e\u{301}"),
    ('\u{e8}', "e\u{300}"),
    ('\u{fc}', "u\u{308}"),
    ('\u{f6}', "o\u{308}"),
    ('\u{e4}', "a\u{308}"),
    ('\u{f1}', "n\u{303}"),
];

/// The text without its last character.
pub(super) fn shortened(text: &str) -> Option<String> {
    let last = text.chars().next_back()?;
    text.get(..text.len() - last.len_utf8()).map(str::to_owned)
}

/// The text with one composed character taken apart.
pub(super) fn decomposed(text: &str) -> Option<String> {
    let (composed, parts) = COMPOSED.iter().find(|(composed, _)| text.contains(*composed))?;
    Some(text.replacen(*composed, parts, 1))
}

/// The text with a time of day at its end.
#[expect(clippy::unnecessary_wraps, reason = "one signature for all changes of texts")]
pub(super) fn with_clock(text: &str) -> Option<String> {
    Some(format!("{text} (it is 12:34:56)"))
}

/// The literal with the case of one letter changed, and where.
pub(super) fn letter_changed(literal: &[u8]) -> Option<(Vec<u8>, usize)> {
    let at = literal.iter().rposition(u8::is_ascii_alphabetic)?;
    let mut changed = literal.to_vec();
    if let Some(byte) = changed.get_mut(at) {
        *byte ^= 0x20;
    }
    Some((changed, at))
}

/// A cursor at the value of a literal: behind the key of a member, else at its beginning.
fn value(literal: &[u8]) -> Result<Cursor<'_>, ScanError> {
    let mut cursor = Cursor::new(literal, 0);
    if cursor.kind()? == ValueKind::String {
        cursor.skip_value()?;
        cursor.expect(b':')?;
    }
    Ok(cursor)
}

/// The first number, spelled with a fraction of zero; and where it was respelled.
pub(super) fn number_respelled(literal: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut cursor = value(literal).ok()?;
    let end = if cursor.kind().ok()? == ValueKind::Number {
        cursor.skip_value().ok()?.span
    } else {
        members(literal).ok()?.into_iter().find(|member| member.kind == ValueKind::Number)?.value
    };
    let number = literal.get(end.clone())?;
    if number.iter().any(|byte| !byte.is_ascii_digit()) {
        return None;
    }
    let (before, after) = literal.split_at_checked(end.end)?;
    Some(([before, b".0", after].concat(), end.end))
}

struct Member {
    /// Key and value.
    span: core::ops::Range<usize>,
    kind: ValueKind,
    value: core::ops::Range<usize>,
}

/// Members of the object that the literal holds.
fn members(literal: &[u8]) -> Result<Vec<Member>, ScanError> {
    let mut cursor = value(literal)?;
    cursor.expect(b'{')?;
    let mut out = Vec::new();
    while let Some(key) = cursor.next_key(out.is_empty())? {
        let value = cursor.skip_value()?;
        let span = key.start..value.span.end;
        out.push(Member { span, kind: value.kind, value: value.span });
    }
    Ok(out)
}

/// Two members that stand beside each other and hold no slot, swapped; and where.
pub(super) fn keys_swapped(literal: &[u8], slots: &[usize]) -> Option<(Vec<u8>, usize)> {
    let members = members(literal).ok()?;
    let free = |member: &Member| {
        !slots.iter().any(|slot| (member.span.start..=member.span.end).contains(slot))
    };
    let pair = members.windows(2).find_map(|pair| match pair {
        [a, b] if free(a) && free(b) => Some((a.span.clone(), b.span.clone())),
        _ => None,
    });
    let (a, b) = pair?;
    let piece = |range: core::ops::Range<usize>| literal.get(range).unwrap_or_default();
    let changed = [
        piece(0..a.start),
        piece(b.clone()),
        piece(a.end..b.start),
        piece(a.clone()),
        piece(b.end..literal.len()),
    ];
    Some((changed.concat(), literal.len()))
}

#[cfg(test)]
mod tests {
    use super::{
        decomposed, keys_swapped, letter_changed, number_respelled, shortened, with_clock,
    };

    #[test]
    fn every_change_of_a_text_changes_it() {
        assert_eq!(shortened("a\u{e9}").as_deref(), Some("a"));
        assert_eq!(shortened(""), None);
        assert_eq!(decomposed("caf\u{e9} \u{e9}").as_deref(), Some("cafe\u{301} \u{e9}"));
        assert_eq!(decomposed("cafe"), None);
        assert_eq!(with_clock("a").as_deref(), Some("a (it is 12:34:56)"));
    }

    #[test]
    fn every_change_of_a_literal_changes_it() {
        let swapped = keys_swapped(br#"{"a":1,"b":2}"#, &[]).unwrap().0;
        assert_eq!(swapped, br#"{"b":2,"a":1}"#);
        assert_eq!(keys_swapped(br#"{"a":1,"b":""}"#, &[12]), None);
        let swapped = keys_swapped(br#""o":{"a":1,"b":[2]}"#, &[]).unwrap().0;
        assert_eq!(swapped, br#""o":{"b":[2],"a":1}"#);
        assert_eq!(number_respelled(br#""n":32"#).unwrap(), (br#""n":32.0"#.to_vec(), 6));
        assert_eq!(number_respelled(br#"{"a":"x","n":3}"#).unwrap().0, br#"{"a":"x","n":3.0}"#);
        assert_eq!(number_respelled(br#""n":1.5"#), None);
        assert_eq!(letter_changed(b"{\"aB\"}").unwrap(), (b"{\"ab\"}".to_vec(), 3));
    }
}
