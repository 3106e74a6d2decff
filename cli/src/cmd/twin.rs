//! `twin`: a run under the policy of another run of the same script, against what that run sent.

use std::path::PathBuf;

use clap::Args;
use ledger::id::RequestId;
use replay::twin::rules::TextRule;
use replay::twin::{Outcome as Compared, Pair, Rules, TwinReport, twin};
use serde::Serialize;

use crate::args::{Format, FormatArgs};
use crate::cmd::policy::SetArgs;
use crate::error::{Ended, Failure, Kind, Outcome, Stop, map};
use crate::inputs::{self, Scratch};
use crate::policies;
use crate::report::number::{count, counted};
use crate::report::table::{Cell, Column, Table};
use crate::text::one_line;
use crate::ui::{Tone, Ui};

/// Compare a run under a policy with a live run under that policy
///
/// Projects REC under the policy and compares it, request by request and byte for byte, with what
/// OTHER sent: a run of the same script whose client really had that setting. What two runs of a
/// program can never share may differ: ids (each must stand for the same id everywhere), times,
/// process numbers. Known clients are declared; --place and --member declare more. Everything
/// else must be the same.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold twin runs/long runs/short --policy long.toml --set cap_text.limit=4000
  counterfold twin runs/a runs/b --policy recorded
  counterfold twin a.har b.har --policy mine.toml --place 'Build {number} of' --inputs-differ

Exit codes:
  0  every request is the same but for what is declared
  1  some request differs, or has no counterpart
  2  could not decide: usage, damage, or a request that cannot be projected")]
pub(crate) struct TwinArgs {
    /// The run that is projected
    #[arg(value_name = "REC")]
    recording: PathBuf,
    /// The run that it is compared with
    #[arg(value_name = "OTHER")]
    other: PathBuf,
    /// A built-in policy, `recorded`, or a TOML file
    #[arg(short, long, value_name = "POLICY", required = true)]
    policy: String,
    #[command(flatten)]
    set: SetArgs,
    /// A place in texts that may differ, with {id} or {number} in it
    #[arg(long = "place", value_name = "TEXT")]
    places: Vec<String>,
    /// A member of a JSON object whose value may differ
    #[arg(long = "member", value_name = "NAME")]
    members: Vec<String>,
    /// The user's words may differ between the runs
    #[arg(long)]
    inputs_differ: bool,
    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(args: &TwinArgs, scratch: &mut Scratch, ui: &mut Ui) -> Ended {
    let named = policies::resolve_with(&args.policy, &args.set.set)?;
    let rules = rules(args)?;
    let own = inputs::one(&args.recording, scratch, ui)?;
    let other = inputs::one(&args.other, scratch, ui)?;
    let recording = inputs::open(&own.folder)?;
    let against = inputs::open(&other.folder)?;
    let report = twin(&recording, &named.policy, &against, &rules);
    let report = report.map_err(|error| map::twin(&error))?;
    let outcome = if report.is_same() && !report.pairs.is_empty() {
        Outcome::Fine
    } else if report.is_undecided() {
        Outcome::Undecided
    } else {
        Outcome::Found
    };
    match args.format.format {
        Format::Json => ui.json(&document(args, &named.id, &report, outcome))?,
        Format::Table => print(&named.id, &report, ui)?,
    }
    Ok(outcome)
}

fn rules(args: &TwinArgs) -> Result<Rules, Failure> {
    let mut rules = Rules::known();
    rules.inputs_may_differ = args.inputs_differ;
    rules.members.extend(args.members.iter().cloned());
    for place in &args.places {
        let rule = TextRule::parse(place).map_err(|error| {
            Failure::new(Kind::Usage, format!("--place: {error}"))
                .hint("for example --place 'Build {number} of'")
        })?;
        rules.texts.push(rule);
    }
    Ok(rules)
}

fn print(policy: &str, report: &TwinReport, ui: &mut Ui) -> Result<(), Stop> {
    let mut table = Table::new(&[
        Column::Right("request"),
        Column::Right("other"),
        Column::Left("changed by the policy"),
        Column::Left("rests on"),
        Column::Left("result"),
    ]);
    for pair in &report.pairs {
        let ordinal =
            |id: Option<RequestId>| id.map_or_else(|| "-".to_owned(), |id| count(id.ordinal()));
        let fidelity = pair.fidelity.as_ref().map_or("-", projector::Fidelity::name);
        table.row([
            ordinal(pair.projected).into(),
            ordinal(pair.other).into(),
            if pair.changed { "yes" } else { "no" }.into(),
            fidelity.into(),
            result(pair),
        ]);
    }
    ui.table(&table)?;
    let good = |pair: &&Pair| matches!(pair.outcome, Compared::Identical | Compared::Equal);
    let same = report.pairs.iter().filter(good).count() as u64;
    let all = counted(report.pairs.len() as u64, "request");
    let words = format!("{}: {} of {all} the same", one_line(policy), count(same));
    let tone = if report.is_same() { Tone::Good } else { Tone::Bad };
    ui.gap()?;
    ui.toned(tone, &words)?;
    ui.line(format_args!("  {} stand for another", counted(report.aliases, "id")))?;
    if report.inputs > 0 {
        let texts = counted(report.inputs, "text");
        ui.line(format_args!("  {texts} of the user differ, as allowed"))?;
    }
    for (rule, times) in &report.tolerated {
        ui.line(format_args!("  {} x {}", count(*times), one_line(rule)))?;
    }
    ui.line(format_args!(
        "  the recorded trajectory is held fixed: equal means that this run, with the same \
         answers, would have sent the same"
    ))
}

fn result(pair: &Pair) -> Cell {
    match &pair.outcome {
        Compared::Identical => Cell::toned("identical", Tone::Good),
        Compared::Equal => Cell::toned("equal", Tone::Good),
        Compared::Different(found) => {
            let place = if found.pointer.is_empty() { "/" } else { &found.pointer };
            let words = format!(
                "differs: {} at {} (byte {} against {})",
                found.what,
                one_line(place),
                count(found.own_at as u64),
                count(found.other_at as u64)
            );
            Cell::toned(words, Tone::Bad)
        }
        Compared::Refused(reason) => Cell::toned(format!("refused: {reason}"), Tone::Bad),
        Compared::Alone => Cell::toned("has no counterpart", Tone::Bad),
    }
}

#[derive(Serialize)]
struct Document<'r> {
    schema: &'static str,
    ok: bool,
    recording: String,
    other: String,
    policy: &'r str,
    same: bool,
    undecided: bool,
    aliases: u64,
    inputs: u64,
    tolerated: &'r std::collections::BTreeMap<String, u64>,
    pairs: Vec<PairEntry<'r>>,
}

