//! `policy apply`: what the steps of a policy that work on results leave of a text.

mod lines;

use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};

use clap::Args;
use projector::policy::{Budget, Policy};
use projector::text::{self, Context, Shown};
use replay::Vocabularies;

use super::SetArgs;
use crate::error::{Ended, Failure, Kind, Outcome, file};
use crate::policies;
use crate::ui::Ui;

/// Largest text that is read.
const TEXT_BYTES_MAX: u64 = 1 << 30;

/// Print what a policy leaves of a tool output
///
/// Applies the steps of a policy that work on single results to a text, and prints what is left.
/// Steps that work on whole requests do nothing here. Half of a surrogate pair, where a policy cuts
/// between two, is printed as U+FFFD.
///
/// With --ndjson, each line of the input is an object with `id`, `x` (the text as hexadecimal
/// bytes) and perhaps `tool`, and each line of the output one with `id`, `y`, `hidden` (bytes) and
/// `fidelity`; where the result is not well-formed Unicode, `utf16` has its units in hexadecimal.
/// What cannot be evaluated has no `y`, and says why in `error`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  counterfold policy apply codex@820f85c output.txt
  make 2>&1 | counterfold policy apply cap-4k -
  counterfold policy apply roo@cb83656 --set cap_text.limit=30000 output.txt
  counterfold policy apply pi@0.73.1 --ndjson cases.ndjson

Exit codes:
  0  printed
  2  no such policy or file, or what the policy rests on is not known")]
pub(crate) struct ApplyArgs {
    /// A built-in id, or a policy file
    #[arg(value_name = "POLICY")]
    policy: String,
    /// A text; `-` reads standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// The tool that returned the text
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    #[command(flatten)]
    set: SetArgs,
    /// A value that markers name, such as the place of a saved file: spill=/tmp/o.txt
    #[arg(long, value_name = "NAME=TEXT")]
    value: Vec<String>,
    /// The context window, for limits that rest on it
    #[arg(long, value_name = "TOKENS")]
    window: Option<u64>,
    /// Tokens in use, for limits that rest on what is left
    #[arg(long, value_name = "TOKENS")]
    used: Option<u64>,
    /// Read cases and write answers, one JSON object a line
    #[arg(long)]
    ndjson: bool,
}

/// A policy with what it may know beside a text.
struct Applied<'a> {
    policy: Policy,
    values: Vec<(&'a str, &'a str)>,
    budget: Budget,
}

impl Applied<'_> {
    fn results(&self, tool: Option<&str>, text: &str) -> Result<Option<Shown>, String> {
        let mut values = self.values.clone();
        values.extend(tool.map(|tool| ("tool", tool)));
        let context =
            Context { budget: self.budget, counter: Some(&Vocabularies), values: &values };
        let tool = tool.map(str::as_bytes);
        text::results(&self.policy.steps, tool, text, &context)
            .map_err(|(step, unknown)| format!("step {}: {unknown}", step + 1))
    }
}

pub(crate) fn run(args: &ApplyArgs, ui: &mut Ui) -> Ended {
    let named = policies::resolve_with(&args.policy, &args.set.set)?;
    let mut values = Vec::with_capacity(args.value.len());
    for words in &args.value {
        let wrong = || Failure::new(Kind::Usage, format!("not NAME=TEXT: {words}"));
        values.push(words.split_once('=').ok_or_else(wrong)?);
    }
    let window = args.window.or(named.policy.window);
    let budget = Budget { window, used: args.used, ..Budget::default() };
    let applied = Applied { policy: named.policy, values, budget };
    if args.ndjson {
        return lines::run(&applied, open(&args.file)?, ui);
    }
    let text = read(&args.file)?;
    let shown = applied.results(args.tool.as_deref(), &text).map_err(|reason| {
        Failure::new(Kind::Unsupported, reason)
            .hint("--window, --used and --value give what is not known")
    })?;
    match shown {
        None => ui.content(text.as_bytes(), false)?,
        Some(shown) => ui.content(shown.lossy(&text).as_bytes(), false)?,
    }
    Ok(Outcome::Fine)
}

fn open(path: &Path) -> Result<Box<dyn io::BufRead>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let opened = File::open(path).map_err(|error| file("read", path, &error))?;
    Ok(Box::new(BufReader::new(opened)))
}

fn read(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let mut from = open(path)?.take(TEXT_BYTES_MAX + 1);
    from.read_to_end(&mut bytes).map_err(|error| file("read", path, &error))?;
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        let words = format!("more than {TEXT_BYTES_MAX} bytes: {}", path.display());
        return Err(Failure::new(Kind::Format, words));
    }
    String::from_utf8(bytes).map_err(|_invalid| {
        Failure::new(Kind::Format, format!("not UTF-8 text: {}", path.display()))
    })
}
