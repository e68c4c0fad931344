//! Senders' schemes by name: data, not code per sender.

use std::time::Duration;

use super::signature::{KeyForm, Signature, Timestamp, TimestampPlace};
use super::signed::Signs;
use super::{Algorithm, Encoding, Jws, Secrets, Verifier};
use crate::secret::Secret;

/// A signature in one header.
#[derive(Debug, Clone, Copy)]
struct Preset {
    name: &'static str,
    headers: &'static [&'static str],
    separator: Option<char>,
    prefix: &'static str,
    algorithm: Algorithm,
    encoding: Encoding,
    key: KeyForm,
    signs: &'static str,
    timestamp: Option<PresetTimestamp>,
    ids: &'static [&'static str],
}

#[derive(Debug, Clone, Copy)]
struct PresetTimestamp {
    place: Place,
    millis: bool,
    tolerance: Duration,
    /// What is signed without one.
    absent: Option<&'static str>,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Header(&'static [&'static str]),
    Entry(&'static str),
    Body(&'static str),
}

/// HMAC-SHA256 in hex over the body and nothing else.
const PLAIN: Preset = Preset {
    name: "",
    headers: &[],
    separator: None,
    prefix: "",
    algorithm: Algorithm::Sha256,
    encoding: Encoding::Hex,
    key: KeyForm::Text,
    signs: "{body}",
    timestamp: None,
    ids: &[],
};

const FIVE_MINUTES: Duration = Duration::from_secs(5 * 60);

const fn at(place: Place) -> Option<PresetTimestamp> {
    Some(PresetTimestamp { place, millis: false, tolerance: FIVE_MINUTES, absent: None })
}

const PRESETS: &[Preset] = &[
    // docs.github.com, "Validating webhook deliveries".
    Preset { name: "github", headers: &["x-hub-signature-256"], prefix: "sha256=", ..PLAIN },
    // docs.gitea.com, "Webhooks"; X-Gogs-Signature is the same for older readers.
    Preset { name: "gitea", headers: &["x-gitea-signature", "x-gogs-signature"], ..PLAIN },
    // services/webhook/shared/payloader.go: Gitea's headers go along.
    Preset { name: "forgejo", headers: &["x-forgejo-signature", "x-gitea-signature"], ..PLAIN },
    // github.com/standard-webhooks/standard-webhooks, spec; Svix names the same headers after itself.
    Preset {
        name: "standard-webhooks",
        headers: &["webhook-signature", "svix-signature"],
        separator: Some(' '),
        prefix: "v1,",
        encoding: Encoding::Base64,
        key: KeyForm::Base64,
        signs: "{id}.{timestamp}.{body}",
        timestamp: at(Place::Header(&["webhook-timestamp", "svix-timestamp"])),
        ids: &["webhook-id", "svix-id"],
        ..PLAIN
    },
    // docs.stripe.com, "Verify webhook signatures manually": the whole whsec_… is the key, v0 does not count.
    Preset {
        name: "stripe",
        headers: &["stripe-signature"],
        separator: Some(','),
        prefix: "v1=",
        signs: "{timestamp}.{body}",
        timestamp: at(Place::Entry("t=")),
        ..PLAIN
    },
    // docs.slack.dev, "Verifying requests from Slack".
    Preset {
        name: "slack",
        headers: &["x-slack-signature"],
        prefix: "v0=",
        signs: "v0:{timestamp}:{body}",
        timestamp: at(Place::Header(&["x-slack-request-timestamp"])),
        ..PLAIN
    },
    // docs.sentry.io, "Webhooks": the timestamp is not signed.
    Preset { name: "sentry", headers: &["sentry-hook-signature", "sentry-app-signature"], ..PLAIN },
    // grafana.com/docs, "Webhook notifier": HMAC signature, with or without a timestamp header.
    Preset {
        name: "grafana",
        headers: &["x-grafana-alerting-signature"],
        signs: "{timestamp}:{body}",
        timestamp: Some(PresetTimestamp {
            place: Place::Header(&["x-grafana-alerting-timestamp"]),
            millis: false,
            tolerance: FIVE_MINUTES,
            absent: Some("{body}"),
        }),
        ..PLAIN
    },
    // shopify.dev, "Verify webhooks".
    Preset { name: "shopify", headers: &["x-shopify-hmac-sha256"], encoding: Encoding::Base64, ..PLAIN },
    // support.atlassian.com, "Secure webhooks".
    Preset { name: "bitbucket", headers: &["x-hub-signature"], prefix: "sha256=", ..PLAIN },
    // linear.app/developers/webhooks: the timestamp is in the body, in milliseconds.
    Preset {
        name: "linear",
        headers: &["linear-signature"],
        timestamp: Some(PresetTimestamp {
            place: Place::Body("/webhookTimestamp"),
            millis: true,
            tolerance: Duration::from_secs(60),
            absent: None,
        }),
        ..PLAIN
    },
    // circleci.com/docs, "Outbound webhooks".
    Preset {
        name: "circleci",
        headers: &["circleci-signature"],
        separator: Some(','),
        prefix: "v1=",
        ..PLAIN
    },
    // vercel.com/docs, "Securing webhooks".
    Preset { name: "vercel", headers: &["x-vercel-signature"], algorithm: Algorithm::Sha1, ..PLAIN },
];

/// Why secrets do not make a scheme.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidScheme {
    /// There is no scheme of this name.
    #[error("unknown scheme {0:?}")]
    Unknown(String),
    /// A secret has not the form that the scheme's keys have.
    #[error("a secret of scheme {0:?} must be base64, as whsec_…")]
    Key(&'static str),
}

/// The verifier of the scheme called `name`.
///
/// # Errors
/// [`InvalidScheme`].
pub fn scheme(name: &str, secrets: Secrets) -> Result<Verifier, InvalidScheme> {
    match name {
        "gitlab" => gitlab(&secrets),
        // docs.netlify.com, "Deploy notifications": a JSON Web Signature whose claims hold the body's hash.
        "netlify" => {
            let (header, issuer) = ("x-webhook-signature".to_owned(), Some("netlify".to_owned()));
            Ok(Verifier::Jws(Jws { header, issuer, secrets }))
        }
        _ => signature(name, secrets).map(Verifier::Signature),
    }
}

/// All names, for suggestions.
pub fn scheme_names() -> impl Iterator<Item = &'static str> + Clone {
    PRESETS.iter().map(|preset| preset.name).chain(["gitlab", "netlify"])
}

fn signature(name: &str, secrets: Secrets) -> Result<Signature, InvalidScheme> {
    let preset = PRESETS.iter().find(|preset| preset.name == name);
    let preset = preset.ok_or_else(|| InvalidScheme::Unknown(name.to_owned()))?;
    if secrets.iter().any(|secret| preset.key.of(secret).is_none()) {
        return Err(InvalidScheme::Key(preset.name));
    }
    Ok(preset.with(secrets))
}

/// docs.gitlab.com, "Webhooks": a secret token in clear, or a signing token (`whsec_…`, since 2026) by which GitLab signs as
/// Standard Webhooks do. Each secret is taken for what it looks like.
fn gitlab(secrets: &Secrets) -> Result<Verifier, InvalidScheme> {
    let (signing, tokens): (Vec<Secret>, Vec<Secret>) =
        secrets.iter().cloned().partition(|secret| secret.expose().starts_with("whsec_"));
    let mut ways = Vec::new();
    if let Ok(signing) = Secrets::new(signing) {
        ways.push(Verifier::Signature(signature("standard-webhooks", signing)?));
    }
    if let Ok(secrets) = Secrets::new(tokens) {
        ways.push(Verifier::HeaderToken { header: "x-gitlab-token".to_owned(), secrets });
    }
    Ok(Verifier::Any(ways))
}

impl Preset {
    fn with(&self, secrets: Secrets) -> Signature {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let signs = |text: &str| Signs::parse(text).unwrap_or_else(|_| Signs::body());
        let timestamp = self.timestamp.map(|timestamp| Timestamp {
            place: match timestamp.place {
                Place::Header(names) => TimestampPlace::Header(owned(names)),
                Place::Entry(prefix) => TimestampPlace::Entry(prefix.to_owned()),
                Place::Body(pointer) => TimestampPlace::Body(pointer.to_owned()),
            },
            millis: timestamp.millis,
            tolerance: timestamp.tolerance,
            absent: timestamp.absent.map(signs),
        });
        Signature {
            headers: owned(self.headers),
            separator: self.separator,
            prefix: self.prefix.to_owned(),
            algorithm: self.algorithm,
            encoding: self.encoding,
            key: self.key,
            signs: signs(self.signs),
            timestamp,
            ids: owned(self.ids),
            base: None,
            secrets,
        }
    }
}
