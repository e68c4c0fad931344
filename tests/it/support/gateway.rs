//! The program under test, as a process of its own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use fake_ntfy::FakeNtfy;
use serde_json::Value;
use tempfile::TempDir;

use super::wait::until;

/// The secret of the shipped sources in tests: that of the signature vectors.
pub const SECRET: &str = "test-secret-0123456789";

/// A running gateway. Killed when dropped.
pub struct Gateway {
    child: Child,
    /// Where webhooks go.
    pub webhooks: SocketAddr,
    /// Where operators look.
    pub admin: SocketAddr,
    log: Arc<Mutex<Vec<Value>>>,
    printed: Arc<Mutex<Vec<Value>>>,
    folder: Arc<TempDir>,
    agent: ureq::Agent,
}

/// How to start a gateway.
#[derive(Clone)]
pub struct Plan {
    folder: Arc<TempDir>,
    rules: PathBuf,
    data: PathBuf,
    flags: Vec<String>,
    environment: Vec<(String, String)>,
    wrapper: Vec<String>,
}

/// What a listener answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("no JSON ({e}): {}", self.text))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

impl Gateway {
    /// A gateway on the shipped rules, with both sources on.
    pub fn shipped() -> Plan {
        let mut plan = Plan::new();
        plan.rules = super::samples::shipped_rules();
        plan.env("GITHUB_WEBHOOK_SECRET", SECRET).env("COOLIFY_WEBHOOK_SECRET", SECRET)
    }

    /// A gateway on one rules file of its own, which a test may rewrite: see [`Gateway::rules_folder`].
    pub fn with_rules(yaml: &str) -> Plan {
        let plan = Plan::new();
        std::fs::create_dir(&plan.rules).expect("a folder for rules");
        std::fs::write(plan.rules.join("rules.yaml"), yaml).expect("a rules file");
        plan
    }

    /// Posts a webhook.
    pub fn post(&self, path: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Answer {
        self.request("POST", path, headers, body.as_ref())
    }

    /// Posts a webhook of GitHub's, signed, as a delivery of its own: what a repeat is taken for is another question.
    pub fn post_github(&self, headers: &[(String, String)], body: &[u8]) -> Answer {
        let (signature, delivery) = (sign_github(SECRET, body), uuid::Uuid::now_v7().to_string());
        let mut all: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        all.retain(|(name, _)| !name.eq_ignore_ascii_case("x-github-delivery"));
        all.extend([("X-Hub-Signature-256", signature.as_str()), ("X-GitHub-Delivery", &delivery)]);
        self.post("/hooks/github", &all, body)
    }

    /// Any request to the webhook listener.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.send(self.webhooks, method, path, headers, body)
    }

    /// A request to the admin listener.
    pub fn admin(&self, method: &str, path: &str) -> Answer {
        self.send(self.admin, method, path, &[], b"")
    }

    /// A request with a body to the admin listener.
    pub fn admin_post(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.send(self.admin, "POST", path, headers, body)
    }

    fn send(
        &self,
        to: SocketAddr,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut request = ureq::http::Request::builder().method(method).uri(format!("http://{to}{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body.to_vec()).expect("a request");
        let mut answer = self.agent.run(request).unwrap_or_else(|e| panic!("{method} {path}: {e}"));
        Answer {
            status: answer.status().as_u16(),
            headers: answer
                .headers()
                .iter()
                .map(|(n, v)| (n.to_string(), String::from_utf8_lossy(v.as_bytes()).into_owned()))
                .collect(),
            text: answer.body_mut().read_to_string().expect("a text"),
        }
    }

    /// One sample of `/metrics`, such as `hookbell_rules`, with its labels if it has any.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let page = self.admin("GET", "/metrics").text;
        page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
    }

    /// The folder of rules.
    pub fn rules_folder(&self) -> PathBuf {
        self.folder.path().join("rules")
    }

    /// The folder of the store.
    pub fn data_folder(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// All lines on standard output so far.
    pub fn stdout(&self) -> Vec<String> {
        let printed = self.printed.lock().expect("the lines");
        printed.iter().map(|line| line.as_str().map_or_else(|| line.to_string(), str::to_owned)).collect()
    }

    /// All log lines so far, as JSON.
    pub fn log(&self) -> Vec<Value> {
        self.log.lock().expect("the log").clone()
    }

    /// Waits for a log line whose message contains `text`.
    pub fn wait_for_log(&self, text: &str) -> Value {
        until(&format!("log line with {text:?}"), || {
            self.log().into_iter().find(|line| line["message"].as_str().is_some_and(|m| m.contains(text)))
        })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status();
        assert!(status.is_ok_and(|status| status.success()), "cannot signal the gateway");
    }

    /// Waits for the process to end by itself.
    pub fn wait(mut self) -> ExitStatus {
        until("the gateway's end", || self.child.try_wait().expect("a child"))
    }

    /// Ends the process as a power cut would.
    pub fn kill(mut self) {
        self.child.kill().expect("to kill the gateway");
        self.child.wait().expect("a child");
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            self.log().iter().for_each(|line| eprintln!("gateway: {line}"));
        }
    }
}

impl Plan {
    fn new() -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
        let rules = folder.path().join("rules");
        let data = folder.path().join("data");
        Self { folder, rules, data, flags: Vec::new(), environment: Vec::new(), wrapper: Vec::new() }
    }

