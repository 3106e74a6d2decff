//! Goal: the preset of a peer gives that peer's bytes for every text. Method: outputs of the
//! peers' own functions: `fixtures/vectors/policies-vectors.json`, and every file of
//! `fixtures/vectors/peers`. All cases whose input is a text are compared, by length and SHA-256,
//! and as UTF-16 where they are not well formed. Cases whose input is a list of messages are read
//! elsewhere, and inputs that are no Unicode text cannot be.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use artifacts::ArtifactId;
use projector::Policy;
use projector::measure::Estimator;
use projector::policy::op::CapText;
use projector::policy::{Edge, Op, Setting, Shape, Unit, presets};
use projector::text::{self, Context, Piece, Shown};
use serde_json::Value;

const VECTORS: &str = include_str!("../../../fixtures/vectors/policies-vectors.json");
const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/vectors/peers");

/// A text that a file describes; `None`: it is no Unicode text, or no text.
pub(crate) fn generated(input: &Value) -> Option<String> {
    if let Some(text) = input.as_str() {
        return Some(text.to_owned());
    }
    if let Some([item, times]) = input.as_array().map(Vec::as_slice) {
        return Some(generated(item)?.repeat(usize::try_from(times.as_u64()?).unwrap()));
    }
    let count = || usize::try_from(input["n"].as_u64().unwrap()).unwrap();
    Some(match input.get("gen")?.as_str()? {
        "lit" => input["s"].as_str()?.to_owned(),
        "rep" => input["s"].as_str()?.repeat(count()),
        "lines" => {
            let pad = input.get("pad").and_then(Value::as_str).unwrap_or_default();
            (1..=count()).fold(String::new(), |text, line| text + &format!("line {line} {pad}\n"))
        }
        "cat" => input["of"].as_array()?.iter().map(generated).collect::<Option<String>>()?,
        other => panic!("unknown generator {other}"),
    })
}

/// The stored cases of a peer.
pub(crate) fn stored(peer: &str) -> Vec<Value> {
    let packed = fs::read(Path::new(PEERS).join(format!("{peer}.json.zst"))).unwrap();
    let json = zstd::decode_all(packed.as_slice()).unwrap();
    let file: Value = serde_json::from_slice(&json).unwrap();
    file["vectors"].as_array().unwrap().clone()
}

/// The one text of an input that is a text, a list with one text, or a message with one.
fn text_of(input: &Value) -> Option<String> {
    let parts = input.get("parts").unwrap_or(input);
    match parts.as_array().map(Vec::as_slice) {
        Some([part]) => generated(part.get("text")?),
        Some(_) => None,
        None => generated(input),
    }
}

/// A step of a preset with other parameters.
fn step(id: &str, nth: usize, settings: &[(&str, String)]) -> Op {
    let settings: Vec<_> = settings.iter().map(|(key, value)| Setting { key, value }).collect();
    let toml = presets::find(id).unwrap().toml;
    let policy = Policy::from_toml_with(toml, &settings).unwrap();
    policy.steps[nth].op.clone()
}

/// What we answer.
enum Answer {
    Text(Option<Shown>),
    Number(Option<u64>),
}

/// A case of a file.
struct Case<'c> {
    function: &'c str,
    params: &'c Value,
    text: &'c str,
}

