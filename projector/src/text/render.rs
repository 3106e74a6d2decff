//! Markers, headers and templates: one walk over the text of the policy that puts values in the
//! place of names in braces. What is put there is not looked at again, and a name that nobody
//! knows stays as it is.

use alloc::borrow::Cow;
use alloc::string::{String, ToString as _};
use core::ops::Range;

use super::{Context, Piece, Unknown, lines};
use crate::policy::{LineRule, Unit};

/// What a marker can say.
#[derive(Clone, Debug)]
pub(super) struct Facts<'f> {
    pub(super) text: &'f str,
    pub(super) context: &'f Context<'f>,
    pub(super) unit: Unit,
    pub(super) line_rule: LineRule,
    /// What is hidden, in bytes.
    pub(super) hidden: Range<usize>,
    /// What `{n}` is.
    pub(super) n: u64,
    pub(super) total: u64,
    pub(super) limit: u64,
    /// Sizes of the two ends that are kept, in units.
    pub(super) ends: (u64, u64),
    /// Estimated tokens of the text.
    pub(super) tokens: Option<u64>,
    pub(super) preview: &'f str,
    /// What `{unit}` is.
    pub(super) unit_word: &'f str,
}

/// What a name in braces stands for.
enum Found<'f> {
    Number(u64),
    Text(&'f str),
}

impl<'f> Facts<'f> {
    pub(super) fn of(text: &'f str, context: &'f Context<'f>) -> Self {
        Self {
            text,
            context,
            unit: Unit::Bytes,
            line_rule: LineRule::RustLines,
            hidden: 0..0,
            n: 0,
            total: 0,
            limit: 0,
            ends: (0, 0),
            tokens: None,
            preview: "",
            unit_word: "",
        }
    }

    /// The text of the policy with its values.
    ///
    /// # Errors
    /// It names a value that only the record could tell, and the record does not.
    pub(super) fn render(&self, template: &str) -> Result<String, Unknown> {
        let mut out = String::with_capacity(template.len());
        walk(template, &mut |part| {
            match part {
                Ok(literal) => out.push_str(literal),
                Err(name) => {
                    let value = self.find(name)?;
                    out.push_str(value.as_deref().unwrap_or(&["{", name, "}"].concat()));
                }
            }
            Ok(())
        })?;
        Ok(out)
    }

    fn find(&self, name: &str) -> Result<Option<Cow<'f, str>>, Unknown> {
        let (name, grouped) = match name.strip_suffix(":,") {
            Some(name) => (name, true),
            None => (name, false),
        };
        Ok(match self.value(name)? {
            None => None,
            Some(Found::Text(text)) => Some(Cow::Borrowed(text)),
            Some(Found::Number(number)) if grouped => Some(Cow::Owned(thousands(number))),
            Some(Found::Number(number)) => Some(Cow::Owned(number.to_string())),
        })
    }

    fn value(&self, name: &str) -> Result<Option<Found<'f>>, Unknown> {
        let hidden = self.text.get(self.hidden.clone()).unwrap_or_default();
        let lines = |text: &str| lines::count(self.line_rule, text);
        let text: &'f str = self.text;
        Ok(Some(match name {
            "n" => Found::Number(self.n),
            "total" => Found::Number(self.total),
            "limit" => Found::Number(self.limit),
            "head_size" => Found::Number(self.ends.0),
            "tail_size" => Found::Number(self.ends.1),
            "total_bytes" => Found::Number(text.len() as u64),
            "total_chars" => Found::Number(text.chars().count() as u64),
            "total_lines" => Found::Number(lines(text)),
            "hidden_bytes" => Found::Number(hidden.len() as u64),
            "hidden_chars" => Found::Number(hidden.chars().count() as u64),
            "hidden_lines" => Found::Number(lines(hidden)),
            "total_tokens" => Found::Number(self.tokens.ok_or(Unknown::Tokens)?),
            "preview" => Found::Text(self.preview),
            "unit" if !self.unit_word.is_empty() => Found::Text(self.unit_word),
            _ => match self.context.value(name) {
                Some(value) => Found::Text(value),
                None if matches!(name, "spill" | "tool" | "hint" | "returncode") => {
                    return Err(Unknown::Value);
                }
                None => return Ok(None),
            },
        }))
    }
}

/// Puts a template around pieces: `piece` gives what stands for a name, if it is one of a text.
pub(super) fn around(
    template: &str,
    facts: &Facts<'_>,
    piece: &dyn Fn(&str) -> Option<alloc::vec::Vec<Piece>>,
    out: &mut alloc::vec::Vec<Piece>,
) -> Result<(), Unknown> {
    let mut literal = String::new();
    walk(template, &mut |part| {
        match part {
            Ok(text) => literal.push_str(text),
            Err(name) => match piece(name) {
                Some(pieces) => {
                    out.push(Piece::Inserted(core::mem::take(&mut literal)));
                    out.extend(pieces);
                }
                None => literal.push_str(&facts.render(&["{", name, "}"].concat())?),
            },
        }
        Ok(())
    })?;
    out.push(Piece::Inserted(literal));
    Ok(())
}

/// Calls `part` with stretches outside of braces (`Ok`) and names inside (`Err`).
fn walk<'t>(
    template: &'t str,
    part: &mut dyn FnMut(Result<&'t str, &'t str>) -> Result<(), Unknown>,
) -> Result<(), Unknown> {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b"_:,".contains(&b))
    };
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        part(Ok(before))?;
        if let Some((name, behind)) = after.split_once('}').filter(|(name, _)| is_name(name)) {
            part(Err(name))?;
            rest = behind;
        } else {
            part(Ok("{"))?;
            rest = after;
        }
    }
    part(Ok(rest))
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
