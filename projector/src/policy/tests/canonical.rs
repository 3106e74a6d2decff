//! Goal: a policy's canonical bytes say everything that it does and nothing else. Method: golden
//! bytes, a table of single changes, and a reader that gets every policy back from its bytes.

extern crate std;

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use proptest::prelude::*;

use super::{full, with};
use crate::measure::Estimator;
use crate::policy::{
    Applies, Boundary, CapText, ClearResults, Metric, Policy, Shape, Step, Trigger, Unit, Window,
};

const GOLDEN: &str = "\
counterfold.policy/1
estimator=b4ceil
op=cap_text
tool=4:bash
tool=4:exec
exclude_tool=4:read
unit=b
limit=8192
shape=middle
head_per_mille=500
marker=31:
[{n} of {total} bytes hidden]

marker_in_limit=false
op=clear_results
exclude_tool=6:memory
keep=3
trigger=est_tokens>60000
replacement=9:[cleared]
sticky=true
op=window
protect_head=1
keep=20
boundary=safe_group
";
const GOLDEN_ID: &str = "06acf0c08f318e0aad377786280fc74b99f43f6b122b9d8134010001966e8ec3";
const RECORDED_ID: &str = "9e5fd6c32ffb6946ab2ce56b3c6e858a73d88af451fa44d70d093d8ca48ce0b4";

#[test]
fn the_bytes_and_the_id_of_a_policy_with_every_op_stay_the_same() {
    assert_eq!(full().canonical(), GOLDEN);
    assert_eq!(full().id().to_string(), GOLDEN_ID);
    assert_eq!(full().id().as_bytes()[0], u8::from_str_radix(&GOLDEN_ID[..2], 16).unwrap());
    let recorded = Policy::recorded();
    assert_eq!(recorded.canonical(), "counterfold.policy/1\nestimator=b4ceil\n");
    assert_eq!(recorded.id().to_string(), RECORDED_ID);
}

#[test]
fn the_name_is_not_part_of_the_id() {
    let other = Policy { name: "another\nname".into(), ..full() };
    assert_eq!(other.canonical(), GOLDEN);
    assert_eq!(other.id(), full().id());
}

#[test]
fn every_other_parameter_is_part_of_the_id() {
    let changes = [
        ("[\"bash\", \"exec\"]", "[\"bash\"]"),
        ("[\"bash\", \"exec\"]", "[\"bashexec\"]"),
        ("exclude_tools = [\"read\"]", "exclude_tools = [\"Read\"]"),
        ("exclude_tools = [\"read\"]", "exclude_tools = []"),
        ("unit = \"b\"", "unit = \"cp\""),
        ("unit = \"b\"", "unit = \"u16\""),
        ("unit = \"b\"", "unit = \"line\""),
        ("limit = 8192", "limit = 8193"),
        ("\"middle\"\nhead_per_mille = 500", "\"head\""),
        ("\"middle\"\nhead_per_mille = 500", "\"tail\""),
        ("head_per_mille = 500", "head_per_mille = 501"),
        ("[{n} of {total} bytes hidden]", "[{n} of {total} bytes gone!!]"),
        ("marker_in_limit = false", "marker_in_limit = true"),
        ("[\"memory\"]", "[\"memory\", \"\"]"),
        ("keep = 3", "keep = 4"),
        ("trigger = { metric = \"est_tokens\", cmp = \">\", value = 60000 }\n", ""),
        ("\"est_tokens\"", "\"tool_results\""),
        ("cmp = \">\"", "cmp = \">=\""),
        ("value = 60000", "value = 60001"),
        ("[cleared]", "[Cleared]"),
        ("sticky = true", "sticky = false"),
        ("protect_head = 1", "protect_head = 2"),
        ("keep = 20", "keep = 21"),
        ("boundary = \"safe_group\"", "boundary = \"any\""),
    ];
    let mut ids: Vec<_> =
        changes.iter().map(|(old, new)| Policy::from_toml(&with(old, new)).unwrap().id()).collect();
    let mut reordered = full();
    reordered.steps.swap(1, 2);
    let mut shorter = full();
    shorter.steps.pop();
    ids.extend([full().id(), reordered.id(), shorter.id(), Policy::recorded().id()]);
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "two of the policies have one id");
}

/// Texts that try to look like lines of their own.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(alloc::vec![
        "\n",
        "=",
        ":",
        "0",
        "1",
        "tool=1:a",
        "limit=1\n",
        "op=window\n",
        "marker=0:\n",
        "unit=b",
        "sticky=true",
        "\u{e9}",
        "\r",
        "a",
        "keep=3\n",
    ]);
    prop::collection::vec(pieces, 0..6).prop_map(|pieces| pieces.concat())
}

fn applies() -> impl Strategy<Value = Applies> {
    let names = || prop::collection::vec(text(), 0..3);
    (names(), names()).prop_map(|(tools, exclude_tools)| Applies { tools, exclude_tools })
}

