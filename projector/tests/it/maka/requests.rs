//! Hashes of requests, messages from the replay plan, and the tools that a model is told of.

use projector::maka::json::Json;
use projector::maka::prepared::{self, Prepared};
use projector::maka::request_shape::{Components, Request, ToolSources};
use projector::maka::stable;
use projector::maka::text::Text;
use serde_json::{Value, json};

use super::make::{json as ours, source, text, vectors};

/// A change to a request.
type Drift<'d> = &'d dyn Fn(&mut Value);

struct Shape {
    input: Value,
}

impl Shape {
    fn components(&self) -> Components {
        let given = |name: &str| text(self.input[name].as_str().unwrap());
        let connection = |name: &str| text(self.input["connection"][name].as_str().unwrap());
        let list = |name: &str| -> Vec<Json> {
            self.input[name].as_array().unwrap().iter().map(ours).collect()
        };
        let active: Vec<Text> =
            list("activeTools").iter().map(|name| name.as_text().unwrap().clone()).collect();
        Components::of(Request {
            provider: &connection("providerType"),
            connection: &connection("slug"),
            model: &given("modelId"),
            system_prompt: &given("systemPrompt"),
            provider_options: &ours(&self.input["providerOptions"]),
            tools: &list("tools"),
            active_tools: &active,
            prior_messages: &list("priorMessages"),
        })
    }

    fn changed(&self, change: impl FnOnce(&mut Value)) -> Components {
        let mut input = self.input.clone();
        change(&mut input);
        Self { input }.components()
    }
}

