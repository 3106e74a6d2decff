//! Goal: a policy with a peer's parameters does to a history what the peer's own function does,
//! for the stored cases of the peers whose input is a list of messages.
//! Method: each case as a run that is built by hand and goes through the real projector; the last
//! request is told as the peer's script tells its own answer. A case whose answer rests on what no
//! request holds is left out and counted.

use artifacts::ArtifactId;
use ledger::wire::Role;
use projector::Policy;
use serde_json::{Value, json};

use crate::histories::{policy, prune};
use crate::property::{fold, written};
use crate::run::{Block, Made, Run};
use crate::vectors::{generated, stored};

/// Longest text that stands in a vector as it is, in bytes.
const TEXT_BYTES_MAX: usize = 48;
/// Hex digits of a SHA-256 that a vector keeps.
const DIGEST_DIGITS: usize = 16;
/// Differences that are shown.
const SHOWN_MAX: usize = 4;

/// Compares all cases of a function. `ours` gives our answer and the peer's, both without what no
/// request holds; none where that is all of it.
fn check(
    (peer, function, same_min): (&str, &str, usize),
    ours: impl Fn(&Value) -> Option<(Value, Value)>,
) {
    let (mut same, mut wrong) = (0, Vec::new());
    for vector in stored(peer).iter().filter(|vector| vector["fn"] == function) {
        match ours(vector) {
            Some((found, expected)) if found == expected => same += 1,
            Some((found, expected)) => {
                wrong.push(format!("{vector}\nours {found}\npeer {expected}"));
            }
            None => {}
        }
    }
    let shown = wrong[..wrong.len().min(SHOWN_MAX)].join("\n\n");
    assert!(wrong.is_empty(), "{function}: {} of {} differ\n{shown}", wrong.len(), same);
    assert!(same >= same_min, "{function}: only {same} cases are compared");
}

/// The messages of the last request.
fn last(made: &Made, policy: &Policy) -> Vec<Value> {
    let projection = fold(made, policy).pop().unwrap();
    assert!(matches!(projection.fidelity.name(), "derived" | "exact"), "{projection:?}");
    let bytes = written(&made.history, &made.store, projection.request, &projection.view);
    assert_eq!(bytes.len() as u64, projection.account.body_bytes);
    let body: Value = serde_json::from_slice(&bytes).unwrap();
    body["messages"].as_array().unwrap().clone()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The text of a vector in short.
fn compact(text: &str) -> Value {
    if text.len() <= TEXT_BYTES_MAX {
        return json!(text);
    }
    let digest = ArtifactId::of(text.as_bytes()).to_string();
    json!({"bytes": text.len(), "sha256": &digest[..DIGEST_DIGITS]})
}

/// How texts of a history are written.
struct Texts {
    /// Each text is its place, so that what is left of a message can be told.
    placed: bool,
    /// Each text of a message is a message of its own.
    apart: bool,
}

/// Builds a history; `None`: it has parts that no run of these has. Arguments are put down with
/// all their texts spelled out.
fn run(messages: &[Value], texts: &Texts) -> Option<Made> {
    let mut run = Run::new();
    let session = run.session();
    for (at, message) in messages.iter().enumerate() {
        let mut parts = Vec::new();
        for (nth, part) in list(&message["parts"]).iter().enumerate() {
            if part.get("image").is_some() {
                return None;
            }
            let place = texts.placed.then(|| format!("{at}.{nth}"));
            let own = |text: &Value| place.clone().or_else(|| generated(text));
            parts.push(if let Some(text) = part.get("text") {
                ("text", own(text)?, String::new())
            } else if let Some(text) = part.get("reasoning") {
                ("reasoning", own(text)?, String::new())
            } else if let Some(id) = part.get("call") {
                ("call", id.as_str()?.to_owned(), spelled(&part["args"])?.to_string())
            } else {
                let [content] = list(&part["content"]) else { return None };
                ("result", part["result"].as_str()?.to_owned(), own(content.get("text")?)?)
            });
        }
        match message["role"].as_str()? {
            "assistant" => {
                let names = list(&message["parts"]).iter().map(|it| it["name"].as_str());
                let blocks: Option<Vec<Block<'_>>> = parts
                    .iter()
                    .zip(names)
                    .map(|((kind, one, two), name)| match *kind {
                        "text" => Some(Block::Text(one)),
                        "reasoning" => Some(Block::Reasoning(one)),
                        "call" => Some(Block::CallAs(one, name?, two)),
                        _ => None,
                    })
                    .collect();
                run.request(session, &[]);
                run.answer(session, &blocks?);
            }
            "tool" => {
                let results: Option<Vec<(&str, &str)>> = parts
                    .iter()
                    .map(|(kind, id, text)| {
                        (*kind == "result").then_some((id.as_str(), text.as_str()))
                    })
                    .collect();
                run.tell_as(session, &results?);
            }
            role => {
                if parts.len() != 1 && !texts.apart {
                    return None;
                }
                let role = if role == "system" { Role::System } else { Role::User };
                for (_, text, _) in &parts {
                    run.speak(session, role, text);
                }
            }
        }
    }
    run.request(session, &[]);
    Some(run.finish())
}

/// Arguments with their texts spelled out.
fn spelled(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Object(map) if map.contains_key("gen") => json!(generated(value)?),
        Value::Object(map) => {
            let one = |(key, value): (&String, &Value)| Some((key.clone(), spelled(value)?));
            Value::Object(map.iter().map(one).collect::<Option<_>>()?)
        }
        other => other.clone(),
    })
}

