//! Policies from TOML and from canonical bytes. Unknown fields are errors with line and column.
//!
//! A policy may build on a preset: `base` names it, top-level fields replace those of the base,
//! and each `[[override]]` changes the parameters of one step. Parameters that are set beside the
//! text come last.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::node::{
    At, Entry, Fields, Node, Param as _, Value, Wrong, from_canonical, from_toml, overlay, place,
};
use super::op::{self, OpWord};
use super::{
    About, CANONICAL_VERSION, Calibrate, Policy, PolicyError, STEPS_MAX, Step, ViewKind, presets,
};
use crate::measure::Estimator;

/// Fields of a policy; `base` and `override` are gone by the time it is read.
const FIELDS: &[&str] = &[
    "name",
    "base",
    "about",
    "estimator",
    "calibrate",
    "safety_per_mille",
    "view",
    "window",
    "effective_per_mille",
    "unknown",
    "step",
    "override",
];
/// Presets on top of each other.
const BASES_MAX: usize = 8;

/// A parameter that is set beside the text of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting<'s> {
    /// `op.field`, `op.N.field` for the N-th step of that op, or a field of the policy.
    pub key: &'s str,
    /// Its value as TOML; a text that is no TOML value stands for itself.
    pub value: &'s str,
}

/// What a policy says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Constants that nobody has documented, as `op.field`.
    pub unknown: Vec<String>,
    /// Where it comes from.
    pub about: Option<About>,
}

impl Policy {
    /// Reads a policy from TOML.
    ///
    /// # Errors
    /// Not TOML, an unknown or missing field, a value out of range, a constant that nobody has
    /// documented and that is not set: with line and column.
    pub fn from_toml(text: &str) -> Result<Self, PolicyError> {
        Self::from_toml_with(text, &[])
    }

    /// Reads a policy from TOML and sets some of its parameters.
    ///
    /// # Errors
    /// As for [`Policy::from_toml`], and a setting that names no parameter.
    pub fn from_toml_with(text: &str, settings: &[Setting<'_>]) -> Result<Self, PolicyError> {
        let read = || {
            let mut root = resolved(text, &At::Text, BASES_MAX)?;
            for (index, setting) in settings.iter().enumerate() {
                set(&mut root, setting, At::Set(index))?;
            }
            policy(&root, false)
        };
        read().map_err(|wrong| place(text, wrong))
    }

    /// Reads what a text says about itself, whether or not all of its constants are set.
    ///
    /// # Errors
    /// As for [`Policy::from_toml`], but for what is wrong with steps.
    pub fn outline(text: &str) -> Result<Outline, PolicyError> {
        let read = || {
            let root = resolved(text, &At::Text, BASES_MAX)?;
            let node = Node { at: At::Text(0), value: Value::Table(root) };
            let fields = Fields::new(&node, false)?;
            let unknown = Vec::<String>::read_field(&fields, "unknown", Some(Vec::new()))?;
            let about = Option::<About>::read_field(&fields, "about", Some(None))?;
            Ok(Outline { unknown, about })
        };
        read().map_err(|wrong| place(text, wrong))
    }

    /// Reads the canonical bytes of a policy. Every line has to be there.
    ///
    /// # Errors
    /// Another version, a line that is missing or unknown, a value out of range.
    pub fn from_canonical(name: &str, text: &str) -> Result<Self, PolicyError> {
        let read = || {
            let start = CANONICAL_VERSION.len() + 1;
            let first = text.get(..start).filter(|line| {
                line.strip_suffix('\n').is_some_and(|line| line == CANONICAL_VERSION)
            });
            if first.is_none() {
                let reason = format!("expected `{CANONICAL_VERSION}`");
                return Err(Wrong::new(At::Text(0), reason));
            }
            let mut root = from_canonical(text, start)?;
            root.push(Entry::new("name", Value::Text(name.to_owned())));
            policy(&root, true)
        };
        read().map_err(|wrong| place(text, wrong))
    }
}

/// The fields of a text, on top of those of its base.
fn resolved(text: &str, at: &dyn Fn(usize) -> At, bases: usize) -> Result<Vec<Entry>, Wrong> {
    let mut own = from_toml(text, at)?;
    let overrides = remove(&mut own, "override");
    let Some(base) = remove(&mut own, "base") else {
        return match overrides {
            Some(entry) => Err(Wrong::new(entry.at, "`override` needs a `base`")),
            None => Ok(own),
        };
    };
    let id = base.node.text()?;
    let Some(bases) = bases.checked_sub(1) else {
        return Err(Wrong::new(base.node.at, "too many policies are based on each other"));
    };
    let Some(preset) = presets::find(id) else {
        let known: Vec<&str> = presets::every().map(|preset| preset.id).collect();
        let wrong = Wrong::unknown_word(base.node.at, id, &known);
        return Err(Wrong { reason: wrong.reason.replacen("word", "policy", 1), ..wrong });
    };
    let mut root = resolved(preset.toml, &|_offset| At::Base, bases)?;
    // What was said about the base is not true of what is built on it.
    remove(&mut root, "about");
    let more = remove(&mut own, "step");
    overlay(&mut root, own);
    for node in overrides.iter().map(|entry| entry.node.list()).collect::<Result<Vec<_>, _>>()? {
        for change in node {
            change_step(&mut root, change)?;
        }
    }
    if let Some(more) = more {
        let added = more.node.list()?.to_vec();
        match steps_of(&mut root) {
            Some(steps) => steps.extend(added),
            None => root.push(more),
        }
    }
    Ok(root)
}

fn remove(entries: &mut Vec<Entry>, key: &str) -> Option<Entry> {
    let index = entries.iter().position(|entry| entry.key == key)?;
    Some(entries.remove(index))
}

fn steps_of(root: &mut [Entry]) -> Option<&mut Vec<Node>> {
    match root.iter_mut().find(|entry| entry.key == "step").map(|entry| &mut entry.node.value) {
        Some(Value::List(steps)) => Some(steps),
        _ => None,
    }
}

/// The fields of the `nth` step of an op, from 1.
fn step_of<'r>(root: &'r mut [Entry], op: &str, nth: u64) -> Option<&'r mut Node> {
    let is = |step: &&mut Node| {
        let Value::Table(fields) = &step.value else { return false };
        fields.iter().any(|entry| entry.key == "op" && entry.node.text() == Ok(op))
    };
    let nth = usize::try_from(nth.checked_sub(1)?).ok()?;
    steps_of(root)?.iter_mut().filter(is).nth(nth)
}

