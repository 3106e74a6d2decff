//! Takes the rows of a session one by one.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use ledger::recorder::{RawKey, RecordError};

use super::{is_bookkeeping, result};
use crate::transcript::adapter::{Fold, Source, Stop, fold_lines, with_document};
use crate::transcript::anthropic::{self, message};
use crate::transcript::chain::{Chain, Tree};
use crate::transcript::json::{self, Json, Value};
use crate::transcript::rows::{At, Row, Unread};
use crate::transcript::scribe::{Fate, Scribe, Tag, Talk};
use crate::transcript::time::unix_ns;

/// What stands in the place of a result that was cleared; the file says which results, and not
/// what the model saw instead.
const CLEARED: &str = "[Old tool result content cleared]";

const HARNESS_TEXT: Fate = Fate::Aside("text of the harness, not an answer of a model");
const PROGRESS: Fate = Fate::Aside("progress of a call");
const ATTACHMENT: Fate = Fate::Aside("attachment: its text in the request is not in the file");
const BOOKKEEPING: Fate = Fate::Aside("bookkeeping of the session");
const COPY: &str = "structured copy of a result";
const COPY_WITHOUT: &str = "structured copy of a result, without the text that the model saw";
const AGAIN: Fate = Fate::Aside("row with an id that another row had");

pub(super) struct Rows {
    tree: Tree,
    chains: Vec<Chain>,
    main: Option<usize>,
    agents: HashMap<String, usize>,
    /// Sub-agents that have a file of their own.
    agents_with_file: HashSet<String>,
    /// Who started a sub-agent: the conversation and its call.
    delegations: Vec<(String, Talk, String)>,
    outputs: Vec<PathBuf>,
    outputs_named: HashSet<PathBuf>,
}

impl Rows {
    pub(super) fn new(parts: &[PathBuf]) -> Self {
        let agents = parts.iter().filter_map(|part| agent_of(part)).map(str::to_owned).collect();
        let is_output =
            |part: &&PathBuf| part.extension().is_none_or(|end| end != "jsonl" && end != "json");
        Self {
            tree: Tree::default(),
            chains: Vec::new(),
            main: None,
            agents: HashMap::new(),
            agents_with_file: agents,
            delegations: Vec::new(),
            outputs: parts.iter().filter(is_output).cloned().collect(),
            outputs_named: HashSet::new(),
        }
    }