#[test]
fn m28_request_shape_and_which_component_drifted_first() {
    let case = vectors("requestShape");
    let shape = Shape { input: case["input"].clone() };
    let found = shape.components();
    let hashes = &case["out"]["componentHashes"];
    assert_eq!(found.model_provider, hashes["modelProviderHash"]);
    assert_eq!(found.system_prompt, hashes["systemPromptHash"]);
    assert_eq!(found.provider_options, hashes["providerOptionsHash"]);
    assert_eq!(found.tool_schema, hashes["toolSchemaHash"]);
    assert_eq!(found.history_projection, hashes["historyProjectionHash"]);
    assert_eq!(found.prefix_hash(), case["out"]["prefixHash"]);
    assert_eq!(found.shape_hash(), case["out"]["requestShapeHash"]);
    assert_eq!(found.change(None, false), case["out"]["prefixChangeReason"]);
    assert_eq!(found.change(None, true), case["out"]["requestShapeChangeReason"]);
    let drifts: [(Drift<'_>, &str); 5] = [
        (&|it| it["modelId"] = "n".into(), "model_or_provider_changed"),
        (&|it| it["systemPrompt"] = "t".into(), "system_prompt_changed"),
        (&|it| it["tools"][0]["description"] = "other".into(), "tool_schema_changed"),
        (&|it| it["providerOptions"] = json!({"a": 1}), "provider_options_changed"),
        (&|it| it["priorMessages"][0]["role"] = "system".into(), "history_projection_changed"),
    ];
    for (drift, reason) in drifts {
        assert_eq!(shape.changed(drift).change(Some(&found), true), reason);
    }
    // All at once: the first of them is told.
    let all = shape.changed(|it| drifts.iter().for_each(|(drift, _)| drift(it)));
    assert_eq!(all.change(Some(&found), true), "model_or_provider_changed");
}

#[test]
fn m36_the_source_does_not_see_a_text_of_the_same_length() {
    let case = vectors("requestShape");
    let shape = Shape { input: case["input"].clone() };
    let before = shape.components();
    let shouted = shape.changed(|it| it["priorMessages"][0]["content"] = "HELLO".into());
    assert_eq!(shouted.shape_hash(), case["same_length_text_changed"]["requestShapeHash"]);
    assert_eq!(shouted.change(Some(&before), true), case["same_length_text_changed"]["reason"]);
    // Our own digests are over the bytes.
    let digest = |text: &str| artifacts::ArtifactId::of(text.as_bytes());
    assert_ne!(digest("hello"), digest("HELLO"));
    let longer = shape.changed(|it| it["priorMessages"][0]["content"] = "hello!".into());
    assert_eq!(longer.change(Some(&before), true), "history_projection_changed");
}

#[test]
fn m35_a_changed_output_and_a_changed_tool_have_their_own_hashes() {
    let case = vectors("requestShape");
    let shape = Shape { input: case["input"].clone() };
    let before = shape.components();
    let output = shape.changed(|it| {
        it["priorMessages"][2]["content"][0]["output"]["value"] = "BODY".into();
    });
    let wanted = &case["tool_output_changed"];
    assert_eq!(output.change(Some(&before), true), wanted["reason"]);
    assert_eq!(output.history_projection, wanted["historyProjectionHash"]);
    let active = shape.changed(|it| it["activeTools"] = json!(["Read", "Rive"]));
    let wanted = &case["tool_activated"];
    assert_eq!(active.tool_schema, wanted["toolSchemaHash"]);
    assert_eq!(active.change(Some(&before), false), wanted["prefixReason"]);
    assert_eq!(active.tool_change(Some(&before), None, None), Some("tool_schema_changed"));
    assert_eq!(before.tool_change(Some(&before), None, None), None);
    let sources = |enabled: &[&str]| ToolSources {
        catalog: Json::Null,
        enabled: enabled.iter().map(|id| text(id)).collect(),
    };
    let change = |now: &ToolSources, then: &ToolSources| {
        active.tool_change(Some(&before), Some(now), Some(then))
    };
    assert_eq!(change(&sources(&["a", "b"]), &sources(&["a"])), Some("tool_source_enabled"));
    assert_eq!(change(&sources(&["b"]), &sources(&["a"])), Some("tool_source_state_changed"));
    assert_eq!(change(&sources(&["a"]), &sources(&["a"])), Some("tool_schema_changed"));
    // A tool that the model is not told of changes nothing.
    let hidden = shape.changed(|it| it["tools"][1]["description"] = "other".into());
    assert_eq!(hidden.tool_schema, before.tool_schema);
}

fn captured(input: &Json) -> prepared::Capture {
    let list = |name: &str| input.get(name).unwrap().as_items().unwrap().to_vec();
    let given = |name: &str| input.get(name).unwrap().as_text().unwrap().clone();
    prepared::capture(Prepared {
        provider: &given("providerId"),
        model: &given("modelId"),
        instructions: input.get("instructions").unwrap(),
        messages: &list("messages"),
        tools: &list("tools"),
        provider_options: input.get("providerOptions").unwrap(),
    })
}

#[test]
fn m28_prepared_requests() {
    let found = captured(source("capturePreparedProviderRequest").get("input").unwrap());
    let wanted = &vectors("capturePreparedProviderRequest")["out"];
    assert_eq!(found.request_hash, wanted["requestHash"]);
    assert_eq!(found.protocol_free_hash, wanted["requestPayloadWithoutProviderOptionsHash"]);
    assert_eq!(found.bytes, wanted["requestBytes"].as_u64().unwrap());
    assert_eq!(found.serialized.to_utf8(), wanted["serializedRequest"].as_str().unwrap());
    let segments: Vec<Value> = found
        .segments
        .iter()
        .map(|segment| {
            let mut shown = json!({
                "kind": segment.kind, "index": segment.index, "cacheable": segment.cacheable,
                "hash": segment.hash, "bytes": segment.bytes,
            });
            for (name, value) in [("role", &segment.role), ("label", &segment.label)] {
                if let Some(value) = value {
                    shown[name] = value.to_utf8().into();
                }
            }
            shown
        })
        .collect();
    assert_eq!(Value::Array(segments), wanted["segments"]);
}

#[test]
fn m28_the_first_changed_segment_is_found() {
    let input = vectors("capturePreparedProviderRequest")["input"].clone();
    let captured = |input: &Value| captured(&ours(input));
    let before = captured(&input).segments;
    let mut later = input.clone();
    later["messages"].as_array_mut().unwrap().push(json!({"role": "assistant", "content": "hi"}));
    let later = captured(&later).segments;
    let changed = prepared::first_changed(&later, &before).unwrap();
    assert_eq!((changed.kind, changed.index), ("message", 1));
    assert_eq!(prepared::first_changed(&before, &later).map(|it| it.index), Some(1));
    assert_eq!(prepared::first_changed(&before, &before), None);
    let mut options = input;
    options["providerOptions"] = json!({});
    assert_eq!(prepared::first_changed(&captured(&options).segments, &before), None);
}

#[test]
fn m28_what_only_one_protocol_has_is_left_out_of_the_second_hash() {
    let with = |call: &str, options: &Value| {
        ours(&json!({
            "messages": [
                {"role": "assistant", "providerOptions": {"x": 1}, "content": [
                    {"type": "tool-call", "toolCallId": call, "providerExecuted": true},
                ]},
                {"role": "tool", "content": [{
                    "type": "tool-result", "toolCallId": call,
                    "output": {"type": "content", "value": [{"type": "text", "providerOptions": {}}]},
                }]},
            ],
            "tools": [{"name": "a", "providerOptions": {}}],
            "maxOutputTokens": 10,
            "providerOptions": options,
        }))
    };
    let free = |call: &str, options: &Value| prepared::protocol_free(&with(call, options));
    let effort = json!({"openai": {"reasoningEffort": "high"}});
    assert_eq!(free("a", &effort), free("b", &json!({"anthropic": {"effort": "high"}})));
    let shown = free(
        "toolu_1",
        &json!({
            "anthropic": {"thinking": {"type": "enabled", "budgetTokens": 5}, "effort": "low"},
            "google": {"thinkingConfig": {"thinkingBudget": 0}},
        }),
    );
    assert_eq!(shown.get("maxOutputTokens").unwrap().as_number().unwrap().to_u64(), Some(15));
    assert_eq!(shown.get("reasoningEffort"), Some(&ours(&json!(["low", "none"]))));
    let written = shown.stringify().unwrap().to_utf8();
    assert!(written.contains("tool-call-1"), "{written}");
    for gone in ["providerOptions", "providerExecuted", "toolu_1"] {
        assert!(!written.contains(gone), "{written}");
    }
    assert_ne!(stable::hash(&free("a", &effort)), stable::hash(&free("a", &json!({}))));
}
