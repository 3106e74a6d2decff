//! Two pages of the reference that are written from what they describe: the built-in policies
//! and the fields of the policy language.

use projector::policy::presets::{HARNESSES, PRESETS, Preset};
use projector::policy::schema::{Field, Schema, ops, policy};
use projector::policy::{Evidence, Policy, Value};

use super::words;

const PRESETS_HEAD: &str = "\
# Built-in policies

Written by `counterfold reference-markdown presets`; the policies themselves are printed by
`counterfold policy show ID`. Their ids carry the version of the program they describe: another
version may do something else.

How it is known: *executed* - the program's own code was run and compared with ours; *read* - its
source was read; *documented* - only its documents were.

Constants that nobody has documented have no value here: a policy that needs them is refused until
they are set, with `--set op.field=VALUE` or in a file that has the policy as its `base`.
";

const LANGUAGE_HEAD: &str = "\
# Fields of policies

Written by `counterfold reference-markdown language` from the declarations that read policies.
What the primitives do is in [policies.md](policies.md); the same as a JSON Schema is in
[policy.schema.json](policy.schema.json).

A field without a default is required. Amounts are a number, or a table with one of
`window_per_mille`, `window_minus` and `rule`.
";

/// The page on built-in policies.
pub(crate) fn presets() -> String {
    let mut page = PRESETS_HEAD.to_owned();
    page.push_str("\n## Plain ones\n\n| id | what it does |\n|---|---|\n");
    for preset in PRESETS {
        page.push_str(&row(&[&code(preset.id), &does(preset)]));
    }
    page.push_str("\n## Programs\n");
    for preset in HARNESSES {
        page.push_str(&["\n### ", preset.id, "\n\n"].concat());
        let comment = preset.toml.lines().map_while(|line| line.strip_prefix("# "));
        page.push_str(&[&comment.collect::<Vec<_>>().join("\n"), "\n\n"].concat());
        page.push_str("| | |\n|---|---|\n");
        if let Ok(outline) = Policy::outline(preset.toml) {
            if let Some(about) = &outline.about {
                let known = match about.evidence {
                    Evidence::Executed => "executed",
                    Evidence::Read => "read",
                    Evidence::Documented => "documented",
                };
                let known = format!("{known}, {}", about.date);
                page.push_str(&row(&["program", &about.harness]));
                page.push_str(&row(&["version", &about.version]));
                page.push_str(&row(&["how it is known", &known]));
                page.push_str(&row(&["source", &about.source.join("<br>")]));
                page.push_str(&list("approximate", &about.approximate));
                page.push_str(&list("needs recorded events", &about.impure));
            }
            let unknown: Vec<String> = outline.unknown.iter().map(|name| code(name)).collect();
            page.push_str(&list("has to be set", &unknown));
        }
        page.push_str(&row(&["steps", &does(preset)]));
    }
    page
}

fn does(preset: &Preset) -> String {
    match preset.policy() {
        Ok(policy) => words(&policy),
        Err(_unset) => "depends on what has to be set".to_owned(),
    }
}

fn list(name: &str, items: &[String]) -> String {
    if items.is_empty() { String::new() } else { row(&[name, &items.join("<br>")]) }
}

/// The page on the fields of policies.
pub(crate) fn language() -> String {
    let mut page = LANGUAGE_HEAD.to_owned();
    page.push_str("\n## A policy\n\n");
    fields(&policy(), &mut page);
    for form in ops() {
        page.push_str(&["\n## ", form.op.word(), "\n\n", form.doc, "\n\n"].concat());
        fields(&form.fields, &mut page);
    }
    page
}

fn fields(fields: &[Field], page: &mut String) {
    page.push_str("| field | form | default | |\n|---|---|---|---|\n");
    rows("", fields, page);
}

fn rows(prefix: &str, fields: &[Field], page: &mut String) {
    for field in fields {
        let key = [prefix, field.key].concat();
        let default = match &field.default {
            None => "required".to_owned(),
            Some(default) => shown(default),
        };
        page.push_str(&row(&[&code(&key), &form(&field.schema), &default, field.doc]));
        if let Some(inner) = table(&field.schema) {
            rows(&[&key, "."].concat(), inner, page);
        }
    }
}

/// The fields below a field, but those of amounts, which are told once.
fn table(schema: &Schema) -> Option<&[Field]> {
    match schema {
        Schema::Table { fields, .. } => Some(fields),
        Schema::List(item) => table(item),
        Schema::Either(forms) => forms
            .iter()
            .find_map(table)
            .filter(|fields| fields.first().is_some_and(|field| field.key != "window_per_mille")),
        _ => None,
    }
}

fn form(schema: &Schema) -> String {
    match schema {
        Schema::Int { .. } => "number".to_owned(),
        Schema::Bool => "boolean".to_owned(),
        Schema::Text => "text".to_owned(),
        Schema::Words(words) => {
            words.iter().map(|(word, _)| code(word)).collect::<Vec<_>>().join(", ")
        }
        Schema::List(item) => format!("list: {}", form(item)),
        Schema::Table { .. } => "table".to_owned(),
        Schema::Either(forms) if table(schema).is_none() && forms.len() == 2 => "amount".to_owned(),
        Schema::Either(forms) => forms.iter().map(form).collect::<Vec<_>>().join(" or "),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Int(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Text(text) if text.is_empty() => "empty".to_owned(),
        Value::Text(text) | Value::Word(text) => code(text),
        Value::List(_) => "empty".to_owned(),
        Value::Table(_) => "table".to_owned(),
        Value::Nothing => "none".to_owned(),
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}
