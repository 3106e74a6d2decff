//! Goal: a policy text that is wrong says where, and a policy's id tells all policies apart that
//! do different things. Method: tables of wrong texts with their places; golden bytes; a reader
//! of the canonical bytes, which can only exist if no two policies share them.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::presets::{self, PRESETS};
use super::{
    Applies, Boundary, CapText, ClearResults, Metric, Policy, STEPS_MAX, Shape, Step,
    TEXT_BYTES_MAX, Trigger, Unit, Window,
};
use crate::measure::Estimator;

mod canonical;

/// A policy with every op and every field.
const FULL: &str = r#"name = "full"
estimator = "b4ceil"

[[step]]
op = "cap_text"
at = "result"
applies = { tools = ["bash", "exec"], exclude_tools = ["read"] }
unit = "b"
limit = 8192
shape = "middle"
head_per_mille = 500
marker = "\n[{n} of {total} bytes hidden]\n"
marker_in_limit = false

[[step]]
op = "clear_results"
at = "request"
applies = { exclude_tools = ["memory"] }
keep = 3
trigger = { metric = "est_tokens", cmp = ">", value = 60000 }
replacement = "[cleared]"
sticky = true

[[step]]
op = "window"
at = "request"
protect_head = 1
keep = 20
boundary = "safe_group"
"#;

fn full() -> Policy {
    Policy::from_toml(FULL).unwrap()
}

/// The text with one line in the place of another.
fn with(old: &str, new: &str) -> String {
    assert_eq!(FULL.matches(old).count(), 1, "{old}");
    FULL.replace(old, new)
}

#[track_caller]
fn check(text: &str, line: usize, column: usize, reason: &str) {
    let error = Policy::from_toml(text).unwrap_err();
    let found = (error.line, error.column, error.reason.as_str());
    assert_eq!(found, (line, column, reason), "{text}");
    assert_eq!(error.to_string(), format!("line {line}, column {column}: {reason}"));
}

#[test]
fn every_op_and_every_field_is_read() {
    let names = |names: &[&str]| names.iter().map(|name| String::from(*name)).collect();
    let cap = CapText {
        applies: Applies { tools: names(&["bash", "exec"]), exclude_tools: names(&["read"]) },
        unit: Unit::Bytes,
        limit: 8192,
        shape: Shape::Middle { head_per_mille: 500 },
        marker: "\n[{n} of {total} bytes hidden]\n".into(),
        marker_in_limit: false,
    };
    let clear = ClearResults {
        applies: Applies { tools: Vec::new(), exclude_tools: names(&["memory"]) },
        keep: 3,
        trigger: Trigger::Above { metric: Metric::EstTokens, value: 60000 },
        replacement: "[cleared]".into(),
        sticky: true,
    };
    let window = Window { protect_head: 1, keep: 20, boundary: Boundary::SafeGroup };
    let steps = [Step::CapText(cap), Step::ClearResults(clear), Step::Window(window)];
    let policy = Policy { name: "full".into(), estimator: Estimator::B4Ceil, steps: steps.into() };
    assert_eq!(full(), policy);
}

#[test]
fn what_may_be_left_out_changes_nothing() {
    let short = with("at = \"result\"\n", "");
    assert_eq!(Policy::from_toml(&short), Ok(full()));
    let short = FULL.replace("at = \"request\"\n", "");
    assert_eq!(Policy::from_toml(&short), Ok(full()));
    let always = with("trigger = { metric = \"est_tokens\", cmp = \">\", value = 60000 }\n", "");
    let Step::ClearResults(clear) = &Policy::from_toml(&always).unwrap().steps[1] else {
        panic!("another step")
    };
    assert_eq!(clear.trigger, Trigger::Always);
}

#[test]
fn every_word_of_the_text_form_has_its_meaning() {
    let units =
        [("b", Unit::Bytes), ("cp", Unit::Chars), ("u16", Unit::Utf16), ("line", Unit::Lines)];
    for (word, unit) in units {
        let text = with("unit = \"b\"", &format!("unit = \"{word}\""));
        let Step::CapText(cap) = &Policy::from_toml(&text).unwrap().steps[0] else { panic!() };
        assert_eq!(cap.unit, unit);
    }
    for (word, shape) in [("head", Shape::Head), ("tail", Shape::Tail)] {
        let text = with("\"middle\"\nhead_per_mille = 500", &format!("\"{word}\""));
        let Step::CapText(cap) = &Policy::from_toml(&text).unwrap().steps[0] else { panic!() };
        assert_eq!(cap.shape, shape);
    }
    let above = |metric, value| Trigger::Above { metric, value };
    let at_least = |metric, value| Trigger::AtLeast { metric, value };
    let triggers = [
        ("\"tool_results\", cmp = \">\", value = 1", above(Metric::ToolResults, 1)),
        ("\"tool_results\", cmp = \">=\", value = 2", at_least(Metric::ToolResults, 2)),
        ("\"est_tokens\", cmp = \">=\", value = 3", at_least(Metric::EstTokens, 3)),
    ];
    for (words, trigger) in triggers {
        let text = with("\"est_tokens\", cmp = \">\", value = 60000", words);
        let Step::ClearResults(clear) = &Policy::from_toml(&text).unwrap().steps[1] else {
            panic!()
        };
        assert_eq!(clear.trigger, trigger);
    }
    let text = with("\"safe_group\"", "\"any\"");
    let Step::Window(window) = &Policy::from_toml(&text).unwrap().steps[2] else { panic!() };
    assert_eq!(window.boundary, Boundary::Any);
}

