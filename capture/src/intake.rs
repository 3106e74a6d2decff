//! The steps that every way in takes for one exchange: find the conversation, capture the
//! request, record its answer. It does not know where the exchange comes from.

use ledger::event::Rung;
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
        },
    )?;
    lanes.remember(assigned, session);
    Ok(Taken { captured, opened, unsplit: prepared.unsplit().is_some() })
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
