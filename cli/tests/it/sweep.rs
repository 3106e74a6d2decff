//! Goal: a sweep says what policies would have cost, hidden and broken, in every form, and goes on
//! where it was stopped. Method: run the program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Value, json};

use crate::har;
use crate::program::Folder;

/// Numbers of a row that are written down here as they have to be.
const FIXED: [&str; 9] = [
    "requests",
    "changed",
    "frontier",
    "tokens_max",
    "tokens_total",
    "tokens_recorded",
    "hidden_bytes",
    "body_bytes",
    "capped_results",
];

fn numbers(row: &Value) -> Vec<Value> {
    FIXED.iter().map(|name| row[name].clone()).collect()
}

#[test]
fn a_sweep_over_the_built_in_policies_is_sorted_by_tokens() {
    let folder = Folder::with_recording();
    let ran = folder.run(&["sweep", "runs"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let text = ran.text();
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with("tiny ")).collect();
    assert_eq!(rows.len(), 9, "{text}");
    assert!(rows[0].contains("cap-2k") && rows[0].ends_with("4 derived 4 assumed"), "{text}");
    for words in [
        "The recorded trajectory is held fixed",
        "Tokens: by the usage",
        "Cost: ",
        "evidence is not known and no policy is marked",
        "the output as sent is taken for the whole output",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
}

#[test]
fn several_recordings_have_totals_and_can_be_sorted_by_name() {
    let folder = Folder::with_recording();
    folder.write("second.har", har::tiny().as_bytes());
    folder.run(&["import", "har", "second.har", "--into", "runs"]);
    let words = ["sweep", "runs", "-p", "recorded", "-p", "cap-2k", "--sort", "name"];
    let text = folder.run(&words).text();
    let rows: Vec<Vec<_>> = text
        .lines()
        .skip_while(|line| !line.starts_with("recording "))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().take(2).collect())
        .collect();
    let wanted = [
        ["second", "cap-2k"],
        ["second", "recorded"],
        ["tiny", "cap-2k"],
        ["tiny", "recorded"],
        ["total", "cap-2k"],
        ["total", "recorded"],
    ];
    assert_eq!(rows, wanted, "{text}");
}

#[test]
fn a_sweep_as_json_names_parameters_and_what_fidelity_rests_on() {
    let folder = Folder::with_recording();
    let words = ["sweep", "runs", "--policy", "cap-2k", "--format", "json"];
    let json = folder.run(&words).json();
    assert_eq!(json["schema"], "counterfold.sweep/1");
    assert_eq!(json["recordings"][0]["path"], "runs/tiny");
    let total = &json["totals"][0];
    assert_eq!((&total["recording"], &total["frontier"]), (&Value::Null, &Value::Null));
    let row = &json["rows"][0];
    assert_eq!(total["tokens_total"], row["tokens_total"]);
    assert_eq!(json["policies"][0]["id"], "cap-2k");
    assert_eq!(json["policies"][0]["params"]["steps"][0]["limit"], 2000);
    let wanted = [8, 4, 2, 621, 2560, 3276, 2920, 10227, 4].map(|number| json!(number));
    assert_eq!(numbers(row), wanted);
    let reason = "the output as sent is taken for the whole output";
    assert_eq!(row["reasons"], json!([{ "step": 0, "reason": reason, "requests": 4 }]));
    assert_eq!(row["fidelity"], json!({ "exact": 0, "derived": 4, "assumed": 4, "refused": 0 }));
    let classes = &row["classes"];
    let sum: u64 = ["same", "cosmetic", "evidence", "overflow"]
        .iter()
        .map(|class| classes[class].as_u64().unwrap())
        .sum();
    assert_eq!(sum, 8);
}

#[test]
fn amounts_need_a_price_and_say_when_it_is_assumed() {
    let folder = Folder::with_recording();
    let words = ["sweep", "runs", "-p", "recorded", "-p", "cap-2k", "--format", "json"];
    let with = |more: &[&str]| folder.run(&[words.as_slice(), more].concat()).json();
    let priced = with(&["--price-as", "claude-sonnet-4-5"]);
    for row in priced["rows"].as_array().unwrap() {
        let cost = &row["cost"];
        assert_eq!(cost["requests"], row["requests"]);
        let parts = ["uncached", "read", "write", "output"];
        let sum: u64 = parts.iter().map(|part| cost[part].as_u64().unwrap()).sum();
        assert_eq!(cost["total"], sum);
        let tokens = ["read", "write", "uncached"];
        let sum: u64 = tokens.iter().map(|kind| row["cache"][kind].as_u64().unwrap()).sum();
        assert_eq!(row["prompt_tokens"], sum);
    }
    let wrong = folder.run(&[words.as_slice(), &["--price-as", "nobody-1"]].concat());
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("rules list --models"), "{}", wrong.err);
}