#[test]
fn unknown_fields_are_errors_where_they_stand() {
    let top = "unknown field `seed`, expected one of `name`, `estimator`, `step`";
    check(&with("\n\n[[step]]\nop = \"cap", "\nseed = 1\n\n[[step]]\nop = \"cap"), 3, 1, top);
    let step = "unknown field `limits`, expected one of `op`, `at`, `applies`, `unit`, `limit`, \
                `shape`, `head_per_mille`, `marker`, `marker_in_limit`, `keep`, `trigger`, \
                `replacement`, `sticky`, `protect_head`, `boundary`";
    check(&with("limit = 8192", "limits = 8192"), 9, 1, step);
    let applies = "unknown field `kinds`, expected `tools` or `exclude_tools`";
    check(&with("exclude_tools = [\"read\"] }", "kinds = [] }"), 7, 39, applies);
    let trigger = "unknown field `fraction`, expected one of `metric`, `cmp`, `value`";
    check(&with("value = 60000", "fraction = 1"), 20, 47, trigger);
}

#[test]
fn columns_are_counted_in_characters() {
    let reason = "unknown field `kinds`, expected `tools` or `exclude_tools`";
    let text = with("\"exec\"], exclude_tools = [\"read\"]", "\"\u{6f22}\u{1f600}\"], kinds = []");
    check(&text, 7, 37, reason);
    check(&text.replace('\n', "\r\n"), 7, 37, reason);
}

#[test]
fn missing_fields_are_errors_at_the_step_that_needs_them() {
    check(&with("name = \"full\"", ""), 1, 1, "missing field `name`");
    check(&with("estimator = \"b4ceil\"", ""), 1, 1, "missing field `estimator`");
    check(&with("op = \"window\"", ""), 24, 1, "missing field `op`");
    check(&with("metric = \"est_tokens\", ", ""), 20, 11, "missing field `metric`");
    check(&with("cmp = \">\", ", ""), 20, 11, "missing field `cmp`");
    check(&with(", value = 60000", ""), 20, 11, "missing field `value`");
    for (line, column, field) in [
        (4, 1, "unit = \"b\""),
        (4, 1, "limit = 8192"),
        (4, 1, "marker = \"\\n[{n} of {total} bytes hidden]\\n\""),
        (4, 1, "marker_in_limit = false"),
        (15, 1, "keep = 3"),
        (15, 1, "replacement = \"[cleared]\""),
        (15, 1, "sticky = true"),
        (24, 1, "keep = 20"),
        (24, 1, "protect_head = 1"),
        (24, 1, "boundary = \"safe_group\""),
    ] {
        let name = field.split(' ').next().unwrap();
        check(&with(&format!("{field}\n"), "\n"), line, column, &format!("missing field `{name}`"));
    }
    check(&with("shape = \"middle\"\nhead_per_mille = 500", ""), 4, 1, "missing field `shape`");
}

#[test]
fn wrong_types_are_errors_where_they_stand() {
    let string = "invalid type: string \"8192\", expected u64";
    check(&with("limit = 8192", "limit = \"8192\""), 9, 9, string);
    let negative = "invalid value: integer `-1`, expected u64";
    check(&with("limit = 8192", "limit = -1"), 9, 9, negative);
    let float = "invalid type: floating point `8192.0`, expected u64";
    check(&with("limit = 8192", "limit = 8192.0"), 9, 9, float);
    let float = "invalid type: floating point `60000.0`, expected u64";
    check(&with("value = 60000", "value = 6e4"), 20, 55, float);
    let large = "invalid value: integer `4294967296`, expected u32";
    check(&with("keep = 3", "keep = 4294967296"), 19, 8, large);
    let number = "invalid type: integer `0`, expected a boolean";
    check(&with("marker_in_limit = false", "marker_in_limit = 0"), 13, 19, number);
    let single = "invalid type: string \"bash\", expected a sequence";
    check(&with("tools = [\"bash\", \"exec\"],", "tools = \"bash\","), 7, 21, single);
}

