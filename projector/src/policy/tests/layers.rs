//! Goal: a policy on a base is the base with what is changed, and what is set beside a text comes
//! last. Method: pairs of texts that must give one policy, and tables of wrong ones.

use alloc::format;
use alloc::string::ToString as _;

use super::check;
use crate::policy::{Policy, Setting};

fn set(text: &str, settings: &[(&str, &str)]) -> Result<Policy, alloc::string::String> {
    let settings: alloc::vec::Vec<_> =
        settings.iter().map(|(key, value)| Setting { key, value }).collect();
    Policy::from_toml_with(text, &settings).map_err(|error| error.to_string())
}

const CAP: &str = include_str!("../../../policies/cap-4k.toml");

#[test]
fn an_override_changes_the_fields_that_it_names() {
    let based = "name = \"cap-4k\"\nbase = \"cap-4k\"\n\
                 [[override]]\nop = \"cap_text\"\nlimit = 5\nunit = \"cp\"\n";
    let written = CAP.replace("limit = 4000", "limit = 5").replace("\"b\"", "\"cp\"");
    assert_eq!(Policy::from_toml(based), Policy::from_toml(&written));
    let unset = "name = \"cap-4k\"\nbase = \"cap-4k\"\n[[override]]\nop = \"cap_text\"\n\
                 nth = 1\nunset = [\"head_per_mille\"]\nshape = \"tail\"\n";
    let written = CAP.replace("\"middle\"", "\"tail\"").replace("head_per_mille = 500\n", "");
    assert_eq!(Policy::from_toml(unset), Policy::from_toml(&written));
}

#[test]
fn a_policy_on_a_base_may_add_steps_and_change_fields_of_the_policy() {
    let step = "[[step]]\nop = \"window\"\nprotect_head = 0\nkeep = 1\nboundary = \"any\"\n";
    let based = format!("name = \"w\"\nbase = \"cap-4k\"\nestimator = \"cp4\"\n{step}");
    let written = CAP.replace("\"cap-4k\"", "\"w\"").replace("b4ceil", "cp4");
    assert_eq!(Policy::from_toml(&based), Policy::from_toml(&format!("{written}\n{step}")));
}

#[test]
fn what_is_wrong_with_an_override_is_told_where_it_stands() {
    let head = "name = \"x\"\nbase = \"cap-4k\"\n[[override]]\n";
    let wrong = |more: &str| format!("{head}{more}");
    check(&wrong("op = \"window\"\n"), 4, 6, "the base has no step 1 of op \"window\"");
    check(&wrong("op = \"cap_text\"\nnth = 2\n"), 4, 6, "the base has no step 2 of op");
    check(&wrong("op = \"cap_text\"\nlimits = 2\n"), 5, 1, "unknown field `limits`");
    check(&wrong("op = \"cap_text\"\nshape = \"tail\"\n"), 1, 1, "in the policy it is based on");
    check(&wrong("limit = 1\n"), 3, 1, "missing field `op`");
    let based = "name = \"x\"\nbase = \"cap-4\"\n";
    check(based, 2, 8, "unknown policy `cap-4`, expected one of `cap-2k`, `cap-4k`");
    let alone = "name = \"x\"\nestimator = \"none\"\n[[override]]\nop = \"window\"\n";
    check(alone, 3, 3, "`override` needs a `base`");
}

#[test]
fn a_parameter_can_be_set_beside_the_text() {
    let written = Policy::from_toml(&CAP.replace("limit = 4000", "limit = 9")).unwrap();
    assert_eq!(set(CAP, &[("cap_text.limit", "9")]), Ok(written.clone()));
    assert_eq!(set(CAP, &[("cap_text.1.limit", "8"), ("cap_text.limit", "9")]), Ok(written));
    let named = set(CAP, &[("name", "other"), ("window", "100")]).unwrap();
    assert_eq!((named.name.as_str(), named.window), ("other", Some(100)));
    let quoted = set(CAP, &[("cap_text.marker", "\"a\\nb\"")]).unwrap();
    let plain = set(CAP, &[("cap_text.marker", "a\nb")]).unwrap();
    assert_eq!(quoted, plain);
}

#[test]
fn a_field_of_a_field_can_be_set() {
    let qwen = include_str!("../../../policies/qwen-code@0.15.10.toml");
    let written = Policy::from_toml(&qwen.replace("limit = 25000", "limit = 8000")).unwrap();
    assert_ne!(Policy::from_toml(qwen).unwrap().id(), written.id());
    for key in ["cap_lines.shared.limit", "cap_lines.1.shared.limit"] {
        assert_eq!(set(qwen, &[(key, "8000")]), Ok(written.clone()));
    }
    for (key, reason) in [
        ("cap_lines.shared.limits", "unknown field `limits`"),
        ("cap_lines.1.shred.limit", "there is no `shred`"),
        ("cap_lines.1.header.limit", "no fields are there"),
    ] {
        assert!(set(qwen, &[(key, "1")]).unwrap_err().contains(reason), "{key}");
    }
}

#[test]
fn a_setting_that_names_nothing_is_an_error() {
    for (key, value, reason) in [
        ("cap_text.limits", "9", "in parameter 1 that was set: unknown field `limits`"),
        ("cap_text.2.limit", "9", "`cap_text.2.limit`: there is no step 2 of op \"cap_text\""),
        ("cap_text.x.limit", "9", "`cap_text.x.limit`: `x` is no number of a step"),
        ("windows", "9", "in parameter 1 that was set: unknown field `windows`"),
        ("cap_text.limit", "many", "in parameter 1 that was set: expected a number or a table"),
    ] {
        let error = set(CAP, &[(key, value)]).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn undocumented_constants_have_to_be_set() {
    let text = CAP
        .replace("limit = 4000\n", "")
        .replace("estimator", "unknown = [\"cap_text.limit\", \"cap_text.marker\"]\nestimator");
    let error = set(&text, &[]).unwrap_err();
    assert!(error.ends_with("have to be set: `cap_text.limit`"), "{error}");
    let policy = set(&text, &[("cap_text.limit", "4000")]).unwrap();
    assert_eq!(policy.unknown, ["cap_text.limit", "cap_text.marker"]);
    assert_ne!(policy.id(), Policy::from_toml(CAP).unwrap().id());
    let nothing = CAP.replace("estimator", "unknown = [\"window.keep\"]\nestimator");
    let error = set(&nothing, &[]).unwrap_err();
    assert!(error.ends_with("`window.keep` names no field of a step"), "{error}");
}
