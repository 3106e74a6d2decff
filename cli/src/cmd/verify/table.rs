//! What `verify` found, for people: a row per recording, every divergence, what is worth knowing.

use std::collections::BTreeMap;

use ledger::event::Rung;
use replay::verify::Coverage;
use replay::{Check, RecordingReport, RequestVerdict};

use super::against::Compared;
use super::finding::diverged;
use super::{Checked, Verified, VerifyArgs};
use crate::error::Stop;
use crate::report::number::{bytes, count, counted, percent};
use crate::report::table::{Cell, Column, Table};
use crate::text::one_line;
use crate::ui::{Tone, Ui};

/// Digits of a chain that tables show.
const CHAIN_DIGITS: usize = 12;

pub(super) fn print(args: &VerifyArgs, checked: &Checked, ui: &mut Ui) -> Result<(), Stop> {
    let all = &checked.all;
    let reports: Vec<_> = all
        .iter()
        .filter_map(|verified| Some((verified.label.as_str(), verified.report.as_ref().ok()?)))
        .collect();
    if !reports.is_empty() {
        ui.table(&summary(&reports))?;
        legend(&reports, ui)?;
    }
    let imported = reports.iter().any(|(_, report)| !report.is_live);
    if args.level.has_wire() && imported {
        ui.line(format_args!(
            "wire: not recorded (these runs were imported; their connections are not on record)"
        ))?;
    }
    if args.requests || ui.is_verbose() {
        for (label, report) in &reports {
            ui.gap()?;
            ui.toned(Tone::Strong, &format!("{}:", one_line(label)))?;
            ui.table(&requests(report))?;
        }
    }
    for (label, report) in &reports {
        divergences(label, report, ui)?;
    }
    for verified in all {
        demands(args, verified, ui)?;
    }
    for entry in &checked.baselined.missing {
        let name = one_line(&entry.name);
        ui.toned(Tone::Bad, &format!("{name}: in the baseline, and not given"))?;
    }
    for (label, report) in &reports {
        remarks(label, report, ui)?;
    }
    for finding in checked.paranoid.iter().flatten() {
        ui.toned(Tone::Bad, &format!("paranoid: {}", one_line(&finding.line())))?;
    }
    if checked.paranoid.as_ref().is_some_and(Vec::is_empty) {
        let words = format!("paranoid: the same in {} processes", super::paranoid::PROCESSES);
        ui.toned(Tone::Good, &words)?;
    }
    Ok(())
}

/// What was demanded of a recording and is not so.
fn demands(args: &VerifyArgs, verified: &Verified, ui: &mut Ui) -> Result<(), Stop> {
    let name = one_line(&verified.label);
    if let (false, Some(min)) = (verified.below.is_empty(), args.min_rung) {
        let words = format!("below {}: {}", min.name(), numbers(&verified.below));
        ui.toned(Tone::Bad, &format!("{name}: {words}"))?;
    }
    if let (Some(covered), Some(min)) = (verified.uncovered, args.min_coverage) {
        let words = format!("coverage {} is below {}", per_mille(covered), per_mille(min));
        ui.toned(Tone::Bad, &format!("{name}: {words}"))?;
    }
    match &verified.compared {
        Compared::NotAsked => {}
        Compared::Same => ui.toned(Tone::Good, &format!("{name}: as in the baseline"))?,
        Compared::New => {
            let words = "not in the baseline (`counterfold accept` takes it up)";
            ui.toned(Tone::Bad, &format!("{name}: {words}"))?;
        }
        Compared::Different(found) => {
            ui.toned(Tone::Bad, &format!("{name}: not as in the baseline"))?;
            for words in found {
                ui.line(format_args!("  {}", one_line(words)))?;
            }
        }
    }
    Ok(())
}

/// `97.3 %`.
fn per_mille(number: u64) -> String {
    format!("{}.{} %", number / 10, number % 10)
}

/// How much of the input that the provider counted is on record, and which calls are apart.
fn coverage(name: &str, coverage: &Coverage, ui: &mut Ui) -> Result<(), Stop> {
    let requests = coverage.with_usage + coverage.without_usage;
    match coverage.per_mille() {
        _ if requests == 0 => {}
        None => ui.line(format_args!("{name}: coverage unknown: no answer reports its input"))?,
        Some(covered) => {
            let reported = count(coverage.reported_tokens);
            let captured = count(coverage.captured_tokens);
            let without = match coverage.without_usage {
                0 => String::new(),
                number => format!("; {} without a report", counted(number, "request")),
            };
            ui.line(format_args!(
                "{name}: coverage {}: about {captured} of {reported} reported input \
                 tokens{without}",
                per_mille(covered)
            ))?;
        }
    }
    for unexplained in &coverage.unexplained {
        let (calls, kind) = (count(unexplained.calls), one_line(&unexplained.kind));
        ui.line(format_args!("{name}: unexplained: {calls} x {kind}"))?;
    }
    Ok(())
}