/// True where a message stays whose result stands before the call that it names: the peer joins the
/// two, and no client sends it.
fn keeps_early(messages: &[Value], out: &Value) -> bool {
    let parts = || {
        messages
            .iter()
            .enumerate()
            .flat_map(|(at, message)| list(&message["parts"]).iter().map(move |part| (at, part)))
    };
    let mut calls = Vec::new();
    parts().any(|(at, part)| {
        calls.extend(part.get("call"));
        let result = part.get("result").filter(|id| !calls.contains(id));
        let early = result.is_some_and(|id| parts().any(|(_, it)| it.get("call") == Some(id)));
        early && list(out).iter().any(|kept| *kept == at || kept[0] == at)
    })
}

/// True where some result names no call before it.
fn has_strays(messages: &[Value]) -> bool {
    let mut calls = Vec::new();
    messages.iter().flat_map(|message| list(&message["parts"])).any(|part| {
        calls.extend(part.get("call"));
        part.get("result").is_some_and(|id| !calls.contains(&id))
    })
}

/// What a peer says of a message: its place, or its place and those of the parts that are left.
fn told(message: &Value, input: &[Value], last_at: &mut Option<usize>) -> Value {
    let place = |text: &str| -> (usize, usize) {
        let (at, nth) = text.split_once('.').unwrap();
        (at.parse().unwrap(), nth.parse().unwrap())
    };
    let call = |id: &str| {
        let found = input.iter().enumerate().find_map(|(at, message)| {
            let nth = list(&message["parts"]).iter().position(|part| part["call"] == id)?;
            Some((at, nth))
        });
        found.unwrap()
    };
    let mut places = Vec::new();
    if let Some(text) = message["content"].as_str() {
        places.push(place(text));
    }
    for block in list(&message["content"]) {
        places.push(if let Some(id) = block.get("id") {
            call(id.as_str().unwrap())
        } else {
            let text = block.get("text").or(block.get("thinking"));
            let text = text.or_else(|| block["content"][0].get("text"));
            place(text.and_then(Value::as_str).unwrap())
        });
    }
    let Some((at, _)) = places.first().copied() else {
        // Nothing is left of it: the next message, which the peer names by its role.
        let at = last_at.map_or(0, |at| at + 1);
        *last_at = Some(at);
        return input[at]["role"].clone();
    };
    *last_at = Some(at);
    if places.len() == list(&input[at]["parts"]).len() {
        return json!(at);
    }
    let nths = places.into_iter().map(|(_, nth)| json!(nth));
    Value::Array(std::iter::once(json!(at)).chain(nths).collect())
}

#[test]
fn vercel_prunes_the_same_parts_of_every_history() {
    check(("vercel", "pruneMessages", 1800), |vector| {
        let input = list(&vector["input"]);
        let rules = list(&vector["params"]["toolCalls"]);
        // Results of no call have a tool with the peer; on the wire they have none.
        let by_tool = rules.iter().any(|rule| rule.get("tools").is_some());
        if keeps_early(input, &vector["out"]) || (by_tool && has_strays(input)) {
            return None;
        }
        let made = run(input, &Texts { placed: true, apart: false })?;
        let mut at = None;
        let messages = last(&made, &prune(&vector["params"]));
        let found = messages.iter().map(|message| told(message, input, &mut at)).collect();
        Some((found, vector["out"].clone()))
    });
}