impl Case<'_> {
    fn number(&self, name: &str, default: u64) -> String {
        self.params.get(name).and_then(Value::as_u64).unwrap_or(default).to_string()
    }

    fn apply(&self, op: &Op, values: &[(&str, &str)]) -> Answer {
        let context = Context { values, ..Context::default() };
        Answer::Text(text::apply(op, self.text, &context).unwrap())
    }

    fn estimate(&self, estimator: Estimator, suffix: &str) -> Answer {
        Answer::Number(estimator.text(&[self.text, suffix].concat(), None))
    }

    fn limited(&self, id: &str, name: &str) -> Answer {
        self.apply(&step(id, 0, &[("cap_text.limit", self.number(name, 0))]), &[])
    }

    /// The port has the header without the first line, and counts lines as Python does.
    fn codex(&self) -> Answer {
        let tokens = self.params["mode"] == "tokens";
        let id = if tokens { "codex@820f85c" } else { "codex-bytes@820f85c" };
        let settings = [
            ("cap_text.limit", self.number("limit", 0)),
            ("cap_text.header", "\"Total output lines: {total_lines}\\n\\n\"".to_owned()),
            ("cap_text.line_rule", "py_splitlines".to_owned()),
        ];
        self.apply(&step(id, 0, &settings), &[])
    }

    fn pi(&self, nth: usize) -> Answer {
        let key = |field: &str| format!("cap_lines.{}.{field}", nth + 1);
        let (lines, bytes) = (key("max_lines"), key("max_bytes"));
        let settings = [
            (lines.as_str(), self.number("maxLines", 2000)),
            (bytes.as_str(), self.number("maxBytes", 51200)),
        ];
        self.apply(&step("pi@0.73.1", nth, &settings), &[])
    }

    fn pi_line(&self) -> Answer {
        let limit = self.params.get("maxChars").and_then(Value::as_u64).unwrap_or(500);
        let cap = CapText::plain(Unit::Utf16, limit, Shape::Head, "... [truncated]");
        self.apply(&Op::CapText(CapText { boundary: Edge::Raw, ..cap }), &[])
    }

    fn gemini(&self) -> Answer {
        let limit = [("cap_text.limit", self.number("maxChars", 0))];
        let file = self.params["outputFile"].as_str().unwrap();
        self.apply(&step("gemini-cli@0.61.0", 0, &limit), &[("spill", file)])
    }

    fn deepseek(&self) -> Answer {
        let settings = [
            ("cap_text.threshold", self.number("thresholdChars", 8192)),
            ("cap_text.head", self.number("headChars", 4096)),
            ("cap_text.tail", self.number("tailChars", 1024)),
        ];
        self.apply(&step("deepseek-harness@b150a55", 0, &settings), &[])
    }

    fn trimmer(&self) -> Answer {
        let preview = format!(
            "{{ unit = \"cp\", over = {}, head = {} }}",
            self.number("max_output_chars", 500),
            self.number("preview_chars", 200)
        );
        let settings = [("clear_results.preview", preview)];
        let Op::ClearResults(clear) = step("openai-agents-trimmer@0.24.0", 0, &settings) else {
            panic!("another op")
        };
        let values = [("tool", self.params["tool"].as_str().unwrap())];
        let context = Context { values: &values, ..Context::default() };
        Answer::Text(text::replacement(&clear, self.text, &context).unwrap())
    }

    fn mini(&self) -> Answer {
        let id = match self.function {
            "mini.yaml:observation_template" => "mini-swe-agent@2.4.6",
            _ => "mini-swe-agent-default@2.4.6",
        };
        self.apply(&step(id, 0, &[]), &[("returncode", &self.params["returncode"].to_string())])
    }

    /// Our answer; `None`: the function does not work on texts.
    fn answer(&self) -> Option<Answer> {
        let name = self.function.rsplit_once('.').map_or(self.function, |(_, name)| name);
        Some(match name {
            "truncate_content" => self.limited("smolagents@1.26.0", "max_length"),
            "formatted_truncate_text" => self.codex(),
            "maybe_truncate" => self.limited("openhands@611629e", "truncate_after"),
            "_limit_output_length" => self.limited("terminus-2@harbor0.26.0", "max_bytes"),
            "yaml:observation_template" if self.params.get("exception_info").is_none() => {
                self.mini()
            }
            "truncateHead" => self.pi(0),
            "truncateTail" => self.pi(1),
            "truncateLine" => self.pi_line(),
            "formatTruncatedToolOutput" => self.gemini(),
            "pruneContent" => self.deepseek(),
            "ToolOutputTrimmer" => self.trimmer(),
            "approx_token_count" => self.estimate(Estimator::B4Ceil, ""),
            "estimateTokenCountSync" => self.estimate(Estimator::Gemini1, ""),
            "estimateTokens" => self.estimate(Estimator::U16x4Ceil, ""),
            // Content, role and the id of the call.
            "count_tokens_approximately" if self.params.get("message").is_some() => {
                self.estimate(Estimator::LcApprox, "toolc1")
            }
            _ => return None,
        })
    }
}

/// Compares a text with what a file says of it; `None` where both are the same.
fn difference(out: &Value, text: &str, shown: Option<Shown>) -> Option<String> {
    let whole = || Shown { pieces: [Piece::Kept(0..text.len())].into(), hidden_bytes: 0 };
    let shown = shown.unwrap_or_else(whole);
    let out = match out {
        // Nothing was pruned.
        Value::Null => return (shown != whole()).then(|| "something was cut".to_owned()),
        Value::Array(texts) if texts.len() == 1 => &texts[0],
        _ => out.get("blocks").map_or(out, |blocks| &blocks[0]),
    };
    let out = out.get("text").filter(|_| out.get("by").is_some()).unwrap_or(out);
    let well_formed = out.get("well_formed").is_none_or(|value| *value == Value::Bool(true));
    if shown.is_well_formed(text) != well_formed {
        return Some("well-formedness differs".to_owned());
    }
    if let Some(hex) = out.get("text_utf16be_hex") {
        let units: Vec<_> = shown.utf16(text).iter().map(|unit| format!("{unit:04x}")).collect();
        if units.concat() != hex.as_str().unwrap() {
            return Some("UTF-16 differs".to_owned());
        }
    }
    let out = out.get("lossy").unwrap_or(out);
    let found = shown.lossy(text);
    let same = out.as_str().map_or_else(
        || {
            let digest = ArtifactId::of(found.as_bytes()).to_string();
            found.len() as u64 == out["bytes"]
                && digest.starts_with(out["sha256"].as_str().unwrap())
        },
        |expected| found == expected,
    );
    (!same).then(|| format!("{} bytes: {found:.300}", found.len()))
}

