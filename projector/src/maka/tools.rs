//! Which tools the model is told of: groups of them stay away until it asks for one.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::collate;
use super::event::{Content, Event};
use super::json::Json;
use super::stable;
use super::text::Text;

/// The tool that loads a group.
pub const LOADER: &str = "load_tools";
/// Its name, and the names that it had; they count in the ledger only.
const LOADERS: [&str; 3] = [LOADER, "load_tool", "connect_tool_source"];

/// Tools that are loaded together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its id.
    pub id: Text,
    /// Its tools.
    pub tools: Vec<Text>,
    /// A name for people.
    pub label: Option<Text>,
    /// What the model is told of it.
    pub description: Option<Text>,
}

/// The tools of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    known: Vec<Text>,
    groups: Vec<Group>,
    gated: BTreeSet<Text>,
    economy: bool,
}

impl Availability {
    /// The tools of a run and their groups. A tool that is not known is left out; the first group
    /// that names a tool has it.
    pub fn new(known: &[Text], groups: &[Group], economy: bool) -> Self {
        let mut gated = BTreeSet::new();
        let mut kept = Vec::new();
        for group in groups.iter().filter(|group| !group.id.is_empty()) {
            let mut tools: Vec<Text> = Vec::new();
            for tool in &group.tools {
                if known.contains(tool) && gated.insert(tool.clone()) {
                    tools.push(tool.clone());
                }
            }
            if !tools.is_empty() {
                tools.sort_by(collate::compare);
                kept.push(Group { tools, ..group.clone() });
            }
        }
        // There must be something to hide.
        let economy = economy && !gated.is_empty();
        Self { known: known.to_vec(), groups: kept, gated, economy }
    }

    /// Groups that earlier turns loaded, as the ledger tells.
    pub fn loaded_before(&self, events: &[Event]) -> BTreeSet<Text> {
        let calls = events.iter().filter_map(|event| match event.content() {
            Some(Content::Call { name, args, .. }) => Some((name, args)),
            _ => None,
        });
        let calls = calls.filter(|(name, _)| LOADERS.iter().any(|loader| **name == *loader));
        self.named(calls.filter_map(|(_, args)| group_id(args, &["group", "namespace", "source"])))
    }

    /// Groups that completed calls of this turn loaded: tool and input of each.
    pub fn loaded_now<'c>(
        &self,
        calls: impl IntoIterator<Item = (&'c Text, &'c Json)>,
    ) -> BTreeSet<Text> {
        let calls = calls.into_iter().filter(|(tool, _)| **tool == LOADER);
        self.named(calls.filter_map(|(_, input)| group_id(input, &["group"])))
    }

    fn named(&self, ids: impl Iterator<Item = Text>) -> BTreeSet<Text> {
        ids.filter(|id| self.groups.iter().any(|group| group.id == *id)).collect()
    }

    /// The tools that the model is told of, in the locale's order.
    pub fn active(&self, loaded: &BTreeSet<Text>) -> Vec<Text> {
        let shown = |tool: &&Text| {
            let group = self.groups.iter().find(|group| group.tools.contains(tool));
            !self.economy || group.is_none_or(|group| loaded.contains(&group.id))
        };
        let mut out: Vec<Text> = self.known.iter().filter(shown).cloned().collect();
        out.extend(self.economy.then(|| Text::from(LOADER)));
        out.sort_by(collate::compare);
        out
    }

    /// True when groups are hidden.
    pub fn is_economy(&self) -> bool {
        self.economy
    }

    /// Tools that can be hidden.
    pub fn gated(&self) -> &BTreeSet<Text> {
        &self.gated
    }
}

/// The hash of a configuration of groups.
pub fn catalog_hash(groups: &[Group], economy: bool) -> String {
    let optional = |text: &Option<Text>| text.clone().map(Json::String);
    let groups = groups.iter().map(|group| {
        let tools: BTreeSet<&Text> = group.tools.iter().collect();
        let tools = tools.into_iter().cloned().map(Json::String).collect();
        let mut members = alloc::vec![
            (Text::from("id"), Json::String(group.id.clone())),
            (Text::from("toolNames"), Json::Array(tools)),
        ];
        members.extend(optional(&group.label).map(|value| (Text::from("label"), value)));
        let description = optional(&group.description);
        members.extend(description.map(|value| (Text::from("description"), value)));
        Json::Object(super::json::Object::from_members(members))
    });
    let groups = Json::Array(groups.collect());
    stable::hash(&Json::object([("economy", Json::Bool(economy)), ("groups", groups)]))
}

fn group_id(args: &Json, names: &[&str]) -> Option<Text> {
    let parsed = match args {
        Json::String(text) => &Json::parse(text)?,
        other => other,
    };
    names.iter().find_map(|name| parsed.get(name)?.as_text().cloned())
}
