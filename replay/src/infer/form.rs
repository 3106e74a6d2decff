//! Reads the shape of a cap off its samples: what stands around an output and in its middle, how
//! much of it is left, and which numbers count what.

use ledger::wire::Escape;

use super::sample::Sample;

/// So much of an output's beginning and end is looked for, in bytes of what is written.
const SEED_BYTES: usize = 48;
/// So many numbers are tried as limits.
const SIZES_MAX: usize = 4;
/// Names of the values in a template.
const NAMES: [&str; 12] = [
    "value_a", "value_b", "value_c", "value_d", "value_e", "value_f", "value_g", "value_h",
    "value_i", "value_j", "value_k", "value_l",
];

/// A step that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    unit: &'static str,
    limit: u64,
    head_per_mille: u16,
    marker: String,
    header: String,
    template: Option<(Writes, String, String)>,
}

/// How a text is written inside of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writes {
    Plain,
    JsonAscii,
    Json,
}

impl Writes {
    const ALL: [Self; 3] = [Self::Plain, Self::JsonAscii, Self::Json];

    fn write(self, text: &str) -> String {
        let escape = match self {
            Self::Plain => return text.to_owned(),
            Self::JsonAscii => Escape::PYTHON_ASCII,
            Self::Json => Escape::JSON,
        };
        let mut out = Vec::with_capacity(text.len());
        escape.escape_into(text, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn word(self) -> &'static str {
        match self {
            Self::Plain => "none",
            Self::JsonAscii => "json_ascii",
            Self::Json => "json",
        }
    }
}

/// The text around an output that was sent whole.
pub(super) fn uncut(sample: &Sample) -> Option<(Writes, String, String)> {
    if sample.ends.is_some() {
        return None;
    }
    Writes::ALL.into_iter().find_map(|writes| {
        let written = writes.write(&sample.output);
        let at = sample.sent.rfind(&written)?;
        let (before, behind) = (sample.sent.get(..at)?, sample.sent.get(at + written.len()..)?);
        // Inside of JSON the quotes are part of the form; an empty output says nothing of it.
        let inside = before.ends_with('"') && behind.starts_with('"');
        (writes == Writes::Plain || inside).then(|| (writes, before.to_owned(), behind.to_owned()))
    })
}

/// An output that was cut: what stands before its head, between head and tail, behind the tail,
/// and how many code points of it are shown at either end.
#[derive(Clone, Debug)]
struct Cut<'s> {
    sample: &'s Sample,
    before: String,
    between: String,
    behind: String,
    head: usize,
    tail: usize,
}

fn cut(sample: &Sample, writes: Writes) -> Option<Cut<'_>> {
    let first: Vec<char> = sample.output.chars().take(1 << 16).collect();
    let last: Vec<char> = sample.tail().chars().rev().take(1 << 16).collect();
    let seed = |chars: &[char], reversed: bool| {
        let mut count = 0;
        let mut written = String::new();
        while written.len() < SEED_BYTES && count < chars.len() {
            count += 1;
            let text: String = if reversed {
                chars.iter().take(count).rev().collect()
            } else {
                chars.iter().take(count).collect()
            };
            written = writes.write(&text);
        }
        (written, count)
    };
    let ((head_seed, mut head), (tail_seed, mut tail)) = (seed(&first, false), seed(&last, true));
    let start = sample.sent.find(&head_seed)?;
    let end = sample.sent.rfind(&tail_seed)? + tail_seed.len();
    let (mut head_end, mut tail_start) = (start + head_seed.len(), end - tail_seed.len());
    for c in first.get(head..)? {
        let written = writes.write(&c.to_string());
        if head_end >= tail_start || !sample.sent.get(head_end..)?.starts_with(&written) {
            break;
        }
        head_end += written.len();
        head += 1;
    }
    for c in last.get(tail..)? {
        let written = writes.write(&c.to_string());
        if tail_start <= head_end || !sample.sent.get(..tail_start)?.ends_with(&written) {
            break;
        }
        tail_start -= written.len();
        tail += 1;
    }
    Some(Cut {
        sample,
        before: sample.sent.get(..start)?.to_owned(),
        between: sample.sent.get(head_end..tail_start)?.to_owned(),
        behind: sample.sent.get(end..)?.to_owned(),
        head,
        tail,
    })
}

