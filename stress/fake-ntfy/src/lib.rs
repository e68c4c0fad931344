//! A strict stand-in for an ntfy server: it accepts and refuses what ntfy does, with ntfy's own error codes,
//! remembers what it was sent, and fails on request. For integration tests and for load runs.

use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use serde_json::Value;

mod actions;
mod answer;
mod behaviour;
mod bucket;
mod clock;
mod connection;
mod delay;
mod limiter;
mod limits;
mod millis;
mod publish;
mod request;
mod server;
mod sink;
mod state;

pub use behaviour::{Behaviour, Fault};
pub use limits::Limits;
use state::State;
pub use state::{Options, Stats};

/// A handle on a running server, cheap to clone. The server stops with [`FakeNtfy::stop`] or when the last
/// handle is dropped.
#[derive(Clone)]
pub struct FakeNtfy {
    running: Arc<Running>,
}

struct Running {
    port: u16,
    state: Arc<State>,
    server: ServerHandle,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl FakeNtfy {
    /// Starts a server on 127.0.0.1 in a thread of its own, on a free port unless the options name one.
    ///
    /// # Panics
    /// When the port is taken or the system refuses a thread: a test cannot go on without its server.
    pub fn start(options: Options) -> FakeNtfy {
        let (host, port) = (options.host.clone(), options.port.unwrap_or(0));
        let state = Arc::new(State::new(options));
        let (server, port, thread) = spawn(host, port, Arc::clone(&state));
        FakeNtfy { running: Arc::new(Running { port, state, server, thread: Mutex::new(Some(thread)) }) }
    }

    /// The base URL, `http://127.0.0.1:PORT`: what a gateway is given as its ntfy server.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.running.port)
    }

    /// The port it listens on. Give it to [`Options::port`] to start again at the same address.
    pub fn port(&self) -> u16 {
        self.running.port
    }

    /// Every accepted message as ntfy would store it, in order of arrival.
    pub fn messages(&self) -> Vec<Value> {
        self.running.state.messages()
    }

    /// Forgets the messages, the counts and what was spent of the limits, but not the behaviour and the
    /// connections open now. The virtual clock runs on.
    pub fn clear(&self) {
        self.running.state.clear();
    }

    /// What has been counted so far.
    pub fn stats(&self) -> Stats {
        self.running.state.stats()
    }

    /// Changes how the server behaves, from the next request on. What was spent of the limits stays spent when
    /// they are the same as before; otherwise they and their clock begin anew.
    pub fn set(&self, behaviour: Behaviour) {
        self.running.state.set(behaviour);
    }

    /// The virtual Unix time of the limits in milliseconds; the real one without limits.
    pub fn virtual_now_unix_ms(&self) -> i64 {
        self.running.state.now_unix_ms()
    }

    /// Waits until at least `n` messages have been accepted and returns all of them.
    ///
    /// # Panics
    /// When they do not arrive in time, with what did arrive.
    pub fn wait_for_messages(&self, n: usize, within: Duration) -> Vec<Value> {
        self.running.state.wait_for_messages(n, within)
    }

    /// Closes the listener and every connection, and returns when both are gone. What was received stays readable.
    pub fn stop(&self) {
        self.running.stop();
    }
}

impl Running {
    fn stop(&self) {
        let thread = self.thread.lock().expect("no panic while stopping").take();
        if let Some(thread) = thread {
            drop(self.server.stop(false));
            self.state.connections.close_all();
            // Whoever drops the last handle while unwinding has a better story to tell than ours.
            let _ = thread.join();
            // The server's workers end a moment later than the server itself.
            self.state.connections.close_all_and_wait(Duration::from_secs(2));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(host: String, port: u16, state: Arc<State>) -> (ServerHandle, u16, JoinHandle<()>) {
    let (sender, receiver) = mpsc::channel();
    let run = move || {
        actix_web::rt::System::new().block_on(async move {
            let served = server::serve(&host, port, state);
            let (server, port) = served.unwrap_or_else(|e| panic!("cannot listen on {host}:{port}: {e}"));
            sender.send((server.handle(), port)).expect("start() waits for the handle");
            server.await.expect("the fake server runs until it is stopped");
        });
    };
    let thread =
        std::thread::Builder::new().name("fake-ntfy".into()).spawn(run).expect("a thread for the server");
    let (server, port) = receiver.recv().expect("the fake server starts: its own panic says why not");
    (server, port, thread)
}
