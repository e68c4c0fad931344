use serde_json::{Value, json};

use super::*;
use crate::payload::Part;
use crate::rules::table::Table;

fn tables() -> Tables {
    let exact = [("acme/api".to_owned(), "backend".to_owned())].into();
    let table = Table { exact, globs: Vec::new() };
    [("topics".to_owned(), table)].into()
}

#[test]
fn marks_of_chat_programs_become_plain_text() {
    let (plain, engine) = compiled("{{plain body}}").expect("a template");
    for (marked, expected) in [
        (
            "*Deploy failed* for <https://ci.example.com/81|shop #81> &amp; rolled back\n>exit 1",
            "Deploy failed for shop #81 & rolled back\nexit 1",
        ),
        ("> `⚠️` Build Failed", "⚠️ Build Failed"),
        (":warning: *a* *b* _c_ ~d~", "⚠️ a b c d"),
        (":cross_mark: High disk usage at 12:30:45", "❌ High disk usage at 12:30:45"),
        ("[Threshold](https://example.com/a#b) | **x** and __y__", "Threshold | x and y"),
        ("snake_case_name, 2 * 3 * 4, a*b*c", "snake_case_name, 2 * 3 * 4, a*b*c"),
        ("<!here> <@U1|ada> <#C1|general> <@&99>", "@here @ada #general @99"),
        ("<t:1787407391:R>", "2026-08-22 14:03 UTC"),
        ("<!date^1787407391^{date}|22 Aug>", "22 Aug"),
        ("*Severity:*\ncritical", "Severity: critical"),
        ("**Region**:\neu-1\n \n\nend", "Region: eu-1\nend"),
        ("Changes:\n- a", "Changes:\n- a"),
        ("```exit code 1```", "exit code 1"),
        ("```\nline *one*\n```", "line one"),
        ("## Title\n**bold _both_**", "Title\nbold both"),
        ("a <b> c < d &lt;e&gt;", "a <b> c < d <e>"),
        ("", ""),
    ] {
        let mut values = Values::null();
        *values.data_mut() = json!({ "body": marked });
        assert_eq!(plain.render(&engine, &values, None).as_deref(), Ok(expected), "{marked}");
    }
}

#[test]
fn amounts_of_money_are_in_the_unit_of_their_currency() {
    for (arguments, expected) in [
        ("1099 'eur'", "10.99 EUR"),
        ("1099 'JPY'", "1099 JPY"),
        ("1099 'kwd'", "1.099 KWD"),
        ("-500 'usd'", "-5.00 USD"),
        ("null 'usd'", ""),
        ("1099 body.null", ""),
        ("1099 ''", ""),
    ] {
        assert_eq!(render(&format!("{{{{money {arguments}}}}}")), expected, "{arguments}");
    }
    assert!(try_render("{{money 'much' 'eur'}}").is_err());
}

fn context() -> Value {
    json!({
        "body": {
            "name": "Grüße", "n": 3, "one": 1, "list": ["a", 2, null], "empty": [], "object": {"k": "v"},
            "null": null, "html": "<p>a &amp; <b>b</b></p><p>c</p>", "repo": "acme/api", "at": "2026-12-01T09:30:00Z",
            "items": [{"x": 1}, {"y": 2}], "big": 1_610_612_736_u64, "zero": 0, "no": false, "lines": "\n one \n two",
        },
        "headers": {"x-github-event": "push"},
        "let": {"a": "b"},
        "source": "github", "rule": "r", "received_at": "2026-12-01T10:00:00Z",
    })
}

fn vocabulary(tables: &Tables) -> Vocabulary<'_> {
    Vocabulary {
        tables,
        split: false,
        signs: false,
        bindings: vec!["a".to_owned()],
        queries: Vec::new(),
        used_tables: Default::default(),
        reads: Default::default(),
    }
}

fn compiled(text: &str) -> Result<(Template, Engine), String> {
    let tables = tables();
    let mut vocabulary = vocabulary(&tables);
    let template = Template::parse(text, &mut vocabulary).map_err(|mistakes| {
        mistakes
            .iter()
            .map(|m| format!("{}:{} {}: {}", m.line, m.column, m.message, m.help))
            .collect::<Vec<_>>()
            .join("\n")
    })?;
    let queries = std::mem::take(&mut vocabulary.queries);
    Ok((template, Engine::new(tables.clone(), queries)))
}

fn try_render(text: &str) -> Result<(String, Vec<Note>), String> {
    let (template, engine) = compiled(text)?;
    let mut values = Values::null();
    *values.data_mut() = context();
    let notes = Notes::default();
    let watched = template.render(&engine, &values, Some(&notes)).map_err(|e| e.to_string())?.into_owned();
    let unwatched = template.render(&engine, &values, None).map_err(|e| e.to_string())?;
    assert_eq!(watched, unwatched, "watching changes nothing");
    Ok((watched, notes.take()))
}

