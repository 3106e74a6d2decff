//! Every text that the source writes into a prompt. The code has none of them: whoever projects
//! gives them, so byte parity with a version of the source is a matter of data.

use alloc::string::String;

use serde::Deserialize;

use super::text::Text;

/// The texts. In templates `{name}` stands for a value.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texts {
    /// Tells the model how to read an archived result.
    pub read_instructions: String,
    /// Behind a text that was cut: see [`super::ruler::bound`].
    pub bound: String,
    /// Where tool output was cut: `{removed}`, `{unit}`.
    pub truncated: String,
    /// At the end of a failure's text that was cut.
    pub error_cut: String,
    /// First line of a deterministic summary: `{turns}`, `{events}`.
    pub summary_header: String,
    /// Its second line: `{kinds}`.
    pub summary_kinds: String,
    /// Its third line.
    pub summary_excerpts: String,
    /// A block: `{id}`, `{high_water}`, `{seq}`, `{version}`, `{summary}`, `{events}`, `{turns}`,
    /// `{kinds}`, `{archived}`, `{limitations}`.
    pub block: String,
    /// Put for `{archived}` when sources are archived: `{count}`.
    pub block_archived: String,
    /// Limits of every block.
    pub block_limitations: String,
    /// Limits of a block without archived sources, behind those of every block.
    pub block_unarchived: String,
    /// A checkpoint: `{id}`, `{high_water}`, `{seq}`, `{version}`, `{summary}`, `{events}`,
    /// `{turns}`, `{source}`, `{limitations}`.
    pub checkpoint: String,
    /// Put for `{source}` when the checkpoint has one: `{policy}`, `{low}`, `{high}`.
    pub checkpoint_source: String,
    /// Limits of every checkpoint.
    pub checkpoint_limitations: String,
    /// A cached synthesis: `{id}`, `{high_water}`, `{seq}`, `{summary}`, `{keys}`, `{turns}`,
    /// `{events}`, `{artifacts}`, `{limitations}`, `{sources}`.
    pub synthesis: String,
    /// A source of it: `{event}`, `{turn}`, `{artifact}`, `{sha256}`, `{tool}`.
    pub synthesis_source: String,
}

/// Puts values in the place of their names. What a value spells is never taken for a name.
pub(super) fn fill(template: &str, values: &[(&str, &Text)]) -> Text {
    let mut out = Text::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let (before, tail) = rest.split_at(open);
        out.push_str(before);
        let named = tail.get(1..).and_then(|tail| tail.split_once('}')).and_then(|(name, rest)| {
            let (_, value) = values.iter().find(|(found, _)| *found == name)?;
            Some((*value, rest))
        });
        if let Some((value, after)) = named {
            out.push(value);
            rest = after;
        } else {
            out.push_str("{");
            rest = tail.get(1..).unwrap_or_default();
        }
    }
    out.push_str(rest);
    out
}

/// A text that can stand in an attribute of an element.
pub(super) fn attribute(text: &Text) -> Text {
    let mut out = Text::new();
    for unit in text.units() {
        match unit {
            0x26 => out.push_str("&amp;"),
            0x22 => out.push_str("&quot;"),
            0x3c => out.push_str("&lt;"),
            _ => out.push_unit(*unit),
        }
    }
    out
}

pub(super) fn number(value: u64) -> Text {
    Text::from(alloc::format!("{value}"))
}

/// The texts for revision f19eede, which the source's numbers hold for.
pub const F19EEDE: &str = include_str!("../../policies/texts/maka-f19eede.toml");

impl Texts {
    /// Reads texts from TOML.
    ///
    /// # Errors
    /// Not TOML, or a text is missing or not known: the message says where.
    pub fn from_toml(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }
}
