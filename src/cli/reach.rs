//! Getting at an outbox to change it: through the running gateway, or directly when none runs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::outbox::{Browser, DeadFilter, OpenError, Options, Outbox, Reached, StoreThread};
use crate::server::api::{Ids, MOST_IDS, Met};

/// The file in which a running gateway tells where its admin listener is.
const ADDRESS: &str = "hookbell.admin";
/// How long one request to a gateway may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Tells later commands where the gateway of this store listens for operators. A disk that is full is no reason not to
/// start.
pub(super) fn announce(data: &Path, admin: &[SocketAddr]) {
    let Some(address) = admin.first() else { return };
    let path = data.join(ADDRESS);
    if let Err(error) = std::fs::write(&path, format!("{}\n", local(*address))) {
        let path = path.display();
        tracing::warn!(%path, %error, "the outbox command cannot find this gateway while it runs");
    }
}

/// The address to ask, where the one to listen on means all of them.
pub(super) fn local(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

/// A way to change an outbox.
pub(super) enum Reach {
    /// No gateway runs: the store is ours meanwhile.
    Store(Outbox, StoreThread),
    /// A gateway has the store.
    Gateway(Gateway),
}

/// A running gateway's admin listener.
pub(super) struct Gateway {
    client: awc::Client,
    address: SocketAddr,
}

impl Reach {
    /// Finds the way for the store of `data`. Must run within an actix system.
    pub(super) fn open(data: &Path) -> Result<Self> {
        // What is not there must not be made: a wrong folder would look like an empty outbox.
        Browser::open(data)?;
        // Nothing is pruned: what is kept, and for how long, is the gateway's affair.
        let options = Options { keep: Duration::MAX, keep_size: u64::MAX, ..Options::default() };
        match Outbox::open(data, &options) {
            Ok((outbox, thread)) => Ok(Self::Store(outbox, thread)),
            Err(OpenError::Locked { .. }) => Gateway::of(data).map(Self::Gateway),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a gateway will act on changes by itself.
    pub(super) fn is_running(&self) -> bool {
        matches!(self, Self::Gateway(_))
    }

    pub(super) async fn retry(&self, ids: &[Uuid]) -> Result<Vec<Met>> {
        match self {
            Self::Store(outbox, _) => Ok(met(ids, outbox.revive(ids.to_vec()).await?)),
            Self::Gateway(gateway) => gateway.change("/api/outbox/retry", ids).await,
        }
    }

    pub(super) async fn discard(&self, ids: &[Uuid]) -> Result<Vec<Met>> {
        match self {
            Self::Store(outbox, _) => Ok(met(ids, outbox.discard(ids.to_vec()).await?)),
            Self::Gateway(gateway) => gateway.change("/api/outbox/drop", ids).await,
        }
    }

    /// Revives some of the dead; how many. None is left once it is 0.
    pub(super) async fn retry_dead(&self, filter: &DeadFilter) -> Result<u64> {
        match self {
            Self::Store(outbox, _) => Ok(outbox.revive_dead(filter.clone()).await? as u64),
            Self::Gateway(gateway) => {
                let told = gateway.post("/api/outbox/retry-dead", filter).await?;
                told["retried"].as_u64().context("the gateway did not say how many")
            }
        }
    }

    /// Ends the work, so that everything is on disk.
    pub(super) async fn close(self) {
        if let Self::Store(outbox, thread) = self {
            drop(outbox);
            thread.close().await;
        }
    }
}

fn met(ids: &[Uuid], reached: Vec<Reached>) -> Vec<Met> {
    ids.iter().zip(reached).map(|(id, result)| Met { id: *id, result }).collect()
}

impl Gateway {
    fn of(data: &Path) -> Result<Self> {
        let path: PathBuf = data.join(ADDRESS);
        let told = std::fs::read_to_string(&path).unwrap_or_default();
        let Ok(address) = told.trim().parse() else {
            bail!(
                "another process has the store, and {:?} does not tell where it listens",
                path.display().to_string()
            );
        };
        Ok(Self { client: awc::Client::builder().timeout(TIMEOUT).finish(), address })
    }

    async fn change(&self, path: &str, ids: &[Uuid]) -> Result<Vec<Met>> {
        let told = self.post(path, &Ids { ids: ids.to_vec() }).await?;
        serde_json::from_value(told["results"].clone()).context("the gateway did not say what came of it")
    }

    /// Posts JSON and returns the JSON of a 200.
    pub(super) async fn post(&self, path: &str, body: &impl Serialize) -> Result<Value> {
        let url = format!("http://{}{path}", self.address);
        let sent = self.client.post(&url).send_json(body).await;
        let mut answer =
            sent.map_err(|error| anyhow::anyhow!("no answer from the gateway at {}: {error}", self.address))?;
        let told: Value = answer.json().limit(16 << 20).await.unwrap_or_default();
        if answer.status() != 200 {
            let reason = told["error"].as_str().unwrap_or("no reason given");
            bail!("the gateway at {} answered {}: {reason}", self.address, answer.status());
        }
        Ok(told)
    }
}

/// In pieces that one request can take.
pub(super) fn pieces(ids: &[Uuid]) -> impl Iterator<Item = &[Uuid]> {
    ids.chunks(MOST_IDS)
}
