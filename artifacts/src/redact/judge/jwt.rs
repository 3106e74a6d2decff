//! JSON Web Tokens: runs with dots between them, the first of which is JSON in base64.

use super::text::Short;
use super::{Judgement, Place};
use crate::redact::boundary;
use crate::redact::rules::Class;

/// The shortest first or second part, with its `eyJ`.
const PART_BYTES_MIN: usize = 8;
/// The shortest last part.
const SIGNATURE_BYTES_MIN: usize = 16;
const ANY: usize = usize::MAX;

pub(crate) fn judge(place: &Place<'_>) -> Result<Judgement, Short> {
    let starts = place.last_end == Some(place.start) || boundary::lets_start(place.behind());
    if !starts {
        return Ok(Judgement::Nothing { until: place.end });
    }
    let text = place.text();
    let has = |byte| Class::Url.has(byte);
    let header_end = text.run(place.start, ANY, has)?;
    let nothing = Ok(Judgement::Nothing { until: header_end });
    if text.byte(header_end)? != Some(b'.') || header_end - place.start < PART_BYTES_MIN {
        return nothing;
    }
    // Claims are JSON; the parts of an encrypted token are not, but then there are five.
    let claims = text.has_text(header_end + 1, b"ey")?;
    let mut ends = vec![header_end];
    while ends.len() < 5 {
        let end = ends.last().copied().unwrap_or(header_end);
        if text.byte(end)? != Some(b'.') {
            break;
        }
        ends.push(text.run(end + 1, ANY, has)?);
    }
    match ends.as_slice() {
        [_, payload, signature, ..]
            if claims
                && payload - header_end > PART_BYTES_MIN
                && signature - payload > SIGNATURE_BYTES_MIN =>
        {
            Ok(Judgement::secret(place.start, *signature))
        }
        [_, key, vector, body, tag]
            if vector - key > PART_BYTES_MIN
                && body - vector > PART_BYTES_MIN
                && tag - body > SIGNATURE_BYTES_MIN =>
        {
            Ok(Judgement::secret(place.start, *tag))
        }
        _ => nothing,
    }
}
