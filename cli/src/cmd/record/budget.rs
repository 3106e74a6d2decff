//! What conversations asked for, against the budgets of the project.

use std::path::Path;

use ledger::event::SessionBasis;
use ledger::history::{History, Session};

use crate::error::Failure;
use crate::inputs;
use crate::settings::{Budget, Budgets};
use crate::ui::Ui;

/// Tells each budget that a conversation of the recording went over; true where one did.
pub(super) fn check(budgets: &Budgets, recording: &Path, ui: &Ui) -> Result<bool, Failure> {
    if *budgets == Budgets::default() {
        return Ok(false);
    }
    let recording = inputs::open(recording)?;
    let history = recording.history();
    let mut is_over = false;
    for (index, session) in history.sessions().iter().enumerate() {
        let (kind, budget) = budget(budgets, session);
        for (what, found, max) in measured(history, session, budget) {
            if max.is_some_and(|max| found > max) {
                is_over = true;
                ui.note(format_args!(
                    "over budget: {kind} conversation {}: {found} {what}, at most {}",
                    index + 1,
                    max.unwrap_or_default()
                ));
            }
        }
    }
    Ok(is_over)
}

fn budget<'b>(budgets: &'b Budgets, session: &Session) -> (&'static str, &'b Budget) {
    match (session.opened.basis, session.opened.parent) {
        (SessionBasis::Side, _) => ("side", &budgets.side),
        (_, Some(_)) => ("subagent", &budgets.subagent),
        (_, None) => ("main", &budgets.main),
    }
}

fn measured(
    history: &History,
    session: &Session,
    budget: &Budget,
) -> [(&'static str, u64, Option<u64>); 3] {
    let bodies = || {
        let requests = session.requests.iter().filter_map(|id| history.request(*id));
        requests.map(|request| request.captured.body_bytes)
    };
    [
        ("requests", session.requests.len() as u64, budget.requests_max),
        ("bytes in one request", bodies().max().unwrap_or(0), budget.request_bytes_max),
        ("bytes in all requests", bodies().sum(), budget.total_bytes_max),
    ]
}
