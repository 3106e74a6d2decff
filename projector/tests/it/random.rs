//! Random runs and random policies, small enough to shrink to something that can be read.

use ledger::event::Dropped;
use ledger::wire::Escape;
use projector::Policy;
use projector::policy::{
    Applies, Boundary, CapText, ClearResults, Metric, Shape, Step, Trigger, Unit, Window,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::run::{Block, Made, Run};

/// Texts that escape differently, have several lines, or are what policies put in their place.
const TEXTS: [&str; 10] = [
    "",
    "ok",
    "[cleared]",
    "a \"quoted\" text\n",
    "one\ntwo\r\n\nfour \\ five\nsix\n",
    "\u{6f22}\u{5b57} \u{1f600} \u{e9}\u{e9}\n",
    "<b>&amp;</b> / \u{2028}",
    "0123456789012345678901234567890123456789",
    "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8",
    "\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}",
];
const TOOLS: [&str; 3] = ["bash", "read", "edit"];
const ESCAPES: [Escape; 3] = [Escape::JSON, Escape::PYTHON_ASCII, Escape::GO_HTML];

/// Four numbers say one thing that happens.
pub(crate) type Script = Vec<[u8; 4]>;

pub(crate) fn script() -> impl Strategy<Value = Script> {
    prop::collection::vec(any::<[u8; 4]>(), 0..32)
}

/// Plays a script. Each number is taken modulo what is possible there.
pub(crate) fn play(script: &Script) -> Made {
    let mut run = Run::new();
    let sessions = [run.session(), run.session()];
    let mut session = sessions[0];
    for [op, a, b, c] in script.iter().map(|step| step.map(usize::from)) {
        let text = TEXTS[a % TEXTS.len()];
        match op % 12 {
            0 => {
                run.say(session, text);
            }
            1 | 2 => ask(&mut run, session, a),
            3 | 4 => tell(&mut run, session, a, b, c),
            5 => {
                let call = run.open_calls(session).first().copied().filter(|_| b % 2 == 0);
                run.tell_again(session, call, text);
            }
            6 => edit(&mut run, session, a, b),
            7 if c % 3 == 0 => think(&mut run, session, a, text),
            7 => {
                session = sessions[a % 2];
                run.escape(ESCAPES[b % ESCAPES.len()]);
            }
            _ => {
                request(&mut run, session, a, b);
            }
        }
    }
    for session in sessions {
        run.request(session, &[]);
    }
    run.finish()
}

fn ask(run: &mut Run, session: usize, a: usize) {
    if !run.is_unanswered(session) {
        run.request(session, &[]);
    }
    let tools: Vec<_> = (0..=a % 3).map(|nth| TOOLS[(a / 3 + nth) % TOOLS.len()]).collect();
    run.ask(session, &tools);
}

fn think(run: &mut Run, session: usize, a: usize, text: &str) {
    if !run.is_unanswered(session) {
        run.request(session, &[]);
    }
    let call = Block::Call(TOOLS[a % TOOLS.len()]);
    let blocks = [Block::Reasoning(text), Block::Text(text), call, Block::Reasoning("more"), call];
    run.answer(session, &blocks[a % 3..=2 + a % 3]);
}

fn tell(run: &mut Run, session: usize, a: usize, b: usize, c: usize) {
    let open = run.open_calls(session);
    let texts: Vec<_> = (0..3).map(|nth| TEXTS[(a + nth * (c + 1)) % TEXTS.len()]).collect();
    let texts = &texts[..=b % 3];
    let calls = open.iter().take(1 + a % 2);
    let results: Vec<_> = calls.map(|call| (*call, texts)).collect();
    let dropped = [Dropped::Bytes(0), Dropped::Bytes(0), Dropped::Bytes(7), Dropped::Unknown];
    if results.is_empty() {
        run.tell_again(session, None, texts[0]);
    } else {
        run.tell(session, &results, dropped[b / 3 % dropped.len()]);
    }
}

fn edit(run: &mut Run, session: usize, a: usize, b: usize) {
    let items = run.items(session).to_vec();
    let Some(part) = items.get(a % items.len().max(1)).copied() else { return };
    if b.is_multiple_of(4) {
        run.again(session, part);
        return;
    }
    let at = b % items.len();
    let remove = (items.len() - at).min(b % 3);
    let insert: &[usize] = if b.is_multiple_of(2) { &[part] } else { &[] };
    run.edit(session, at, remove, insert);
}

fn request(run: &mut Run, session: usize, a: usize, b: usize) {
    let count = run.items(session).len();
    let marks: Vec<_> = (0..b % 4)
        .filter(|_| count > 0)
        .map(|nth| ((a + nth * nth) % count, (b + 13 * nth) % 40))
        .collect();
    let literal = |item: usize| run.literal_bytes(run.items(session)[item]);
    let marks: Vec<_> = marks.into_iter().map(|(item, at)| (item, at.min(literal(item)))).collect();
    run.request(session, &marks);
}

fn applies() -> impl Strategy<Value = Applies> {
    let names = || prop::collection::vec(select(&TOOLS[..]).prop_map(String::from), 0..2);
    (names(), names()).prop_map(|(tools, exclude_tools)| Applies {
        tools,
        exclude_tools,
        ..Applies::all()
    })
}

fn cap() -> impl Strategy<Value = Step> {
    let unit = select(vec![Unit::Bytes, Unit::Chars, Unit::Utf16, Unit::Lines]);
    let shape = select(vec![Shape::Head, Shape::Tail, Shape::middle(500), Shape::middle(200)]);
    let marker = select(vec!["", "[{n} gone]", "\n\"{n}\"/{total}\n", "ok"]);
    (applies(), unit, 0..40_u64, shape, marker, any::<bool>()).prop_map(
        |(applies, unit, limit, shape, marker, marker_in_limit)| {
            let plain = CapText::plain(unit, limit, shape, marker);
            Step::new(CapText { marker_in_limit, ..plain }).for_only(applies)
        },
    )
}

fn request_step() -> impl Strategy<Value = Step> {
    let trigger = prop_oneof![
        Just(None),
        (0..6_u64).prop_map(|value| Some(Trigger::above(Metric::ToolResults, value))),
        (0..6_u64).prop_map(|value| Some(Trigger::at_least(Metric::ToolResults, value))),
        (0..400_u64).prop_map(|value| Some(Trigger::above(Metric::EstTokens, value))),
        (0..400_u64).prop_map(|value| Some(Trigger::at_least(Metric::EstTokens, value))),
    ];
    let replacement = select(vec!["", "[cleared]", "ok", "\"\u{1f600}\"\n"]);
    let clear = (applies(), 0..4_u64, trigger, replacement, any::<bool>()).prop_map(
        |(applies, keep, trigger, replacement, sticky)| {
            let step = Step::new(ClearResults::plain(keep, replacement, sticky));
            Step { trigger, ..step }.for_only(applies)
        },
    );
    let boundary = select(vec![Boundary::Any, Boundary::SafeGroup]);
    let window = (0..3_u32, 1..8_u64, boundary).prop_map(|(protect_head, keep, boundary)| {
        Step::new(Window::plain(protect_head, keep, boundary))
    });
    prop_oneof![clear, window]
}

pub(crate) fn policy() -> impl Strategy<Value = Policy> {
    let caps = prop::collection::vec(cap(), 0..3);
    let others = prop::collection::vec(request_step(), 0..4);
    (caps, others).prop_map(|(mut steps, others)| {
        steps.extend(others);
        Policy::new("random", steps)
    })
}

/// Steps as a policy file says them, one of each kind and some of their parameters.
const STEPS: [&str; 26] = [
    "op = \"drop_reasoning\"\nat = \"request\"\nkeep = \"none\"",
    "op = \"drop_reasoning\"\nat = \"event\"\nkeep = \"last_message\"",
    "op = \"drop_reasoning\"\nat = \"request\"\nkeep = \"turns\"\nn = 1\nremove_empty = false",
    "op = \"clear_results\"\nreplace = \"remove_pair\"\nkeep = 1\nsticky = false",
    "op = \"clear_results\"\nreplace = \"remove_pair\"\nkeep = 2\nsticky = true\n\
     empty_messages = \"remove\"",
    "op = \"clear_results\"\nreplace = \"remove_pair\"\nsticky = false\n\
     orphan_reasoning = \"drop\"\n\
     keep = { unit = \"messages\", n = 2, ids_in_tail = true }\nempty_messages = \"remove\"",
    "op = \"clear_results\"\nreplacement = \"-\"\nsticky = true\n\
     keep = { unit = \"tokens\", n = 9, stop_at = [\"summary\", \"cleared\"] }",
    "op = \"repair\"\norphan_output = \"drop\"\norphan_call = \"drop\"\nunique_output = true\n\
     batch_atomic = true\nthinking_loop_atomic = true",
    "op = \"repair\"\norphan_output = \"drop\"\nmissing_output = \"\\\"none\\\"\"",
    "op = \"window\"\nat = \"event\"\nprotect_head = 1\ndrop_per_mille = 500\nparity = \"even\"\n\
     boundary = \"any\"\ngap_marker = \"[{n} hidden]\"\n\
     trigger = { metric = \"messages\", cmp = \">\", value = 6 }",
    "op = \"window\"\nat = \"request\"\nprotect_head = 0\nkeep = 4\nboundary = \"assistant\"\n\
     gap_marker = \"[{n} hidden]\"",
    "op = \"window\"\nat = \"overflow\"\nprotect_head = 1\nunwind_until_free = 40\n\
     boundary = \"any\"",
    "op = \"window\"\nprotect_head = 1\nkeep = { unit = \"tokens\", n = 30, min = 2 }\n\
     boundary = \"no_tool\"",
    "op = \"window\"\nprotect_head = 1\nkeep = { unit = \"messages\", n = 3, oldest = true }\n\
     boundary = \"any\"",
    "op = \"summary\"\nat = \"event\"\nsource = \"assumed\"\nassumed_tokens = 20\n\
     place = \"start\"\n\
     retain = { recent_messages = 3, boundary = \"safe_group\" }\n\
     trigger = { metric = \"messages\", cmp = \">\", value = 7 }\n\
     append = [{ role = \"assistant\", text = \"Ok.\" }]",
    "op = \"summary\"\nat = \"event\"\nsource = \"assumed\"\nassumed_tokens = 5\n\
     place = \"after_head\"\nretain = { head = 1, recent_tokens = 30 }\n\
     trigger = { metric = \"est_tokens\", cmp = \">\", value = 90 }",
    "op = \"summary\"\nat = \"event\"\nsource = \"assumed\"\nplace = \"end\"\n\
     retain = { user_messages_tokens = 10 }\nrole = \"assistant\"\n\
     trigger = { metric = \"tool_uses\", cmp = \">=\", value = 3 }",
    "op = \"summary\"\nat = \"event\"\nsource = \"recorded\"\nplace = \"start\"\nretain = { }\n\
     trigger = { metric = \"messages\", cmp = \">\", value = 9 }",
    "op = \"inject\"\nat = \"request\"\non = \"start\"\n\
     items = [{ kind = \"text\", text = \"rules\" }]",
    "op = \"inject\"\nat = \"request\"\non = \"after_summary\"\n\
     items = [{ kind = \"text\", text = \"rules that are long\", each = 2 }]",
    "op = \"dedupe_reads\"\npath_arguments = [\"n\"]\nreplacement = \"old\"\nsticky = true",
    "op = \"dedupe_reads\"\npath_arguments = [\"n\"]\nreplacement = \"\"\nsticky = false\n\
     equal_only = true\nmin_batch_bytes = 4",
    "op = \"cap_args\"\nunit = \"cp\"\nthreshold = 0\nhead = 1\nmarker = \"...\"\nkeep = 1",
    "op = \"on_overflow\"\nat = \"overflow\"\naction = \"unwind\"\nfree_tokens = 20",
    "op = \"on_overflow\"\nat = \"overflow\"\naction = \"retry_drop_oldest\"",
    "op = \"total_cap\"\nunit = \"b\"\nlimit = 60\norder = \"largest_first\"\n\
     floors = [{ kind = \"tool_result\", n = 3 }]\nshape = \"head\"\nmarker = \"[{n}]\"",
];

/// A policy of several steps of any kind.
pub(crate) fn wide_policy() -> impl Strategy<Value = Policy> {
    let steps = prop::collection::vec(0..STEPS.len(), 1..4);
    let estimator = select(vec!["b4ceil", "u16_4ceil", "lc_approx"]);
    (steps, estimator, any::<bool>()).prop_map(|(steps, estimator, cap)| {
        let mut text =
            vec![format!("name = \"wide\"\nestimator = \"{estimator}\"\nwindow = 100\n")];
        if cap {
            let cap = "[[step]]\nop = \"cap_text\"\nat = \"result\"\nunit = \"cp\"\nlimit = 12\n\
                       shape = \"head\"\nmarker = \"[{n}]\"\nmarker_in_limit = false\n";
            text.push(cap.to_owned());
        }
        text.extend(steps.into_iter().map(|step| format!("[[step]]\n{}\n", STEPS[step])));
        let text = text.concat();
        Policy::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    })
}
