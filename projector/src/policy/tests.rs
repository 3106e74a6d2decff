//! Goal: a policy text that is wrong says where, and a policy's id tells all policies apart that
//! do different things. Method: tables of wrong texts with their places; golden bytes; canonical
//! bytes read back, and with each line left out.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::presets::{self, PRESETS};
use super::{
    Applies, Boundary, CapText, ClearResults, Metric, Op, Policy, STEPS_MAX, Shape, Step,
    TEXT_BYTES_MAX, Trigger, Unit, Window,
};

mod cache;
mod canonical;
mod layers;

/// A policy with the three most common ops.
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
    assert!(error.reason.starts_with(reason), "{error} for {reason}");
    assert_eq!((error.line, error.column), (line, column), "{error} in {text}");
    assert_eq!(error.to_string(), format!("line {line}, column {column}: {}", error.reason));
}

#[test]
fn every_field_of_the_common_ops_is_read() {
    let names = |names: &[&str]| names.iter().map(|name| String::from(*name)).collect();
    let marker = "\n[{n} of {total} bytes hidden]\n";
    let cap = Step::new(CapText::plain(Unit::Bytes, 8192, Shape::middle(500), marker));
    let tools = Applies {
        tools: names(&["bash", "exec"]),
        exclude_tools: names(&["read"]),
        ..Applies::all()
    };
    let clear = Step::new(ClearResults::plain(3, "[cleared]", true))
        .when(Trigger::above(Metric::EstTokens, 60000));
    let memory = Applies { exclude_tools: names(&["memory"]), ..Applies::all() };
    let window = Step::new(Window::plain(1, 20, Boundary::SafeGroup));
    let steps = [cap.for_only(tools), clear.for_only(memory), window];
    assert_eq!(full(), Policy::new("full", steps.into()));
}

#[test]
fn what_may_be_left_out_changes_nothing() {
    let short = with("at = \"result\"\n", "");
    assert_eq!(Policy::from_toml(&short), Ok(full()));
    let short = FULL.replace("at = \"request\"\n", "");
    assert_eq!(Policy::from_toml(&short), Ok(full()));
    let always = with("trigger = { metric = \"est_tokens\", cmp = \">\", value = 60000 }\n", "");
    assert_eq!(Policy::from_toml(&always).unwrap().steps[1].trigger, None);
    let table = with("keep = 3", "keep = { unit = \"results\", n = 3 }");
    assert_eq!(Policy::from_toml(&table), Ok(full()));
}

#[test]
fn unknown_fields_are_errors_where_they_stand() {
    let top = "unknown field `seed` in a policy, expected one of `name`, `base`, `about`, `est";
    check(&with("\n\n[[step]]\nop = \"cap", "\nseed = 1\n\n[[step]]\nop = \"cap"), 3, 1, top);
    let step = "unknown field `limits` in op \"cap_text\", expected one of `op`, `at`, `enabled`, \
                `applies`, `trigger`, `unit`, `limit`, ";
    check(&with("limit = 8192", "limits = 8192"), 9, 1, step);
    let applies = "unknown field `kind` in `applies`, expected one of `tools`, `exclude_tools`, ";
    check(&with("exclude_tools = [\"read\"] }", "kind = [] }"), 7, 39, applies);
    let trigger = "unknown field `fraction` in `trigger`, expected one of `metric`, `cmp`, ";
    check(&with("value = 60000", "fraction = 1"), 20, 47, trigger);
}

#[test]
fn columns_are_counted_in_characters() {
    let reason = "unknown field `kind` in `applies`";
    let text = with("\"exec\"], exclude_tools = [\"read\"]", "\"\u{6f22}\u{1f600}\"], kind = []");
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
    let string = "expected a number or a table, found a text";
    check(&with("limit = 8192", "limit = \"8192\""), 9, 9, string);
    check(&with("limit = 8192", "limit = -1"), 9, 9, "-1 is no number from 0 to ");
    check(&with("limit = 8192", "limit = 8192.0"), 9, 9, "policies have no fractions; shares ");
    check(&with("value = 60000", "value = 6e4"), 20, 55, "policies have no fractions");
    check(&with("value = 60000", "value = 1979-05-27"), 20, 55, "policies have no dates");
    let large = "4294967296 is above 4294967295";
    check(&with("protect_head = 1", "protect_head = 4294967296"), 27, 16, large);
    let number = "expected a boolean, found a number";
    check(&with("marker_in_limit = false", "marker_in_limit = 0"), 13, 19, number);
    let single = "expected a list, found a text";
    check(&with("tools = [\"bash\", \"exec\"],", "tools = \"bash\","), 7, 21, single);
    let deep = format!("limit = {}1{}", "[".repeat(20), "]".repeat(20));
    check(&with("limit = 8192", &deep), 9, 23, "nested too deeply");
}