#[test]
fn a_grid_has_every_combination() {
    let folder = Folder::with_recording();
    let words = ["sweep", "runs", "-p", "cap-2k", "-p", "cap-8k", "--set"];
    let more = ["cap_text.limit=100,1000,3000", "--format", "json"];
    let json = folder.run(&[words.as_slice(), &more].concat()).json();
    let ids: BTreeSet<_> =
        json["policies"].as_array().unwrap().iter().map(|p| p["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 6);
    assert!(ids.contains("cap-8k[cap_text.limit=1000]"), "{ids:?}");
    let hidden = |limit: u64| {
        let id = format!("cap-2k[cap_text.limit={limit}]");
        let rows = json["rows"].as_array().unwrap();
        rows.iter().find(|row| row["policy"] == id.as_str()).unwrap()["hidden_bytes"].as_u64()
    };
    assert!(hidden(100) > hidden(1000) && hidden(1000) > hidden(3000));
    assert_eq!(folder.run(&["sweep", "runs", "--set", "cap_text.limit=1"]).code, 2);
    assert_eq!(folder.run(&["sweep", "runs", "-p", "cap-2k", "--set", "nothing.x=1"]).code, 2);
}

#[test]
fn rows_are_the_same_in_every_form() {
    let folder = Folder::with_recording();
    let run = |format: &str| folder.run(&["sweep", "runs", "--format", format]);
    let json = run("json").json();
    let csv = run("csv").text();
    let heads: Vec<_> = csv.lines().next().unwrap().split(',').collect();
    let column = |name: &str| heads.iter().position(|head| *head == name).unwrap();
    for (line, row) in csv.lines().skip(1).zip(json["rows"].as_array().unwrap()) {
        let values: Vec<_> = line.split(',').collect();
        assert_eq!(values.len(), heads.len(), "{line}");
        for name in ["policy", "requests", "hidden_bytes", "prompt_tokens"] {
            let wanted = row[name].to_string();
            assert_eq!(values[column(name)], wanted.trim_matches('"'), "{name}");
        }
    }
    let markdown = run("md").text();
    let rows = markdown.lines().filter(|line| line.starts_with("| runs/tiny |")).count();
    assert_eq!(rows, json["rows"].as_array().unwrap().len(), "{markdown}");
}

/// Three recordings of different runs.
fn three() -> Folder {
    let folder = Folder::with_recording();
    for name in ["a", "b"] {
        folder.write(&format!("{name}.har"), har::tiny().as_bytes());
        folder.run(&["import", "har", &format!("{name}.har"), "--into", "runs"]);
    }
    folder
}

fn files(folder: &Path) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut rest = vec![folder.to_path_buf()];
    while let Some(path) = rest.pop() {
        for entry in std::fs::read_dir(path).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                rest.push(path);
            } else {
                out.insert(path.strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    out
}

/// True for a file of rows, and not for a draft of one.
fn is_rows(name: &str) -> bool {
    name.starts_with("rows/") && !name.contains("/.counterfold-")
}

const KEPT: [&str; 7] = ["sweep", "runs", "-p", "cap-2k", "-p", "recorded", "--requests"];

#[test]
fn shards_are_parts_of_the_whole_and_can_share_a_folder() {
    let folder = three();
    let json = |more: &[&str]| folder.run(&[&KEPT, more].concat());
    assert_eq!(json(&["--into", "whole"]).code, 0);
    for part in ["1/2", "2/2"] {
        let ran = json(&["--into", "parts", "--shard", part]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let whole = files(&folder.path("whole"));
    assert_eq!(whole, files(&folder.path("parts")));
    assert_eq!(whole.iter().filter(|name| name.starts_with("rows/run=")).count(), 3);
    assert_eq!(whole.iter().filter(|name| name.starts_with("requests/run=")).count(), 3);
    for name in &whole {
        let read = |of: &str| std::fs::read(folder.path(of).join(name)).unwrap();
        assert_eq!(read("whole"), read("parts"), "{name}");
    }
    assert_eq!(json(&["--into", "x", "--shard", "3/2"]).code, 2);
}

#[test]
fn another_sweep_does_not_mix_with_what_is_kept() {
    let folder = three();
    assert_eq!(folder.run(&["sweep", "runs", "-p", "cap-2k", "--into", "kept"]).code, 0);
    let other = folder.run(&["sweep", "runs", "-p", "cap-4k", "--into", "kept"]);
    assert_eq!(other.code, 2);
    assert!(other.err.contains("another sweep is kept in kept"), "{}", other.err);
}

#[test]
fn a_sweep_that_was_killed_goes_on_without_losing_or_repeating_a_row() {
    let folder = three();
    let whole = folder.run(&[&KEPT[..], &["--format", "json"]].concat());
    // requests are kept beside the rows only.
    assert_eq!(whole.code, 2);
    let words = [&KEPT[..], &["--into", "kept", "--format", "json", "--jobs", "1"]].concat();
    let mut child = folder.command(&words).stdout(Stdio::null()).spawn().unwrap();
    let rows = || {
        let kept = files(&folder.path("kept"));
        kept.iter().filter(|name| is_rows(name)).count()
    };
    while rows() == 0 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What a killed write leaves behind is no row.
    let some = files(&folder.path("kept")).into_iter().find(|name| name.starts_with("rows/"));
    let beside = folder.path("kept").join(some.unwrap());
    std::fs::write(beside.with_file_name(".counterfold-left"), b"{\"recording\":").unwrap();
    let resumed = folder.run(&words).json();
    let fresh = [&KEPT[..], &["--into", "fresh", "--format", "json"]].concat();
    assert_eq!(resumed, folder.run(&fresh).json());
    assert_eq!(resumed["rows"].as_array().unwrap().len(), 6);
    // A third time, nothing is worked out: a row that was changed by hand shows.
    let kept = files(&folder.path("kept"));
    let path = kept.iter().find(|name| is_rows(name));
    let path = folder.path("kept").join(path.unwrap());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"requests\":8", "\"requests\":800")).unwrap();
    assert_ne!(folder.run(&words).json(), resumed);
}

#[test]
fn a_recording_without_requests_takes_one_line() {
    let folder = Folder::with_recording();
    folder.write("none.har", crate::har::har(&[]).as_bytes());
    assert_eq!(folder.run(&["import", "har", "none.har", "--into", "runs"]).code, 0);
    let ran = folder.run(&["sweep", "runs", "-p", "cap-2k", "-p", "cap-4k"]);
    assert_eq!(ran.code, 0);
    let text = ran.text();
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("none ")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].ends_with(" no requests"), "{text}");
    assert!(!text.contains("\ntotal "), "{text}");
    let none = folder.run(&["sweep", "runs/none"]);
    assert_eq!(none.code, 2);
    assert_eq!(none.text().matches("no requests").count(), 1, "{}", none.text());
}

#[test]
fn outcomes_give_bounds_and_never_a_point() {
    let folder = three();
    folder.write("scores.csv", b"run,score,task\ntiny,1,x\na,0.5,x\nb,0,y\n");
    let words = ["sweep", "runs", "-p", "recorded", "-p", "cap-2k", "--outcomes", "scores.csv"];
    let json = folder.run(&[&words[..], &["--format", "json"]].concat()).json();
    let of = |policy: &str| {
        let all = json["outcomes"].as_array().unwrap();
        all.iter().find(|entry| entry["policy"] == policy).unwrap().clone()
    };
    let recorded = of("recorded");
    assert_eq!((&recorded["runs"], &recorded["exact"]), (&json!(3), &json!(3)));
    assert_eq!(recorded["worst"], json!([500_000, 500_000]));
    let capped = of("cap-2k");
    assert_eq!(capped["exact"], 0);
    assert_eq!(capped["worst"], json!([0, 1_000_000]));
    let text = folder.run(&words).text();
    assert!(
        text.contains("0.000 to 1.000") && text.contains("is refused for all: no propensity"),
        "{text}"
    );
    folder.write("scores.csv", b"run,score\ntiny,2\n");
    assert_eq!(folder.run(&words).code, 2);
    folder.write("scores.csv", b"run,score\nnobody,1\n");
    assert_eq!(folder.run(&words).code, 2);
}

/// Rows of a Parquet file, as words by column.
fn parquet(path: &Path) -> Vec<BTreeMap<String, String>> {
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let words = |value: &Field| match value {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        other => other.to_string(),
    };
    let row = |row: parquet::record::Row| {
        row.get_column_iter().map(|(name, value)| (name.clone(), words(value))).collect()
    };
    reader.get_row_iter(None).unwrap().map(|it| row(it.unwrap())).collect()
}

/// Rows of a CSV file without quotes, as words by column.
fn csv(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let heads: Vec<String> = lines.next().unwrap().collect();
    lines.map(|line| heads.iter().cloned().zip(line).collect()).collect()
}

#[test]
fn tables_are_read_back_with_the_rows_of_the_json_and_survive_a_kill() {
    let folder = three();
    let words = [&KEPT[..], &["--into", "kept", "--tables", "parquet,csv"]].concat();
    let more = ["--price-as", "claude-sonnet-4-5", "--format", "json"];
    let json = folder.run(&[&words[..], &more].concat()).json();
    let kept = folder.path("kept");
    let names: Vec<String> = files(&kept).into_iter().collect();
    let of = |start: &str| names.iter().filter(|name| name.starts_with(start)).collect::<Vec<_>>();
    assert_eq!(of("requests/").len(), 0, "requests stand in the tables alone");
    let mut rows = Vec::new();
    let mut requests = Vec::new();
    for (binary, text) in of("parquet/").into_iter().zip(of("csv/")) {
        let read = parquet(&kept.join(binary));
        let other = csv(&std::fs::read_to_string(kept.join(text)).unwrap());
        assert_eq!(read, other, "{binary}");
        let run = binary.split("run=").nth(1).unwrap().split('/').next().unwrap().to_owned();
        let all = if binary.starts_with("parquet/rows/") { &mut rows } else { &mut requests };
        all.extend(read.into_iter().map(|row| (run.clone(), row)));
    }
    assert_eq!((rows.len(), requests.len()), (6, 48));
    for row in json["rows"].as_array().unwrap() {
        let text = |name: &str| row[name].as_str().unwrap();
        let (run, found) = rows
            .iter()
            .find(|(_, it)| it["recording"] == text("recording") && it["policy"] == text("policy"))
            .unwrap();
        assert_eq!(run, text("run"));
        for name in ["requests", "prompt_tokens", "hidden_bytes", "changed", "dead_bytes"] {
            assert_eq!(found[name], row[name].to_string(), "{name}");
        }
        let total = row["cost"]["total"].as_u64().unwrap();
        let dollars = format!("{}.{:012}", total / 1_000_000_000_000, total % 1_000_000_000_000);
        assert_eq!(found["cost_dollars"], dollars);
        let own = requests.iter().filter(|(of, it)| of == run && it["policy"] == text("policy"));
        let tokens = own.map(|(_, it)| it["tokens"].parse::<u64>().unwrap());
        assert_eq!(tokens.sum::<u64>(), row["prompt_tokens"].as_u64().unwrap());
    }
    // A recording whose rows are gone was killed before its end: its tables come again, the same.
    let read =
        || names.iter().map(|name| std::fs::read(kept.join(name)).unwrap()).collect::<Vec<_>>();
    let before = read();
    std::fs::remove_file(kept.join(names.iter().find(|name| is_rows(name)).unwrap())).unwrap();
    assert_eq!(folder.run(&[&words[..], &more].concat()).json(), json);
    assert!(read() == before);
    // On standard output it is one file, with the run as a column.
    let ran = folder.run(&["sweep", "runs", "-p", "cap-2k", "--format", "parquet"]);
    folder.write("all.parquet", &ran.out);
    let all = parquet(&folder.path("all.parquet"));
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|row| row["run"].len() == 32));
}