fn render(text: &str) -> String {
    try_render(text).expect("a template that renders").0
}

#[test]
fn values_print_as_a_person_would_write_them() {
    for (template, expected) in [
        ("plain", "plain"),
        ("{{body.name}} & {{body.n}}", "Grüße & 3"),
        ("{{source}}/{{rule}}", "github/r"),
        ("{{headers.x-github-event}}", "push"),
        ("{{body.list}}", "a, 2, "),
        ("{{body.object}}", r#"{"k":"v"}"#),
        ("{{body.list.1}} {{let.a}}", "2 b"),
        ("[{{body.null}}{{body.nope}}{{body.nope.deeper}}]", "[]"),
        ("{{{body.html}}}", "<p>a &amp; <b>b</b></p><p>c</p>"),
        ("{{#if body.zero}}yes{{else}}no{{/if}}", "no"),
        ("{{#each body.items}}{{this.x}}{{x}}{{@index}};{{/each}}", "110;1;"),
        ("{{#each body.list as |l|}}{{l}}{{/each}}", "a2"),
        ("{{#each body.items}}{{@root.body.n}}{{/each}}", "33"),
        ("{{#if body.nope}}a{{else if body.name}}b{{/if}}", "b"),
        ("a\n{{#if body.nope}}\nBranch: {{body.nope}}\n{{/if}}\nb", "a\nb"),
    ] {
        assert_eq!(render(template), expected, "{template}");
    }
}

#[test]
fn helpers_do_what_their_names_say() {
    for (template, expected) in [
        ("{{table 'topics' body.repo}}|{{table 'topics' 'x'}}", "backend|"),
        ("{{default body.nope '' body.name}}", "Grüße"),
        ("{{truncate body.name 3}}|{{truncate body.name 5}}", "Gr…|Grüße"),
        ("{{upper body.name}} {{lower 'ABC'}} {{capitalize 'élan'}}", "GRÜSSE abc Élan"),
        ("{{replace body.repo '/' ' / '}}", "acme / api"),
        ("{{join body.list '+'}}|{{join body.empty}}", "a+2+|"),
        ("{{json body.object}}", r#"{"k":"v"}"#),
        ("{{jsonpath '$.items[*].x'}} {{jsonpath '$.k' body.object}}", "1 v"),
        (
            "{{date body.at}}|{{date body.at zone='Europe/Berlin' format='%H:%M'}}|{{date 0}}",
            "2026-12-01 09:30|10:30|1970-01-01 00:00",
        ),
        ("{{date body.nope}}{{ago body.nope}}", ""),
        ("{{ago body.at}}", "30m ago"),
        ("{{duration 3900}} {{duration 0}}", "1h 5m 0s"),
        ("{{bytes body.big}} {{bytes 12}}", "1.5 GiB 12 B"),
        ("{{slug 'My App / Ünit'}}", "my-app-nit"),
        (
            "{{pluralize body.n 'update'}} {{pluralize body.one 'update'}} {{pluralize body.items 'fix' 'fixes'}}",
            "3 updates 1 update 2 fixes",
        ),
        ("{{emoji 'failure'}}{{emoji 'Success'}}", "❌✅"),
        ("{{first_line body.lines}}|{{short_sha '0123456789'}}", "one|0123456"),
        ("{{strip_html body.html}}", "a & b\nc"),
        ("{{markdown_escape 'a_b*'}}", "a\\_b\\*"),
        ("{{#if (contains body.list 'a')}}yes{{/if}}{{#if (starts_with body.repo 'acme/')}}!{{/if}}", "yes!"),
        ("{{#if (and (eq body.n 3) (not body.no))}}both{{/if}}", "both"),
        ("{{upper (default body.nope 'x')}}", "X"),
        ("{{len body.items}}", "2"),
    ] {
        assert_eq!(render(template), expected, "{template}");
    }
}

#[test]
fn what_is_missing_gets_noted_unless_the_template_asks_for_it() {
    let (_, notes) = try_render(
        "{{body.nope}}{{body.name}}{{upper body.gone}}{{#if body.maybe}}{{body.maybe}}{{/if}}{{default body.no1 'x'}}{{body.object}}{{body.list}}{{body.nope}}",
    )
    .expect("renders");
    let asked: Vec<&Note> = notes.iter().filter(|note| matches!(note, Note::Absent(_))).collect();
    assert_eq!(asked, [&Note::Absent("body.maybe".to_owned()), &Note::Absent("body.no1".to_owned())]);
    let notes: Vec<Note> =
        notes.into_iter().filter(|note| !matches!(note, Note::Found(_) | Note::Absent(_))).collect();
    assert_eq!(
        notes,
        [
            Note::Missing("body.nope".to_owned()),
            Note::Missing("body.gone".to_owned()),
            Note::PrintedAsJson("body.object".to_owned()),
            Note::Joined("body.list".to_owned()),
        ]
    );
}

#[test]
fn mistakes_are_found_at_load() {
    for (template, expected) in [
        ("{{uper body.name}}", "1:1 unknown helper \"uper\": did you mean \"upper\"?"),
        (
            "a\n b {{titel}}",
            "2:4 unknown name \"titel\": values live in a namespace: did you mean \"body.titel\"?",
        ),
        ("{{boddy.x}}", "1:1 unknown name \"boddy.x\": did you mean \"body.x\"?"),
        ("{{item.x}}", "1:1 \"item\" means nothing here: the source has no split: use body"),
        ("{{let.b}}", "1:1 unknown name \"let.b\": no `let` binds it before this: known are: a"),
        ("{{table 'topicz' body.x}}", "1:1 unknown table \"topicz\": did you mean \"topics\"?"),
        (
            "{{table body.x body.x}}",
            "1:1 the first argument of \"table\" must be a text in quotes: write it like {{table '…' body.x}}",
        ),
        (
            "{{truncate body.x}}",
            "1:1 \"truncate\" takes 2 arguments, found 1: see the list of helpers in docs/rules.md",
        ),
        ("{{> partial}}", "1:1 partials and decorators are not supported: \"partial\": write the text out"),
        ("{{upper (nope body.x)}}", "1:1 unknown helper \"nope\": known are: "),
        ("{{#if body.x}}a", "1:16 invalid template syntax"),
        ("{{body.x", "1:1 invalid template syntax: this `{{` is not closed by `}}`"),
        (
            "{{#each body.list}}{{body.name}}{{/each}}",
            "1:20 \"body.name\" means a field of the current value inside this block: write \"@root.body.name\" for the webhook's",
        ),
        (
            "{{#if body.x}}{{/unless}}",
            "helper \"if\" was opened, but \"unless\" is closing: close each block with the name that opened it",
        ),
        ("{{#if body.x}}{{nam}}{{/if}}", "1:15 unknown name \"nam\""),
    ] {
        let error = try_render(template).expect_err(template);
        assert!(error.contains(expected), "{template}: {error}");
    }
}

#[test]
fn a_helper_that_cannot_use_its_argument_fails_the_render() {
    assert_eq!(try_render("{{date body.name}}"), Err("date: expected a time, found \"Grüße\"".to_owned()));
    assert_eq!(
        try_render("{{bytes body.name}}"),
        Err("bytes: expected a number of bytes, found \"Grüße\"".to_owned())
    );
}

#[test]
fn output_is_bounded() {
    let loops = "{{#each @root.body.list}}".repeat(11) + "x" + &"{{/each}}".repeat(11);
    assert_eq!(render(&loops).len(), OUTPUT_LIMIT);
}

#[test]
fn the_part_of_the_body_that_a_template_looks_at_is_known() {
    let reads = |text: &str| {
        let tables = tables();
        let mut vocabulary = vocabulary(&tables);
        Template::parse(text, &mut vocabulary).unwrap();
        vocabulary.reads
    };
    let part = |paths: &[&str]| {
        let mut part = Part::default();
        paths.iter().for_each(|path| part.add(path.split('.').filter(|name| !name.is_empty())));
        part
    };
    let cases: [(&str, &[&str]); 14] = [
        ("plain", &[]),
        ("{{headers.x}} {{let.a}}", &[]),
        ("{{body.a.b}} {{upper body.c}}", &["a.b", "c"]),
        ("{{body.list.0.name}}", &["list"]),
        ("{{body.[odd key].x}}", &[""]),
        ("{{body.a.[odd key].x}}", &["a"]),
        ("{{#each body.list}}{{this}} {{name}} {{@index}} {{../x}}{{/each}}", &["list"]),
        ("{{#each body.list}}{{@root.body.a}}{{/each}}", &["list", "a"]),
        ("{{#each body.list as |one|}}{{one.x}}{{/each}}", &["list"]),
        ("{{#if (eq body.a.b 1)}}{{body.c}}{{else}}{{body.d}}{{/if}}", &["a.b", "c", "d"]),
        ("{{jsonpath '$.a.b[*].c'}} {{jsonpath '$..x' body.d}}", &[""]),
        ("{{lookup body 'a'}}", &[""]),
        ("{{body}}", &[""]),
        ("{{#each body.list}}{{json @root}}{{/each}}", &[""]),
    ];
    for (text, paths) in cases {
        assert_eq!(reads(text), part(paths), "{text}");
    }
}
