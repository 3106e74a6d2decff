//! Goal: the smallest context is not the cheapest. Method: a run of 200 steps made by rule, under
//! policies that clear old results at every request, in batches, and never; by a rulebook that is
//! written here.

use projector::Policy;
use projector::metrics::{PriceTable, Rulebook};
use projector::policy::{KeepUnit, Op};
use replay::evaluate::{EvaluatedRow, Prepared};
use replay::rulebook::Rates;

use crate::support::import_file;

/// Reading costs a tenth and writing five quarters of what a token costs; nothing ever ends.
const RULES: &str = "schema = \"counterfold.rulebook/1\"\nid = \"toy@1\"\nprovider = \"toy\"\n\
    from = \"2026-01-01\"\nretrieved = \"2026-11-30\"\nsources = [\"this test\"]\n\
    assumes = [\"all of it\"]\nmodels = [\"claude-\"]\nscheme = \"breakpoints\"\n\
    minimum_tokens = 0\nstep_tokens = 1\nread_per_mille = 100\nwrites_max = 4\n\
    [[ttl]]\nname = \"5m\"\nseconds = 1000000000\nwrite_per_mille = 1250\n";
const PRICES: &str = "schema = \"counterfold.prices/1\"\nsource = \"this test\"\n\
    license = \"MIT\"\ndate = \"2026-11-30\"\nsha256 = \"\"\n[[model]]\n\
    name = \"claude-sonnet-4-5\"\nprovider = \"toy\"\ninput = 1000\noutput = 0\n";

fn clear(name: &str, keep: u64, more: &str) -> Policy {
    let text = format!(
        "name = \"{name}\"\nestimator = \"b4ceil\"\n[[step]]\nop = \"clear_results\"\n\
         at = \"request\"\nkeep = {keep}\nreplacement = \"[cleared]\"\n{more}\n"
    );
    Policy::from_toml(&text).unwrap()
}

#[test]
fn the_smallest_context_is_not_the_cheapest() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("toy.har");
    // Results of 5,468 bytes in the mean are 1,367 tokens; the head has 8,000 tokens.
    let shape = fixtures::corpus::Shape {
        seed: 7,
        requests: 200,
        head_bytes: 32_000,
        output_bytes: 5468,
        seconds: 5,
    };
    std::fs::write(&file, fixtures::corpus::har(shape)).unwrap();
    let imported = import_file(&file);
    let rates = Rates {
        books: vec![Rulebook::parse(RULES).unwrap()],
        prices: PriceTable::parse(PRICES).unwrap(),
    };
    let prepared = Prepared::new(&imported.recording, &rates, None).unwrap();
    let policies = [
        Policy::recorded(),
        clear("keep last 5", 5, "sticky = false"),
        clear("keep last 5, in fives", 5, "sticky = false\npolling = 5"),
        clear("keep last 5, in twenties", 5, "sticky = false\npolling = 20"),
    ];
    let rows = policies.map(|policy| prepared.row(&prepared.policy(&policy).unwrap()));
    let [none, each, fives, twenties] = &rows;
    let cost = |row: &EvaluatedRow| row.cost.input().0;
    // The smallest context by far, and far dearer than what clears in batches.
    assert!(each.tokens < fives.tokens && fives.tokens < twenties.tokens);
    assert!(twenties.tokens < none.tokens);
    let costs = [twenties, fives, each].map(cost);
    assert!(2 * costs[1] < costs[2] && costs[0] < costs[1], "{costs:?}");
    assert!(costs[1] < cost(none), "{costs:?}");
    // Every request but the first few breaks the cache, every fifth, every twentieth.
    let rewrites = [none, each, fives, twenties].map(|row| row.rewrites);
    assert_eq!(rewrites, [0, 194, 38, 9]);
    lasting(&prepared, (cost(each), cost(twenties)));
    // No policy that shows what is used beats the one that knows the future.
    let least = prepared.cost_at_least().unwrap().0;
    assert!(least > 0 && least < cost(none), "{least}");
    // Each token is read, written or neither, at the prices of the rules.
    for row in &rows {
        let units = row.read * 100 + row.write * 1250 + row.uncached * 1000;
        assert_eq!(cost(row), units);
    }
    // Clearing hides what answers use, and much less of it than chance does.
    assert!(each.recall.missed > twenties.recall.missed && twenties.recall.missed > 0);
    assert!(each.recall.per_mille() > each.recall.random_per_mille());
    assert_eq!(none.recall.missed, 0);
    assert!(none.recall.anchors > 100, "{}", none.recall.anchors);
}

/// Policies that clear above a size, for good: they see what they have cleared, and clear again
/// when the size is reached again.
fn lasting(prepared: &Prepared<'_>, (each, twenties): (u64, u64)) {
    let above = |tokens: u64, more: &str| {
        let trigger = format!(
            "sticky = true\n\
             trigger = {{ metric = \"est_tokens\", cmp = \">\", value = {tokens} }}\n"
        );
        clear("above", 3, &(trigger + more))
    };
    let prune = "sticky = true\nmin_gain = { n = 20000, unit = \"tokens\", mode = \"refuse\" }";
    let mut prune = clear("prune", 40_000, prune);
    if let Op::ClearResults(step) = &mut prune.steps[0].op {
        step.keep.0.unit = KeepUnit::Tokens;
    }
    let at_least = "min_gain = { n = 20000, unit = \"tokens\", mode = \"refuse\" }";
    let policies = [above(60_000, ""), above(60_000, at_least), above(100_000, ""), prune];
    let rows = policies.map(|policy| prepared.row(&prepared.policy(&policy).unwrap()));
    let rewrites = rows.each_ref().map(|row| row.rewrites);
    let costs = rows.each_ref().map(|row| row.cost.input().0);
    // A clear now and then, where the list as it was sent would have one at nearly every request.
    assert_eq!(rewrites, [6, 6, 3, 11]);
    // Clearing seldom is as cheap as the best of those that clear by count.
    assert!(
        costs[0] * 10 < twenties * 11 && costs[0] * 3 < each * 2,
        "{costs:?} {each} {twenties}"
    );
}
