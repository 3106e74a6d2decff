//! Goal: the simulation of prompt caches follows the rules of each provider. Method: cases that
//! were worked out by hand, each with the words that its numbers follow from.

use projector::metrics::{Ask, Block, Cause, Rulebook, Section, Simulator, cache::Said};
use replay::rulebook::{RULEBOOKS, Rates};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "note")]
    _note: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    why: String,
    rules: String,
    model: String,
    /// A trait that is added to the rules.
    patch: Option<String>,
    asks: Vec<Sent>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    at: Option<serde_json::Number>,
    blocks: String,
    read: u64,
    write: [u64; 2],
    uncached: u64,
    #[serde(default)]
    lane: u32,
    #[serde(default)]
    scope: u64,
    #[serde(default)]
    salt: u64,
    ends: Option<u64>,
    automatic: Option<String>,
    #[serde(default)]
    explicit: bool,
    cls: Option<String>,
    shared: Option<u64>,
    #[serde(default)]
    changed: bool,
    #[serde(default)]
    refused: bool,
    broke: Option<(String, u64)>,
    #[serde(default)]
    out: u64,
    cost: Option<u64>,
}

fn cases() -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/cache/cases.json");
    let file: File = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    file.cases
}

fn class(book: &Rulebook, name: &str) -> u8 {
    u8::try_from(book.ttl.iter().position(|class| class.name == name).unwrap()).unwrap()
}

fn blocks(book: &Rulebook, words: &str) -> Vec<Block> {
    let block = |word: &str| {
        let parts: Vec<_> = word.split(':').collect();
        let (section, said) = match parts[0] {
            "t" => (Section::Tools, Said::Input),
            "s" => (Section::System, Said::Input),
            "u" => (Section::Messages, Said::Input),
            "a" => (Section::Messages, Said::Model),
            "c" => (Section::Messages, Said::Call),
            "r" => (Section::Messages, Said::Result),
            other => unreachable!("{other}"),
        };
        let hash = parts[1].bytes().fold(7, |hash: u64, byte| hash * 257 + u64::from(byte));
        Block {
            hash,
            tokens: parts[2].parse().unwrap(),
            section,
            said,
            mark: parts.get(3).map(|name| class(book, name)),
            ends_message: section == Section::Messages,
        }
    };
    words.split_whitespace().map(block).collect()
}

/// Seconds with a fraction as milliseconds, without a float.
fn ms(seconds: &serde_json::Number) -> u64 {
    let text = seconds.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction: String = fraction.chars().chain("000".chars()).take(3).collect();
    whole.parse::<u64>().unwrap() * 1000 + fraction.parse::<u64>().unwrap()
}

