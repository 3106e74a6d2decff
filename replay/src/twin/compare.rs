//! Compares two bodies value by value; says the first place that differs beyond what is declared.

use std::collections::BTreeMap;
use std::sync::Arc;

use ledger::wire::escape::unescape;

use super::alias::Aliases;
use super::json::{DEPTH_MAX, NotJson, Walk};
use super::rules::{Rules, TextRule, Varies};
use super::texts::{self, By, Word};
use super::{Outcome, Pair, TwinReport};

/// Where two bodies differ. A place, and no content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// JSON pointer of the value.
    pub pointer: String,
    /// What differs.
    pub what: &'static str,
    /// Offset in the text of the value (or in the body) of the projected run, in bytes.
    pub own_at: usize,
    /// The same in the other run.
    pub other_at: usize,
}

/// Compares one pair of bodies after the other, with one map of ids for all.
#[derive(Clone)]
pub(crate) struct Compare {
    rules: Arc<Rules>,
    aliases: Aliases,
    /// Texts of the task, own and other.
    inputs: Vec<(String, String)>,
    used_inputs: std::collections::BTreeSet<usize>,
    tolerated: BTreeMap<String, u64>,
}

type Compared = Result<(), Difference>;

impl Compare {
    pub(crate) fn new(rules: Arc<Rules>, aliases: Aliases, inputs: Vec<(String, String)>) -> Self {
        let used_inputs = std::collections::BTreeSet::new();
        Self { rules, aliases, inputs, used_inputs, tolerated: BTreeMap::new() }
    }

    pub(super) fn into_report(self, pairs: Vec<Pair>) -> TwinReport {
        TwinReport {
            pairs,
            aliases: self.aliases.len(),
            tolerated: self.tolerated,
            inputs: self.used_inputs.len() as u64,
        }
    }

    pub(crate) fn bodies(&mut self, own: &[u8], other: &[u8]) -> Outcome {
        if own == other {
            return Outcome::Identical;
        }
        let (mut a, mut b) = (Walk::new(own), Walk::new(other));
        match self.value(&mut a, &mut b, "", "", 0) {
            Ok(()) if a.at() == own.len() && b.at() == other.len() => Outcome::Equal,
            Ok(()) => Outcome::Different(Difference {
                pointer: String::new(),
                what: "bytes behind the body",
                own_at: a.at(),
                other_at: b.at(),
            }),
            Err(difference) => Outcome::Different(difference),
        }
    }

    /// Ids that stand for one another so far.
    pub(crate) fn aliases(&self) -> u64 {
        self.aliases.len()
    }

    fn tolerate(&mut self, rule: &str) {
        *self.tolerated.entry(rule.to_owned()).or_default() += 1;
    }

    fn value(
        &mut self,
        a: &mut Walk<'_>,
        b: &mut Walk<'_>,
        pointer: &str,
        name: &str,
        depth: usize,
    ) -> Compared {
        if depth > DEPTH_MAX {
            return Err(differs(pointer, "nesting beyond the limit", a, b));
        }
        if a.space() != b.space() {
            return Err(differs(pointer, SPACE, a, b));
        }
        let (before_a, before_b) = (*a, *b);
        let broken = |_: NotJson| differs(pointer, NOT_JSON, &before_a, &before_b);
        match (a.peek(), b.peek()) {
            (Some(b'{'), Some(b'{')) if self.rules.unordered.iter().any(|it| it == name) => {
                let (all_a, all_b) =
                    (a.value(depth).map_err(broken)?, b.value(depth).map_err(broken)?);
                self.tolerate(&format!("order of members in {name}"));
                self.unordered((all_a, all_b), pointer, depth)
            }
            (Some(b'{'), Some(b'{')) => self.object(a, b, pointer, depth),
            (Some(b'['), Some(b'[')) => self.array(a, b, pointer, depth),
            (Some(b'"'), Some(b'"')) => {
                let (own, other) = (a.string().map_err(broken)?, b.string().map_err(broken)?);
                self.string(own, other, pointer, name, depth)
            }
            (Some(x), Some(y)) if !is_open(x) && !is_open(y) => {
                let (own, other) = (a.scalar().map_err(broken)?, b.scalar().map_err(broken)?);
                let number = |text: &[u8]| text.iter().any(u8::is_ascii_digit);
                if own == other {
                    return Ok(());
                }
                if number(own) && number(other) && self.is_member(name) {
                    self.tolerate(&format!("member {name}"));
                    return Ok(());
                }
                Err(differs(pointer, "value", &before_a, &before_b))
            }
            _ => Err(differs(pointer, "kind of value", a, b)),
        }
    }

    fn is_member(&self, name: &str) -> bool {
        self.rules.members.iter().any(|member| member == name)
    }

    fn object(
        &mut self,
        a: &mut Walk<'_>,
        b: &mut Walk<'_>,
        pointer: &str,
        depth: usize,
    ) -> Compared {
        let mut open = b'{';
        while next(a, b, &mut open, b'}', pointer)? {
            let (Ok(own), Ok(other)) = (a.string(), b.string()) else {
                return Err(differs(pointer, NOT_JSON, a, b));
            };
            if own != other {
                return Err(differs(pointer, "name of a member", a, b));
            }
            if a.space() != b.space() || a.byte(b':').and(b.byte(b':')).is_err() {
                return Err(differs(pointer, SPACE, a, b));
            }
            let name = String::from_utf8_lossy(own).into_owned();
            self.value(a, b, &format!("{pointer}/{name}"), &name, depth + 1)?;
        }
        Ok(())
    }