/// How many code points are left of the outputs that were cut, the most common number first.
pub(super) fn sizes<'s>(samples: impl Iterator<Item = &'s Sample>) -> Vec<u64> {
    let mut counts: Vec<(u64, usize)> = Vec::new();
    for sample in samples.filter(|sample| sample.is_cut()) {
        for cut in Writes::ALL.into_iter().filter_map(|writes| cut(sample, writes)) {
            let size = (cut.head + cut.tail) as u64;
            match counts.iter_mut().find(|(known, _)| *known == size) {
                Some((_, count)) => *count += 1,
                None => counts.push((size, 1)),
            }
        }
    }
    counts.sort_by_key(|(size, count)| (std::cmp::Reverse(*count), *size));
    counts.into_iter().map(|(size, _)| size).take(SIZES_MAX).collect()
}

/// The steps that the samples of one tool show.
pub(super) fn steps(samples: &[&Sample]) -> Vec<Found> {
    let told = |sample: &&&Sample| !sample.output.is_empty();
    let wholes: Vec<_> = samples.iter().filter(told).filter_map(|it| uncut(it)).collect();
    let Some(writes) = majority(wholes.iter().map(|(writes, ..)| *writes)) else {
        return Vec::new();
    };
    let of_form = || wholes.iter().filter(|(own, ..)| *own == writes);
    let cuts: Vec<_> = samples
        .iter()
        .filter(|sample| sample.is_cut())
        .filter_map(|sample| cut(sample, writes))
        .collect();
    // What stands before a cut output begins like what stands before a whole one.
    let length = majority(of_form().map(|(_, before, _)| words(before).len())).unwrap_or(0);
    let begins = |cut: &Cut<'_>| words(&cut.before).into_iter().take(length).collect::<String>();
    let mut begun: Vec<String> = of_form().map(|(_, before, _)| before.clone()).collect();
    if writes == Writes::Plain {
        begun.extend(cuts.iter().map(begins));
    }
    let Some(before) = general(begun.iter().map(String::as_str)) else { return Vec::new() };
    let Some(behind) = general(of_form().map(|(_, _, behind)| behind.as_str())) else {
        return Vec::new();
    };
    let whole = [before.as_str(), "{text}", behind.as_str()].concat();
    let (Some(head), Some(tail)) =
        (cuts.iter().map(|cut| cut.head).min(), cuts.iter().map(|cut| cut.tail).min())
    else {
        return Vec::new();
    };
    let cuts: Vec<_> = cuts.iter().filter_map(|it| exactly(it, head, tail, writes)).collect();
    let (head, tail) = (head as u64, tail as u64);
    let limit = head + tail;
    let per_mille = u16::try_from((head * 1000).div_ceil(limit.max(1))).unwrap_or(500);
    let step = Found {
        unit: "cp",
        limit,
        head_per_mille: per_mille,
        marker: String::new(),
        header: String::new(),
        template: None,
    };
    if writes == Writes::Plain {
        plain(&step, &cuts, (before, whole))
    } else {
        split(step, &cuts, writes, whole)
    }
}

/// The same cut with exactly so many code points at either end: what stands beside an end may
/// happen to go on like the output.
fn exactly<'s>(cut: &Cut<'s>, head: usize, tail: usize, writes: Writes) -> Option<Cut<'s>> {
    let more_head: String =
        cut.sample.output.chars().skip(head).take(cut.head.checked_sub(head)?).collect();
    let end: Vec<char> = cut.sample.tail().chars().rev().take(cut.tail).collect();
    let more_tail: String = end.iter().skip(tail).rev().collect();
    let between =
        [writes.write(&more_head), cut.between.clone(), writes.write(&more_tail)].concat();
    Some(Cut { between, head, tail, ..cut.clone() })
}