/// Lays an `[[override]]` over the step that it names.
fn change_step(root: &mut [Entry], change: &Node) -> Result<(), Wrong> {
    let mut fields = change.entries()?.to_vec();
    let Some(op) = remove(&mut fields, "op") else {
        return Err(Wrong::new(change.at, "missing field `op`"));
    };
    let word = OpWord::read(&op.node, false)?.word();
    let nth = remove(&mut fields, "nth").map_or(Ok(1), |nth| u64::read(&nth.node, false))?;
    let unset = remove(&mut fields, "unset");
    let unset = unset.map_or(Ok(Vec::new()), |unset| Vec::<String>::read(&unset.node, false))?;
    let Some(step) = step_of(root, word, nth) else {
        let reason = format!("the base has no step {nth} of op \"{word}\"");
        return Err(Wrong::new(op.node.at, reason));
    };
    // Fields of the base that do not fit the changed ones are wrong where they were changed.
    step.at = change.at;
    if let Value::Table(old) = &mut step.value {
        old.retain(|entry| !unset.contains(&entry.key));
        overlay(old, fields);
    }
    Ok(())
}

/// Sets one parameter.
fn set(root: &mut Vec<Entry>, setting: &Setting<'_>, at: At) -> Result<(), Wrong> {
    let value = setting_value(setting.value, at);
    let entry = |key: &str| Entry { key: key.to_owned(), at, node: value.clone() };
    let mut parts = setting.key.splitn(3, '.');
    let (first, second, third) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    let (nth, field) = match (second, third) {
        (None, _) => {
            overlay(root, Vec::from([entry(first)]));
            return Ok(());
        }
        (Some(field), None) => (1, field),
        (Some(nth), Some(field)) => match nth.parse() {
            Ok(nth) => (nth, field),
            // A field of a field of the first step.
            Err(_) if has_table(root, first, nth) => {
                (1, setting.key.get(first.len() + 1..).unwrap_or_default())
            }
            Err(_) => {
                let reason = format!("`{}`: `{nth}` is no number of a step", setting.key);
                return Err(Wrong::new(at, reason));
            }
        },
    };
    let Some(step) = step_of(root, first, nth) else {
        let reason = format!("`{}`: there is no step {nth} of op \"{first}\"", setting.key);
        return Err(Wrong::new(at, reason));
    };
    let mut names = field.split('.');
    let last = names.next_back().unwrap_or_default();
    let mut table = &mut step.value;
    for name in names {
        let inner = match table {
            Value::Table(fields) => fields.iter_mut().find(|entry| entry.key == name),
            _ => None,
        };
        let Some(inner) = inner else {
            return Err(Wrong::new(at, format!("`{}`: there is no `{name}`", setting.key)));
        };
        table = &mut inner.node.value;
    }
    match table {
        Value::Table(fields) => overlay(fields, Vec::from([entry(last)])),
        _ => return Err(Wrong::new(at, format!("`{}`: no fields are there", setting.key))),
    }
    Ok(())
}