fn step() -> impl Strategy<Value = Step> {
    let unit =
        prop::sample::select(alloc::vec![Unit::Bytes, Unit::Chars, Unit::Utf16, Unit::Lines]);
    let shape = prop_oneof![
        Just(Shape::Head),
        Just(Shape::Tail),
        (0..=1000_u16).prop_map(|head_per_mille| Shape::Middle { head_per_mille }),
    ];
    let cap = (applies(), unit, any::<u64>(), shape, text(), any::<bool>()).prop_map(
        |(applies, unit, limit, shape, marker, marker_in_limit)| {
            Step::CapText(CapText { applies, unit, limit, shape, marker, marker_in_limit })
        },
    );
    let metric = prop::sample::select(alloc::vec![Metric::EstTokens, Metric::ToolResults]);
    let trigger = (0..3, metric, any::<u64>()).prop_map(|(kind, metric, value)| match kind {
        0 => Trigger::Always,
        1 => Trigger::Above { metric, value },
        _ => Trigger::AtLeast { metric, value },
    });
    let clear = (applies(), any::<u32>(), trigger, text(), any::<bool>()).prop_map(
        |(applies, keep, trigger, replacement, sticky)| {
            Step::ClearResults(ClearResults { applies, keep, trigger, replacement, sticky })
        },
    );
    let boundary = prop::sample::select(alloc::vec![Boundary::Any, Boundary::SafeGroup]);
    let window =
        (any::<u32>(), any::<u32>(), boundary).prop_map(|(protect_head, keep, boundary)| {
            Step::Window(Window { protect_head, keep, boundary })
        });
    prop_oneof![cap, clear, window]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_policy_can_be_read_back_from_its_bytes(
        steps in prop::collection::vec(step(), 0..4),
    ) {
        let policy = Policy { name: String::new(), estimator: Estimator::B4Ceil, steps };
        let canonical = policy.canonical();
        prop_assert_eq!(Reader { rest: &canonical }.policy(), policy);
    }
}

/// Reads canonical bytes. Which line comes next never depends on what a text says.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn take(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn line(&mut self, key: &str) -> &'a str {
        assert!(self.take(key) && self.take("="), "{key} expected: {}", self.rest);
        let (line, rest) = self.rest.split_once('\n').unwrap();
        self.rest = rest;
        line
    }

    fn number<T: core::str::FromStr>(&mut self, key: &str) -> T {
        self.line(key).parse().ok().unwrap()
    }

    fn text(&mut self, key: &str) -> String {
        assert!(self.take(key) && self.take("="), "{key} expected: {}", self.rest);
        let (bytes, rest) = self.rest.split_once(':').unwrap();
        let (text, rest) = rest.split_at(bytes.parse().unwrap());
        self.rest = rest;
        assert!(self.take("\n"));
        text.into()
    }

    fn texts(&mut self, key: &str) -> Vec<String> {
        let mut texts = Vec::new();
        while self.rest.strip_prefix(key).is_some_and(|rest| rest.starts_with('=')) {
            texts.push(self.text(key));
        }
        texts
    }

    fn policy(mut self) -> Policy {
        assert!(self.take("counterfold.policy/1\n"));
        assert_eq!(self.line("estimator"), "b4ceil");
        let mut steps = Vec::new();
        while !self.rest.is_empty() {
            steps.push(match self.line("op") {
                "cap_text" => self.cap_text(),
                "clear_results" => self.clear_results(),
                "window" => self.window(),
                op => panic!("another op: {op}"),
            });
        }
        Policy { name: String::new(), estimator: Estimator::B4Ceil, steps }
    }

    fn applies(&mut self) -> Applies {
        Applies { tools: self.texts("tool"), exclude_tools: self.texts("exclude_tool") }
    }

    fn cap_text(&mut self) -> Step {
        let applies = self.applies();
        let unit = match self.line("unit") {
            "b" => Unit::Bytes,
            "cp" => Unit::Chars,
            "u16" => Unit::Utf16,
            "line" => Unit::Lines,
            unit => panic!("another unit: {unit}"),
        };
        let limit = self.number("limit");
        let shape = match self.line("shape") {
            "head" => Shape::Head,
            "tail" => Shape::Tail,
            _ => Shape::Middle { head_per_mille: self.number("head_per_mille") },
        };
        let marker = self.text("marker");
        let marker_in_limit = self.number("marker_in_limit");
        Step::CapText(CapText { applies, unit, limit, shape, marker, marker_in_limit })
    }

    fn clear_results(&mut self) -> Step {
        let applies = self.applies();
        let keep = self.number("keep");
        let words = self.line("trigger");
        let metric = |name| match name {
            "est_tokens" => Metric::EstTokens,
            "tool_results" => Metric::ToolResults,
            name => panic!("another metric: {name}"),
        };
        let trigger = if let Some((name, value)) = words.split_once(">=") {
            Trigger::AtLeast { metric: metric(name), value: value.parse().unwrap() }
        } else if let Some((name, value)) = words.split_once('>') {
            Trigger::Above { metric: metric(name), value: value.parse().unwrap() }
        } else {
            assert_eq!(words, "always");
            Trigger::Always
        };
        let replacement = self.text("replacement");
        let sticky = self.number("sticky");
        Step::ClearResults(ClearResults { applies, keep, trigger, replacement, sticky })
    }

    fn window(&mut self) -> Step {
        let protect_head = self.number("protect_head");
        let keep = self.number("keep");
        let boundary = match self.line("boundary") {
            "any" => Boundary::Any,
            _ => Boundary::SafeGroup,
        };
        Step::Window(Window { protect_head, keep, boundary })
    }
}
