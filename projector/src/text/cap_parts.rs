//! `cap_parts`: one budget for all texts of a result.

use alloc::string::String;
use alloc::vec::Vec;

use super::size::Measure;
use super::{Context, Piece, Shown, Unknown, cap_text};
use crate::policy::op::CapParts;
use crate::policy::{Amount, CapText};

/// A part of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPart<'t> {
    /// A text.
    Text(&'t str),
    /// An image or another medium.
    Media,
}

/// What is left of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartShown {
    /// It stays.
    Whole,
    /// It is cut.
    Cut(Shown),
    /// It is left out.
    Omitted,
    /// A text that was not there: how many texts were left out.
    Added(String),
}

/// Cuts the parts of a result to their budget: one entry for each part, in order, and a last one
/// where texts were left out and the policy says so.
///
/// With `merge`, all texts are joined and cut once; the first text then stands for all of them and
/// the others are left out.
///
/// # Errors
/// The budget, or tokens, are not known.
pub fn cap_parts(
    cap: &CapParts,
    parts: &[TextPart<'_>],
    context: &Context<'_>,
) -> Result<Vec<PartShown>, Unknown> {
    let limit = u128::from(cap.limit.value(&context.budget).ok_or(Unknown::Amount)?);
    let scaled = (limit * u128::from(cap.limit_scale_per_mille)).div_ceil(1000);
    let mut left = u64::try_from(scaled).unwrap_or(u64::MAX);
    let measure = Measure::plain(cap.unit, context).with(cap.estimator);
    if cap.merge {
        return merged(cap, parts, left, context);
    }
    let mut out = Vec::with_capacity(parts.len() + 1);
    let mut omitted: u64 = 0;
    for part in parts {
        let TextPart::Text(text) = part else {
            left = left.saturating_sub(cap.media_cost);
            out.push(PartShown::Whole);
            continue;
        };
        let size = measure.size(text)?;
        if size <= left {
            left -= size;
            out.push(PartShown::Whole);
            continue;
        }
        let cut = if left == 0 { None } else { cap_text(&single(cap, left), text, context)? };
        left = 0;
        match cut {
            Some(cut) if !cut.pieces.is_empty() => out.push(PartShown::Cut(cut)),
            _ => {
                omitted += 1;
                out.push(PartShown::Omitted);
            }
        }
    }
    if omitted > 0 && !cap.omitted_marker.is_empty() {
        let count = alloc::format!("{omitted}");
        out.push(PartShown::Added(cap.omitted_marker.replace("{n}", &count)));
    }
    Ok(out)
}

/// The cap for the text that crosses the budget.
fn single(cap: &CapParts, limit: u64) -> CapText {
    CapText {
        limit: Some(Amount::Fixed(limit)),
        estimator: cap.estimator,
        boundary: cap.boundary,
        marker_count: cap.marker_count,
        header: cap.header.clone(),
        ..CapText::plain(cap.unit, limit, cap.shape, &cap.marker)
    }
}

fn merged(
    cap: &CapParts,
    parts: &[TextPart<'_>],
    limit: u64,
    context: &Context<'_>,
) -> Result<Vec<PartShown>, Unknown> {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            TextPart::Text(text) => Some(*text),
            TextPart::Media => None,
        })
        .collect();
    let joined = texts.join("\n");
    let Some(cut) = cap_text(&single(cap, limit), &joined, context)? else {
        return Ok(parts.iter().map(|_| PartShown::Whole).collect());
    };
    let mut first = Some(Shown {
        pieces: Vec::from([Piece::Inserted(cut.lossy(&joined))]),
        hidden_bytes: cut.hidden_bytes,
    });
    let part = |part: &TextPart<'_>| match part {
        TextPart::Media => PartShown::Whole,
        TextPart::Text(_) => first.take().map_or(PartShown::Omitted, PartShown::Cut),
    };
    Ok(parts.iter().map(part).collect())
}
