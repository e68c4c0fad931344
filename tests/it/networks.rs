//! Where senders may be, and whose word on it counts.

use crate::support::Gateway;

const RULES: &str = "
sources:
  office: { path: /office, allow: [192.0.2.0/24, '2001:db8::/32', 198.51.100.7], rules: [{ name: all, publish: { topic: t, message: m } }] }
  home: { path: /home, allow: [127.0.0.1], rules: [{ name: all, publish: { topic: t, message: m } }] }
  hidden: { path: '/hidden/{secret}', allow: [192.0.2.0/24], verify: { path_secret: { segment: secret, secrets: [s3cret] } }, rules: [{ name: all, drop: true }] }
  vouched: { path: /vouched, verify: { client_certificate: { header: X-Client-DN, subjects: [CN=grafana] } }, rules: [{ name: all, publish: { topic: t, message: m } }] }
";

fn statuses(gateway: &Gateway, path: &str, forwarded: &[&str]) -> Vec<u16> {
    let post = |from: &&str| gateway.post(path, &[("X-Forwarded-For", from)], "{}").status;
    forwarded.iter().map(post).collect()
}

#[test]
fn a_source_takes_webhooks_from_its_networks_only_as_a_trusted_proxy_tells_them() {
    let gateway = Gateway::with_rules(RULES).flag("--trusted-proxy", "127.0.0.0/8,::1").start();
    let from =
        ["192.0.2.9", "2001:db8::9", "198.51.100.7", "198.51.100.8", "192.0.2.9, 203.0.113.5", "garbage"];
    assert_eq!(statuses(&gateway, "/office", &from), [200, 200, 200, 403, 403, 403]);
    assert_eq!(
        statuses(&gateway, "/hidden/s3cret", &["192.0.2.9", "203.0.113.5"]),
        [200, 404],
        "hidden is hidden"
    );
    assert_eq!(gateway.post("/home", &[], "{}").status, 200);
    let vouched = |subject: &str| gateway.post("/vouched", &[("X-Client-DN", subject)], "{}").status;
    assert_eq!([vouched("CN=grafana"), vouched("CN=other")], [200, 401]);
}

#[test]
fn without_a_trusted_proxy_nobody_s_word_counts() {
    let gateway = Gateway::with_rules(RULES).start();
    assert_eq!(statuses(&gateway, "/office", &["192.0.2.9"]), [403]);
    assert_eq!(statuses(&gateway, "/home", &["203.0.113.5"]), [200], "the peer itself");
    assert_eq!(gateway.post("/vouched", &[("X-Client-DN", "CN=grafana")], "{}").status, 401);
}
