//! The commands a person types: whole outputs and exit codes.

mod serve;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::support::{Scene, samples};

/// What a command printed and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

pub(super) fn ran(code: i32, stdout: &str, stderr: &str) -> Ran {
    Ran { code: Some(code), stdout: stdout.to_owned(), stderr: stderr.to_owned() }
}

/// Runs the program at the repository's root with nothing but these variables.
pub(super) fn run(words: &[&str], variables: &[(&str, &str)], input: &str) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hookbell"));
    command.args(words).current_dir(samples::root()).env_clear().envs(variables.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("to start");
    // One that needs no input may be gone by now.
    let _ = child.stdin.take().expect("stdin").write_all(input.as_bytes());
    child.wait_with_output().expect("to end").into()
}

/// A folder with one rules file.
pub(super) fn rules(yaml: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.yaml"), yaml).expect("a file");
    folder
}

pub(super) const GOOD: &str = "\
sources:
  a:
    path: /a/{key}
    verify: { path_secret: { segment: key, secrets: [{ env: A_SECRET }] } }
    defaults: { topic: t }
    rules:
      - name: hello
        when: { $.hello: true }
        publish: { title: Hi, message: \"{{body.x}}\" }
";

#[test]
fn check_says_what_is_on_and_what_turns_the_rest_on() {
    let folder = rules(GOOD);
    let path = folder.path().to_str().expect("text");
    let off = "ok: 0 sources with 0 rules on, 1 off\n  a is off: set A_SECRET to turn it on\n";
    assert_eq!(run(&["check", path], &[], ""), ran(0, off, ""));
    assert_eq!(
        run(&["check", path], &[("A_SECRET", "s")], ""),
        ran(0, "ok: 1 source with 1 rule on, 0 off\n", "")
    );
    assert_eq!(run(&["check"], &[("HOOKBELL_RULES", path)], ""), ran(0, off, ""));
}

#[test]
fn check_shows_every_mistake_in_its_place() {
    let folder =
        rules(&GOOD.replace("title: Hi, message: \"{{body.x}}\"", "titel: Hi, message: \"{{bdy.x}}\""));
    let path = folder.path().to_str().expect("text");
    let expected = format!(
        "\
error: unknown key \"titel\"
 --> {path}/a.yaml:9:20
  |
9 |         publish: {{ titel: Hi, message: \"{{{{bdy.x}}}}\" }}
  |                    ^^^^^
  = help: did you mean \"title\"?

error: unknown name \"bdy.x\"
 --> {path}/a.yaml:9:41
  |
9 |         publish: {{ titel: Hi, message: \"{{{{bdy.x}}}}\" }}
  |                                         ^^^^^^^^^
  = help: did you mean \"body.x\"?

2 mistakes found
"
    );
    assert_eq!(run(&["check", path], &[], ""), ran(1, "", &expected));
    assert_eq!(run(&["serve", "--rules", path], &[], ""), ran(1, "", &expected));
    assert_eq!(run(&["explain", "--rules", path, "--source", "a", "-"], &[], "{}"), ran(1, "", &expected));
}

#[test]
fn explain_tells_the_whole_story_of_a_webhook() {
    let folder = rules(GOOD);
    let path = folder.path().to_str().expect("text");
    let matched = format!(
        "source \"a\" (/a/{{key}})\n✓ rule \"hello\" ({path}/a.yaml:7)\n    ✓ $.hello equals true   found true\n    \
         ! message: nothing at body.x\n\n1 notification\n{{\n  \"topic\": \"t\",\n  \"message\": \"Hi\"\n}}\n"
    );
    let by_path = ["explain", "--rules", path, "--path", "/a/s?b=1", "-"];
    let by_name = ["explain", "--rules", path, "--source", "a", "-"];
    let told = run(&by_path, &[("A_SECRET", "s")], "{\"hello\":true}");
    assert_eq!(told, ran(0, &matched, ""));
    assert_eq!(run(&by_name, &[], "{\"hello\":true}"), told);
    let unmatched = format!(
        "source \"a\" (/a/{{key}})\n✗ rule \"hello\" ({path}/a.yaml:7)\n    ✗ $.hello equals true   found 1\n\n\
         no rule matched: nothing is sent\n"
    );
    assert_eq!(run(&by_name, &[], "{\"hello\":1}"), ran(0, &unmatched, ""));
}

#[test]
fn explain_reads_a_sample_with_its_headers() {
    let explain = |name: &str| {
        let (headers, body) =
            (format!("rules/samples/github/{name}.headers"), format!("rules/samples/github/{name}.json"));
        run(&["explain", "--source", "github", "--headers-file", &headers, &body], &[], "")
    };
    let failed = explain("workflow_run_completed_failure");
    assert_eq!((failed.code, failed.stderr.as_str()), (Some(0), ""));
    assert!(
        failed.stdout.contains("\n✓ rule \"workflow run completed\" (rules/github.yaml:"),
        "{}",
        failed.stdout
    );
    assert!(failed.stdout.contains("\n1 notification\n{\n  \"topic\": \"github\",\n"), "{}", failed.stdout);
    let star = explain("star_created");
    assert!(star.stdout.ends_with("\n\nno rule matched: nothing is sent\n"), "{}", star.stdout);
    assert!(!star.stdout.contains('✓') || star.stdout.contains("not ("), "{}", star.stdout);
}

#[test]
fn explain_says_what_it_was_asked_wrongly() {
    let explain = |words: &[&str], input: &str| run(&[&["explain"], words].concat(), &[], input);
    let unknown = explain(&["--source", "githup", "-"], "{}");
    assert_eq!(unknown, ran(1, "", "error: unknown source \"githup\"; did you mean \"github\"?\n"));
    let json = ["--source", "github", "-H", "Content-Type: application/json", "-"];
    let malformed = "error: malformed body: json ends too early at line 1 column 1\n";
    let answer = explain(&json, "{");
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(1), ""));
    assert!(answer.stderr.ends_with(malformed), "{}", answer.stderr);
    let nowhere = "error: no source that is on has the path \"/x\"; name one with --source instead\n";
    assert_eq!(explain(&["--path", "/x", "-"], "{}"), ran(1, "", nowhere));
    let header = "error: invalid header \"bad\"; write it like 'X-GitHub-Event: push'\n";
    assert_eq!(explain(&["--source", "github", "-H", "bad", "-"], "{}"), ran(1, "", header));
    let file = "error: cannot read the body from \"none.json\": No such file or directory (os error 2)\n";
    assert_eq!(explain(&["--source", "github", "none.json"], ""), ran(1, "", file));
    assert_eq!(explain(&["-"], "").code, Some(2));
}

#[test]
fn version_help_and_completions_are_there() {
    assert_eq!(
        run(&["--version"], &[], ""),
        ran(0, concat!("hookbell ", env!("CARGO_PKG_VERSION"), "\n"), "")
    );
    let help = run(&["--help"], &[], "");
    for word in
        ["serve", "demo", "check", "explain", "healthcheck", "completions", "HOOKBELL_RULES", "--max-body"]
    {
        assert!(help.stdout.contains(word), "{word}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell], &[], "");
        assert!(script.code == Some(0) && script.stdout.contains("healthcheck"), "{shell}");
    }
    assert_eq!(run(&["frobnicate"], &[], "").code, Some(2));
}

#[test]
fn healthcheck_asks_the_admin_listener() {
    let scene = Scene::shipped();
    let address = scene.gateway.admin.to_string();
    let everywhere = format!("0.0.0.0:{}", scene.gateway.admin.port());
    assert_eq!(run(&["healthcheck", "--admin", &address], &[], ""), ran(0, "ready\n", ""));
    assert_eq!(run(&["healthcheck"], &[("HOOKBELL_ADMIN", &everywhere)], ""), ran(0, "ready\n", ""));
    let webhooks = scene.gateway.webhooks.to_string();
    let wrong = format!("error: the gateway at {webhooks} is not ready: it answered 404 to /readyz\n");
    assert_eq!(run(&["healthcheck", "--admin", &webhooks], &[], ""), ran(1, "", &wrong));
    scene.gateway.kill();
    let gone =
        format!("error: no answer from the admin listener at {address}: Connection refused (os error 111)\n");
    assert_eq!(run(&["healthcheck", "--admin", &address], &[], ""), ran(1, "", &gone));
}

#[test]
fn the_demo_shows_every_sample_and_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().expect("a folder");
    let demo = run(&["demo"], &[("TMPDIR", temporary.path().to_str().expect("text"))], "");
    assert_eq!((demo.code, demo.stderr.as_str()), (Some(0), ""), "{}", demo.stdout);
    let count: usize = samples::sources_with_samples().iter().map(|source| samples::of(source).len()).sum();
    let last = demo.stdout.lines().last().unwrap_or_default().to_owned();
    assert!(last.starts_with(&format!("{count} webhooks posted: ")), "{last}");
    assert!(last.ends_with(" 0 notifications failed"), "{last}");
    assert_eq!(std::fs::read_dir(temporary.path()).expect("a folder").count(), 0);
    let first = demo.stdout.find("▌").expect("a card");
    assert!(demo.stdout.find("alertmanager ").is_some_and(|heading| heading < first));
}
