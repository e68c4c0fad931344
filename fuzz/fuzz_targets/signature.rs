//! No header proves anything but the one made with the secret, and no body but the one that was signed.
#![no_main]

use hookbell::auth::{Claim, Secrets, Verifier, scheme, scheme_names};
use hookbell::secret::Secret;
use libfuzzer_sys::fuzz_target;

const NOW_MS: i64 = 1_800_000_000_000;

fn claim<'a>(headers: &'a [(String, String)], raw: &'a [u8]) -> Claim<'a> {
    Claim { headers, query: &[], path: &[], raw, target: "/hooks/x?a=b", now_ms: NOW_MS, through_proxy: false }
}

/// The part of a right header that only the secret can make.
fn core(value: &str) -> String {
    let parts = value.split(|c: char| !c.is_ascii_alphanumeric());
    parts.max_by_key(|part| part.len()).unwrap_or_default().to_ascii_lowercase()
}

fuzz_target!(|input: (u8, u16, &str, &[u8])| {
    let (which, at, value, body) = input;
    let secrets = || Secrets::new(vec![Secret::new("SXQncyBhIHNlY3JldA==")]).expect("a secret");
    let names: Vec<&str> = scheme_names().collect();
    let verifier = match usize::from(which) % (names.len() + 2) {
        0 => Verifier::Basic(secrets()),
        1 => Verifier::Bearer(secrets()),
        n => scheme(names[n - 2], secrets()).expect("a preset"),
    };
    let proof = verifier.prove(&claim(&[], body));
    let right = claim(&proof.headers, body);
    let believed = verifier.verify(&right).is_ok();

    // Any header in place of the right one.
    let mut headers = proof.headers.clone();
    if let Some(last) = headers.last_mut() {
        let core = core(&last.1);
        last.1 = value.to_owned();
        let same = value.to_ascii_lowercase().contains(&core);
        assert!(verifier.verify(&claim(&headers, body)).is_err() || same, "{value:?} was believed");
    }

    // One bit of the body changed.
    let position = usize::from(at);
    if believed && verifier.needs_body() && position / 8 < body.len() {
        let mut changed = body.to_vec();
        changed[position / 8] ^= 1 << (position % 8);
        // GitLab's token in clear covers no body.
        let covered = !proof.headers.iter().any(|(name, _)| name == "x-gitlab-token");
        assert!(verifier.verify(&claim(&proof.headers, &changed)).is_err() || !covered, "another body was believed");
    }
});
