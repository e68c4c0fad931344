//! Who sent a request, when proxies stand between.

use std::net::IpAddr;

use actix_web::HttpRequest;
use ipnet::IpNet;

/// Where a request came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) address: Option<IpAddr>,
    /// Whether a trusted proxy passed it on.
    pub(super) through_proxy: bool,
}

impl Client {
    pub(super) fn of(request: &HttpRequest, proxies: &[IpNet]) -> Self {
        let peer = request.peer_addr().map(|peer| peer.ip().to_canonical());
        let lines = request.headers().get_all("x-forwarded-for");
        let forwarded: Vec<&str> =
            lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(',')).collect();
        Self::told(peer, &forwarded, proxies)
    }

    /// The nearest address that is no trusted proxy: anybody can write what stands further from us.
    fn told(peer: Option<IpAddr>, forwarded: &[&str], proxies: &[IpNet]) -> Self {
        let trusted = |address: &IpAddr| proxies.iter().any(|network| network.contains(address));
        let through_proxy = peer.as_ref().is_some_and(trusted);
        let mut address = peer;
        for hop in forwarded.iter().rev() {
            if !address.as_ref().is_some_and(trusted) {
                break;
            }
            // What is no address ends the chain: the last that is known stands.
            let Some(next) = parse(hop) else { break };
            address = Some(next);
        }
        Self { address, through_proxy }
    }
}

/// An address, perhaps with a port or in brackets.
fn parse(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let socket = || text.parse::<std::net::SocketAddr>().map(|socket| socket.ip()).ok();
    let plain = || text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    socket().or_else(plain).map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::{Client, parse};

    fn told(peer: &str, forwarded: &[&str]) -> (String, bool) {
        let proxies = ["10.0.0.0/8", "::1/128"].map(|network| network.parse().unwrap());
        let client = Client::told(peer.parse().ok(), forwarded, &proxies);
        (client.address.map(|address| address.to_string()).unwrap_or_default(), client.through_proxy)
    }

    #[test]
    fn only_what_trusted_proxies_wrote_counts() {
        let is = |address: &str, through_proxy| (address.to_owned(), through_proxy);
        assert_eq!(told("192.0.2.1", &["198.51.100.7"]), is("192.0.2.1", false));
        assert_eq!(told("10.0.0.1", &["198.51.100.7"]), is("198.51.100.7", true));
        assert_eq!(told("10.0.0.1", &["1.2.3.4", " 198.51.100.7", "10.0.0.9"]), is("198.51.100.7", true));
        assert_eq!(told("10.0.0.1", &["10.0.0.3", "10.0.0.2"]), is("10.0.0.3", true));
        assert_eq!(told("10.0.0.1", &["1.2.3.4", "unknown"]), is("10.0.0.1", true));
        assert_eq!(told("::1", &["2001:db8::7"]), is("2001:db8::7", true));
        assert_eq!(told("10.0.0.1", &[]), is("10.0.0.1", true));
    }

    #[test]
    fn addresses_are_read_with_ports_and_brackets() {
        let read = |text: &str| parse(text).map(|address| address.to_string());
        assert_eq!(read("192.0.2.1:4711").as_deref(), Some("192.0.2.1"));
        assert_eq!(read("[2001:db8::1]:443").as_deref(), Some("2001:db8::1"));
        assert_eq!(read("[2001:db8::1]").as_deref(), Some("2001:db8::1"));
        assert_eq!(read("::ffff:192.0.2.1").as_deref(), Some("192.0.2.1"));
        assert_eq!(read("_hidden"), None);
    }
}
