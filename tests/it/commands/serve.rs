//! What `serve` refuses to start with, and what it does without ntfy.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use fake_ntfy::{Behaviour, FakeNtfy, Options};

use super::{GOOD, Ran, ran, rules, run};
use crate::support::gateway::SECRET;
use crate::support::wait::PATIENCE;
use crate::support::wire::connect;
use crate::support::{Gateway, Scene};

/// Runs `serve` with both listeners on free ports unless the words say otherwise.
fn serve(words: &[&str]) -> Ran {
    let folder = rules(GOOD);
    let data = folder.path().join("data");
    let (path, data) = (folder.path().to_str().expect("text"), data.to_str().expect("text"));
    let mut all = vec!["serve", "--rules", path];
    for (flag, value) in [("--listen", "127.0.0.1:0"), ("--admin", "127.0.0.1:0"), ("--data", data)] {
        if !words.contains(&flag) {
            all.extend([flag, value]);
        }
    }
    all.extend(words);
    run(&all, &[], "")
}

#[test]
fn a_port_in_use_is_an_error() {
    let scene = Scene::shipped();
    let (webhooks, admin) = (scene.gateway.webhooks.to_string(), scene.gateway.admin.to_string());
    let taken = serve(&["--listen", &webhooks]);
    let expected =
        format!("error: cannot listen for webhooks on {webhooks}: Address already in use (os error 98)\n");
    assert_eq!(taken, ran(1, "", &expected));
    let taken = serve(&["--admin", &admin]);
    let expected =
        format!("error: cannot listen for operators on {admin}: Address already in use (os error 98)\n");
    assert_eq!(taken, ran(1, "", &expected));
}

#[test]
fn a_data_folder_that_cannot_be_used_is_an_error() {
    let scene = Scene::shipped();
    let data = scene.gateway.data_folder();
    let data = data.to_str().expect("text");
    let expected = format!(
        "error: another hookbell uses the data directory `{data}`; stop it or choose another with --data\n"
    );
    assert_eq!(serve(&["--data", data]), ran(1, "", &expected));
    let file = tempfile::NamedTempFile::new().expect("a file");
    let file = file.path().to_str().expect("text");
    let expected = format!(
        "error: cannot use the data directory `{file}`; make it writable or choose another with --data: File exists (os error 17)\n"
    );
    assert_eq!(serve(&["--data", file]), ran(1, "", &expected));
}

#[test]
fn a_bad_flag_is_an_error_that_says_what_is_expected() {
    for (flag, value, expected) in [
        ("--max-body", "0", "expected a size such as 512KiB or 1MiB, found \"0\""),
        ("--max-body", "lots", "expected a size such as 512KiB or 1MiB, found \"lots\""),
        ("--keep", "x", "expected a duration such as 10s, 5m or 7d, found \"x\""),
        ("--grace", "soon", "expected a duration such as 10s, 5m or 7d, found \"soon\""),
        ("--workers", "0", "0 is not in 1..=256"),
        ("--max-connections", "0", "0 is not in 1..=4294967295"),
        ("--watch", "always", "[possible values: notify, poll, off]"),
        ("--listen", "localhost", "invalid socket address syntax"),
        ("--admin", "1.2.3.4", "invalid socket address syntax"),
    ] {
        let ran = serve(&[flag, value]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{flag} {value}");
        assert!(ran.stderr.contains(expected), "{flag} {value}: {}", ran.stderr);
    }
}

#[test]
fn without_a_server_a_notification_is_printed() {
    let plan = Gateway::with_rules(
        "sources: { a: { path: /a, rules: [{ name: all, publish: { topic: t, title: Hi, message: 'one {{body.x}}', tags: [x, word], priority: 5, click: 'https://a.example' } }] } }",
    );
    let mut child = plan.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("to start");
    let mut log = BufReader::new(child.stderr.take().expect("stderr")).lines().map_while(Result::ok);
    let ready: serde_json::Value = log
        .find_map(|line| {
            serde_json::from_str(&line).ok().filter(|line: &serde_json::Value| line["webhooks"].is_string())
        })
        .expect("a ready line");
    let address = ready["webhooks"].as_str().and_then(|text| text.parse().ok()).expect("an address");
    let request = "POST /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 7\r\n\r\n{\"x\":1}";
    connect(address).write_all(request.as_bytes()).expect("to write");
    let lines = BufReader::new(child.stdout.take().expect("stdout")).lines().map_while(Result::ok);
    let card: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(card, ["▌ ❌ Hi  t · urgent", "▌ one 1", "▌ tags: word", "▌ → https://a.example"]);
}

#[test]
fn a_stop_ends_well_and_what_waits_arrives_after_the_next_start() {
    let plan = Gateway::shipped();
    for signal in ["TERM", "INT"] {
        let ntfy = FakeNtfy::start(Options::default());
        ntfy.set(Behaviour { status: Some((500, 50001)), ..Behaviour::default() });
        let plan = plan.clone().ntfy(&ntfy);
        let gateway = plan.start();
        let path = format!("/hooks/coolify/{SECRET}");
        assert_eq!(gateway.post(&path, &[], r#"{"event":"test","message":"kept"}"#).status, 200);
        gateway.signal(signal);
        assert_eq!(gateway.wait().code(), Some(0), "{signal}");
        ntfy.set(Behaviour::default());
        let _gateway = plan.start();
        assert_eq!(ntfy.wait_for_messages(1, PATIENCE)[0]["message"], "kept");
    }
}