#[test]
fn the_agents_sdk_trims_the_same_outputs_of_every_history() {
    check(("agents", "agents.extensions.ToolOutputTrimmer", 2000), |vector| {
        let params = &vector["params"];
        let tools = match params.get("trimmable_tools") {
            // No tool is none of those that may be trimmed.
            Some(none) if list(none).is_empty() => json!(["\u{1}"]),
            Some(tools) => tools.clone(),
            None => json!([]),
        };
        let input = list(&vector["input"]);
        let made = run(input, &Texts { placed: false, apart: true })?;
        let step = format!(
            "op = \"clear_results\"\nsticky = false\nreplace = \"preview\"\n\
             keep = {{ unit = \"user_turns\", n = {} }}\nonly_if_smaller = true\n\
             replacement = \"[Trimmed: {{tool}} output \u{2014} {{total_chars}} chars \u{2192} \
             {{head_size}} char preview]\\n{{preview}}...\"\n\
             preview = {{ unit = \"cp\", over = {}, head = {} }}\napplies = {{ tools = {tools} }}",
            params["recent_turns"], params["max_output_chars"], params["preview_chars"]
        );
        let messages = last(&made, &policy("none", &step));
        let blocks = messages.iter().flat_map(|message| list(&message["content"]));
        let mut shown = blocks.filter_map(|block| block["content"][0]["text"].as_str());
        let mut out = Vec::new();
        let (mut calls, mut strays) = (Vec::new(), Vec::new());
        for (item, part) in input.iter().flat_map(|it| list(&it["parts"])).enumerate() {
            calls.extend(part.get("call"));
            if let Some(id) = part.get("result") {
                let (whole, shown) = (generated(&part["content"][0]["text"])?, shown.next()?);
                if !calls.contains(&id) {
                    // The tool of a result before its call, or of none, is not on the wire.
                    strays.push(json!(item));
                } else if whole != shown {
                    out.push(json!([item, compact(shown)]));
                }
            }
        }
        let others = list(&vector["out"]).iter().filter(|it| !strays.contains(&it[0]));
        Some((Value::Array(out), others.cloned().collect()))
    });
}

#[test]
fn swe_agent_elides_the_same_observations_of_every_history() {
    check(("sweagent", "LastNObservations.__call__", 1200), |vector| {
        let mut run = Run::new();
        let session = run.session();
        let mut whole = Vec::new();
        for entry in list(&vector["input"]) {
            let content = list(&entry["content"]);
            let text = content.first().map_or(Some(&entry["content"]), |one| one.get("text"))?;
            let text = generated(text)?;
            // A tag of the harness is in no message.
            if list(&entry["tags"]).iter().any(|tag| tag != "other") {
                return None;
            }
            let observed = entry["message_type"] == "observation" && entry["is_demo"] != true;
            match (entry["role"].as_str()?, observed) {
                (_, true) => run.tell_again(session, None, &text),
                ("assistant", _) => run.speak(session, Role::Assistant, &text),
                ("system", _) => run.speak(session, Role::System, &text),
                _ => run.say(session, &text),
            };
            whole.push((text, content.len() > 1));
        }
        run.request(session, &[]);
        let params = &vector["params"];
        let polling = params.get("polling").and_then(Value::as_u64).unwrap_or(1);
        let step = format!(
            "op = \"clear_results\"\nsticky = false\npolling = {polling}\n\
             keep = {{ unit = \"results\", n = {}, protect_first = 1 }}\n\
             replacement = \"Old environment output: ({{hidden_lines}} lines omitted)\"\n\
             line_rule = \"py_splitlines\"",
            params["n"]
        );
        let messages = last(&run.finish(), &policy("none", &step));
        // Images are counted in the peer's text, and are not told from other blocks.
        let told = |at: usize, text: Value| {
            if whole[at].1 { json!([at, "with an image"]) } else { json!([at, text]) }
        };
        let mut out = Vec::new();
        for (at, (message, (whole, _))) in messages.iter().zip(&whole).enumerate() {
            let text = message["content"][0]["content"][0]["text"].as_str();
            let text = text.or_else(|| message["content"].as_str()).unwrap();
            if text != whole {
                out.push(told(at, compact(text)));
            }
        }
        let expected = list(&vector["out"])
            .iter()
            .map(|one| told(usize::try_from(one[0].as_u64().unwrap()).unwrap(), one[1].clone()));
        Some((Value::Array(out), expected.collect()))
    });
}

