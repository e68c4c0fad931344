//! TLS for `https` servers: rustls over ring, with the system's roots.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// The certificates that this system trusts. A system without any is warned about, once here; its
/// `https` servers then fail at each attempt, and `http` servers work.
pub fn system_roots() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let cause = found.errors.first().map(ToString::to_string).unwrap_or_default();
        tracing::warn!(
            cause,
            "this system has no root certificates: https servers cannot be reached; install ca-certificates"
        );
    }
    roots
}

pub(super) fn client_config(roots: RootCertStore) -> Arc<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring supports TLS 1.2 and 1.3, as its feature list in Cargo.toml says")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}
