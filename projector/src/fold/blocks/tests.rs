//! Goal: what stays of a literal is JSON, with all that was not taken out, byte for byte. Method:
//! every set of items of small literals.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Blocks, Left};

/// `^` marks a slot.
fn read(text: &str) -> (String, Vec<usize>, Blocks) {
    let mut literal = String::new();
    let mut slots = Vec::new();
    for c in text.chars() {
        match c {
            '^' => slots.push(literal.len()),
            c => literal.push(c),
        }
    }
    let blocks = Blocks::of(literal.as_bytes(), &slots).unwrap();
    (literal, slots, blocks)
}

fn left(text: &str, key: &str, gone: &[usize]) -> Option<String> {
    let (literal, _, blocks) = read(text);
    let elements = blocks.elements(literal.as_bytes(), key.as_bytes());
    let gone: Vec<_> = gone.iter().map(|nth| (elements[*nth], None)).collect();
    let filled = |literal: &[u8], range: core::ops::Range<usize>| {
        !matches!(&literal[range], b"null" | b"\"\"")
    };
    match blocks.without(literal.as_bytes(), &gone, &filled) {
        Left::Nothing | Left::Empty(_) => None,
        Left::Without(cuts) => {
            let mut out = String::new();
            let mut at = 0;
            for cut in cuts {
                assert!(cut.range.start >= at, "{text}");
                out += &literal[at..cut.range.start];
                at = cut.range.end;
            }
            Some(out + &literal[at..])
        }
    }
}

#[test]
fn every_set_of_elements_leaves_the_others_as_they_were() {
    let text =
        "{\"role\":\"user\", \"content\" : [ {\"a\":\"^\"} ,\n{\"b\":^}, {\"c\":[1, {}]} ] }";
    let kept = ["{\"a\":\"\"}", "{\"b\":}", "{\"c\":[1, {}]}"];
    for mask in 0..8_usize {
        let gone: Vec<usize> = (0..3).filter(|nth| mask & (1 << nth) != 0).collect();
        let found = left(text, "content", &gone);
        let stay: Vec<_> = (0..3).filter(|nth| !gone.contains(nth)).collect();
        let Some(found) = found else {
            assert!(stay.is_empty());
            continue;
        };
        let mut at = 0;
        for nth in &stay {
            at += found[at..].find(kept[*nth]).unwrap() + kept[*nth].len();
        }
        let commas = found.matches("} ,\n{").count() + found.matches("}, {").count();
        assert_eq!(commas, stay.len() - 1, "{found}");
        assert!(found.starts_with("{\"role\":\"user\", \"content\" : [ {"), "{found}");
        assert!(found.ends_with("} ] }"), "{found}");
    }
}

#[test]
fn the_last_call_takes_its_list_with_it() {
    let text = "{\"role\":\"assistant\",\"content\":\"x\",\"tool_calls\":[{\"id\":\"^\"}]}";
    let found = left(text, "tool_calls", &[0]);
    assert_eq!(found.unwrap(), "{\"role\":\"assistant\",\"content\":\"x\"}");
    for empty in ["null", "\"\""] {
        assert_eq!(left(&text.replace("\"x\"", empty), "tool_calls", &[0]), None);
    }
}

#[test]
fn slots_are_found_in_their_blocks() {
    let (_, slots, blocks) =
        read("{\"content\":[{\"a\":\"^\",\"b\":^},{\"c\":{\"d\":\"^\"}}],\"e\":\"^\"}");
    let elements: Vec<_> = slots.iter().map(|slot| blocks.element(*slot)).collect();
    assert_eq!(elements, [Some((1, 0)), Some((1, 0)), Some((1, 1)), None]);
    let members: Vec<_> = slots.iter().map(|slot| blocks.member_at(*slot).unwrap()).collect();
    assert_eq!(members, [(2, 0), (2, 1), (3, 0), (0, 1)]);
}

#[test]
fn what_is_no_object_has_no_blocks() {
    for text in ["", "x", "[1]", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1}x", "{\"a\":1 2}", "{a:1}"] {
        assert!(Blocks::of(text.as_bytes(), &[]).is_none(), "{text}");
    }
    let deep = [["{\"a\":"].repeat(100).concat(), "1".into(), ["}"].repeat(100).concat()].concat();
    assert!(Blocks::of(deep.as_bytes(), &[]).is_none());
}
