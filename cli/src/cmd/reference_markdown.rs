//! `reference-markdown`: pages of docs/reference that are written from what they describe.

use clap::{Args, ValueEnum};

use crate::error::{Ended, Outcome};
use crate::policies::page;
use crate::ui::Ui;

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Page {
    /// docs/reference/presets.md
    Presets,
    /// docs/reference/policy-language.md
    Language,
}

/// Print a page of the reference as Markdown
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ReferenceMarkdownArgs {
    #[arg(value_enum, value_name = "PAGE")]
    page: Page,
}

pub(crate) fn run(args: ReferenceMarkdownArgs, ui: &mut Ui) -> Ended {
    let page = match args.page {
        Page::Presets => page::presets(),
        Page::Language => page::language(),
    };
    ui.bytes(page.as_bytes())?;
    Ok(Outcome::Fine)
}