fn check(rates: &Rates, case: &Case, forget: bool) {
    let mut book = rates.books.iter().find(|book| book.id == case.rules).unwrap().clone();
    if let Some(name) = &case.patch {
        assert_eq!(name, "runs-count-once");
        book.traits.push(projector::metrics::rulebook::Trait::RunsCountOnce);
    }
    let price = rates.prices.find(&case.model).unwrap();
    let rate = rates.of(&case.model, None).unwrap();
    // Of two books of a provider the case names the one it is about.
    let named = book.minimum.iter().any(|minimum| case.model.starts_with(&minimum.model));
    let minimum = price.cache_minimum.filter(|_| !named);
    let minimum = minimum.unwrap_or_else(|| book.minimum(&case.model));
    if rate.book.id == book.id {
        assert_eq!(rate.minimum_tokens, minimum, "{}", case.name);
    }
    let mut cache = Simulator::new(&book);
    let mut before: std::collections::BTreeMap<u32, Vec<Block>> = std::collections::BTreeMap::new();
    for (nth, sent) in case.asks.iter().enumerate() {
        let blocks = blocks(&book, &sent.blocks);
        let last = before.get(&sent.lane).cloned().unwrap_or_default();
        let same = |(a, b): &(&Block, &Block)| a.hash == b.hash && a.section == b.section;
        let kept = blocks.iter().zip(&last).take_while(same).count();
        let at_ms = sent.at.as_ref().map(ms);
        let charge = cache.send(&Ask {
            lane: sent.lane,
            scope: sent.scope,
            salt: sent.salt,
            minimum_tokens: minimum,
            at_ms,
            readable_ms: sent.ends.map(|ends| ends * 1000).or(at_ms),
            automatic: sent.automatic.as_ref().map(|name| class(&book, name)),
            explicit_only: sent.explicit,
            class: sent.cls.as_ref().map_or(0, |name| class(&book, name)),
            kept: if forget { 0 } else { kept },
            shared_tokens: sent
                .shared
                .or_else(|| Some(blocks.iter().take(kept).map(|block| block.tokens).sum())),
            changed: sent.changed,
            blocks: &blocks,
        });
        before.insert(sent.lane, blocks);
        let place = format!("{} ({}), request {}", case.name, case.why, nth + 1);
        assert_eq!(
            (charge.read, charge.write, charge.uncached, charge.refused),
            (sent.read, sent.write, sent.uncached, sent.refused),
            "{place}"
        );
        if forget {
            continue;
        }
        let broke = charge.broke.map(|broke| (broke.cause.name().to_owned(), broke.lost_tokens));
        assert_eq!(broke, sent.broke, "{place}");
        if let Some(cost) = sent.cost {
            assert_eq!(price.cost(&book, &charge, sent.out).total().0, cost, "{place}");
        }
    }
}

#[test]
fn every_case_that_was_worked_out_by_hand_comes_out() {
    let rates = Rates::builtin().unwrap();
    let cases = cases();
    assert!(cases.len() >= 60, "{}", cases.len());
    for case in &cases {
        check(&rates, case, false);
    }
    let used = |id: &str| cases.iter().any(|case| case.rules == id);
    assert!(RULEBOOKS.iter().all(|(id, _)| used(id)), "every rulebook has a case");
}

#[test]
fn what_is_known_of_the_request_before_only_saves_work() {
    let rates = Rates::builtin().unwrap();
    // Marks decide by themselves; the other schemes look at the request before by definition.
    for case in cases().iter().filter(|case| case.asks.iter().all(|ask| ask.shared.is_none())) {
        if case.rules.starts_with("anthropic") || case.rules == "openai@2026-11" {
            check(&rates, case, true);
        }
    }
}

#[test]
fn a_model_falls_under_the_rulebook_that_names_most_of_it() {
    let rates = Rates::builtin().unwrap();
    let id = |model: &str, day: &str| rates.book(model, Some(day)).map(|book| book.id.as_str());
    let day = "2026-11-30";
    assert_eq!(id("claude-sonnet-4-5", day), Some("anthropic@2026-11"));
    assert_eq!(id("gpt-5.1-codex", day), Some("openai@2025-08"));
    assert_eq!(id("gpt-5.6-sol", day), Some("openai@2026-11"));
    assert_eq!(id("gemini-2.5-pro", day), Some("gemini@2026-11"));
    assert_eq!(id("deepseek-chat", "2025-01-01"), Some("deepseek@2024"));
    assert_eq!(id("deepseek-chat", day), Some("deepseek@2026-11"));
    assert_eq!(id("lab-model", day), None);
    assert_eq!(Cause::ALL.len(), 11);
}

#[test]
fn a_rulebook_with_a_mistake_is_refused() {
    let text = RULEBOOKS[0].1;
    let changed = |from: &str, to: &str| Rulebook::parse(&text.replace(from, to)).is_err();
    assert!(!changed("", ""));
    assert!(changed("counterfold.rulebook/1", "counterfold.rulebook/9"));
    assert!(changed("step_tokens = 1", "step_tokens = 0"));
    assert!(changed("2026-11-30", "30.11.2026"));
    assert!(changed("writes_max = 4", "writes_max = 0"));
    assert!(changed("writes_max = 4", "writes_most = 4"));
    assert!(changed("models = [", "models = [] #"));
}