/// Compares all cases; how many of each function there were, and those that differ.
fn compared(file: &Value) -> (BTreeMap<String, usize>, Vec<String>) {
    let (mut counts, mut wrong) = (BTreeMap::new(), Vec::new());
    for vector in file["vectors"].as_array().unwrap() {
        if vector.get("error").is_some() {
            continue;
        }
        let named = vector["input"].as_str().and_then(|name| file.get("inputs")?.get(name));
        let Some(text) = text_of(named.unwrap_or(&vector["input"])) else { continue };
        let function = vector["fn"].as_str().unwrap();
        let case = Case { function, params: &vector["params"], text: &text };
        let difference = match case.answer() {
            None => continue,
            Some(Answer::Text(shown)) => difference(&vector["out"], &text, shown),
            Some(Answer::Number(number)) => {
                let out = vector["out"].get("int").unwrap_or(&vector["out"]);
                (number != out.as_u64()).then(|| format!("{number:?}"))
            }
        };
        *counts.entry(function.to_owned()).or_default() += 1;
        let shown = || vector.to_string().chars().take(500).collect::<String>();
        wrong.extend(difference.map(|found| format!("{}: {found}", shown())));
    }
    (counts, wrong)
}

#[test]
fn every_text_of_the_first_vectors_comes_out_as_from_its_peer() {
    let (counts, wrong) = compared(&serde_json::from_str(VECTORS).unwrap());
    assert!(wrong.is_empty(), "{} differ: {:#?}", wrong.len(), &wrong[..wrong.len().min(5)]);
    assert_eq!(counts.values().sum::<usize>(), 194, "{counts:?}");
    assert_eq!(counts.len(), 15);
}

#[test]
fn every_text_of_every_peer_comes_out_as_from_that_peer() {
    let folder = Path::new(PEERS);
    let mut files: Vec<_> = match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => Vec::new(),
    };
    files.sort();
    for path in files {
        let bytes = fs::read(&path).unwrap();
        let json = match path.extension().and_then(|end| end.to_str()) {
            Some("zst") => zstd::decode_all(bytes.as_slice()).unwrap(),
            Some("json") => bytes,
            _ => continue,
        };
        let (counts, wrong) = compared(&serde_json::from_slice(&json).unwrap());
        println!("{}: {counts:?}", path.display());
        let first = &wrong[..wrong.len().min(5)];
        assert!(wrong.is_empty(), "{}: {} differ: {first:#?}", path.display(), wrong.len());
    }
}

#[test]
fn m11_a_bare_string_is_capped_by_a_parameter_and_nothing_else_is() {
    let cap = cap_of(8192, "");
    let shown = |text: &str| text::cap_text(&cap, text, &Context::default()).unwrap();
    assert_eq!(shown(&"x".repeat(8192)), None);
    assert_eq!(shown(&"x".repeat(8193)).unwrap().hidden_bytes, 1);
}

#[test]
fn m12_a_long_error_keeps_as_much_as_the_parameter_says() {
    let cap = cap_of(4000, "\u{2026}");
    let cap = CapText { marker_in_limit: true, ..cap };
    let text = "e".repeat(5000);
    let shown = text::cap_text(&cap, &text, &Context::default()).unwrap().unwrap();
    assert_eq!(shown.lossy(&text), "e".repeat(3999) + "\u{2026}");
}

#[test]
fn m6_lines_and_bytes_are_capped_by_parameters_and_the_direction_is_one_too() {
    let text: Vec<String> = (0..100_000).map(|line| format!("line {line}\n")).collect();
    let text = text.concat();
    for (nth, first, last) in [(0, "line 0", "line 1999"), (1, "line 98001", "")] {
        let op = step("pi@0.73.1", nth, &[]);
        let shown = text::apply(&op, &text, &Context::default()).unwrap().unwrap();
        let shown = shown.lossy(&text);
        let lines: Vec<_> = shown.split('\n').collect();
        assert_eq!((lines.len(), lines[0], lines[1999]), (2000, first, last));
    }
}

fn cap_of(limit: u64, marker: &str) -> CapText {
    CapText::plain(Unit::Utf16, limit, Shape::Head, marker)
}
