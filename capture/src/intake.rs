//! The steps that every way in takes for one exchange: find the conversation, capture the
//! request, record its answer. It does not know where the exchange comes from.

use ledger::event::{Propensity, Rung, notes};
use ledger::id::RequestId;
use ledger::recorder::{
    Capture, Captured, Prepared, RecordError, Recorder, Reply, Sent, SessionSpec,
};
use ledger::wire::Dialect;

use crate::lane::{Lane, Lanes};

/// Header fields in order.
pub(crate) type Fields = Vec<(String, Vec<u8>)>;

/// Takes in exchange after exchange of one run.
pub(crate) struct Intake {
    recorder: Recorder,
    lanes: Lanes,
}

/// A request that is ready to be captured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived<'a> {
    pub(crate) dialect: Dialect,
    /// The body, content coding undone.
    pub(crate) body: &'a [u8],
    pub(crate) headers: &'a Fields,
    pub(crate) rung: Rung,
    /// Content coding that was undone.
    pub(crate) content_coding: Option<&'a str>,
    /// Bytes as sent, coded.
    pub(crate) sent_bytes: u64,
}

/// What became of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) captured: Captured,
    /// It began a conversation.
    pub(crate) opened: bool,
    /// Its body is kept whole, as it could not be split.
    pub(crate) unsplit: bool,
}

impl Intake {
    pub(crate) fn new(recorder: Recorder) -> Self {
        Self { recorder, lanes: Lanes::default() }
    }

    pub(crate) fn recorder_mut(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    #[cfg(feature = "live")]
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    pub(crate) fn into_recorder(self) -> Recorder {
        self.recorder
    }

    /// Captures a request in the conversation that it belongs to.
    pub(crate) fn request(&mut self, arrived: &Arrived<'_>) -> Result<Taken, RecordError> {
        take(&mut self.recorder, &mut self.lanes, arrived)
    }

    /// Records that a captured request was sent.
    pub(crate) fn sent(&mut self, request: RequestId, sent: &Sent<'_>) -> Result<(), RecordError> {
        self.recorder.request_dispatched(request, sent)
    }

    /// Notes that a request came as a message on a WebSocket, and the response that it goes on
    /// from; `index` is its place among the exchanges.
    pub(crate) fn came_over_socket(
        &mut self,
        request: RequestId,
        index: u64,
        previous: Option<&str>,
    ) -> Result<(), RecordError> {
        let told = serde_json::json!({
            "request": request.ordinal(),
            "previous_response_id": previous,
        });
        let redacted = self.recorder.redact_json(told.to_string().as_bytes());
        self.recorder.imported_record(index, 0, notes::SOCKET, &redacted)
    }

    /// Records what came back.
    pub(crate) fn answered(
        &mut self,
        request: RequestId,
        dialect: Dialect,
        reply: &Reply<'_>,
    ) -> Result<(), RecordError> {
        self.recorder.answered(request, dialect, reply)
    }
}

/// Captures a request in the conversation that it belongs to.
pub(crate) fn take(
    recorder: &mut Recorder,
    lanes: &mut Lanes,
    arrived: &Arrived<'_>,
) -> Result<Taken, RecordError> {
    let prepared = Prepared::new(arrived.dialect, arrived.body);
    let assigned = lanes.assign(&prepared, arrived.headers);
    let (session, opened) = match &assigned.lane {
        Lane::Known(session) => (*session, false),
        Lane::New { basis, parent, client_session } => {
            let spec = SessionSpec {
                parent: *parent,
                basis: *basis,
                client_session: client_session.as_deref(),
            };
            (recorder.open_session(&spec)?, true)
        }
    };
    let captured = recorder.request_captured(
        &prepared,
        &Capture {
            session,
            rung: arrived.rung,
            content_coding: arrived.content_coding,
            sent_bytes: arrived.sent_bytes,
            policy: None,
            propensity: propensity(arrived.headers),
        },
    )?;
    lanes.remember(assigned, session);
    Ok(Taken { captured, opened, unsplit: prepared.unsplit().is_some() })
}

/// The field in which a harness says under which policy it has made a request, where it has drawn
/// that at random: `policy=ID;draw=N;p=SHARE`.
pub(crate) const DRAWN: &str = "counterfold-drawn";

/// What such a field says; `None` where there is none, or one that says something else.
fn propensity(headers: &Fields) -> Option<Propensity> {
    let (_, value) = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(DRAWN))?;
    let (mut policy, mut draw, mut millionths) = (None, None, None);
    for word in std::str::from_utf8(value).ok()?.split(';') {
        match word.trim().split_once('=')? {
            ("policy", id) => policy = Some(id_bytes(id)?),
            ("draw", number) => draw = Some(number.parse().ok()?),
            ("p", share) => millionths = Some(self::millionths(share)?),
            _ => return None,
        }
    }
    Some(Propensity { policy: policy?, draw: draw?, millionths: millionths? })
}

/// 64 hexadecimal digits.
fn id_bytes(word: &str) -> Option<[u8; 32]> {
    let mut id = [0; 32];
    let digits = word.as_bytes();
    if digits.len() != 2 * id.len() {
        return None;
    }
    for (byte, pair) in id.iter_mut().zip(digits.chunks(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        let is_hex = pair.bytes().all(|digit| digit.is_ascii_hexdigit());
        *byte = u8::from_str_radix(pair, 16).ok().filter(|_| is_hex)?;
    }
    Some(id)
}

/// A share above 0 and up to 1 with at most six digits.
fn millionths(word: &str) -> Option<u32> {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || fraction.len() > 6 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let whole = whole.parse::<u32>().ok()?.checked_mul(Propensity::CERTAIN)?;
    let share = whole.checked_add(format!("{fraction:0<6}").parse().ok()?)?;
    (1..=Propensity::CERTAIN).contains(&share).then_some(share)
}

/// The dialect of a request that asks a model for an answer: by its endpoint, else by the shape
/// of its body.
pub(crate) fn dialect(
    method: &str,
    url: &str,
    headers: &Fields,
    body: Option<&[u8]>,
) -> Option<Dialect> {
    if method != "POST" || Dialect::asks_no_model(url) {
        return None;
    }
    Dialect::of_path(url).or_else(|| {
        let anthropic =
            headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("anthropic-version"));
        Dialect::of_shape(body?, anthropic)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_policy_is_read_from_its_field_or_not_at_all() {
        let id = "0f".repeat(32);
        let check = |value: &str, wanted: Option<(u32, u32)>| {
            let headers = vec![("Counterfold-Drawn".to_owned(), value.as_bytes().to_vec())];
            let found = propensity(&headers);
            assert_eq!(found.map(|it| (it.draw, it.millionths)), wanted, "{value}");
            assert!(found.is_none_or(|it| it.policy == [15; 32]));
        };
        check(&format!("policy={id};draw=3;p=0.25"), Some((3, 250_000)));
        check(&format!("p=1; draw=0; policy={id}"), Some((0, 1_000_000)));
        check(&format!("policy={id};draw=0;p=0.000001"), Some((0, 1)));
        for wrong in ["p=0", "p=1.5", "p=0.0000001", "p=-1", "p=", "p=.5", "p=4295"] {
            check(&format!("policy={id};draw=0;{wrong}"), None);
        }
        check(&format!("policy={id};p=1"), None);
        check("policy=0f;draw=0;p=1", None);
        check("nothing", None);
        check("", None);
        assert_eq!(propensity(&Vec::new()), None);
    }
}