    /// Sets a variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Makes this the server `default`.
    pub fn ntfy(self, fake: &FakeNtfy) -> Self {
        let url = fake.url();
        self.env("NTFY_URL", &url)
    }

    /// Adds a flag with its value.
    pub fn flag(mut self, name: &str, value: &str) -> Self {
        self.flags.extend([name.to_owned(), value.to_owned()]);
        self
    }

    /// Another rules folder.
    pub fn rules(mut self, folder: &Path) -> Self {
        self.rules = folder.to_owned();
        self
    }

    /// Another folder for the store.
    pub fn data(mut self, folder: &Path) -> Self {
        self.data = folder.to_owned();
        self
    }

    /// The folder of rules.
    pub fn rules_folder(&self) -> PathBuf {
        self.rules.clone()
    }

    /// The folder of the store.
    pub fn data_folder(&self) -> PathBuf {
        self.data.clone()
    }

    /// Runs the gateway through another program, such as `prlimit --nofile=64`.
    pub fn through(mut self, words: &[&str]) -> Self {
        self.wrapper = words.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    /// The command without having run it.
    pub fn command(&self) -> Command {
        let program = env!("CARGO_BIN_EXE_hookbell");
        let mut words = self.wrapper.iter().map(String::as_str).chain([program]);
        let mut command = Command::new(words.next().expect("a program"));
        command.args(words).env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-format", "json"]);
        command.arg("--rules").arg(&self.rules).arg("--data").arg(&self.data);
        command.args(&self.flags).envs(self.environment.iter().map(|(n, v)| (n, v)));
        command
    }

    /// Starts it and waits until it is ready. Starting the same plan again finds the same store.
    pub fn start(&self) -> Gateway {
        let mut child = self
            .command()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("to start the gateway");
        let log = Arc::new(Mutex::new(Vec::new()));
        collect(child.stderr.take().expect("stderr"), log.clone());
        let printed = Arc::new(Mutex::new(Vec::new()));
        collect(child.stdout.take().expect("stdout"), printed.clone());
        let ready = until("the gateway to be ready", || {
            if let Some(status) = child.try_wait().expect("a child") {
                panic!("the gateway ended with {status}: {:#?}", log.lock().expect("the log"));
            }
            let log = log.lock().expect("the log");
            log.iter().find(|line: &&Value| line["webhooks"].is_string()).cloned()
        });
        let address = |key: &str| ready[key].as_str().expect("an address").parse().expect("an address");
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(super::wait::PATIENCE))
            .allow_non_standard_methods(true);
        Gateway {
            child,
            webhooks: address("webhooks"),
            admin: address("admin"),
            log,
            printed,
            folder: self.folder.clone(),
            agent: config.build().into(),
        }
    }
}

fn collect(stream: impl std::io::Read + Send + 'static, into: Arc<Mutex<Vec<Value>>>) {
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let value = serde_json::from_str(&line).unwrap_or(Value::String(line));
            into.lock().expect("the log").push(value);
        }
    });
}

/// `X-Hub-Signature-256` as GitHub makes it.
pub fn sign_github(secret: &str, body: &[u8]) -> String {
    use hmac::{KeyInit, Mac};
    let mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).expect("a key");
    let digest = mac.chain_update(body).finalize().into_bytes();
    format!("sha256={}", data_encoding::HEXLOWER.encode(&digest))
}
