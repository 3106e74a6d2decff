//! What a sweep found, for people.

use std::collections::BTreeMap;

use replay::Row;
use replay::sweep::FidelityCounts;

use super::{Cell, HELD_FIXED, Sort, Swept, sort, total};
use crate::error::Stop;
use crate::inputs;
use crate::policies::Named;
use crate::report::number::{bytes, count, counted, percent};
use crate::report::table::{self, Column, Table};
use crate::ui::{Tone, Ui};

pub(super) fn print(
    policies: &[Named],
    swept: &[Swept],
    by: Sort,
    ui: &mut Ui,
) -> Result<(), Stop> {
    let mut table = Table::new(&[
        Column::Left("recording"),
        Column::Left("policy"),
        Column::RightExtra("requests"),
        Column::RightExtra("changed"),
        Column::Right("frontier"),
        Column::RightExtra("tokens max"),
        Column::Right("tokens total"),
        Column::RightExtra("of recorded"),
        Column::Right("hidden"),
        Column::Left("fidelity"),
    ]);
    let labels = inputs::labels(swept.iter().map(|swept| swept.path.as_path()));
    for (label, recording) in labels.iter().zip(swept) {
        if is_without_requests(recording) {
            let none = || table::Cell::from("-");
            let words = "no requests".into();
            let name = label.as_str().into();
            table.row([
                name,
                none(),
                none(),
                none(),
                none(),
                none(),
                none(),
                none(),
                none(),
                words,
            ]);
            continue;
        }
        for cell in recording.rows.iter().flatten() {
            add(&mut table, label.as_str().into(), policies, cell);
        }
    }
    let is_good = |swept: &&Swept| swept.rows.is_ok() && !is_without_requests(swept);
    let good = swept.iter().filter(is_good).count();
    if good > 1 {
        let mut sums: Vec<Cell> = (0..policies.len())
            .map(|policy| {
                let (recorded_tokens, row) = total(swept, policy);
                Cell { policy, recorded_tokens, row: Ok(row) }
            })
            .collect();
        sort(&mut sums, policies, by);
        for cell in &sums {
            add(&mut table, table::Cell::toned("total", Tone::Strong), policies, cell);
        }
    }
    if table.is_empty() {
        return Ok(());
    }
    ui.line(format_args!("{}", estimators(policies)))?;
    ui.line(format_args!("{HELD_FIXED}\n"))?;
    ui.table(&table)?;
    footnotes(policies, swept, ui)
}

/// True when no policy has anything to work on.
fn is_without_requests(swept: &Swept) -> bool {
    let Ok(cells) = &swept.rows else { return false };
    !cells.is_empty() && cells.iter().all(|c| c.row.as_ref().is_ok_and(|row| row.requests == 0))
}

/// The estimators in use, with what they compute.
fn estimators(policies: &[Named]) -> String {
    let mut ids: Vec<_> = policies.iter().map(|named| named.policy.estimator.id()).collect();
    ids.sort_unstable();
    ids.dedup();
    let words = ids.into_iter().map(|id| match id {
        "b4ceil" => "b4ceil, a quarter of the body's bytes, rounded up".to_owned(),
        other => other.to_owned(),
    });
    let words: Vec<_> = words.collect();
    format!("Tokens are estimated ({}).", words.join("; "))
}

fn add(table: &mut Table, name: table::Cell, policies: &[Named], cell: &Cell) {
    let Some(named) = policies.get(cell.policy) else { return };
    let Ok(row) = &cell.row else {
        let none = || table::Cell::from("-");
        let failed = table::Cell::toned("failed", Tone::Bad);
        let id = named.id.as_str().into();
        table.row([name, id, none(), none(), none(), none(), none(), none(), none(), failed]);
        return;
    };
    let frontier = row.frontier.map_or_else(|| "-".to_owned(), count);
    table.row([
        name,
        named.id.as_str().into(),
        count(row.requests).into(),
        count(row.changed).into(),
        frontier.into(),
        count(row.tokens_max).into(),
        count(row.tokens_total).into(),
        percent(row.tokens_total, cell.recorded_tokens).into(),
        bytes(row.hidden_bytes).into(),
        fidelity(&row.fidelity).into(),
    ]);
}

/// `9 derived 2 assumed`.
fn fidelity(counts: &FidelityCounts) -> String {
    let all = [
        (counts.exact, "exact"),
        (counts.derived, "derived"),
        (counts.assumed, "assumed"),
        (counts.refused, "refused"),
    ];
    let words = all.into_iter().filter(|(number, _)| *number > 0);
    words.map(|(number, word)| [&count(number), " ", word].concat()).collect::<Vec<_>>().join(" ")
}

/// Why requests were assumed or refused, and what policies broke.
fn footnotes(policies: &[Named], swept: &[Swept], ui: &mut Ui) -> Result<(), Stop> {
    let mut reasons: BTreeMap<&str, (u64, Vec<&str>)> = BTreeMap::new();
    let mut broken = Vec::new();
    for (index, named) in policies.iter().enumerate() {
        let (_, row): (u64, Row) = total(swept, index);
        for (_step, reason, number) in &row.reasons {
            let (sum, ids) = reasons.entry(reason).or_default();
            *sum += number;
            if !ids.contains(&named.id.as_str()) {
                ids.push(&named.id);
            }
        }
        if row.broken_pairs > 0 {
            broken.push(format!("{} ({})", named.id, count(row.broken_pairs)));
        }
    }
    if !reasons.is_empty() || !broken.is_empty() {
        ui.gap()?;
    }
    for (reason, (number, ids)) in reasons {
        let projections = counted(number, "projection");
        let words = format!("assumed or refused: {projections} of {}: {reason}", ids.join(", "));
        ui.line(format_args!("{}", crate::text::one_line(&words)))?;
    }
    if !broken.is_empty() {
        let words = broken.join(", ");
        ui.toned(
            Tone::Warn,
            &format!("tool calls without result, or results without call, made by: {words}"),
        )?;
    }
    Ok(())
}