#[test]
fn unknown_words_are_errors_where_they_stand() {
    let check = |old: &str, word: &str, line, column, known: &str| {
        let (key, _) = old.split_once(" = ").unwrap();
        let text = with(old, &format!("{key} = \"{word}\""));
        check(&text, line, column, &format!("unknown word `{word}`, expected one of {known}"));
    };
    check("unit = \"b\"", "bytes", 8, 8, "`b`, `cp`, `u16`, `col`, `line`, `tok`");
    check("shape = \"middle\"", "both", 10, 9, "`head`, `tail`, `middle`, `replace`");
    check("op = \"window\"", "slide", 25, 6, "`cap_text`, `cap_lines`, `cap_parts`, ");
    check("cmp = \">\"", "=", 20, 42, "`>`, `>=`, `<`, `<=`");
    check("metric = \"est_tokens\"", "turns", 20, 22, "`est_tokens`, `usage_tokens`, ");
    check("boundary = \"safe_group\"", "none", 29, 12, "`any`, `user`, `assistant`, ");
    check("estimator = \"b4ceil\"", "tiktoken", 2, 13, "`b4ceil`, `cp4`, ");
    check("at = \"result\"", "later", 6, 6, "`result`, `request`, `event`, `overflow`, ");
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
        ("cap_text", 5, "keep", "1"),
        ("cap_text", 5, "replacement", "\"\""),
        ("clear_results", 16, "limit", "1"),
        ("clear_results", 16, "boundary", "\"any\""),
        ("window", 25, "applies", "{ }"),
        ("window", 25, "sticky", "true"),
    ];
    for (op, line, name, value) in fields {
        let op_line = format!("op = \"{op}\"\n");
        let text = with(&op_line, &format!("{op_line}{name} = {value}\n"));
        let reason = format!("unknown field `{name}` in op \"{op}\", expected one of `op`, ");
        check(&text, line + 1, 1, &reason);
    }
}

#[test]
fn a_step_at_another_time_is_an_error_where_it_stands() {
    let reason = "op \"cap_text\": unknown word `server`, expected one of `result`, ";
    check(&with("at = \"result\"", "at = \"server\""), 6, 6, reason);
    let (before, after) = FULL.split_once("op = \"clear_results\"\nat = \"request\"").unwrap();
    let text = format!("{before}op = \"clear_results\"\nat = \"result\"{after}");
    check(&text, 17, 6, "op \"clear_results\": unknown word `result`, expected one of ");
    let early = with("marker_in_limit = false", "marker_in_limit = false\ntrigger = { }");
    check(&early, 14, 11, "a step at \"result\" has no trigger");
}

#[test]
fn a_step_that_is_switched_off_is_not_there() {
    let text = with("op = \"window\"", "op = \"window\"\nenabled = false");
    let mut shorter = full();
    shorter.steps.pop();
    assert_eq!(Policy::from_toml(&text), Ok(shorter));
}

#[test]
fn the_share_of_the_head_goes_with_the_middle_and_is_at_most_all() {
    let share = "head_per_mille = 500";
    check(&with(share, "head_per_mille = 1001"), 11, 18, "head_per_mille is 0 to 1000");
    check(&with(share, "head_per_mille = 70000"), 11, 18, "70000 is above 65535");
    check(&with(share, ""), 10, 9, "shape \"middle\" needs head_per_mille, or else head and tail");
    let reason = "head_per_mille goes with shape \"middle\" only";
    check(&with("shape = \"middle\"", "shape = \"head\""), 11, 18, reason);
    check(&with("shape = \"middle\"", "shape = \"tail\""), 11, 18, reason);
    for head_per_mille in [0, 1000] {
        let text = with(share, &format!("head_per_mille = {head_per_mille}"));
        let policy = Policy::from_toml(&text).unwrap();
        let Op::CapText(cap) = &policy.steps[0].op else { panic!("another op") };
        assert_eq!(cap.shape, Shape::middle(head_per_mille));
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
        let reason = format!("the text is longer than {TEXT_BYTES_MAX} bytes");
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
    let reason = "op \"cap_text\" at \"result\" must come before steps that work at \"request\"";
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
        ..Applies::all()
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
fn a_step_is_for_the_tools_whose_names_begin_so() {
    let applies = Applies { tool_prefix: ["mcp__".into()].into(), ..Applies::all() };
    let either = Applies { tools: ["bash".into()].into(), ..applies.clone() };
    for (tool, for_prefix, for_either) in [
        (Some("mcp__x"), true, true),
        (Some("bash"), false, true),
        (Some("mcp_"), false, false),
        (None, false, false),
    ] {
        let found = tool.map(str::as_bytes);
        assert_eq!((applies.to(found), either.to(found)), (for_prefix, for_either), "{tool:?}");
    }
}

#[test]
fn a_trigger_fires_above_or_at_its_value() {
    use super::{Amount, Budget, Cmp};
    let of = |cmp| Trigger { cmp, ..Trigger::above(Metric::ToolResults, 5) };
    for (cmp, fires) in [
        (Cmp::Above, [false, false, true]),
        (Cmp::AtLeast, [false, true, true]),
        (Cmp::Below, [true, false, false]),
        (Cmp::AtMost, [true, true, false]),
    ] {
        let found = [4, 5, 6].map(|found| of(cmp).fires(found, &Budget::default()).unwrap());
        assert_eq!(found, fires, "{cmp:?}");
    }
    let share = Trigger { value: Amount::WindowPerMille(500), ..of(Cmp::Above) };
    assert_eq!(share.fires(9, &Budget::default()), None);
    let run = Budget { window: Some(19), ..Budget::default() };
    assert_eq!([9, 10].map(|found| share.fires(found, &run)), [Some(false), Some(true)]);
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
