//! What holds for any rules and any values.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::compile::compile_text;
use super::external::Environment;
use super::matcher::{Matcher, Test, equal};

struct NoVariables;

impl Environment for NoVariables {
    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z{}/ ]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn equality_is_reflexive_and_symmetric(a in value(), b in value()) {
        prop_assert!(equal(&a, &a));
        prop_assert_eq!(equal(&a, &b), equal(&b, &a));
    }

    #[test]
    fn not_is_plain_negation_and_in_is_any_equality(found in prop::collection::vec(value(), 0..3), wanted in value(), other in value()) {
        let found: Vec<&Value> = found.iter().collect();
        let equals = |wanted: &Value| Matcher { tests: vec![Test::Equals(wanted.clone())], ..Matcher::default() };
        let not = Matcher { not: Some(Box::new(equals(&wanted))), ..Matcher::default() };
        prop_assert_eq!(not.holds(&found), !equals(&wanted).holds(&found));
        let one_of = Matcher { tests: vec![Test::In(vec![wanted.clone(), other.clone()])], ..Matcher::default() };
        prop_assert_eq!(one_of.holds(&found), equals(&wanted).holds(&found) || equals(&other).holds(&found));
    }

    #[test]
    fn any_text_is_rules_or_mistakes_that_can_be_shown(text in "[ a-z:{}\\[\\]\"'|>$@.*\n-]{0,200}") {
        if let Err(problems) = compile_text("any.yaml", &text, &NoVariables) {
            prop_assert!(!problems.is_empty());
            problems.iter().for_each(|problem| drop(problem.to_string()));
        }
    }

    #[test]
    fn shipped_rules_with_any_line_changed_are_rules_or_mistakes_that_can_be_shown(line in 0usize..440, cut in 0usize..60, with in "[a-z{}\"$: ]{0,6}") {
        let rules = include_str!("../../rules/github.yaml");
        let changed: Vec<String> = rules.lines().enumerate().map(|(number, text)| {
            if number == line { format!("{}{with}", text.chars().take(cut).collect::<String>()) } else { text.to_owned() }
        }).collect();
        if let Err(problems) = compile_text("github.yaml", &changed.join("\n"), &NoVariables) {
            problems.iter().for_each(|problem| drop(problem.to_string()));
        }
    }
}
