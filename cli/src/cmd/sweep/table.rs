//! What a sweep found, for people.

use std::collections::BTreeMap;
use std::path::Path;

use super::row::{Fidelity, RowEntry};
use super::{HELD_FIXED, Results, pareto};
use crate::error::Stop;
use crate::inputs;
use crate::report::money::dollars;
use crate::report::number::{bytes, count, counted, percent};
use crate::report::table::{Cell, Column, Table};
use crate::ui::{Tone, Ui};

/// With more recordings than this, only totals are shown.
const RECORDINGS_MAX: usize = 40;

pub(super) fn print(results: &Results<'_>, ui: &mut Ui) -> Result<(), Stop> {
    let mut table = Table::new(&[
        Column::Left("recording"),
        Column::Left("policy"),
        Column::Left(""),
        Column::RightExtra("requests"),
        Column::Right("frontier"),
        Column::Right("tokens"),
        Column::RightExtra("largest"),
        Column::RightExtra("from cache"),
        Column::Right("cost"),
        Column::Left("to recorded"),
        Column::Right("evidence"),
        Column::RightExtra("random"),
        Column::Right("hidden"),
        Column::Left("fidelity"),
    ]);
    let labels = inputs::labels(results.found.iter().map(|(path, _)| Path::new(path.as_str())));
    let mut labels = labels.iter();
    let show_all = results.found.len() <= RECORDINGS_MAX;
    let mut good = 0;
    results.each(|recording, rows| {
        let label = labels.next().map_or("", String::as_str);
        if recording.error.is_some() {
            return Ok(());
        }
        if recording.requests == 0 {
            if show_all {
                none(&mut table, label);
            }
            return Ok(());
        }
        good += 1;
        if show_all {
            let front = pareto::front(&rows.iter().collect::<Vec<_>>());
            let is_known = front.contains(&true);
            for (row, front) in rows.iter().zip(front) {
                add(&mut table, label, row, is_known.then_some(front), None);
            }
        }
        Ok(())
    })?;
    if good > 1 {
        let is_known = results.front.contains(&true);
        for (row, front) in results.totals.iter().zip(&results.front) {
            add(&mut table, "total", row, is_known.then_some(*front), Some(Tone::Strong));
        }
    }
    if table.is_empty() {
        return Ok(());
    }
    for line in results.bases.lines() {
        ui.line(format_args!("{}", crate::text::one_line(&line)))?;
    }
    ui.line(format_args!("{HELD_FIXED}\n"))?;
    ui.table(&table)?;
    footnotes(results, ui)
}

/// A recording in which no policy has anything to work on.
fn none(table: &mut Table, label: &str) {
    unmeasured(table, [label.into(), "-".into(), "".into()], "no requests".into());
}

/// A row of what the first columns name, and a word for why nothing was measured of it.
fn unmeasured(table: &mut Table, first: [Cell; 3], why: Cell) {
    let mut cells: [Cell; 14] = core::array::from_fn(|_| Cell::from("-"));
    let [named @ .., last] = &mut cells;
    for (cell, first) in named.iter_mut().zip(first) {
        *cell = first;
    }
    *last = why;
    table.row(cells);
}

fn add(
    table: &mut Table,
    label: &str,
    row: &RowEntry,
    front: Option<bool>,
    label_tone: Option<Tone>,
) {
    let is_recorded = row.fidelity.exact == row.requests;
    // What another policy beats in both is less important than what none does.
    let tone = (front == Some(false) && !is_recorded).then_some(Tone::Faint);
    let cell = |text: String| match tone {
        Some(tone) => Cell::toned(text, tone),
        None => Cell::from(text),
    };
    let label = match label_tone {
        Some(tone) => Cell::toned(label, tone),
        None => cell(label.to_owned()),
    };
    if !row.is_good() {
        let first = [label, row.policy.as_str().into(), "-".into()];
        unmeasured(table, first, Cell::toned("failed", Tone::Bad));
        return;
    }
    if !row.is_known() {
        let first = [label, cell(row.policy.clone()), cell(String::new())];
        unmeasured(table, first, cell(fidelity(&row.fidelity)));
        return;
    }
    let share = |per_mille: Option<u64>| {
        per_mille.map_or_else(|| "-".to_owned(), |share| percent(share, 1000))
    };
    let input = row.cache.read + row.cache.write + row.cache.uncached;
    let dash = || "-".to_owned();
    table.row([
        label,
        cell(row.policy.clone()),
        cell(if front == Some(true) { "*".to_owned() } else { String::new() }),
        cell(count(row.requests)),
        cell(row.frontier.map_or_else(dash, count)),
        cell(count(row.prompt_tokens)),
        cell(count(row.prompt_tokens_max)),
        cell(percent(row.cache.read, input)),
        cell(if row.is_priced() { dollars(row.cost.total) } else { dash() }),
        cell(against(row)),
        cell(share(row.recall())),
        cell(share(row.random_recall())),
        cell(bytes(row.hidden_bytes)),
        cell(fidelity(&row.fidelity)),
    ]);
}