/// A cap whose marker stands in the text, under a header.
fn plain(step: &Found, cuts: &[Cut<'_>], (before, whole): (String, String)) -> Vec<Found> {
    let Some(marker) = majority(cuts.iter().filter_map(|cut| counted(cut, &cut.between))) else {
        return Vec::new();
    };
    let headers: Vec<_> =
        cuts.iter().filter_map(|cut| Some((cut, strip(&before, &cut.before)?))).collect();
    let header = majority(headers.iter().filter_map(|(cut, header)| measured(cut, header)));
    let header = header.unwrap_or_default();
    let template =
        (!before.is_empty() || whole != "{text}").then(|| (Writes::Plain, whole.clone(), whole));
    let mut steps = Vec::new();
    steps.extend(headers.iter().find_map(|(_, told)| earlier(&header, told)));
    steps.push(Found { marker, header, template, ..step.clone() });
    steps
}

/// A cap whose two ends stand apart, with the number of what is gone beside them.
fn split(step: Found, cuts: &[Cut<'_>], writes: Writes, whole: String) -> Vec<Found> {
    let forms = cuts.iter().filter_map(|cut| {
        let behind = counted(cut, &cut.behind)?;
        Some((cut.before.as_str(), cut.between.as_str(), behind))
    });
    let forms: Vec<_> = forms.collect();
    let before = general(forms.iter().map(|(before, ..)| *before));
    let between = majority(forms.iter().map(|(_, between, _)| (*between).to_owned()));
    let behind = majority(forms.iter().map(|(_, _, behind)| behind.clone()));
    let (Some(before), Some(between), Some(behind)) = (before, between, behind) else {
        return Vec::new();
    };
    let before = renamed(&whole, &before);
    let form = [&before, "{head}", &between, "{tail}", &behind].concat();
    vec![Found { template: Some((writes, whole, form)), ..step }]
}

/// The text with `{n}` for the number that counts what is gone.
fn counted(cut: &Cut<'_>, text: &str) -> Option<String> {
    let shown = (cut.head + cut.tail) as u64;
    let total = cut.sample.output.chars().count() as u64;
    let mut numbers = numbers(text);
    if cut.sample.ends.is_none() {
        let hidden = total.checked_sub(shown)?;
        let (start, end, _) = numbers.find(|(.., number)| *number == hidden)?;
        return Some([text.get(..start)?, "{n}", text.get(end..)?].concat());
    }
    // Nobody knows how much is gone; the only number says it.
    let (start, end, _) = numbers.next()?;
    numbers.next().is_none().then_some(())?;
    Some([text.get(..start)?, "{n}", text.get(end..)?].concat())
}

/// A header with names for the numbers that count the output.
fn measured(cut: &Cut<'_>, header: &str) -> Option<String> {
    if cut.sample.ends.is_some() {
        return None;
    }
    let output = &cut.sample.output;
    let sizes = [
        ("{total_tokens}", (output.len() as u64).div_ceil(4)),
        ("{total_lines}", output.lines().count() as u64),
    ];
    let mut out = String::new();
    let mut done = 0;
    for (start, end, number) in numbers(header) {
        let name = sizes.iter().find(|(name, size)| *size == number && !out.contains(name));
        let (name, _) = name?;
        out.push_str(header.get(done..start)?);
        out.push_str(name);
        done = end;
    }
    out.push_str(header.get(done..)?);
    Some(out)
}

/// An earlier cap, told by a header whose line of lines gave way to its marker.
fn earlier(header: &str, told: &str) -> Option<Found> {
    let mut total = None;
    for (form, line) in header.split_inclusive('\n').zip(told.split_inclusive('\n')) {
        let literal = form.split('{').next().unwrap_or_default();
        if form.contains("{total_tokens}") && line.starts_with(literal) {
            total = numbers(line).next().map(|(.., number)| number * 4);
        } else if form.contains("{total_lines}") && !line.starts_with(literal) {
            let (start, end, hidden) = numbers(line).next()?;
            let line = [line.get(..start)?, "{n}", line.get(end..)?].concat();
            return Some(Found {
                unit: "b",
                limit: total?.checked_sub(hidden)?,
                head_per_mille: 500,
                marker: format!("\n{}\n", line.trim_end_matches('\n')),
                header: String::new(),
                template: None,
            });
        }
    }
    None
}

/// Runs of digits: start, end, value.
fn numbers(text: &str) -> impl Iterator<Item = (usize, usize, u64)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(at..)?;
            let start = at + rest.find(|c: char| c.is_ascii_digit())?;
            let digits = text.get(start..)?.bytes().take_while(u8::is_ascii_digit).count();
            at = start + digits;
            if let Ok(number) = text.get(start..at)?.parse() {
                return Some((start, at, number));
            }
        }
    })
}

