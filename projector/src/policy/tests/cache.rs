//! Goal: the class of a step is what its harness is known for. Method: presets, step by step.

use alloc::vec::Vec;

use super::super::{CacheClass, Policy, Setting, presets};

fn classes(id: &str, settings: &[Setting<'_>]) -> Vec<CacheClass> {
    let toml = presets::find(id).expect("the preset exists").toml;
    let policy = Policy::from_toml_with(toml, settings).expect("it is a policy");
    policy.steps.iter().map(super::super::Step::cache_class).collect()
}

#[test]
fn the_steps_of_known_harnesses_have_the_class_they_are_known_for() {
    use CacheClass::{Batch, None, Rebase, Sliding, Stable};
    for (id, expected) in [
        ("cap-4k", [Stable].as_slice()),
        ("codex@820f85c", &[Stable, Stable, Stable, Rebase, Rebase]),
        ("vercel-prune@6.0.326", &[Sliding, Sliding]),
        ("langchain-clear-tool-uses@1.5.2", &[Sliding]),
        ("swe-agent-last5@3ea751c", &[Stable, Sliding]),
        ("openai-agents-trimmer@0.24.0", &[Sliding]),
        ("gemini-cli@0.61.0", &[Stable, Stable, Rebase, Batch, Stable]),
        ("cline-basic@21cb8d2", &[Stable, Stable, Stable, Batch, Sliding, Stable, Rebase]),
        ("maka@f19eede", &[Sliding]),
    ] {
        assert_eq!(classes(id, &[]), expected, "{id}");
    }
    let text = Setting { key: "clear_results.replacement", value: "-" };
    let anthropic = classes("anthropic-context-management@20250919", &[text]);
    assert_eq!(anthropic, [None, None, None]);
    let polling = Setting { key: "clear_results.polling", value: "5" };
    assert_eq!(classes("swe-agent-last5@3ea751c", &[polling]), [Stable, Batch]);
}

#[test]
fn a_policy_has_the_dearest_class_of_its_steps() {
    assert_eq!(Policy::recorded().cache_class(), CacheClass::Stable);
    let codex = presets::find("codex@820f85c").expect("the preset exists").toml;
    let codex = Policy::from_toml(codex).expect("it is a policy");
    assert_eq!(codex.cache_class(), CacheClass::Rebase);
}