fn summary(reports: &[(&str, &RecordingReport)]) -> Table {
    let mut table = Table::new(&[
        Column::Left("recording"),
        Column::Right("requests"),
        Column::Right("identical"),
        Column::Right("diverged"),
        Column::Right("unverifiable"),
        Column::LeftExtra("rung"),
        Column::Right("linked"),
        Column::RightExtra("client's own"),
        Column::LeftExtra("head"),
    ]);
    for (label, report) in reports {
        let counts = report.counts();
        let linking = &report.linking;
        let bad = |number| {
            if number == 0 { Cell::from("0") } else { Cell::toned(count(number), Tone::Bad) }
        };
        let whole = counts.identical == counts.requests && counts.requests > 0;
        let tone = if whole { Tone::Good } else { Tone::Warn };
        table.row([
            (*label).into(),
            count(counts.requests).into(),
            Cell::toned(count(counts.identical), tone),
            bad(counts.diverged),
            bad(counts.unverifiable),
            rungs(report).into(),
            format!("{}/{}", count(linking.model_and_tool_linked), count(linking.model_and_tool))
                .into(),
            percent(linking.verbatim_bytes, linking.bytes).into(),
            short_head(&report.head).into(),
        ]);
    }
    if reports.len() > 1 {
        total(reports, &mut table);
    }
    table
}

fn total(reports: &[(&str, &RecordingReport)], table: &mut Table) {
    let sum = |of: &dyn Fn(&RecordingReport) -> u64| -> u64 {
        reports.iter().map(|(_, report)| of(report)).sum()
    };
    let linked = count(sum(&|report| report.linking.model_and_tool_linked));
    let of = count(sum(&|report| report.linking.model_and_tool));
    let own = sum(&|report| report.linking.verbatim_bytes);
    table.row([
        Cell::toned("total", Tone::Strong),
        count(sum(&|report| report.counts().requests)).into(),
        count(sum(&|report| report.counts().identical)).into(),
        count(sum(&|report| report.counts().diverged)).into(),
        count(sum(&|report| report.counts().unverifiable)).into(),
        "".into(),
        [&linked, "/", &of].concat().into(),
        percent(own, sum(&|report| report.linking.bytes)).into(),
        "".into(),
    ]);
}

/// The head with a chain that can still be told from others.
pub(in crate::cmd) fn short_head(head: &str) -> String {
    match head.split_once(':') {
        Some((seq, chain)) => {
            format!("{seq}:{}", chain.get(..CHAIN_DIGITS).unwrap_or(chain))
        }
        None => head.to_owned(),
    }
}

/// `64 body-exact`, worst last.
fn rungs(report: &RecordingReport) -> String {
    let of = |rung: Rung| report.requests.iter().filter(|request| request.rung == rung).count();
    let words = Rung::ALL.into_iter().filter_map(|rung| {
        let number = of(rung) as u64;
        (number > 0).then(|| format!("{} {}", count(number), rung.name()))
    });
    words.collect::<Vec<_>>().join(", ")
}

fn legend(reports: &[(&str, &RecordingReport)], ui: &mut Ui) -> Result<(), Stop> {
    let linked: u64 = reports.iter().map(|(_, r)| r.linking.model_and_tool_linked).sum();
    let all: u64 = reports.iter().map(|(_, r)| r.linking.model_and_tool).sum();
    let own: u64 = reports.iter().map(|(_, r)| r.linking.verbatim_bytes).sum();
    let total: u64 = reports.iter().map(|(_, r)| r.linking.bytes).sum();
    let (share, own_share) = (percent(linked, all), percent(own, total));
    ui.line(format_args!(
        "\nlinked: assistant and tool-result parts linked to the answer or call they come from \
         ({share})"
    ))?;
    let (own, total) = (bytes(own), bytes(total));
    ui.line(format_args!(
        "client's own: bytes that only the client's own text explains ({own} of {total}, \
         {own_share})"
    ))
}

fn requests(report: &RecordingReport) -> Table {
    let mut table = Table::new(&[
        Column::Right("request"),
        Column::Left("rung"),
        Column::Left("hash"),
        Column::Left("reassembly"),
        Column::Left("projection"),
        Column::Left("reason"),
    ]);
    for verdict in &report.requests {
        table.row([
            count(verdict.ordinal).into(),
            verdict.rung.name().into(),
            check(verdict.hash),
            check(verdict.reassembly),
            check(verdict.projection),
            verdict.reason.as_deref().unwrap_or_default().into(),
        ]);
    }
    table
}

