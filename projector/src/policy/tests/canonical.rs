//! Goal: a policy's canonical bytes say everything that it does and nothing else. Method: golden
//! bytes, a table of single changes, every policy read back from its bytes, and each line of the
//! bytes left out.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use proptest::prelude::*;

use super::{full, with};
use crate::policy::{CapText, ClearResults, Policy, Shape, Step, Unit, presets};

const GOLDEN_ID: &str = "142a3113ee3ea2d027de5176a1b6bee88d71f976257582b71461baf9e98f60c4";
const RECORDED: &str = "\
counterfold.policy/2
estimator=b4ceil
calibrate=none
safety_per_mille=1000
view=wire
window=-
effective_per_mille=1000
unknown=[0]
step=[0]
";
const RECORDED_ID: &str = "fcd36a178f30bbc9f1594bcf8f6ec17a81d0ea7347abc4e552da719807f825d2";

#[test]
fn the_bytes_and_the_id_of_a_policy_stay_the_same() {
    assert_eq!(full().canonical(), include_str!("full.canonical.txt"));
    assert_eq!(full().id().to_string(), GOLDEN_ID);
    assert_eq!(full().id().as_bytes()[0], u8::from_str_radix(&GOLDEN_ID[..2], 16).unwrap());
    let recorded = Policy::recorded();
    assert_eq!(recorded.canonical(), RECORDED);
    assert_eq!(recorded.id().to_string(), RECORDED_ID);
}

#[test]
fn the_name_is_not_part_of_the_id() {
    let other = Policy { name: "another\nname".into(), ..full() };
    assert_eq!(other.canonical(), full().canonical());
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
        ("unit = \"b\"", "unit = \"tok\""),
        ("limit = 8192", "limit = 8193"),
        ("limit = 8192", "limit = 8192\nthreshold = 8192"),
        ("\"middle\"\nhead_per_mille = 500", "\"head\""),
        ("\"middle\"\nhead_per_mille = 500", "\"middle\"\nhead = 1\ntail = 1"),
        ("head_per_mille = 500", "head_per_mille = 501"),
        ("head_per_mille = 500", "head_per_mille = 500\nround = \"ceil_head\""),
        ("[{n} of {total} bytes hidden]", "[{n} of {total} bytes gone!!]"),
        ("marker_in_limit = false", "marker_in_limit = true"),
        ("marker_in_limit = false", "marker_in_limit = false\nheader = \"h\""),
        ("[\"memory\"]", "[\"memory\", \"\"]"),
        ("keep = 3", "keep = 4"),
        ("keep = 3", "keep = { unit = \"messages\", n = 3 }"),
        ("trigger = { metric = \"est_tokens\", cmp = \">\", value = 60000 }\n", ""),
        ("\"est_tokens\"", "\"tool_results\""),
        ("cmp = \">\"", "cmp = \">=\""),
        ("value = 60000", "value = 60001"),
        ("[cleared]", "[Cleared]"),
        ("sticky = true", "sticky = false"),
        ("protect_head = 1", "protect_head = 2"),
        ("keep = 20", "keep = 21"),
        ("boundary = \"safe_group\"", "boundary = \"any\""),
        ("estimator = \"b4ceil\"", "estimator = \"cp4\""),
        ("estimator = \"b4ceil\"", "estimator = \"b4ceil\"\nwindow = 1"),
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

/// The lines of canonical bytes; a text with line feeds is one line.
fn lines(canonical: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = canonical;
    while !rest.is_empty() {
        let first = rest.split_once('\n').unwrap().0;
        let mut end = first.len() + 1;
        // A text says how long it is.
        if let Some((key, (length, _))) =
            first.split_once('=').and_then(|(key, value)| Some((key, value.split_once(':')?)))
        {
            end = key.len() + 1 + length.len() + 1 + length.parse::<usize>().unwrap() + 1;
        }
        let (line, after) = rest.split_at(end);
        lines.push(line);
        rest = after;
    }
    lines
}

#[test]
fn m18_every_parameter_is_explicit_and_a_policy_without_one_of_them_is_no_policy() {
    let policies = presets::every().filter_map(|preset| preset.policy().ok());
    let mut count = 0;
    for policy in policies.chain([full(), Policy::recorded()]) {
        let canonical = policy.canonical();
        let named = Policy { about: None, ..policy };
        assert_eq!(Policy::from_canonical(&named.name, &canonical), Ok(named));
        let lines = lines(&canonical);
        for left_out in 0..lines.len() {
            let text: String = lines
                .iter()
                .enumerate()
                .filter(|(index, _)| *index != left_out)
                .map(|(_, line)| *line)
                .collect();
            let read = Policy::from_canonical("p", &text);
            assert!(read.is_err(), "without {:?}", lines[left_out]);
            count += 1;
        }
    }
    assert!(count > 300, "{count}");
}

#[test]
fn bytes_that_are_no_policy_are_errors() {
    let canonical = full().canonical();
    for bad in [
        canonical.replace("policy/2", "policy/1"),
        canonical.replace("view=wire", "view=wires"),
        canonical.replace("view=wire\n", "view=wire\nview=wire\n"),
        canonical.replace("view=wire\n", "view=wire\nmore=1\n"),
        canonical.replace("step=[3]", "step=[2]"),
        canonical.replace("step=[3]", "step=[99999999999999999999]"),
        canonical.replace("9:[cleared]", "8:[cleared]"),
        canonical.replace("9:[cleared]", "18446744073709551615:[cleared]"),
        canonical.replace("window=-", "window"),
        canonical.replace("window=-", "window.=-"),
        String::new(),
    ] {
        assert!(Policy::from_canonical("p", &bad).is_err(), "{bad}");
    }
}

/// Texts that try to look like lines of their own.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(alloc::vec![
        "\n",
        "=",
        ":",
        "0",
        "1",
        "-",
        "[2]",
        "unknown.0=1:a",
        "step.0.limit=1\n",
        "step.0.op=window\n",
        "true",
        "\u{e9}",
        "\r",
        "a",
    ]);
    prop::collection::vec(pieces, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_text_can_pass_for_a_line(
        marker in text(),
        replacement in text(),
        tools in prop::collection::vec(text(), 0..3),
    ) {
        let cap = CapText::plain(Unit::Bytes, 1, Shape::Head, &marker);
        let clear = ClearResults::plain(1, &replacement, false);
        let mut steps = Vec::from([Step::new(cap), Step::new(clear)]);
        steps[0].applies.tools = tools;
        let policy = Policy::new("p", steps);
        let read = Policy::from_canonical("p", &policy.canonical());
        prop_assert_eq!(read, Ok(policy));
    }
}