    /// Reads the other files of the session.
    pub(super) fn parts(
        &mut self,
        parts: &[PathBuf],
        at: &mut At,
        scribe: &mut Scribe,
    ) -> Result<(), Stop> {
        for part in parts {
            let ends = |end: &str| part.extension().is_some_and(|own| own == end);
            if ends("jsonl") {
                let mut reader = BufReader::with_capacity(1 << 16, File::open(part)?);
                fold_lines(&mut reader, at, scribe, self)?;
            } else if ends("json") {
                let mut reader = BufReader::new(File::open(part)?);
                let mut source =
                    Source { path: part, is_lines: false, reader: &mut reader, parts: &[] };
                with_document(&mut source, scribe, &mut |json, scribe| {
                    let row =
                        Row { index: at.index, offset: at.offset, raw: json.raw, read: Ok(json) };
                    at.index += 1;
                    at.offset += json.raw.len() as u64;
                    if let (Some(agent), Some(call)) = (agent_of(part), json.name("toolUseId"))
                        && let Some(talk) = self.main.and_then(|main| self.chains.get(main))
                    {
                        self.delegations.push((agent.to_owned(), talk.talk, call.to_owned()));
                    }
                    Ok(scribe.account(&row, Fate::Aside("description of a sub-agent"))?)
                })?;
            }
        }
        for part in self.outputs.clone() {
            let known = self.outputs_named.contains(&part);
            let text = if known { None } else { result::read(&part) };
            let raw = text.unwrap_or_default();
            let fate = if known { Fate::Used } else { Fate::Unknown("output that no row names") };
            let quoted = json::quoted(&raw);
            let row = Row {
                index: at.index,
                offset: at.offset,
                raw: &quoted,
                read: Err(Unread::NotJson),
            };
            scribe.account(&row, fate)?;
            at.index += 1;
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, scribe: &mut Scribe) -> Result<(), Stop> {
        for chain in &mut self.chains {
            chain.close(scribe)?;
            if let Some(length) = chain.compacting.take() {
                scribe.compacted(chain.talk, length, None)?;
            }
        }
        let mut told = HashSet::new();
        for (agent, parent, call) in core::mem::take(&mut self.delegations) {
            let child = self.agents.get(&agent).and_then(|number| self.chains.get(*number));
            if let Some(child) = child.filter(|_| told.insert(agent)) {
                scribe.spawned(parent, &call, child.talk)?;
            }
        }
        Ok(())
    }

    /// The chain that a row belongs to.
    fn chain_of(
        &mut self,
        row: &Json<'_>,
        parent: Option<RawKey>,
        scribe: &mut Scribe,
    ) -> Result<usize, RecordError> {
        let side = row.flag("isSidechain");
        if let Some(node) = parent.and_then(|key| self.tree.get(key)) {
            let own = self.chains.get(node.chain);
            if own.is_some_and(|own| own.side == side) {
                return Ok(node.chain);
            }
        }
        match (side, row.name("agentId")) {
            (true, Some(agent)) => self.agent(agent, scribe),
            (true, None) => {
                let chain = Chain::open(scribe, self.main_talk(), None, true)?;
                self.chains.push(chain);
                Ok(self.chains.len() - 1)
            }
            // On the client's output the messages of a sub-agent name the call that started it.
            (false, _) => match row.name("parent_tool_use_id") {
                Some(call) => {
                    let number = self.agent(call, scribe)?;
                    if let Some(talk) = self.main_talk() {
                        self.delegations.push((call.to_owned(), talk, call.to_owned()));
                    }
                    Ok(number)
                }
                None => self.main(row, scribe),
            },
        }
    }

    /// The chain that is no sub-agent's.
    fn main(&mut self, row: &Json<'_>, scribe: &mut Scribe) -> Result<usize, RecordError> {
        if let Some(main) = self.main {
            return Ok(main);
        }
        let name = row.name("sessionId").or_else(|| row.name("session_id"));
        self.chains.push(Chain::open(scribe, None, name, false)?);
        self.main = Some(self.chains.len() - 1);
        Ok(self.chains.len() - 1)
    }

    fn main_talk(&self) -> Option<Talk> {
        self.main.and_then(|main| self.chains.get(main)).map(|main| main.talk)
    }

    /// The chain of a sub-agent.
    fn agent(&mut self, agent: &str, scribe: &mut Scribe) -> Result<usize, RecordError> {
        if let Some(number) = self.agents.get(agent) {
            return Ok(*number);
        }
        let chain = Chain::open(scribe, self.main_talk(), Some(agent), true)?;
        self.chains.push(chain);
        self.agents.insert(agent.to_owned(), self.chains.len() - 1);
        Ok(self.chains.len() - 1)
    }

    /// Takes a row that is a message.
    fn message(
        &mut self,
        row: &Row<'_>,
        json: &Json<'_>,
        scribe: &mut Scribe,
    ) -> Result<Fate, Stop> {
        let Some(said) = json.get("message").filter(|said| said.is_object()) else {
            return Ok(self.pass(json, Fate::Unknown("message row without a message")));
        };
        let Some(content) = said.some("content").filter(|it| it.is_list() || it.text().is_some())
        else {
            return Ok(self.pass(json, Fate::Unknown("message without a content")));
        };
        let is_answer = json.str("type") == Some("assistant");
        if is_answer && (said.str("model") == Some("<synthetic>") || json.flag("isApiErrorMessage"))
        {
            return Ok(self.pass(json, HARNESS_TEXT));
        }
        let summary = json.flag("isCompactSummary");
        if json.flag("isVisibleInTranscriptOnly") && !summary {
            return Ok(self.pass(json, Fate::Aside("text for the person, not for the model")));
        }
        let own = key(json.name("uuid"));
        if own.is_some_and(|own| self.tree.has(own)) {
            return Ok(AGAIN);
        }
        let parent = key(json.name("parentUuid"));
        let number = self.chain_of(json, parent, scribe)?;
        if is_answer {
            return self.answer(json, said, content, number, own, parent, scribe);
        }
        let results = results(content);
        let tag = match (results.is_empty(), json.flag("isMeta")) {
            (false, _) => Tag::Result,
            (true, true) => Tag::Injected,
            (true, false) => Tag::Prompt,
        };
        if summary {
            self.summary(content, number, own, scribe)?;
            return Ok(Fate::Used);
        }
        self.place(number, parent, tag, json, scribe);
        let Some(chain) = self.chains.get(number) else { return Ok(Fate::Used) };
        let entry = scribe.say(chain.talk, tag, message("user", content.raw));
        if let Some(own) = own {
            self.tree.add(own, parent, number, chain, scribe, entry.as_ref());
        }
        self.second_copies(row, json, &results, number, scribe)?;
        Ok(Fate::Used)
    }

    /// Brings the chain's list to where the row stands.
    fn place(
        &mut self,
        number: usize,
        parent: Option<RawKey>,
        tag: Tag,
        json: &Json<'_>,
        scribe: &mut Scribe,
    ) {
        let Some(chain) = self.chains.get_mut(number) else { return };
        match parent {
            Some(parent) if self.tree.has(parent) => chain.attach(&self.tree, parent, tag, scribe),
            // The parent is not in the file: what came before is missing here.
            Some(_) => chain.restart(true, scribe),
            None if json.get("parentUuid").is_none() => {}
            None => chain.restart(false, scribe),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the pieces of one row")]
    fn answer(
        &mut self,
        json: &Json<'_>,
        said: &Json<'_>,
        content: &Json<'_>,
        number: usize,
        own: Option<RawKey>,
        parent: Option<RawKey>,
        scribe: &mut Scribe,
    ) -> Result<Fate, Stop> {
        let id = said.name("id").or_else(|| json.name("uuid")).unwrap_or("answer without an id");
        let Some(chain) = self.chains.get_mut(number) else { return Ok(Fate::Used) };
        if !chain.is_pending(id) {
            if chain.is_closed(id) {
                return Ok(self.pass(json, Fate::Unknown("row of an answer that had ended")));
            }
            chain.close(scribe)?;
            self.place(number, parent, Tag::Answer, json, scribe);
            let Some(chain) = self.chains.get_mut(number) else { return Ok(Fate::Used) };
            if let Some(length) = chain.compacting.take() {
                scribe.compacted(chain.talk, length, None)?;
            }
            chain.begin(id, said.name("model"), scribe)?;
        }
        let blocks = match content.text() {
            Some(text) => vec![anthropic::text_block(text)],
            None => content.list().iter().map(|block| block.raw.to_vec()).collect(),
        };
        let usage = said.some("usage").and_then(usage);
        let Some(chain) = self.chains.get_mut(number) else { return Ok(Fate::Used) };
        let entry = chain.add(blocks, usage, said.name("stop_reason"));
        if let Some(cost) = json.get("costUSD").filter(|cost| cost.value == Value::Number) {
            scribe.tally.cost_of(cost);
        }
        if let Some(own) = own {
            self.tree.add(own, parent, number, chain, scribe, entry.as_ref());
        }
        Ok(Fate::Used)
    }

    /// The summary that a compaction leaves.
    fn summary(
        &mut self,
        content: &Json<'_>,
        number: usize,
        own: Option<RawKey>,
        scribe: &mut Scribe,
    ) -> Result<(), Stop> {
        let Some(chain) = self.chains.get_mut(number) else { return Ok(()) };
        chain.close(scribe)?;
        let before = scribe.length(chain.talk);
        let length = chain.compacting.take().unwrap_or_else(|| {
            // Before there was a boundary row, the summary alone told of it.
            chain.restart(false, scribe);
            before
        });
        let text = anthropic::texts(content);
        scribe.compacted(chain.talk, length, Some(&text))?;
        let entry = scribe.say(chain.talk, Tag::Injected, message("user", content.raw));
        for entry in core::mem::take(&mut chain.preserved) {
            scribe.say_again(chain.talk, entry);
        }
        if let Some(own) = own {
            self.tree.add(own, None, number, chain, scribe, entry.as_ref());
        }
        Ok(())
    }

    /// The whole outputs that stand beside what the model saw.
    fn second_copies(
        &mut self,
        row: &Row<'_>,
        json: &Json<'_>,
        results: &[(String, String)],
        number: usize,
        scribe: &mut Scribe,
    ) -> Result<(), Stop> {
        let null = Json { raw: b"null", value: Value::Null };
        let copy = json.get("toolUseResult").unwrap_or(&null);
        let Some(talk) = self.chains.get(number).map(|chain| chain.talk) else { return Ok(()) };
        for (call, seen) in results {
            let found = result::second_copy(copy, seen);
            let of_file = found
                .file
                .and_then(|path| Some(result::part_named(&self.outputs, &path)?.to_path_buf()));
            if let Some((path, text)) =
                of_file.and_then(|path| Some((path.clone(), result::read(&path)?)))
            {
                self.outputs_named.insert(path);
                scribe.found(talk, call, row.index, text);
            } else if let Some(text) = found.whole {
                scribe.found(talk, call, row.index, text);
            }
            if let Some(agent) = found.agent {
                self.delegations.push((agent, talk, call.clone()));
            }
        }
        if !matches!(copy.value, Value::Null | Value::Text(_)) {
            let seen: Vec<&str> = results.iter().map(|(_, seen)| seen.as_str()).collect();
            match result::without(copy, &seen) {
                Some(rest) => scribe.beside(row, COPY_WITHOUT, &rest)?,
                None => scribe.beside(row, COPY, copy.raw)?,
            }
        }
        Ok(())
    }

    fn system(&mut self, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        let parent = key(json.name("parentUuid"));
        match json.str("subtype") {
            Some("compact_boundary") => {
                let before = key(json.name("logicalParentUuid")).or(parent);
                let number = self.chain_of(json, before, scribe)?;
                self.compact(json, number, scribe)?;
                Ok(Fate::Aside("boundary of a compaction"))
            }
            Some("microcompact_boundary") => {
                let number = self.chain_of(json, parent, scribe)?;
                self.clear(json, number, scribe);
                Ok(self.pass(json, Fate::Aside("boundary of a compaction of results")))
            }
            Some(_) => Ok(self.pass(json, Fate::Aside("note of the harness"))),
            None => Ok(self.pass(json, Fate::Unknown("system row without a subtype"))),
        }
    }

    fn compact(&mut self, json: &Json<'_>, number: usize, scribe: &mut Scribe) -> Result<(), Stop> {
        let Some(chain) = self.chains.get_mut(number) else { return Ok(()) };
        chain.close(scribe)?;
        if let Some(length) = chain.compacting.take() {
            scribe.compacted(chain.talk, length, None)?;
        }
        chain.compacting = Some(scribe.length(chain.talk));
        let kept = json.at(&["compactMetadata", "preservedMessages", "uuids"]);
        let kept = kept.map(Json::list).unwrap_or_default().iter().filter_map(Json::text);
        let entries: Vec<_> =
            kept.filter_map(|uuid| self.tree.entry(RawKey::of(uuid.as_bytes()))).collect();
        let segment = json.at(&["compactMetadata", "preservedSegment"]);
        let place = |name: &str| {
            let entry = self.tree.entry(key(segment?.name(name))?)?;
            let list = scribe.list(chain.talk);
            list.iter().position(|other| other.serial() == entry.serial())
        };
        chain.preserved = match (entries.is_empty(), place("headUuid"), place("tailUuid")) {
            (true, Some(head), Some(tail)) => {
                scribe.list(chain.talk).get(head..=tail).unwrap_or_default().to_vec()
            }
            _ => entries,
        };
        chain.preserved.dedup_by_key(|entry| entry.serial());
        chain.restart(false, scribe);
        if let Some(own) = key(json.name("uuid")) {
            self.tree.add(own, None, number, chain, scribe, None);
        }
        Ok(())
    }

    /// Results that the model was not shown any more from here on.
    fn clear(&self, json: &Json<'_>, number: usize, scribe: &mut Scribe) {
        let Some(talk) = self.chains.get(number).map(|chain| chain.talk) else { return };
        let ids = json.at(&["microcompactMetadata", "compactedToolIds"]);
        let ids: HashSet<&str> =
            ids.map(Json::list).unwrap_or_default().iter().filter_map(Json::text).collect();
        for index in 0..scribe.length(talk) {
            let is_result = scribe.list(talk).get(index).is_some_and(|it| it.tag() == Tag::Result);
            let Some(text) = scribe.text_of(talk, index).filter(|_| is_result && !ids.is_empty())
            else {
                continue;
            };
            if let Some(cleared) = json::whole(&text).and_then(|item| cleared(&item, &ids)) {
                scribe.replace(talk, index, cleared);
            }
        }
    }

    fn progress(
        &mut self,
        row: &Row<'_>,
        json: &Json<'_>,
        scribe: &mut Scribe,
    ) -> Result<Fate, Stop> {
        let fate = self.pass(json, PROGRESS);
        let Some(data) = json.get("data").filter(|data| data.str("type") == Some("agent_progress"))
        else {
            return Ok(fate);
        };
        let (Some(agent), Some(inner)) = (data.name("agentId"), data.get("message")) else {
            return Ok(fate);
        };
        if self.agents_with_file.contains(agent) || !inner.is_object() {
            return Ok(fate);
        }
        if let (Some(call), Some(talk)) = (json.name("parentToolUseID"), self.main_talk()) {
            self.delegations.push((agent.to_owned(), talk, call.to_owned()));
        }
        let number = self.agent(agent, scribe)?;
        let Some(said) = inner.get("message") else { return Ok(fate) };
        let Some(content) = said.some("content").filter(|it| it.is_list() || it.text().is_some())
        else {
            return Ok(fate);
        };
        if inner.str("type") == Some("assistant") {
            return self.answer(
                inner,
                said,
                content,
                number,
                key(inner.name("uuid")),
                None,
                scribe,
            );
        }
        let results = results(content);
        let tag = if results.is_empty() { Tag::Prompt } else { Tag::Result };
        let Some(chain) = self.chains.get(number) else { return Ok(fate) };
        scribe.say(chain.talk, tag, message("user", content.raw));
        self.second_copies(row, inner, &results, number, scribe)?;
        Ok(Fate::Used)
    }

    /// The end of a run on the client's output, with its cost; or that of a workflow's agent.
    fn result(&mut self, json: &Json<'_>, scribe: &mut Scribe) -> Fate {
        if let Some(cost) = json.get("total_cost_usd") {
            scribe.tally.cost_of(cost);
        }
        self.pass(json, BOOKKEEPING)
    }

    /// Gives a row that is no message its place in the tree.
    fn pass(&mut self, json: &Json<'_>, fate: Fate) -> Fate {
        if let (Some(own), Some(parent)) = (key(json.name("uuid")), key(json.name("parentUuid")))
            && !self.tree.has(own)
        {
            self.tree.pass(own, parent);
        }
        fate
    }
}

impl Fold for Rows {
    fn row(&mut self, row: &Row<'_>, json: &Json<'_>, scribe: &mut Scribe) -> Result<Fate, Stop> {
        scribe.time(json.str("timestamp").and_then(unix_ns));
        if let Some(version) = json.name("version").or_else(|| json.name("claude_code_version")) {
            scribe.tally.version(version);
        }
        match json.str("type") {
            Some("user" | "assistant") => self.message(row, json, scribe),
            Some("system") => self.system(json, scribe),
            Some("progress") => self.progress(row, json, scribe),
            Some("attachment") => Ok(self.pass(json, ATTACHMENT)),
            Some("result") => Ok(self.result(json, scribe)),
            Some(kind) if is_bookkeeping(kind) => Ok(self.pass(json, BOOKKEEPING)),
            Some(_) => Ok(self.pass(json, Fate::Unknown("record of an unknown type"))),
            None => Ok(Fate::Unknown("record without a type")),
        }
    }

    fn end(&mut self, scribe: &mut Scribe) -> Result<(), Stop> {
        self.finish(scribe)
    }
}

fn key(id: Option<&str>) -> Option<RawKey> {
    id.map(|id| RawKey::of(id.as_bytes()))
}

/// The sub-agent whose file this is.
fn agent_of(part: &Path) -> Option<&str> {
    let name = part.file_name()?.to_str()?.strip_prefix("agent-")?;
    name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".meta.json"))
}

/// The results in a content: the call's id and the text that the model saw.
fn results(content: &Json<'_>) -> Vec<(String, String)> {
    let is_result = |block: &&Json<'_>| block.str("type") == Some("tool_result");
    let result = |block: &Json<'_>| {
        let text = block.get("content").map(anthropic::texts).unwrap_or_default();
        Some((block.name("tool_use_id")?.to_owned(), text))
    };
    content.list().iter().filter(is_result).filter_map(result).collect()
}

/// The counts of a usage that are numbers: an interrupted stream leaves nulls.
fn usage(usage: &Json<'_>) -> Option<Vec<u8>> {
    let count = |name: &'static str| (name, usage.number(name));
    anthropic::usage(&[
        count("input_tokens"),
        count("cache_creation_input_tokens"),
        count("cache_read_input_tokens"),
        count("output_tokens"),
    ])
}

/// A message with the results of these calls cleared; `None` where it has none of them.
fn cleared(item: &Json<'_>, ids: &HashSet<&str>) -> Option<Vec<u8>> {
    let mut found = false;
    let blocks: Vec<Vec<u8>> = item
        .items("content")
        .iter()
        .map(|block| match block.str("tool_use_id").filter(|id| ids.contains(id)) {
            Some(id) => {
                found = true;
                anthropic::result_block(id, &json::quoted(CLEARED), block.flag("is_error"))
            }
            None => block.raw.to_vec(),
        })
        .collect();
    found.then(|| message("user", &anthropic::list(&blocks)))
}
