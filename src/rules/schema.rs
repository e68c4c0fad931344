//! JSON Schemas of the rule language and of test cases, generated from the types that read them.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

use super::raw::Document;

/// The schema of a file of rules.
pub fn rules() -> Value {
    root::<Document>("Hookbell rules", "One file of a rules folder; all files together are one document.")
}

/// The schema of a record that is a whole file.
pub(crate) fn root<T: JsonSchema>(title: &str, description: &str) -> Value {
    // Draft 7 is what editors support best.
    let mut schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.insert("description".to_owned(), description.into());
    schema.to_value()
}

/// A scalar, or where it comes from. Numbers and booleans are taken as they are written.
pub(crate) struct Text;

impl JsonSchema for Text {
    fn schema_name() -> Cow<'static, str> {
        "text".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        or_external(generator, json!({ "type": ["string", "number", "boolean"] }))
    }
}

/// `schema`, or a value from outside.
pub(crate) fn or_external(generator: &mut SchemaGenerator, schema: Value) -> Schema {
    let external = generator.subschema_for::<External>();
    json_schema!({ "anyOf": [schema, external] })
}

struct External;

impl JsonSchema for External {
    fn schema_name() -> Cow<'static, str> {
        "external".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let _ = generator;
        json_schema!({
            "description": "A value that lives outside of the rules.",
            "oneOf": [
                {
                    "type": "object",
                    "properties": {
                        "env": { "type": "string", "description": "The variable's name." },
                        "default": { "description": "Used while the variable is not set." },
                    },
                    "required": ["env"],
                    "additionalProperties": false,
                },
                {
                    "type": "object",
                    "properties": {
                        "file": { "type": "string", "description": "A file that holds the value; relative to this one." },
                    },
                    "required": ["file"],
                    "additionalProperties": false,
                },
            ],
            "examples": [{ "env": "NTFY_TOKEN" }, { "file": "/run/secrets/ntfy_token" }],
        })
    }
}

/// Conditions that must all hold.
pub(crate) struct Conditions;

impl JsonSchema for Conditions {
    fn schema_name() -> Cow<'static, str> {
        "conditions".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let conditions = generator.subschema_for::<Self>();
        let matcher = generator.subschema_for::<Matcher>();
        let list = json!({ "type": "array", "items": conditions, "minItems": 1 });
        json_schema!({
            "type": "object",
            "properties": {
                "any": { "description": "At least one holds.", "allOf": [list] },
                "all": { "description": "All hold.", "allOf": [list] },
                "not": { "description": "These do not all hold.", "allOf": [conditions] },
                "method": { "description": "The request's method.", "allOf": [matcher], "examples": ["POST"] },
            },
            "patternProperties": {
                "^\\$": { "description": "What a JSONPath finds in the body.", "allOf": [matcher] },
                "^@": { "description": "What a JSONPath finds in the item.", "allOf": [matcher] },
                "^headers\\..": { "description": "A header.", "allOf": [matcher] },
                "^query\\..": { "description": "A query parameter.", "allOf": [matcher] },
                "^path\\..": { "description": "A named segment of the path.", "allOf": [matcher] },
            },
            "minProperties": 1,
            "additionalProperties": false,
        })
    }
}

/// What a condition asks of the values it finds.
pub(crate) struct Matcher;

impl JsonSchema for Matcher {
    fn schema_name() -> Cow<'static, str> {
        "matcher".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let matcher = generator.subschema_for::<Self>();
        let text = generator.subschema_for::<Text>();
        let external = generator.subschema_for::<External>();
        let described =
            |description: &str, schema: Value| json!({ "description": description, "allOf": [schema] });
        let plain = |description: &str| json!({ "description": description });
        json_schema!({
            "anyOf": [
                { "type": ["string", "number", "boolean", "null"] },
                { "type": "array" },
                external,
                {
                    "type": "object",
                    "properties": {
                        "equals": plain("Equal: by type, numbers by value."),
                        "in": described("Equal to one of these.", json!({ "type": "array" })),
                        "not": described("The matcher does not hold.", json!(matcher)),
                        "matches": described("A regular expression fits.", json!(text)),
                        "glob": described("A glob fits the whole text.", json!(text)),
                        "contains": plain("A text with this part, or a list with this item."),
                        "starts_with": described("A text that starts so.", json!(text)),
                        "ends_with": described("A text that ends so.", json!(text)),
                        "exists": described("Whether there is anything.", json!({ "type": "boolean" })),
                        "gt": described("Greater.", json!(text)),
                        "gte": described("Greater or equal.", json!(text)),
                        "lt": described("Less.", json!(text)),
                        "lte": described("Less or equal.", json!(text)),
                    },
                    "minProperties": 1,
                    "additionalProperties": false,
                },
            ],
        })
    }
}

/// One field of a record, as its declaration tells it.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// The lines of its doc comment.
    pub(crate) doc: &'static [&'static str],
    pub(crate) choices: &'static [&'static str],
    /// What else must hold.
    pub(crate) constraint: Option<Value>,
    pub(crate) optional: bool,
    pub(crate) schema: Schema,
}

/// The schema of a record.
pub(crate) fn record(
    generator: &mut SchemaGenerator,
    doc: &[&str],
    constraint: Option<Value>,
    fields: Vec<Field>,
) -> Schema {
    let required: Vec<&str> = fields.iter().filter(|field| !field.optional).map(|field| field.name).collect();
    let properties: Map<String, Value> =
        fields.into_iter().map(|field| (field.name.to_owned(), property(generator, field))).collect();
    let (description, _) = split_example(doc);
    let mut schema = json_schema!({
        "description": description,
        "type": ["object", "null"],
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    if let Some(Value::Object(constraint)) = constraint {
        constraint.into_iter().for_each(|(name, value)| drop(schema.insert(name, value)));
    }
    schema
}

fn property(generator: &mut SchemaGenerator, field: Field) -> Value {
    let (description, example) = split_example(field.doc);
    let schema = if field.choices.is_empty() {
        field.schema
    } else {
        or_external(generator, json!({ "enum": field.choices }))
    };
    let mut property = Map::new();
    property.insert("description".to_owned(), description.into());
    property.extend(example.map(|example| ("examples".to_owned(), json!([example]))));
    // Beside a `$ref`, draft 7 ignores everything.
    let all: Vec<Value> = [schema.to_value()].into_iter().chain(field.constraint).collect();
    property.insert("allOf".to_owned(), all.into());
    Value::Object(property)
}

/// A doc comment as a description, and the YAML after `Example:` as a value.
fn split_example(doc: &[&str]) -> (String, Option<Value>) {
    let text = doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    match text.split_once(" Example: `") {
        Some((description, example)) => {
            let yaml = example.trim_end_matches(['.', '`']);
            (description.to_owned(), serde_saphyr::from_str(yaml).ok())
        }
        None => (text, None),
    }
}