/// True when the first step of an op has a field that has fields.
fn has_table(root: &mut [Entry], op: &str, field: &str) -> bool {
    let step = step_of(root, op, 1);
    step.is_some_and(|step| match &step.value {
        Value::Table(fields) => fields
            .iter()
            .any(|entry| entry.key == field && matches!(entry.node.value, Value::Table(_))),
        _ => false,
    })
}

fn setting_value(text: &str, at: At) -> Node {
    let toml = from_toml(&format!("value = {text}\n"), &|_offset| at);
    match toml.as_deref() {
        Ok([Entry { node, .. }]) => node.clone(),
        // A word or a text without quotes.
        _ => Node { at, value: Value::Text(text.to_owned()) },
    }
}

fn policy(root: &[Entry], explicit: bool) -> Result<Policy, Wrong> {
    let node = Node { at: At::Text(0), value: Value::Table(root.to_vec()) };
    let fields = Fields::new(&node, explicit)?;
    fields.only("a policy", FIELDS)?;
    let name = String::read_field(&fields, "name", None)?;
    let estimator = Estimator::read_field(&fields, "estimator", None)?;
    let calibrate = Calibrate::read_field(&fields, "calibrate", Some(Calibrate::None))?;
    let safety_per_mille = u32::read_field(&fields, "safety_per_mille", Some(1000))?;
    let view = ViewKind::read_field(&fields, "view", Some(ViewKind::Wire))?;
    let window = Option::<u64>::read_field(&fields, "window", Some(None))?;
    let effective_per_mille = u16::read_field(&fields, "effective_per_mille", Some(1000))?;
    let unknown = Vec::<String>::read_field(&fields, "unknown", Some(Vec::new()))?;
    let about =
        if explicit { None } else { Option::<About>::read_field(&fields, "about", Some(None))? };
    let steps_node = fields.get("step");
    if explicit && steps_node.is_none() {
        return Err(fields.missing("step"));
    }
    let unknown_at = fields.at("unknown");
    let nodes = steps_node.map_or(Ok(Default::default()), Node::list)?;
    undocumented(nodes, &unknown, unknown_at)?;
    let steps = steps(nodes, explicit)?;
    Ok(Policy {
        name,
        estimator,
        calibrate,
        safety_per_mille,
        view,
        window,
        effective_per_mille,
        unknown,
        about,
        steps,
    })
}

fn steps(nodes: &[Node], explicit: bool) -> Result<Vec<Step>, Wrong> {
    if let Some(step) = nodes.get(STEPS_MAX) {
        return Err(Wrong::new(step.at, format!("more than {STEPS_MAX} steps")));
    }
    let mut steps: Vec<Step> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let Some(step) = Step::read(node, explicit)? else { continue };
        // Outputs are cut when they are recorded, before any request carries them.
        let before = steps.last().filter(|before| before.at != op::At::Result);
        if let (op::At::Result, Some(before)) = (step.at, before) {
            let reason = format!(
                "op \"{}\" at \"result\" must come before steps that work at \"{}\"",
                step.op.word().word(),
                before.at.word(),
            );
            return Err(Wrong::new(node.at, reason));
        }
        steps.push(step);
    }
    Ok(steps)
}

/// Refuses a policy whose unknown constants nobody has set.
fn undocumented(steps: &[Node], unknown: &[String], at: At) -> Result<(), Wrong> {
    let is_set = |name: &str| {
        let mut parts = name.splitn(3, '.');
        let (op, second, third) = (parts.next()?, parts.next()?, parts.next());
        let (nth, field) = match third {
            Some(field) => (second.parse().ok()?, field),
            None => (1_usize, second),
        };
        let has = |node: &&Node, key: &str, value: Option<&str>| {
            node.entries().is_ok_and(|fields| {
                fields.iter().any(|entry| {
                    entry.key == key && value.is_none_or(|value| entry.node.text() == Ok(value))
                })
            })
        };
        let step =
            steps.iter().filter(|step| has(step, "op", Some(op))).nth(nth.checked_sub(1)?)?;
        Some(has(&step, field, None))
    };
    let mut missing = Vec::new();
    for name in unknown {
        match is_set(name) {
            Some(true) => {}
            Some(false) => missing.push(format!("`{name}`")),
            None => {
                return Err(Wrong::new(at, format!("`{name}` names no field of a step")));
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join(", ");
    let reason = format!("undocumented constants that have to be set: {missing}").to_string();
    Err(Wrong::new(at, reason))
}
