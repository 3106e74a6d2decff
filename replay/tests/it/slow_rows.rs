//! Goal: the numbers of a row, of rewrites, of reading again, of the oracle and of outcomes are
//! those of their definitions. Method: each of them from materialised bytes and lines, in the
//! plainest way, over recordings and runs by rule.

use std::collections::{BTreeMap, BTreeSet};

use ledger::history::Change;
use projector::metrics::outcome::{self, Scored};
use projector::metrics::outline::TextNo;
use projector::metrics::rulebook::Scheme;
use projector::metrics::{Class, Line, prompt_bytes};
use projector::policy::presets;
use projector::{Policy, Projector};
use replay::evaluate::oracle::{self, Chance, Leave};
use replay::evaluate::{Audit, Dynamics, EvaluatedRow, Prepared, Reread};
use replay::rulebook::Rates;

use crate::support::{Imported, import, import_file};

/// Recordings with caps, edits of the client's own, several conversations, and a run by rule.
const CASES: [&str; 6] = [
    "codex-std",
    "mini-std",
    "hermes-compaction",
    "pi-anthropic-std",
    "cline-std",
    "pi-gemini-std",
];

fn by_rule(seed: u64, requests: usize) -> Imported {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rule.har");
    let shape = fixtures::corpus::Shape {
        seed,
        requests,
        head_bytes: 9000,
        output_bytes: 2500,
        seconds: 70,
    };
    std::fs::write(&file, fixtures::corpus::har(shape)).unwrap();
    import_file(&file)
}

fn all() -> Vec<Imported> {
    let seeds = (0..6).map(|seed| by_rule(seed, 12 + 3 * usize::try_from(seed).unwrap()));
    CASES.into_iter().map(import).chain(seeds).collect()
}

fn policies() -> Vec<Policy> {
    let names = ["cap-2k", "clear-keep-3", "window-20"];
    let all = presets::all().unwrap();
    let named = |name| all.iter().find(|policy| policy.name == name).unwrap().clone();
    [Policy::recorded()].into_iter().chain(names.map(named)).collect()
}