/// A policy that no request can be projected under.
const REFUSED: &str = "name = \"no\"\nestimator = \"b4ceil\"\n[[step]]\nop = \"inject\"\n\
    on = \"start\"\nitems = [{ kind = \"rules\" }]\n";

#[test]
fn a_policy_that_is_refused_shows_no_number_of_the_record() {
    let folder = Folder::with_recording();
    folder.write("no.toml", REFUSED.as_bytes());
    let words = ["sweep", "runs", "-p", "no.toml", "-p", "recorded", "--price-as", "claude-opus-5"];
    let run = |more: &[&str]| folder.run(&[&words[..], more].concat());
    let json = run(&["--format", "json"]).json();
    let row = |json: &Value| {
        let all = json["rows"].as_array().unwrap();
        all.iter().find(|row| row["policy"] == "no").unwrap().clone()
    };
    let refused = row(&json);
    assert!(refused["fidelity"]["refused"].as_u64().unwrap() > 0, "{refused}");
    assert_eq!(refused["complete"], false);
    let text = run(&[]).text();
    let line = text.lines().find(|line| line.starts_with("tiny") && line.contains(" no ")).unwrap();
    assert!(!line.contains('$') && !line.contains('%') && line.contains("refused"), "{line}");
    let table = csv(&run(&["--format", "csv"]).text());
    let line = table.iter().find(|row| row["policy"] == "no").unwrap();
    for name in ["prompt_tokens", "cost_dollars", "hidden_bytes", "recall_per_mille", "changed"] {
        assert_eq!(line[name], "", "{name}");
    }
    let page = run(&["--html", "s.html"]);
    assert_eq!(page.code, 0, "{}", page.err);
    let data = embedded(&std::fs::read_to_string(folder.path("s.html")).unwrap());
    let shown = data["rows"].as_array().unwrap().iter().find(|row| row["policy"] == "no").unwrap();
    assert_eq!((&shown["x"], &shown["y"]), (&Value::Null, &Value::Null));
    let texts = shown["texts"].as_array().unwrap();
    assert!(texts.iter().all(|text| !text.as_str().unwrap().contains('$')), "{texts:?}");
}

