//! `hookbell healthcheck`: for images without a shell or curl.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::reach;

const TIMEOUT: Duration = Duration::from_secs(3);

/// Flags of `healthcheck`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The admin listener of the gateway
    #[arg(long, env = "HOOKBELL_ADMIN", value_name = "ADDR", default_value = "127.0.0.1:9090")]
    admin: SocketAddr,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let address = reach::local(arguments.admin);
    let status = ask(address).with_context(|| format!("no answer from the admin listener at {address}"))?;
    if status != "200" {
        bail!("the gateway at {address} is not ready: it answered {status} to /readyz");
    }
    println!("ready");
    Ok(ExitCode::SUCCESS)
}

/// The status of `/readyz`. Spoken by hand: one request needs no client.
fn ask(address: SocketAddr) -> Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    write!(stream, "GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut head = [0; 12];
    stream.read_exact(&mut head)?;
    Ok(String::from_utf8_lossy(&head[9..]).into_owned())
}