#[test]
fn unknown_words_are_errors_where_they_stand() {
    let check = |old: &str, word: &str, line, column, known: &str| {
        let (key, _) = old.split_once(" = ").unwrap();
        let text = with(old, &format!("{key} = \"{word}\""));
        check(&text, line, column, &format!("unknown variant `{word}`, expected {known}"));
    };
    check("unit = \"b\"", "bytes", 8, 8, "one of `b`, `cp`, `u16`, `line`");
    check("shape = \"middle\"", "both", 10, 9, "one of `head`, `tail`, `middle`");
    check("op = \"window\"", "slide", 25, 6, "one of `cap_text`, `clear_results`, `window`");
    check("cmp = \">\"", "<", 20, 42, "`>` or `>=`");
    check("metric = \"est_tokens\"", "turns", 20, 22, "`est_tokens` or `tool_results`");
    check("boundary = \"safe_group\"", "user", 29, 12, "`any` or `safe_group`");
    check("estimator = \"b4ceil\"", "tiktoken", 2, 13, "`b4ceil`");
    check("at = \"result\"", "server", 6, 6, "`result` or `request`");
}

#[test]
fn what_is_no_toml_is_an_error_where_it_stands() {
    check(&with("name = \"full\"", "name = full"), 1, 8, "invalid boolean, expected `false`");
    check(&with("name = \"full\"", "name = \"a\"\nname = \"b\""), 2, 1, "duplicate key");
    check("", 1, 1, "missing field `name`");
}

#[test]
fn a_field_of_another_op_is_an_error_where_it_stands() {
    let fields = [
        ("unit", "\"b\""),
        ("limit", "1"),
        ("shape", "\"head\""),
        ("head_per_mille", "1"),
        ("marker", "\"\""),
        ("marker_in_limit", "true"),
        ("keep", "1"),
        ("trigger", "{ metric = \"est_tokens\", cmp = \">\", value = 1 }"),
        ("replacement", "\"\""),
        ("sticky", "true"),
        ("protect_head", "1"),
        ("boundary", "\"any\""),
        ("applies", "{ }"),
    ];
    let cap: &[&str] = &["keep", "trigger", "replacement", "sticky", "protect_head", "boundary"];
    let text: [&str; 6] = ["unit", "limit", "shape", "head_per_mille", "marker", "marker_in_limit"];
    let clear = [text.as_slice(), &["protect_head", "boundary"]].concat();
    let window = [text.as_slice(), &["applies", "trigger", "replacement", "sticky"]].concat();
    for (op, line, foreign) in
        [("cap_text", 5, cap), ("clear_results", 16, &clear), ("window", 25, &window)]
    {
        for name in foreign {
            let (_, value) = fields.iter().find(|(field, _)| field == name).unwrap();
            let op_line = format!("op = \"{op}\"\n");
            let text = with(&op_line, &format!("{op_line}{name} = {value}\n"));
            let column = name.len() + 4;
            let reason = format!("field `{name}` does not belong to op \"{op}\"");
            check(&text, line + 1, column, &reason);
        }
    }
}

#[test]
fn a_step_at_another_time_is_an_error_where_it_stands() {
    let at = "at = \"result\"";
    check(&with(at, "at = \"request\""), 6, 6, "op \"cap_text\" works at \"result\"");
    let (before, after) = FULL.split_once("op = \"clear_results\"\nat = \"request\"").unwrap();
    let text = format!("{before}op = \"clear_results\"\n{at}{after}");
    check(&text, 17, 6, "op \"clear_results\" works at \"request\"");
    let (before, after) = FULL.split_once("op = \"window\"\nat = \"request\"").unwrap();
    let text = format!("{before}op = \"window\"\n{at}{after}");
    check(&text, 26, 6, "op \"window\" works at \"request\"");
}

#[test]
fn the_share_of_the_head_goes_with_the_middle_and_is_at_most_all() {
    let share = "head_per_mille = 500";
    check(&with(share, "head_per_mille = 1001"), 11, 18, "head_per_mille is 0 to 1000");
    let wide = "invalid value: integer `70000`, expected u16";
    check(&with(share, "head_per_mille = 70000"), 11, 18, wide);
    check(&with(share, ""), 10, 9, "shape \"middle\" needs head_per_mille");
    let reason = "head_per_mille goes with shape \"middle\" only";
    check(&with("shape = \"middle\"", "shape = \"head\""), 11, 18, reason);
    check(&with("shape = \"middle\"", "shape = \"tail\""), 11, 18, reason);
    for head_per_mille in [0, 1000] {
        let text = with(share, &format!("head_per_mille = {head_per_mille}"));
        let Step::CapText(cap) = &Policy::from_toml(&text).unwrap().steps[0] else { panic!() };
        assert_eq!(cap.shape, Shape::Middle { head_per_mille });
    }
}