/// The cost against that of the record, and what can be said of it.
pub(super) fn against(row: &RowEntry) -> String {
    let money = &row.cost;
    if !row.is_priced() || money.recorded == 0 {
        let (now, then) = (row.tokens_total, row.tokens_recorded);
        return format!("{} tokens", change(now, then));
    }
    let words = change(money.total, money.recorded);
    match money.error_per_mille {
        _ if money.total == money.recorded => words,
        None => format!("{words} uncalibrated"),
        Some(_) if money.within_error => format!("{words} within error"),
        Some(error) => format!("{words} (error {})", percent(error, 1000)),
    }
}

/// `-12.3 %`, `+4.0 %`, `0.0 %`.
fn change(now: u64, then: u64) -> String {
    let sign = match now.cmp(&then) {
        std::cmp::Ordering::Less => "-",
        std::cmp::Ordering::Equal => "",
        std::cmp::Ordering::Greater => "+",
    };
    format!("{sign}{}", percent(now.abs_diff(then), then))
}

/// `9 derived 2 assumed`.
pub(super) fn fidelity(counts: &Fidelity) -> String {
    let all = [
        (counts.exact, "exact"),
        (counts.derived, "derived"),
        (counts.assumed, "assumed"),
        (counts.refused, "refused"),
    ];
    let words = all.into_iter().filter(|(number, _)| *number > 0);
    words.map(|(number, word)| [&count(number), " ", word].concat()).collect::<Vec<_>>().join(" ")
}

/// What the columns mean, why requests were assumed or refused, and what policies broke.
fn footnotes(results: &Results<'_>, ui: &mut Ui) -> Result<(), Stop> {
    ui.gap()?;
    if results.totals.iter().all(|row| row.recall().is_none()) {
        ui.line(format_args!(
            "No recorded answer quotes an output, so that evidence is not known and no policy is \
             marked."
        ))?;
    }
    ui.line(format_args!(
        "*: no other policy costs less and shows more evidence. evidence: what the recorded answers"
    ))?;
    ui.line(format_args!(
        "use of outputs and the policy shows (a lower bound on use); random: what is left when as \
         much is hidden by chance."
    ))?;
    if results.totals.iter().any(|row| row.fidelity.refused > 0) {
        ui.line(format_args!(
            "Rows without numbers: some request was refused, and what it would have been is not \
             known."
        ))?;
    }
    idle(results, ui)?;
    rereads(results, ui)?;
    let mut reasons: BTreeMap<&str, (u64, Vec<&str>)> = BTreeMap::new();
    let mut broken = Vec::new();
    for row in &results.totals {
        for reason in &row.reasons {
            let (sum, ids) = reasons.entry(&reason.words).or_default();
            *sum += reason.requests;
            if !ids.contains(&row.policy.as_str()) {
                ids.push(&row.policy);
            }
        }
        if row.broken_pairs > 0 {
            broken.push(format!("{} ({})", row.policy, count(row.broken_pairs)));
        }
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
    if ui.is_verbose() {
        for words in results.bases.assumes() {
            ui.line(format_args!("assumed of the provider: {}", crate::text::one_line(words)))?;
        }
    }
    Ok(())
}

/// Policies that change nothing anywhere.
fn idle(results: &Results<'_>, ui: &mut Ui) -> Result<(), Stop> {
    let never = results.totals.iter().filter(|row| {
        let is_recorded = row.fidelity.exact == row.requests;
        row.is_known() && row.recordings > 0 && row.never_fires == row.recordings && !is_recorded
    });
    let names: Vec<_> = never.map(|row| row.policy.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let words = format!("never fires, in no request of any recording: {}", names.join(", "));
    ui.line(format_args!("{}", crate::text::one_line(&words)))
}

/// Policies whose turns of reading again are named.
const REREADS_MAX: usize = 5;

/// The modelled risk that what is hidden is read again, in a line of its own.
fn rereads(results: &Results<'_>, ui: &mut Ui) -> Result<(), Stop> {
    let turns = |row: &RowEntry| row.rereads.expected_turns_per_mille.unwrap_or(0);
    let known = results.totals.iter().filter(|row| row.is_known() && turns(row) > 0);
    let mut most: Vec<&RowEntry> = known.collect();
    most.sort_by_key(|row| u64::MAX - turns(row));
    let Some(first) = most.first() else { return Ok(()) };
    let tools = first.rereads.by_tool.values();
    let (again, hidden) = tools.fold((0, 0), |(a, h), it| (a + it.again, h + it.hidden));
    let names = most.iter().take(REREADS_MAX).map(|row| {
        let turns = turns(row);
        format!("{} {}.{}", row.policy, count(turns / 1000), turns % 1000 / 100)
    });
    let names: Vec<_> = names.collect();
    let words = format!(
        "modelled, turns of reading again what is hidden, most first: {} (of {} that the recorded \
         client took out, {} came back)",
        names.join(", "),
        counted(hidden, "output"),
        count(again)
    );
    ui.line(format_args!("{}", crate::text::one_line(&words)))
}
