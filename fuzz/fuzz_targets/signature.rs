//! No header proves anything but the one made with the secret.
#![no_main]

use hookbell::auth::{Claim, Secrets, Verifier, scheme};
use hookbell::secret::Secret;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &[u8])| {
    let (value, body) = input;
    let secrets = || Secrets::new(vec![Secret::new("It's a secret")]).expect("a secret");
    let github = Verifier::Hmac(scheme("github").expect("a preset").with(secrets()));
    for verifier in [github, Verifier::Basic(secrets()), Verifier::Bearer(secrets())] {
        let proof = verifier.prove(body);
        let (name, right) = proof.headers[0].clone();
        let headers = [(name, value.to_owned())];
        let claim = Claim { headers: &headers, query: &[], path: &[], raw: body };
        let same = value.trim().eq_ignore_ascii_case(&right);
        assert!(verifier.verify(&claim).is_err() || same, "{value:?} was believed");
    }
});