/// What a text has behind a form with names for single words.
fn strip(form: &str, text: &str) -> Option<String> {
    let (mut form, mut rest) = (form, text);
    while let Some((literal, more)) = form.split_once('{') {
        let Some((_name, behind)) = more.split_once('}').filter(|(name, _)| NAMES.contains(name))
        else {
            rest = rest.strip_prefix(literal)?.strip_prefix('{')?;
            form = more;
            continue;
        };
        rest = rest.strip_prefix(literal)?;
        let word = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        (rest, form) = (rest.get(word..)?, behind);
    }
    rest.strip_prefix(form).map(str::to_owned)
}

/// A text with the names of a form, as far as the two agree: what varies before a whole output
/// may vary before a cut one too.
fn renamed(form: &str, text: &str) -> String {
    let mut out = String::new();
    let (mut form, mut rest) = (form, text);
    for name in NAMES {
        let name = format!("{{{name}}}");
        let Some((literal, more)) = form.split_once(&name) else { break };
        let Some(behind) = rest.strip_prefix(literal) else { break };
        out.push_str(literal);
        out.push_str(&name);
        let named = behind.strip_prefix(name.as_str());
        let word = behind.find(|c: char| !is_word(c)).unwrap_or(behind.len());
        rest = named.unwrap_or_else(|| behind.get(word..).unwrap_or_default());
        form = more;
    }
    out + rest
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')
}

/// One form for texts that differ in single words; the most common one where they differ in more.
fn general<'t>(texts: impl Iterator<Item = &'t str>) -> Option<String> {
    let split: Vec<Vec<&str>> = texts.map(words).collect();
    let length = majority(split.iter().map(Vec::len))?;
    let alike: Vec<_> = split.iter().filter(|words| words.len() == length).collect();
    let mut out = String::new();
    let mut names = NAMES.iter();
    for index in 0..length {
        let mut column = alike.iter().filter_map(|words| words.get(index).copied());
        let first = column.next()?;
        if column.all(|word| word == first) {
            out.push_str(first);
        } else {
            out.push('{');
            out.push_str(names.next()?);
            out.push('}');
        }
    }
    Some(out)
}

/// Words and what is between them, alternating.
fn words(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    let mut word = false;
    while !rest.is_empty() {
        let end = rest.find(|c: char| is_word(c) != word).unwrap_or(rest.len());
        let (head, tail) = rest.split_at(end);
        out.push(head);
        (rest, word) = (tail, !word);
    }
    out
}

/// The most common value; of equally common ones the first.
fn majority<T: PartialEq + Clone>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: Vec<(T, usize)> = Vec::new();
    for value in values {
        match counts.iter_mut().find(|(known, _)| *known == value) {
            Some((_, count)) => *count += 1,
            None => counts.push((value, 1)),
        }
    }
    let best = counts.iter().map(|(_, count)| *count).max()?;
    counts.into_iter().find(|(_, count)| *count == best).map(|(value, _)| value)
}

impl Found {
    /// The step as TOML.
    pub(super) fn toml(&self, tools: &[&str]) -> String {
        let tools: Vec<_> = tools.iter().map(|tool| quoted(tool)).collect();
        let mut out = format!(
            "\n[[step]]\nop = \"cap_text\"\nat = \"result\"\napplies = {{ tools = [{}] }}\n\
             unit = \"{}\"\nlimit = {}\nshape = \"middle\"\nhead_per_mille = {}\n\
             marker = {}\nmarker_in_limit = false\n",
            tools.join(", "),
            self.unit,
            self.limit,
            self.head_per_mille,
            quoted(&self.marker)
        );
        if !self.header.is_empty() {
            out.extend(["header = ", &quoted(&self.header), "\n"]);
        }
        if let Some((writes, whole, cut)) = &self.template {
            let (whole, cut) = (quoted(whole), quoted(cut));
            out.extend(["\n[step.template]\nescape = \"", writes.word(), "\"\n"]);
            out.extend(["whole = ", &whole, "\ncut = ", &cut, "\n"]);
        }
        out
    }
}

/// A text as a TOML string.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() || !c.is_ascii() => {
                out.extend(["\\U", &format!("{:08X}", u32::from(c))]);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