    fn array(
        &mut self,
        a: &mut Walk<'_>,
        b: &mut Walk<'_>,
        pointer: &str,
        depth: usize,
    ) -> Compared {
        let mut open = b'[';
        let mut index = 0;
        while next(a, b, &mut open, b']', pointer)? {
            self.value(a, b, &format!("{pointer}/{index}"), "", depth + 1)?;
            index += 1;
        }
        Ok(())
    }

    /// Objects whose members come in any order.
    fn unordered(
        &mut self,
        (mut a, mut b): (Walk<'_>, Walk<'_>),
        pointer: &str,
        depth: usize,
    ) -> Compared {
        let (start_a, start_b) = (a, b);
        let (mut own, mut other) = (BTreeMap::new(), BTreeMap::new());
        let read = a
            .members(depth, &mut |key, value| {
                own.insert(key.to_vec(), value);
                Ok(())
            })
            .and(b.members(depth, &mut |key, value| {
                other.insert(key.to_vec(), value);
                Ok(())
            }));
        read.map_err(|NotJson| differs(pointer, NOT_JSON, &start_a, &start_b))?;
        if !own.keys().eq(other.keys()) {
            return Err(differs(pointer, "names of members", &start_a, &start_b));
        }
        for ((key, mut left), (_, mut right)) in own.into_iter().zip(other) {
            let name = String::from_utf8_lossy(&key).into_owned();
            let inner = format!("{pointer}/{name}");
            self.value(&mut left, &mut right, &inner, &name, depth + 1)?;
        }
        Ok(())
    }

    fn string(
        &mut self,
        own: &[u8],
        other: &[u8],
        pointer: &str,
        name: &str,
        depth: usize,
    ) -> Compared {
        if own == other {
            return Ok(());
        }
        let differs = |what, own_at, other_at| Difference {
            pointer: pointer.to_owned(),
            what,
            own_at,
            other_at,
        };
        let texts = (unescape(own), unescape(other));
        let (Ok(own), Ok(other)) = texts else { return Err(differs("text", 0, 0)) };
        if self.is_member(name) && !own.is_empty() && !other.is_empty() {
            self.tolerate(&format!("member {name}"));
            // A time written as a text stands for no other time.
            if (is_digits(&own) && is_digits(&other)) || self.aliases.bind(&own, &other) {
                return Ok(());
            }
            return Err(differs("id that stands for another one elsewhere", 0, 0));
        }
        let input = self.inputs.iter().position(|(a, b)| *a == own && *b == other);
        if let Some(input) = input {
            self.used_inputs.insert(input);
            return Ok(());
        }
        if let Some(nested) = self.nested(&own, &other, pointer, depth) {
            return nested;
        }
        let mut clash = false;
        let rules = Arc::clone(&self.rules);
        let compared = texts::compare(&own, &other, &rules, &mut |word| {
            let fits = self.word(word);
            clash |= !fits;
            fits
        });
        let what = if clash { "id that stands for another one elsewhere" } else { "text" };
        compared.map_err(|parted| differs(what, parted.own_at, parted.other_at))
    }

    fn word(&mut self, word: Word<'_>) -> bool {
        let rule = match word.by {
            By::Rule(index) => self.rules.texts.get(index).map(TextRule::pattern),
            By::Pair => Some("declared pair".to_owned()),
            By::Looks => None,
        };
        self.tolerate(rule.as_deref().map_or("id by its looks", str::trim_end));
        word.varies == Varies::Number || self.aliases.bind(word.own, word.other)
    }

    /// Texts that are JSON themselves.
    fn nested(&mut self, own: &str, other: &str, pointer: &str, depth: usize) -> Option<Compared> {
        let starts = |text: &str| text.starts_with('{') || text.starts_with('[');
        if !starts(own) || !starts(other) {
            return None;
        }
        let is_json = |text: &str| {
            let mut walk = Walk::new(text.as_bytes());
            walk.value(depth).is_ok() && walk.at() == text.len()
        };
        if !is_json(own) || !is_json(other) {
            return None;
        }
        let (mut a, mut b) = (Walk::new(own.as_bytes()), Walk::new(other.as_bytes()));
        Some(self.value(&mut a, &mut b, pointer, "", depth + 1))
    }
}

const NOT_JSON: &str = "JSON that cannot be read";
const SPACE: &str = "white space";

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// True for the first byte of a text, an object or a list.
fn is_open(byte: u8) -> bool {
    matches!(byte, b'"' | b'{' | b'[')
}

fn differs(pointer: &str, what: &'static str, a: &Walk<'_>, b: &Walk<'_>) -> Difference {
    Difference { pointer: pointer.to_owned(), what, own_at: a.at(), other_at: b.at() }
}

/// Goes on to the next entry of two objects or lists; false at the end of both.
fn next(
    a: &mut Walk<'_>,
    b: &mut Walk<'_>,
    open: &mut u8,
    close: u8,
    pointer: &str,
) -> Result<bool, Difference> {
    let first = *open != b',';
    if first && a.byte(*open).and(b.byte(*open)).is_err() {
        return Err(differs(pointer, NOT_JSON, a, b));
    }
    *open = b',';
    if a.space() != b.space() {
        return Err(differs(pointer, SPACE, a, b));
    }
    match (a.peek() == Some(close), b.peek() == Some(close)) {
        (true, true) => {
            let done = a.byte(close).and(b.byte(close));
            return done.map(|()| false).map_err(|NotJson| differs(pointer, NOT_JSON, a, b));
        }
        (false, false) => {}
        _ => return Err(differs(pointer, "number of entries", a, b)),
    }
    if !first {
        let comma = a.byte(b',').and(b.byte(b','));
        comma.map_err(|NotJson| differs(pointer, NOT_JSON, a, b))?;
        if a.space() != b.space() {
            return Err(differs(pointer, SPACE, a, b));
        }
    }
    Ok(true)
}