#[test]
fn langchain_clears_the_same_results_of_every_history() {
    check(("langchain", "ClearToolUsesEdit.apply", 130), |vector| {
        let params = &vector["params"];
        let input = list(&vector["input"]);
        // Tokens are those of LangChain's messages; their count is compared elsewhere. A result of
        // no call is passed over by the peer.
        if params.get("clear_at_least").is_some() || has_strays(input) {
            return None;
        }
        let fires = vector["out"]["tokens"][0].as_u64()? > params["trigger"].as_u64()?;
        let made = run(input, &Texts { placed: false, apart: false })?;
        let exclude = params.get("exclude_tools").map_or("[]".into(), Value::to_string);
        let placeholder = params.get("placeholder").and_then(Value::as_str);
        let placeholder = placeholder.unwrap_or("[cleared]");
        let step = format!(
            "op = \"clear_results\"\nkeep = {}\nreplacement = {}\nsticky = false\n\
             clear_inputs = {}\napplies = {{ exclude_tools = {exclude} }}\n\
             trigger = {{ metric = \"messages\", cmp = \">=\", value = {} }}",
            params["keep"],
            json!(placeholder),
            params["clear_tool_inputs"] == true,
            if fires { 0 } else { u32::MAX },
        );
        let after = last(&made, &policy("none", &step));
        let (mut results, mut inputs) = (Vec::new(), Vec::new());
        for (at, (message, shown)) in input.iter().zip(&after).enumerate() {
            for (part, block) in list(&message["parts"]).iter().zip(list(&shown["content"])) {
                if part.get("call").is_some() {
                    let arguments: Value = serde_json::from_str(block["input"].as_str()?).ok()?;
                    if arguments != spelled(&part["args"])? {
                        inputs.push(json!([at, part["call"]]));
                    }
                } else if part.get("result").is_some() {
                    let whole = generated(&part["content"][0]["text"])?;
                    // A text that is the placeholder itself tells nothing.
                    if whole == placeholder {
                        return None;
                    }
                    if block["content"][0]["text"] == placeholder {
                        results.push(at);
                    }
                }
            }
        }
        let mut out = vector["out"].clone();
        out["inputs"] = Value::Array(inputs);
        out["results"] = json!(results);
        Some((out, vector["out"].clone()))
    });
}

#[test]
fn deepagents_cuts_the_same_arguments_of_every_history() {
    check(("deepagents", "SummarizationMiddleware._truncate_args", 200), |vector| {
        let params = &vector["params"];
        let (keep, trigger) = (&params["keep"], &params["trigger"]);
        if keep[0] != "messages" || trigger[0] != "messages" {
            return None;
        }
        let input = list(&vector["input"]);
        let made = run(input, &Texts { placed: false, apart: true })?;
        let step = format!(
            "op = \"cap_args\"\nunit = \"cp\"\nthreshold = {}\nhead = 20\n\
             marker = \"...(argument truncated)\"\nkeep = {{ unit = \"messages\", n = {} }}\n\
             applies = {{ tools = [\"write_file\", \"edit_file\"] }}\n\
             trigger = {{ metric = \"messages\", cmp = \">=\", value = {} }}",
            params["max_length"], keep[1], trigger[1]
        );
        let messages = last(&made, &policy("none", &step));
        let mut out = Vec::new();
        for (at, (message, shown)) in input.iter().zip(&messages).enumerate() {
            for (part, block) in list(&message["parts"]).iter().zip(list(&shown["content"])) {
                if part.get("call").is_none() {
                    continue;
                }
                let arguments: Value = serde_json::from_str(block["input"].as_str()?).ok()?;
                if arguments != spelled(&part["args"])? {
                    let short = |(key, value): (&String, &Value)| {
                        let value = value.as_str().map_or(value.clone(), compact);
                        (key.clone(), value)
                    };
                    let arguments: Value = arguments.as_object()?.iter().map(short).collect();
                    out.push(json!([at, part["call"], arguments]));
                }
            }
        }
        Some((Value::Array(out), vector["out"].clone()))
    });
}