/// A recording whose requests say which policy was drawn for them.
fn drawn(folder: &Folder, name: &str, policy: &str, share: &str) {
    let mut har: Value = serde_json::from_str(&har::tiny()).unwrap();
    for entry in har["log"]["entries"].as_array_mut().unwrap() {
        let value = format!("policy={policy};draw=0;p={share}");
        let field = json!({ "name": "Counterfold-Drawn", "value": value });
        entry["request"]["headers"].as_array_mut().unwrap().push(field);
    }
    folder.write(&format!("{name}.har"), har.to_string().as_bytes());
    let ran = folder.run(&["import", "har", &format!("{name}.har"), "--into", "runs"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn runs_under_drawn_policies_are_weighted_and_others_are_refused_with_the_reason() {
    let folder = Folder::new();
    let listed = Folder::with_recording();
    let json = listed.run(&["sweep", "runs", "-p", "cap-2k", "-p", "cap-8k", "--format", "json"]);
    let json = json.json();
    let id = |nth: usize| json["policies"][nth]["policy_id"].as_str().unwrap().to_owned();
    for (name, nth) in [("a", 0), ("b", 0), ("c", 1), ("d", 1)] {
        drawn(&folder, name, &id(nth), "0.5");
    }
    folder.write("scores.csv", b"a,1,x\nb,0,x\nc,1,y\nd,1,y\n");
    let words = ["sweep", "runs", "-p", "cap-2k", "-p", "cap-4k", "--outcomes", "scores.csv"];
    let run = |more: &[&str]| folder.run(&[&words[..], more].concat());
    let found = run(&["--format", "json"]).json();
    let outcomes = found["outcomes"].as_array().unwrap();
    let of = |policy: &str| outcomes.iter().find(|entry| entry["policy"] == policy).unwrap();
    let weighted = json!({ "followed": 2, "effective_per_mille": 2000, "ips": 500_000,
        "snips": 500_000, "dr": 750_000 });
    assert_eq!(of("cap-2k")["weighted"], weighted);
    assert_eq!(of("cap-4k")["weighted_refused"], "the policy was never drawn");
    let text = run(&[]).text();
    assert!(text.contains("refused for cap-4k: the policy was never drawn"), "{text}");
    // A run without a draw makes all of them worthless.
    folder.write("e.har", har::tiny().as_bytes());
    folder.run(&["import", "har", "e.har", "--into", "runs"]);
    folder.write("scores.csv", b"a,1,x\nb,0,x\nc,1,y\nd,1,y\ne,1,z\n");
    let text = run(&[]).text();
    assert!(text.contains("the propensity of some request is not on record"), "{text}");
    // The log says what was drawn, and the recording still proves its requests.
    assert_eq!(folder.run(&["verify", "runs"]).code, 0);
}

/// The JSON that is embedded in a page.
fn embedded(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_page_has_the_numbers_of_the_json_and_refers_to_nothing() {
    let folder = three();
    let words = ["sweep", "runs", "-p", "recorded", "-p", "cap-2k", "--price-as", "claude-opus-5"];
    let json = folder.run(&[&words[..], &["--format", "json", "--html", "s.html"]].concat()).json();
    let page = std::fs::read_to_string(folder.path("s.html")).unwrap();
    for word in ["http://", "https://", "src=", "@import", "url(", "@DATA@"] {
        let outside = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!outside.contains(word), "{word}");
    }
    let data = embedded(&page);
    for (name, wanted) in [("rows", "rows"), ("totals", "totals")] {
        let (shown, rows) = (data[name].as_array().unwrap(), json[wanted].as_array().unwrap());
        assert_eq!(shown.len(), rows.len());
        for (shown, row) in shown.iter().zip(rows) {
            let column = |key: &str| {
                let columns = data["columns"].as_array().unwrap();
                let at = columns.iter().position(|column| column["key"] == key).unwrap();
                shown["values"][at].clone()
            };
            assert_eq!(column("policy"), row["policy"]);
            assert_eq!(column("requests"), row["requests"]);
            assert_eq!(column("tokens"), row["prompt_tokens"]);
            assert_eq!(column("hidden"), row["hidden_bytes"]);
            assert_eq!(column("cost"), row["cost"]["total"].as_u64().unwrap() / 1_000_000);
        }
    }
    let detail = &data["details"]["runs/tiny\ncap-2k"];
    assert_eq!(detail["voices"].as_array().unwrap().len(), 8);
    let bytes =
        |list: &Value| list.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum::<u64>();
    let of_row = detail["voices"].as_array().unwrap().iter().map(bytes).sum::<u64>();
    assert!(of_row > 0);
}
