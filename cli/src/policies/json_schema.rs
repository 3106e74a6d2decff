//! The JSON Schema of policy files, from the declarations that also read them.

use projector::policy::Value as Param;
use projector::policy::schema::{Field, Schema, ops, policy};
use serde_json::{Map, Value, json};

/// The schema of a policy file, by draft 2020-12.
///
/// Where a file has a `base` or constants that nobody has documented, its steps may lack fields.
pub(crate) fn document() -> Value {
    let mut root = object(&policy(), &["estimator"]);
    let (mut steps, mut changes) = (Vec::new(), Vec::new());
    let mut definitions = Map::new();
    for form in ops() {
        let word = form.op.word();
        let mut step = object(&form.fields, &[]);
        property(&mut step, "op", json!({ "const": word }));
        // Only in an override.
        property(&mut step, "nth", json!({ "type": "integer", "minimum": 1 }));
        property(&mut step, "unset", json!({ "type": "array", "items": { "type": "string" } }));
        set(&mut step, "description", form.doc.into());
        let required = step.get("required").cloned().unwrap_or_default();
        set(&mut step, "required", json!(["op"]));
        let reference = json!({ "$ref": format!("#/$defs/{word}") });
        steps.push(json!({ "allOf": [&reference, { "required": required }] }));
        changes.push(reference);
        definitions.insert(word.to_owned(), step);
    }
    let list = |of: &[Value]| json!({ "type": "array", "maxItems": 64, "items": { "oneOf": of } });
    property(&mut root, "step", json!({ "type": "array" }));
    property(&mut root, "override", list(&changes));
    let partial = json!({ "anyOf": [{ "required": ["unknown"] }, { "required": ["base"] }] });
    set(&mut root, "if", partial);
    set(&mut root, "then", json!({ "properties": { "step": list(&changes) } }));
    set(
        &mut root,
        "else",
        json!({ "required": ["estimator"], "properties": { "step": list(&steps) } }),
    );
    set(&mut root, "$schema", "https://json-schema.org/draft/2020-12/schema".into());
    set(&mut root, "title", "Counterfold policy".into());
    set(&mut root, "$defs", Value::Object(definitions));
    root
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

fn property(object: &mut Value, key: &str, value: Value) {
    if let Some(properties) = object.get_mut("properties") {
        set(properties, key, value);
    }
}

/// A table; fields without a default are required, but for those that are named.
fn object(fields: &[Field], optional: &[&str]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in fields {
        let mut schema = of(&field.schema);
        set(&mut schema, "description", field.doc.into());
        match &field.default {
            None if !optional.contains(&field.key) => required.push(Value::from(field.key)),
            None | Some(Param::Nothing) => {}
            Some(default) => set(&mut schema, "default", plain(default)),
        }
        properties.insert(field.key.to_owned(), schema);
    }
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "required": required,
    })
}

fn of(schema: &Schema) -> Value {
    match schema {
        Schema::Int { max } => json!({ "type": "integer", "minimum": 0, "maximum": max }),
        Schema::Bool => json!({ "type": "boolean" }),
        Schema::Text => json!({ "type": "string" }),
        Schema::Words(words) => {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            json!({ "enum": words })
        }
        Schema::List(item) => json!({ "type": "array", "maxItems": 1024, "items": of(item) }),
        Schema::Table { fields, .. } => object(fields, &[]),
        Schema::Either(forms) => {
            let forms: Vec<Value> = forms.iter().map(of).collect();
            json!({ "anyOf": forms })
        }
    }
}

fn plain(value: &Param) -> Value {
    match value {
        Param::Int(value) => (*value).into(),
        Param::Bool(value) => (*value).into(),
        Param::Text(text) | Param::Word(text) => text.as_str().into(),
        Param::List(items) => items.iter().map(|item| plain(item.value())).collect(),
        Param::Table(entries) => {
            let fields = entries.iter().map(|entry| (entry.key().to_owned(), plain(entry.value())));
            Value::Object(fields.collect())
        }
        Param::Nothing => Value::Null,
    }
}
