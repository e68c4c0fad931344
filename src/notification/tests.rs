use proptest::prelude::*;

use super::*;

fn topic(name: &str) -> Topic {
    Topic::parse(name).expect("a valid topic")
}

#[test]
fn a_topic_has_only_ntfys_letters_and_is_not_reserved() {
    for good in ["a", "ci", "Back_end-7", &"x".repeat(64)] {
        assert_eq!(Topic::parse(good).map(|t| t.as_str().to_owned()), Ok(good.to_owned()));
    }
    for bad in ["", "a b", "a/b", "é", "a\r\nX-Evil: 1", &"x".repeat(65)] {
        assert_eq!(Topic::parse(bad), Err(InvalidTopic::Malformed(bad.to_owned())));
    }
    assert_eq!(Topic::parse("docs"), Err(InvalidTopic::Reserved("docs".to_owned())));
    assert!(Topic::parse_sequence_id("docs").is_ok());
}

#[test]
fn a_priority_is_a_number_or_a_name() {
    assert_eq!(Priority::parse("urgent"), Ok(Priority::Max));
    assert_eq!(Priority::parse(" 2 "), Ok(Priority::Low));
    assert_eq!(Priority::parse("HIGH"), Ok(Priority::High));
    assert_eq!(Priority::parse("6"), Err(InvalidPriority("6".to_owned())));
    assert_eq!(Priority::parse(""), Err(InvalidPriority(String::new())));
}

#[test]
fn json_holds_only_the_fields_that_are_set() {
    let mut notification = Notification::new(topic("ci"), "  Build failed \n");
    notification.title = Some("acme/api\r\nX-Evil: 1".to_owned());
    notification.priority = Some(Priority::Max);
    notification.set_tags(["x, rotating_light", "x", ""]);
    notification.filename = Some("ignored.txt".to_owned());
    assert_eq!(
        notification.to_json(),
        r#"{"topic":"ci","title":"acme/api X-Evil: 1","message":"Build failed","priority":5,"tags":["x","rotating_light"]}"#
    );
}

#[test]
fn an_empty_message_takes_over_the_title() {
    let mut notification = Notification::new(topic("ci"), " ");
    notification.title = Some("Only a title".to_owned());
    assert_eq!(notification.to_json(), r#"{"topic":"ci","message":"Only a title"}"#);
    assert_eq!(Notification::new(topic("ci"), "").to_json(), r#"{"topic":"ci","message":"(no message)"}"#);
}

#[test]
fn tags_beyond_the_limit_are_left_out() {
    let mut notification = Notification::new(topic("ci"), "m");
    let long = "t".repeat(300);
    let longer = "u".repeat(300);
    notification.set_tags([long.as_str(), longer.as_str(), "x"]);
    notification.fit();
    assert_eq!(notification.tags, [long, "x".to_owned()]);
}

#[test]
fn an_http_action_needs_an_http_url_and_no_body_with_get() {
    let action = |url: &str, method: &str| Action::Http {
        label: "Go".to_owned(),
        url: url.to_owned(),
        method: Some(method.to_owned()),
        headers: Default::default(),
        body: Some("x".to_owned()),
        clear: false,
    };
    assert_eq!(action("https://a.example", "POST").check(), Ok(()));
    assert!(action("ftp://a.example", "POST").check().is_err());
    assert!(action("https://a.example", "get").check().is_err());
}

proptest! {
    #[test]
    fn any_text_ends_up_within_ntfys_limits(message in ".{0,6000}", title in ".{0,1500}", tag in ".{0,600}") {
        let mut notification = Notification::new(topic("ci"), message);
        notification.title = Some(title);
        notification.set_tags([tag.as_str()]);
        let json = notification.to_json();
        prop_assert!(json.len() <= JSON_LIMIT);
        let value: serde_json::Value = serde_json::from_str(&json).expect("valid JSON");
        prop_assert!(value["message"].as_str().expect("a message").len() <= MESSAGE_LIMIT);
        prop_assert!(value["title"].as_str().unwrap_or_default().len() <= TITLE_LIMIT);
    }

    #[test]
    fn a_cut_never_exceeds_its_limit_and_keeps_a_prefix(text in ".{0,200}", limit in 0usize..120) {
        let cut = truncate(&text, limit);
        prop_assert!(cut.len() <= limit);
        prop_assert!(text.starts_with(cut.trim_end_matches('…').trim_end()));
    }
}

#[test]
fn a_message_full_of_escapes_still_fits_the_document() {
    let json = Notification::new(topic("ci"), "\u{1}".repeat(4000)).to_json();
    assert!(json.len() <= JSON_LIMIT, "{} bytes", json.len());
}
