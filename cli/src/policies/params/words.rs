//! What a policy does, on one line.

use projector::Policy;
use projector::policy::op::{CapLines, Summary, Window};
use projector::policy::{
    Amount, Applies, Boundary, CapText, ClearResults, KeepUnit, Op, Shape, Split, Step, Unit,
};

use crate::report::number::count;

/// What a policy does, on one line.
pub(crate) fn words(policy: &Policy) -> String {
    if policy.steps.is_empty() {
        return "shows every request as it was recorded".to_owned();
    }
    policy.steps.iter().map(step_words).collect::<Vec<_>>().join("; ")
}

fn step_words(step: &Step) -> String {
    let what = match &step.op {
        Op::CapText(cap) => cap_words(cap),
        Op::CapLines(cap) => line_words(cap),
        Op::CapParts(cap) => {
            format!("caps the texts of an output at {} together", amount(cap.limit, cap.unit))
        }
        Op::CapArgs(cap) => {
            let threshold = unit_words(&count(cap.threshold), cap.unit);
            format!("caps arguments of old calls at {threshold}")
        }
        Op::ClearResults(clear) => clear_words(clear, step),
        Op::DedupeReads(_) => "replaces older reads of a file".to_owned(),
        Op::DropReasoning(_) => "leaves old reasoning out".to_owned(),
        Op::Window(window) => window_words(window),
        Op::Summary(summary) => summary_words(summary),
        Op::Repair(_) => "mends calls and results".to_owned(),
        Op::Media(_) => "handles media".to_owned(),
        Op::Inject(_) => "adds texts".to_owned(),
        Op::Tools(_) => "chooses tools".to_owned(),
        Op::TotalCap(cap) => format!("caps all texts at {}", amount(cap.limit, cap.unit)),
        Op::Stack(stack) => format!("runs the stack of {}", stack.system.word()),
        Op::OnOverflow(guard) => format!("{} on overflow", guard.action.word()),
    };
    format!("{what}{}", tools(&step.applies))
}

fn unit_words(number: &str, unit: Unit) -> String {
    let unit = match unit {
        Unit::Bytes => "bytes",
        Unit::Chars => "characters",
        Unit::Utf16 => "UTF-16 units",
        Unit::Columns => "columns",
        Unit::Lines => "lines",
        Unit::Tokens => "tokens",
    };
    format!("{number} {unit}")
}

fn amount(amount: Amount, unit: Unit) -> String {
    unit_words(&number(amount), unit)
}

fn number(amount: Amount) -> String {
    match amount {
        Amount::Fixed(value) => count(value),
        Amount::WindowPerMille(per_mille) => format!("{per_mille} per mille of the window in"),
        Amount::WindowMinus(value) => format!("the window less {} in", count(value)),
        Amount::Rule(rule) => format!("`{}`", rule.word()),
    }
}

fn cap_words(cap: &CapText) -> String {
    let limit = cap.threshold.or(cap.limit).map_or_else(String::new, |to| amount(to, cap.unit));
    let kept = match cap.shape {
        Shape::Head => "keeps the beginning".to_owned(),
        Shape::Tail => "keeps the end".to_owned(),
        Shape::Replace => "keeps nothing".to_owned(),
        Shape::Middle(Split::Ratio { head_per_mille: 500, .. }) => "keeps both ends".to_owned(),
        Shape::Middle(Split::Ratio { head_per_mille, .. }) => {
            format!("keeps both ends ({head_per_mille} per mille at the beginning)")
        }
        Shape::Middle(Split::Fixed { head, tail }) => {
            format!("keeps both ends ({} and {})", count(head), count(tail))
        }
    };
    format!("caps tool outputs at {limit}, {kept}")
}

fn line_words(cap: &CapLines) -> String {
    let lines = cap.max_lines.map(|to| amount(to, Unit::Lines));
    let bytes = cap.max_bytes.map(|to| amount(to, Unit::Bytes));
    let line = cap.max_line.map(|to| unit_words(&count(to), cap.max_line_unit) + " a line");
    let limits: Vec<String> = [lines, bytes, line].into_iter().flatten().collect();
    format!("caps tool outputs at {}", limits.join(" and "))
}

fn clear_words(clear: &ClearResults, step: &Step) -> String {
    let keep = count(clear.keep.n);
    let keep = match clear.keep.unit {
        KeepUnit::Results => keep,
        unit => format!("{keep} {}", unit.word()),
    };
    let when = match &step.trigger {
        None => "at every request".to_owned(),
        Some(trigger) => {
            let value = number(trigger.value);
            format!("when {} {} {value}", trigger.metric.word(), trigger.cmp.word())
        }
    };
    let sticky = if clear.sticky { ", for good" } else { "" };
    format!("clears tool outputs but the newest {keep}, {when}{sticky}")
}

fn window_words(window: &Window) -> String {
    let head = count(u64::from(window.protect_head));
    let boundary = match window.boundary {
        Boundary::SafeGroup => ", and whole tool exchanges",
        _ => "",
    };
    match &window.keep {
        Some(keep) => {
            let n = count(keep.n);
            let unit = match keep.unit {
                KeepUnit::Messages => "messages",
                unit => unit.word(),
            };
            format!("keeps the first {head} and the newest {n} {unit}{boundary}")
        }
        None => "leaves old messages out".to_owned(),
    }
}

fn summary_words(summary: &Summary) -> String {
    format!("puts a summary ({}) in the place of old messages", summary.source.word())
}

fn tools(applies: &Applies) -> String {
    let mut words = String::new();
    let prefixes = applies.tool_prefix.iter().map(|prefix| format!("{prefix}*"));
    let only: Vec<String> = applies.tools.iter().cloned().chain(prefixes).collect();
    if !only.is_empty() {
        words = [" (only ", &only.join(", "), ")"].concat();
    }
    if !applies.exclude_tools.is_empty() {
        words = [&words, " (not ", &applies.exclude_tools.join(", "), ")"].concat();
    }
    words
}