fn check(check: Check) -> Cell {
    let tone = match check {
        Check::Identical => Tone::Good,
        Check::Diverged => Tone::Bad,
        Check::Unverifiable => Tone::Warn,
        Check::NotApplicable => return "-".into(),
    };
    Cell::toned(check.name(), tone)
}

fn divergences(label: &str, report: &RecordingReport, ui: &mut Ui) -> Result<(), Stop> {
    let name = one_line(label);
    let mut undecided: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    // One cause shows in every request that carries it; it is told once.
    let mut groups: Vec<(&RequestVerdict, Vec<u64>)> = Vec::new();
    let mut known: BTreeMap<_, usize> = BTreeMap::new();
    for verdict in &report.requests {
        match verdict.worst() {
            Check::Diverged => {
                let at = verdict.divergence.as_ref();
                let key = (
                    diverged(verdict),
                    at.map(|at| (at.offset, &at.pointer, &at.part, &at.expected, &at.found)),
                );
                let group = *known.entry(key).or_insert(groups.len());
                match groups.get_mut(group) {
                    Some((_, also)) => also.push(verdict.ordinal),
                    None => groups.push((verdict, Vec::new())),
                }
            }
            Check::Unverifiable => {
                let reason = verdict.reason.as_deref().unwrap_or("no reason is known");
                undecided.entry(reason).or_default().push(verdict.ordinal);
            }
            Check::Identical | Check::NotApplicable => {}
        }
    }
    for (verdict, also) in groups {
        divergence(&name, verdict, &also, ui)?;
    }
    for (reason, requests) in undecided {
        ui.gap()?;
        ui.toned(Tone::Warn, &format!("{name}: unverifiable: {}", numbers(&requests)))?;
        ui.line(format_args!("  reason:   {}", one_line(reason)))?;
    }
    Ok(())
}

fn divergence(name: &str, verdict: &RequestVerdict, also: &[u64], ui: &mut Ui) -> Result<(), Stop> {
    let what = diverged(verdict);
    ui.gap()?;
    ui.toned(Tone::Bad, &format!("{name}@{}: {}", verdict.ordinal, one_line(&what)))?;
    if let Some(reason) = &verdict.reason {
        ui.line(format_args!("  reason:   {}", one_line(reason)))?;
    }
    if !also.is_empty() {
        ui.line(format_args!("  likewise: {}", numbers(also)))?;
    }
    let Some(divergence) = &verdict.divergence else { return Ok(()) };
    let pointer = one_line(&divergence.pointer);
    let at = if pointer.is_empty() { "the whole body".into() } else { pointer };
    ui.line(format_args!("  at:       byte {}, {at}", divergence.offset))?;
    ui.line(format_args!("  part:     {}", one_line(&divergence.part)))?;
    ui.line(format_args!("  expected: {}", one_line(&divergence.expected)))?;
    ui.line(format_args!("  found:    {}", one_line(&divergence.found)))
}

/// What is damaged, what has no cause, and what is merely worth knowing.
fn remarks(label: &str, report: &RecordingReport, ui: &mut Ui) -> Result<(), Stop> {
    let name = one_line(label);
    for damage in &report.damage {
        ui.toned(Tone::Bad, &format!("{name}: damage: {}", one_line(damage)))?;
    }
    coverage(&name, &report.coverage, ui)?;
    for unlinked in &report.linking.unlinked {
        let parts = counted(unlinked.parts, "part");
        let (reason, first) = (unlinked.reason, unlinked.first_request);
        ui.line(format_args!("{name}: {parts} not linked: {reason} (first in request {first})"))?;
    }
    if report.requests.is_empty() {
        ui.line(format_args!("{name}: no request"))?;
    }
    for notice in report.tail.iter().chain(&report.notices) {
        ui.line(format_args!("{name}: note: {}", one_line(notice)))?;
    }
    Ok(())
}

/// `3, 9, 12 and 40 more`.
fn numbers(ordinals: &[u64]) -> String {
    const SHOWN_MAX: usize = 10;
    let shown: Vec<_> = ordinals.iter().take(SHOWN_MAX).map(u64::to_string).collect();
    let rest = ordinals.len() - shown.len();
    let noun = if ordinals.len() == 1 { "request" } else { "requests" };
    let words = format!("{noun} {}", shown.join(", "));
    if rest > 0 { format!("{words} and {rest} more") } else { words }
}