#[test]
fn a_window_of_nothing_is_an_error() {
    check(&with("keep = 20", "keep = 0"), 28, 8, "a window keeps at least one message");
    assert!(Policy::from_toml(&with("keep = 3", "keep = 0")).is_ok());
}

#[test]
fn texts_are_bounded() {
    let long = "m".repeat(TEXT_BYTES_MAX);
    let texts = [
        ("marker = \"\\n[{n} of {total} bytes hidden]\\n\"", "marker", 12, 10),
        ("replacement = \"[cleared]\"", "replacement", 21, 15),
    ];
    for (field, name, line, column) in texts {
        let at_most = with(field, &format!("{name} = \"{long}\""));
        assert!(Policy::from_toml(&at_most).is_ok());
        let reason = format!("`{name}` is longer than {TEXT_BYTES_MAX} bytes");
        check(&with(field, &format!("{name} = \"{long}m\"")), line, column, &reason);
    }
}

#[test]
fn steps_are_bounded() {
    let step = "[[step]]\nop = \"window\"\nprotect_head = 0\nkeep = 1\nboundary = \"any\"\n";
    let head = "name = \"n\"\nestimator = \"b4ceil\"\n";
    let at_most = format!("{head}{}", step.repeat(STEPS_MAX));
    assert_eq!(Policy::from_toml(&at_most).unwrap().steps.len(), STEPS_MAX);
    let reason = format!("more than {STEPS_MAX} steps");
    check(&format!("{at_most}{step}"), 3 + 5 * STEPS_MAX, 1, &reason);
}

#[test]
fn outputs_are_cut_before_requests_are_looked_at() {
    let cap = "[[step]]\nop = \"cap_text\"\nunit = \"b\"\nlimit = 1\nshape = \"head\"\n\
               marker = \"\"\nmarker_in_limit = false\n";
    let reason = "op \"cap_text\" must come before steps that work at \"request\"";
    check(&format!("{FULL}{cap}"), 30, 1, reason);
    let (before, window) = FULL.split_at(FULL.find("[[step]]\nop = \"window\"").unwrap());
    check(&format!("{before}{cap}{window}"), 24, 1, reason);
    let (before, clear) = FULL.split_at(FULL.find("[[step]]\nop = \"clear_results\"").unwrap());
    assert_eq!(Policy::from_toml(&format!("{before}{cap}{clear}")).unwrap().steps.len(), 4);
}

#[test]
fn a_step_is_for_the_tools_that_it_names() {
    let applies = |tools: &[&str], exclude: &[&str]| Applies {
        tools: tools.iter().map(|name| String::from(*name)).collect(),
        exclude_tools: exclude.iter().map(|name| String::from(*name)).collect(),
    };
    let (a, b): (Option<&[u8]>, Option<&[u8]>) = (Some(b"a"), Some(b"b"));
    for (applies, for_a, for_b, for_unknown) in [
        (applies(&[], &[]), true, true, true),
        (applies(&["a"], &[]), true, false, false),
        (applies(&[], &["a"]), false, true, true),
        (applies(&["a", "b"], &["a"]), false, true, false),
        (applies(&["A"], &["B"]), false, false, false),
    ] {
        let found = (applies.to(a), applies.to(b), applies.to(None));
        assert_eq!(found, (for_a, for_b, for_unknown), "{applies:?}");
    }
}

#[test]
fn a_trigger_fires_above_or_at_its_value() {
    let metric = Metric::ToolResults;
    for (trigger, fires) in [
        (Trigger::Always, [true, true, true]),
        (Trigger::Above { metric, value: 5 }, [false, false, true]),
        (Trigger::AtLeast { metric, value: 5 }, [false, true, true]),
    ] {
        assert_eq!([4, 5, 6].map(|found| trigger.fires(found)), fires, "{trigger:?}");
    }
}

#[test]
fn every_preset_is_a_policy_of_its_own_name() {
    let policies = presets::all().unwrap();
    assert_eq!(policies.len(), PRESETS.len() + 1);
    assert_eq!(policies[0], Policy::recorded());
    for (preset, policy) in PRESETS.iter().zip(&policies[1..]) {
        assert_eq!(preset.id, policy.name);
        assert!(!policy.is_recorded());
    }
    let mut ids: Vec<_> = policies.iter().map(Policy::id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), policies.len(), "two presets do the same");
}
