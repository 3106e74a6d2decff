//! Header fields as they were, where a recording tells only what changed.

use artifacts::{GetError, Source};
use ledger::event::Headers;
use ledger::history::{History, Request};

/// Names and values, in order.
pub(crate) type Fields = Vec<(String, Vec<u8>)>;

/// The fields of the request.
pub(crate) fn sent(request: &Request) -> Option<&Headers> {
    request.dispatched.as_ref().map(|sent| &sent.headers)
}

/// The fields of the answer.
pub(crate) fn answered(request: &Request) -> Option<&Headers> {
    request.answer.as_ref().map(|(_, answer)| &answer.headers)
}

/// All fields; those that tell only what changed lean on those that `side` has of the request
/// that they name.
pub(crate) fn read(
    history: &History,
    source: &dyn Source,
    headers: &Headers,
    side: fn(&Request) -> Option<&Headers>,
) -> Result<Fields, GetError> {
    let mut chain = Vec::new();
    let mut at = headers;
    let full = loop {
        match at {
            Headers::Full(fields) => break fields.as_slice(),
            Headers::Changed { of, values } => {
                chain.push(values);
                match history.request(*of).and_then(side) {
                    // They lean on earlier ones, so that this comes to an end.
                    Some(earlier) if chain.len() <= history.requests().len() => at = earlier,
                    _ => break &[],
                }
            }
        }
    };
    let mut out = Fields::with_capacity(full.len());
    for (name, value) in full {
        let name = String::from_utf8_lossy(&name.read(source)?).into_owned();
        out.push((name, value.read(source)?.to_vec()));
    }
    for values in chain.into_iter().rev() {
        for (position, value) in values {
            if let Some(field) = out.get_mut(usize::from(*position)) {
                field.1 = value.read(source)?.to_vec();
            }
        }
    }
    Ok(out)
}