#[derive(Serialize)]
struct PairEntry<'r> {
    request: Option<u64>,
    other: Option<u64>,
    changed: bool,
    fidelity: Option<&'static str>,
    reason: Option<&'static str>,
    outcome: &'static str,
    pointer: Option<&'r str>,
    what: Option<&'static str>,
    at: Option<u64>,
    other_at: Option<u64>,
}

fn document<'r>(
    args: &TwinArgs,
    policy: &'r str,
    report: &'r TwinReport,
    outcome: Outcome,
) -> Document<'r> {
    Document {
        schema: "counterfold.twin/1",
        ok: outcome == Outcome::Fine,
        recording: args.recording.display().to_string(),
        other: args.other.display().to_string(),
        policy,
        same: report.is_same(),
        undecided: report.is_undecided(),
        aliases: report.aliases,
        inputs: report.inputs,
        tolerated: &report.tolerated,
        pairs: report.pairs.iter().map(entry).collect(),
    }
}

fn entry(pair: &Pair) -> PairEntry<'_> {
    let (outcome, found) = match &pair.outcome {
        Compared::Identical => ("identical", None),
        Compared::Equal => ("equal", None),
        Compared::Different(found) => ("different", Some(found)),
        Compared::Refused(_) => ("refused", None),
        Compared::Alone => ("alone", None),
    };
    let reason = pair.fidelity.as_ref().and_then(projector::Fidelity::reason);
    PairEntry {
        request: pair.projected.map(RequestId::ordinal),
        other: pair.other.map(RequestId::ordinal),
        changed: pair.changed,
        fidelity: pair.fidelity.as_ref().map(projector::Fidelity::name),
        reason: reason.map(|(_, words)| words),
        outcome,
        pointer: found.map(|found| found.pointer.as_str()),
        what: found.map(|found| found.what),
        at: found.map(|found| found.own_at as u64),
        other_at: found.map(|found| found.other_at as u64),
    }
}