/// Calls `check` with every recording under every policy. Models take few tokens, so that some
/// requests overflow.
fn each(mut check: impl FnMut(&Prepared<'_>, &[Line], &EvaluatedRow, &str)) {
    let mut rates = Rates::builtin().unwrap();
    for model in &mut rates.prices.model {
        model.window = Some(9000);
    }
    for imported in all() {
        let prepared =
            Prepared::new(&imported.recording, &rates, Some("claude-sonnet-4-5")).unwrap();
        for policy in policies() {
            let lines = prepared.policy(&policy).unwrap();
            check(&prepared, &lines, &prepared.row(&lines), &policy.name);
        }
    }
}

/// The prompts of a policy, written out.
fn prompts(prepared: &Prepared<'_>, policy: &Policy) -> Vec<Vec<u8>> {
    let recording = prepared.recording();
    let (history, source) = (recording.history(), recording.as_source());
    let mut projector = Projector::new(history, source, policy);
    let write =
        |id| prompt_bytes(history, source, &projector.projection(id).unwrap().view).unwrap();
    history.requests().iter().map(|request| request.captured.request).map(write).collect()
}

fn sum(lines: &[Line], of: impl Fn(&Line) -> u64) -> u64 {
    lines.iter().map(of).sum()
}

#[test]
fn every_sum_of_a_row_is_that_of_its_lines() {
    each(|prepared, lines, row, place| {
        let base = prepared.base();
        let frontier = lines.iter().position(|line| line.account.changed);
        assert_eq!(row.sums.frontier, frontier.map(|at| at as u64 + 1), "{place}");
        let before = &lines[..frontier.unwrap_or(lines.len())];
        assert_eq!(row.measured, before.len() as u64, "{place}");
        let cost = |line: &Line| line.cost.map_or(0, |cost| cost.total().0);
        assert_eq!(row.cost_measured.0, sum(before, cost), "{place}");
        assert_eq!(row.cost.total().0, sum(lines, cost), "{place}");
        assert_eq!(row.tokens, sum(lines, |line| line.tokens), "{place}");
        assert_eq!(row.tokens_max, lines.iter().map(|line| line.tokens).max().unwrap_or(0));
        for (class, count) in Class::ALL.into_iter().zip(row.classes) {
            assert_eq!(count, sum(lines, |line| u64::from(line.class == class)), "{place}");
        }
        let over = |end: fn(&Line) -> u64| {
            sum(lines, |line| u64::from(line.window.is_some_and(|window| end(line) > window)))
        };
        assert_eq!(row.overflow_certain, over(|line| line.band.0), "{place}");
        assert_eq!(row.overflow_possible, over(|line| line.band.1), "{place}");
        let left = lines.iter().filter_map(|line| Some(line.window?.saturating_sub(line.tokens)));
        assert_eq!(row.headroom_min, left.min(), "{place}");
        let charges = || lines.iter().filter_map(|line| line.charge.as_ref());
        assert_eq!(row.read, charges().map(|charge| charge.read).sum::<u64>(), "{place}");
        assert_eq!(row.write, charges().flat_map(|charge| charge.write).sum::<u64>(), "{place}");
        assert_eq!(row.uncached, charges().map(|charge| charge.uncached).sum::<u64>(), "{place}");
        assert_eq!(row.simulated, charges().count() as u64, "{place}");
        assert_eq!(row.refused_marks, charges().filter(|charge| charge.refused).count() as u64);
        assert_eq!(row.recall.weight, sum(lines, |line| line.recall.weight), "{place}");
        assert_eq!(row.recall.shown, sum(lines, |line| line.recall.shown), "{place}");
        assert_eq!(row.recall.missed, sum(lines, |line| line.missed.len() as u64), "{place}");
        assert_eq!(row.recall.random, sum(lines, |line| line.recall.random), "{place}");
        assert_eq!(row.recall.heads, sum(lines, |line| line.recall.heads), "{place}");
        assert_eq!(row.recall.tails, sum(lines, |line| line.recall.tails), "{place}");
        let signs = (sum(lines, |line| line.signs.0), sum(base, |line| line.signs.0));
        assert_eq!(row.signs, signs, "{place}");
        let lost = lines.iter().zip(base).position(|(line, base)| line.signs.0 < base.signs.0);
        assert_eq!(row.sign_lost, lost.map(|at| at as u64 + 1), "{place}");
        assert_eq!(row.common_bytes, sum(lines, |line| line.common_bytes), "{place}");
        assert_eq!(row.before_bytes, sum(lines, |line| line.before_bytes), "{place}");
        let rewritten = |line: &Line| line.before_bytes - line.common_bytes;
        assert_eq!(row.rewritten_bytes, sum(lines, rewritten), "{place}");
        assert_eq!(row.rewrites, sum(lines, |line| u64::from(rewritten(line) > 0)), "{place}");
        assert_eq!(row.dead_bytes, sum(lines, |line| line.dead_bytes), "{place}");
        let turns = lines
            .iter()
            .zip(base)
            .filter(|(line, base)| line.user_turn_lost && !base.user_turn_lost);
        assert_eq!(row.user_turns_lost, turns.count() as u64, "{place}");
        assert_eq!(row.notices.all, sum(lines, |line| line.notices.all), "{place}");
        assert_eq!(row.notices.wrong, sum(lines, |line| line.notices.wrong), "{place}");
        assert_eq!(row.notices.silent, sum(lines, |line| line.notices.silent), "{place}");
        let mut hidden: BTreeMap<String, u64> = BTreeMap::new();
        for (line, base) in lines.iter().zip(base) {
            for (tool, name) in prepared.tools().iter().enumerate() {
                let less = base.output_bytes[tool].saturating_sub(line.output_bytes[tool]);
                *hidden.entry(String::from_utf8_lossy(name).into_owned()).or_default() += less;
            }
        }
        hidden.retain(|_, bytes| *bytes > 0);
        assert_eq!(row.hidden_by_tool, hidden, "{place}");
        money(prepared, lines, row, place);
    });
}

/// Costs and breaks with the prices of each request looked up again.
fn money(prepared: &Prepared<'_>, lines: &[Line], row: &EvaluatedRow, place: &str) {
    let mut breaks: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
    for (line, terms) in lines.iter().zip(prepared.terms()) {
        let (Some(charge), Some(price), Some(book)) = (line.charge, terms.price, terms.book) else {
            continue;
        };
        let tier = price.tier.iter().filter(|tier| charge.input() > tier.above_tokens);
        let tier = tier.max_by_key(|tier| tier.above_tokens);
        let input = tier.map_or(price.input, |tier| tier.input);
        let share = |per_mille: u64| input * per_mille / 1000;
        let read = match tier {
            Some(tier) => tier.read.unwrap_or(share(book.read_per_mille)),
            None => price.read.unwrap_or(share(book.read_per_mille)),
        };
        let class =
            |at: usize| book.ttl.get(at).or(book.ttl.first()).map_or(1000, |c| c.write_per_mille);
        let write = match tier {
            Some(tier) => tier.write.unwrap_or(share(class(0))),
            None => price.write.unwrap_or(share(class(0))),
        };
        let long = match tier {
            Some(tier) => tier.write_long.unwrap_or(share(class(1))),
            None => price.write_long.unwrap_or(share(class(1))),
        };
        let output = tier.map_or(price.output, |tier| tier.output);
        let wanted = charge.read * read
            + charge.write[0] * write
            + charge.write[1] * long
            + charge.uncached * input
            + terms.output_tokens * output;
        assert_eq!(line.cost.unwrap().total().0, wanted, "cost, {place}");
        assert_eq!(charge.input(), line.tokens, "input, {place}");
        if let Some(broke) = charge.broke {
            let paid = if book.scheme == Scheme::Breakpoints { write } else { input };
            let sums = breaks.entry(broke.cause.name()).or_default();
            sums.0 += 1;
            sums.1 += broke.lost_tokens;
            sums.2 += broke.lost_tokens * paid.saturating_sub(read);
        }
    }
    let found =
        row.breaks.iter().map(|(cause, it)| (cause.name(), (it.count, it.lost_tokens, it.cost.0)));
    assert_eq!(found.collect::<BTreeMap<_, _>>(), breaks, "breaks, {place}");
}

/// What a rewrite says: request, saved, suffix, left, pays after, since the last, thrash.
type Rewrite = (u64, u64, u64, u64, Option<u64>, Option<u64>, bool);

/// Rewrites by written prompts. `brought` gives the bytes that a request brings, for those that
/// count.
fn rewrites(
    prepared: &Prepared<'_>,
    prompts: &[Vec<u8>],
    brought: impl Fn(usize) -> Option<usize>,
) -> Vec<Rewrite> {
    let lane = |at: usize| prepared.base()[at].lane;
    let mut out: Vec<(u32, Rewrite)> = Vec::new();
    for at in 0..prompts.len() {
        let Some(last) = (0..at).rfind(|before| lane(*before) == lane(at)) else { continue };
        let (old, new) = (&prompts[last], &prompts[at]);
        let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        if same == old.len() {
            continue;
        }
        let Some(brought) = brought(at) else { continue };
        let scale = prepared.scale();
        let saved = scale.tokens((old.len() + brought).saturating_sub(new.len()) as u64);
        let suffix = scale.tokens((new.len() - same) as u64);
        let left = (at..prompts.len()).filter(|later| lane(*later) == lane(at)).count() as u64;
        let terms = &prepared.terms()[at];
        let unit = terms.price.unwrap().unit(terms.book.unwrap(), scale.tokens(new.len() as u64));
        // The first number of requests at which what is saved is at least what is paid.
        let (anew, read) = (unit.write[0].0.saturating_sub(unit.read.0), unit.read.0);
        let pays = (saved > 0).then(|| {
            let more = u128::from(anew) * u128::from(suffix);
            (0..1_u64 << 32).find(|k| u128::from(read * saved) * u128::from(*k) >= more).unwrap()
        });
        let before = out.iter().rfind(|(of, _)| *of == lane(at)).map(|(_, it)| (it.0, it.4));
        let since = before.map(|(request, _)| at as u64 + 1 - request);
        let thrash = before.and_then(|(_, pays)| pays).zip(since).is_some_and(|(pays, n)| n < pays);
        out.push((lane(at), (at as u64 + 1, saved, suffix, left, pays, since, thrash)));
    }
    out.into_iter().map(|(_, rewrite)| rewrite).collect()
}

#[test]
fn rewrites_pay_when_the_written_prompts_say_so() {
    let rates = Rates::builtin().unwrap();
    let mut seen = [0; 2];
    for imported in all() {
        let prepared =
            Prepared::new(&imported.recording, &rates, Some("claude-sonnet-4-5")).unwrap();
        let requests = imported.recording.history().requests();
        let recorded = prompts(&prepared, &Policy::recorded());
        let edited = |at: usize| {
            requests[at].changes.iter().any(|it| matches!(it, Change::Edited(_))).then_some(0)
        };
        let wanted = rewrites(&prepared, &recorded, edited);
        let audit = Audit::of(&prepared).unwrap();
        let found = audit.compactions.iter().map(|it| {
            let Some(_) = it.paid() else { unreachable!("every model has a price here") };
            (
                it.request,
                it.saved_tokens,
                it.suffix_tokens,
                it.requests_left,
                it.pays_after,
                it.since_last,
                it.thrash,
            )
        });
        assert_eq!(found.collect::<Vec<_>>(), wanted);
        seen[0] += wanted.len();
        let goes_on = |at: usize| {
            let last =
                (0..at).rfind(|other| prepared.base()[*other].lane == prepared.base()[at].lane)?;
            recorded[at]
                .starts_with(&recorded[last])
                .then(|| recorded[at].len() - recorded[last].len())
        };
        for policy in policies() {
            let row = prepared.row(&prepared.policy(&policy).unwrap());
            let wanted = rewrites(&prepared, &prompts(&prepared, &policy), goes_on);
            let unpaid = wanted.iter().filter(|it| it.4.is_none_or(|pays| it.3 <= pays)).count();
            let wanted = Dynamics {
                rewrites: wanted.len() as u64,
                unpaid: unpaid as u64,
                thrash: wanted.iter().filter(|it| it.6).count() as u64,
                saved_tokens: wanted.iter().map(|it| it.1).sum(),
            };
            assert_eq!(row.dynamics, wanted, "{}", policy.name);
            seen[1] += usize::try_from(wanted.rewrites).unwrap();
        }
    }
    assert!(seen[0] > 0 && seen[1] > 50, "{seen:?}");
}

#[test]
fn reading_again_is_found_by_comparing_all_outputs_line_by_line() {
    let mut hidden = 0;
    each(|prepared, lines, row, place| {
        let ground = prepared.ground();
        let recording = prepared.recording();
        let text = |no: TextNo| {
            let (history, source) = (recording.history(), recording.as_source());
            ground.outline.read(history, source, no).unwrap().to_vec()
        };
        let lines_of = |no: TextNo| -> BTreeSet<String> {
            let text = String::from_utf8(text(no)).unwrap();
            text.split('\n')
                .map(str::trim_ascii)
                .filter(|l| l.len() >= 8)
                .map(str::to_owned)
                .collect()
        };
        let mut wanted: BTreeMap<String, Reread> = BTreeMap::new();
        for (at, line) in prepared.base().iter().enumerate() {
            for gone in &line.left {
                let reread = wanted.entry(prepared.tool_of(*gone)).or_default();
                reread.hidden += 1;
                let old = lines_of(*gone);
                // Up to where the same output is taken away once more.
                let later =
                    prepared.base()[at + 1..].iter().filter(|later| later.lane == line.lane);
                let back = later.flat_map(|later| &later.entered).any(|new| {
                    let both = old.intersection(&lines_of(*new)).count();
                    new == gone || (!old.is_empty() && 2 * both >= old.len())
                });
                reread.again += u64::from(back);
            }
        }
        let mut needed = BTreeSet::new();
        for line in lines {
            for nth in &line.missed {
                let anchor = &ground.evidence.anchors[line.request][*nth as usize];
                needed.insert((line.lane, anchor.places.iter().map(|p| p.text).max().unwrap()));
            }
        }
        for (_, text) in needed {
            wanted.entry(prepared.tool_of(text)).or_default().needed += 1;
        }
        hidden += wanted.values().map(|it| it.hidden).sum::<u64>();
        assert_eq!(row.rereads, wanted, "{place}");
    });
    assert!(hidden > 0, "no recording takes an output away");
}

/// Outputs leave at the requests whose bit is set.
struct Bits(u32, u32);

impl Leave for Bits {
    fn now(&mut self, _lane: u32, _chance: Chance<'_>) -> bool {
        self.1 += 1;
        (self.0 >> (self.1 - 1)) & 1 == 1
    }
}

#[test]
fn the_oracle_hides_nothing_that_is_used_and_is_near_the_best_of_all_ways() {
    let rates = Rates::builtin().unwrap();
    let mut best_found = 0;
    for seed in 0..6 {
        let imported = by_rule(seed, 9);
        let prepared = Prepared::new(&imported.recording, &rates, None).unwrap();
        let found = prepared.oracle().unwrap();
        assert!(found.lines.iter().all(|line| line.recall.missed == 0), "{seed}");
        let all = (0..1 << 9).map(|bits| {
            let lines =
                oracle::lines(prepared.facts(), prepared.base(), &mut Bits(bits, 0)).unwrap();
            assert!(lines.iter().all(|line| line.recall.missed == 0), "{seed} {bits}");
            oracle::cost(&lines).unwrap()
        });
        let best = all.min().unwrap();
        let least = prepared.cost_at_least().unwrap();
        let recorded = oracle::cost(prepared.base()).unwrap();
        assert!(least <= best && best <= found.cost && found.cost <= recorded, "{seed}");
        // Not far above what trying all ways finds.
        assert!(found.cost.0 - best.0 <= best.0 / 20, "{seed}: {} {}", found.cost.0, best.0);
        best_found += u32::from(found.cost == best);
    }
    assert!(best_found > 0, "{best_found}");
}

#[test]
fn the_lower_bound_is_that_of_tokens_that_are_still_needed() {
    let rates = Rates::builtin().unwrap();
    for imported in all() {
        let prepared =
            Prepared::new(&imported.recording, &rates, Some("claude-sonnet-4-5")).unwrap();
        let mut sum = 0_u128;
        let base = prepared.base();
        let needed = |line: &Line| {
            let results = u128::from(line.voices[6]);
            let outputs: u128 = line.output_bytes.iter().map(|b| u128::from(*b)).sum();
            let dead = results * u128::from(line.dead_bytes) / outputs.max(1)
                * u128::from(line.tokens)
                / u128::from(line.voices.iter().sum::<u64>().max(1));
            u128::from(line.tokens).saturating_sub(dead)
        };
        for (at, (line, terms)) in base.iter().zip(prepared.terms()).enumerate() {
            let unit = terms.price.unwrap().unit(terms.book.unwrap(), 0);
            let last = base[..at].iter().rfind(|before| before.lane == line.lane).map_or(0, needed);
            let (all, known) = (needed(line), last.min(needed(line)));
            sum += known * u128::from(unit.read.0)
                + (all - known) * u128::from(unit.input.0.min(unit.write[0].0))
                + u128::from(terms.output_tokens) * u128::from(unit.output.0);
        }
        assert_eq!(u128::from(prepared.cost_at_least().unwrap().0), sum);
    }
}

#[test]
fn the_error_of_the_simulation_is_that_of_reported_usage() {
    let rates = Rates::builtin().unwrap();
    let mut with_cache = 0;
    for imported in all() {
        let prepared =
            Prepared::new(&imported.recording, &rates, Some("claude-sonnet-4-5")).unwrap();
        let found = prepared.calibration();
        let mut wanted = [[0_u64; 2]; 3];
        let mut residuals = [0_u64; 5];
        for ((request, line), terms) in imported
            .recording
            .history()
            .requests()
            .iter()
            .zip(prepared.base())
            .zip(prepared.terms())
        {
            let Some(usage) = request.answer.as_ref().and_then(|(_, it)| it.usage) else {
                continue;
            };
            let Some(input) = usage.input_tokens else { continue };
            // Anthropic reports what it read and wrote beside the rest, others among it.
            let beside = request.dialect == ledger::wire::Dialect::AnthropicMessages;
            let cached =
                usage.cache_read_tokens.unwrap_or(0) + usage.cache_write_tokens.unwrap_or(0);
            let input = input + if beside { cached } else { 0 };
            if usage.cache_read_tokens.is_none() && usage.cache_write_tokens.is_none() {
                continue;
            }
            let charge = line.charge.unwrap();
            let read = usage.cache_read_tokens.unwrap_or(0).min(input);
            let write = usage.cache_write_tokens.unwrap_or(0).min(input - read);
            let unit = terms.price.unwrap().unit(terms.book.unwrap(), input);
            let cost = read * unit.read.0
                + write * unit.write[0].0
                + (input - read - write) * unit.input.0
                + terms.output_tokens * unit.output.0;
            let simulated = line.cost.unwrap().total().0;
            let pairs =
                [(charge.read, read), (charge.write.iter().sum(), write), (simulated, cost)];
            for (sums, (simulated, reported)) in wanted.iter_mut().zip(pairs) {
                sums[0] += simulated;
                sums[1] += reported;
            }
            #[expect(clippy::cast_precision_loss, reason = "shares of a test are rough")]
            let off = simulated.abs_diff(cost) as f64 / cost as f64;
            let class = [0.01, 0.05, 0.2, 0.5].iter().position(|most| off <= *most).unwrap_or(4);
            residuals[class] += 1;
        }
        let sums = [found.read, found.write, found.cost].map(|it| [it.simulated, it.reported]);
        assert_eq!((sums, found.residuals), (wanted, residuals));
        with_cache += found.with_cache;
        let [simulated, reported] = wanted[2];
        if found.with_cache > 0 {
            let error = (simulated.abs_diff(reported) * 1000).div_ceil(reported);
            assert_eq!(found.cost_per_mille(), Some(error));
            let bound = simulated * error / 1000;
            assert!(found.is_within_error(simulated, simulated + bound));
            assert!(!found.is_within_error(simulated, simulated + bound + 1));
        } else {
            assert_eq!(found.cost_per_mille(), None);
        }
    }
    assert!(with_cache > 20, "{with_cache}");
}

#[test]
fn what_a_recording_says_of_itself_is_in_its_written_prompts() {
    let rates = Rates::builtin().unwrap();
    let mut places = 0;
    for imported in all() {
        let prepared =
            Prepared::new(&imported.recording, &rates, Some("claude-sonnet-4-5")).unwrap();
        let audit = Audit::of(&prepared).unwrap();
        let prompts = prompts(&prepared, &Policy::recorded());
        let lane = |at: usize| prepared.base()[at].lane;
        let scale = prepared.scale();
        let mut census = Vec::new();
        for at in 0..prompts.len() {
            let Some(last) = (0..at).rfind(|before| lane(*before) == lane(at)) else { continue };
            let (old, new) = (&prompts[last], &prompts[at]);
            let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
            if same < old.len() {
                let lost = (old.len() - same) as u64;
                census.push((at as u64 + 1, same as u64, lost, scale.tokens(lost)));
            }
        }
        let found =
            audit.census.iter().map(|it| (it.request, it.offset, it.lost_bytes, it.lost_tokens));
        // Between parts around the messages only the frame is compared to the byte.
        let found: Vec<_> = found.collect();
        assert_eq!(
            found.iter().map(|it| it.0).collect::<Vec<_>>(),
            census.iter().map(|it| it.0).collect::<Vec<_>>()
        );
        places += census.len();
        let mut carried: BTreeMap<TextNo, Vec<(u64, u64)>> = BTreeMap::new();
        let recording = prepared.recording();
        let (history, source) = (recording.history(), recording.as_source());
        let recorded = Policy::recorded();
        let mut projector = Projector::new(history, source, &recorded);
        for (at, request) in history.requests().iter().enumerate() {
            let view = projector.projection(request.captured.request).unwrap().view;
            let mut shown: BTreeMap<TextNo, u64> = BTreeMap::new();
            for segment in &view.segments {
                let projector::Segment::Text { part, slot, range, .. } = segment else { continue };
                if let Some((text, _)) = prepared.ground().outline.output_of(*part, *slot) {
                    *shown.entry(text).or_default() += range.len() as u64;
                }
            }
            for (text, bytes) in shown {
                carried.entry(text).or_default().push((at as u64 + 1, bytes));
            }
        }
        let mut wanted: Vec<(u64, u64, u64)> = carried
            .values()
            .map(|all| {
                let bytes = all.iter().map(|(_, bytes)| bytes).sum::<u64>();
                (scale.tokens(bytes), all[0].0, all.len() as u64)
            })
            .collect();
        wanted.sort_by_key(|it| (u64::MAX - it.0, it.1));
        wanted.truncate(10);
        let found: Vec<_> =
            audit.carriers.iter().map(|it| (it.tokens, it.first, it.requests)).collect();
        assert_eq!(found, wanted);
        for carrier in &audit.carriers {
            let Some(last) = carrier.last_use else { continue };
            assert!(
                !prepared.ground().evidence.anchors[usize::try_from(last).unwrap() - 1].is_empty()
            );
        }
    }
    assert!(places > 1, "{places}");
}

/// Bounds of a list of runs by their definition, as shares.
#[expect(clippy::cast_precision_loss, reason = "counts of a test are small")]
fn bounds(runs: &[Scored], flip: f64) -> [f64; 4] {
    let of = |change: outcome::Change| runs.iter().filter(move |run| run.change == change);
    let sum = |change| of(change).map(|run| run.score as f64 / 1e6).sum::<f64>();
    let count = |change| of(change).count() as f64;
    let [exact, cosmetic] = [outcome::Change::Exact, outcome::Change::Cosmetic].map(sum);
    let open = count(outcome::Change::Evidence);
    let changed = count(outcome::Change::Cosmetic);
    let n = (runs.len() as f64).max(1.0);
    let high = (cosmetic + flip * changed).min(changed);
    [
        exact / n,
        (exact + changed + open) / n,
        (exact + (cosmetic - flip * changed).max(0.0)) / n,
        (exact + high + open) / n,
    ]
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "counts of a test are small")]
fn bounds_of_outcomes_are_those_of_their_definition_and_of_resampled_lists() {
    let mut word = 7_u64;
    let mut roll = |below: u64| {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (word >> 33) % below
    };
    for case in 0..40 {
        let count = 1 + roll(30);
        let changes =
            [outcome::Change::Exact, outcome::Change::Cosmetic, outcome::Change::Evidence];
        let runs: Vec<Scored> = (0..count)
            .map(|_| Scored {
                cluster: roll(6),
                change: changes[usize::try_from(roll(3)).unwrap()],
                score: roll(5) * 250_000,
            })
            .collect();
        let flip = roll(11) * 100_000;
        let found = outcome::outcomes(&runs, flip, case);
        let near = |found: u64, wanted: f64| {
            assert!((found as f64 / 1e6 - wanted).abs() < 3e-6, "{case}: {found} {wanted}");
        };
        let [low, high, assumed_low, assumed_high] = bounds(&runs, flip as f64 / 1e6);
        near(found.worst.low, low);
        near(found.worst.high, high);
        near(found.assumed.low, assumed_low);
        near(found.assumed.high, assumed_high);
        let mut clusters: BTreeMap<u64, Vec<Scored>> = BTreeMap::new();
        for run in &runs {
            clusters.entry(run.cluster).or_default().push(*run);
        }
        let clusters: Vec<_> = clusters.into_values().collect();
        assert_eq!(found.clusters, clusters.len() as u64);
        let mut ends = [Vec::new(), Vec::new()];
        for resampling in 0..outcome::RESAMPLINGS {
            let drawn: Vec<Scored> = (0..clusters.len() as u64)
                .flat_map(|draw| {
                    clusters[outcome::drawn(case, resampling, draw, clusters.len())].clone()
                })
                .collect();
            let [_, _, low, high] = bounds(&drawn, flip as f64 / 1e6);
            ends[0].push(low);
            ends[1].push(high);
        }
        for end in &mut ends {
            end.sort_by(f64::total_cmp);
        }
        near(found.interval.low, ends[0][50]);
        near(found.interval.high, ends[1][1950]);
    }
}
