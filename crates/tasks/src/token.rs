//! Checks a JSON Web Token with a symmetric key, as Envoy's filter `jwt_authn` does.

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use sha2::Sha256;

/// The issuer of valid tokens.
const ISSUER: &str = "hoptax";
/// Tolerance of the expiry, seconds: the default of `jwt_authn`.
const CLOCK_SKEW_S: u64 = 60;
/// The header of a signed token.
const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// The key that signs the tokens of a study. It protects nothing.
static KEY: LazyLock<Key> = LazyLock::new(|| Key::new(b"hoptax-test-key-of-32-bytes-----"));

/// A symmetric key of tokens with the algorithm HS256: the keyed hash before the message. The two blocks that depend on the key alone
/// are hashed once.
pub struct Key(Hmac<Sha256>);

#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    alg: &'a str,
}

#[derive(Deserialize)]
struct Claims<'a> {
    #[serde(borrow)]
    iss: &'a str,
    /// Expiry, seconds since 1970.
    exp: u64,
}

impl Key {
    /// The key with these bytes, of any number.
    pub fn new(bytes: &[u8]) -> Self {
        Self(keyed(bytes))
    }

    /// The token with these claims, a JSON object.
    pub fn sign(&self, claims: &[u8]) -> String {
        let message =
            [BASE64_URL_SAFE_NO_PAD.encode(HEADER), BASE64_URL_SAFE_NO_PAD.encode(claims)].join(".");
        let signature = self.0.clone().chain_update(&message).finalize().into_bytes();
        format!("{message}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }

    /// The claims of a token that was signed with this key and states the algorithm HS256, as JSON; None for others.
    pub fn claims(&self, token: &[u8]) -> Option<Vec<u8>> {
        let mut dots = token.iter().enumerate().filter(|(_, byte)| **byte == b'.').map(|(index, _)| index);
        let (first, second) = (dots.next()?, dots.next()?);
        let decoded = |part: Option<&[u8]>| BASE64_URL_SAFE_NO_PAD.decode(part?).ok();
        let signature = decoded(token.get(second + 1..))?;
        // `verify_slice` takes the same time for every wrong signature.
        self.0.clone().chain_update(token.get(..second)?).verify_slice(&signature).ok()?;
        let (header, claims) = (decoded(token.get(..first))?, decoded(token.get(first + 1..second))?);
        let header: Header<'_> = serde_json::from_slice(&header).ok()?;
        (header.alg == "HS256").then_some(claims)
    }
}

fn keyed(bytes: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(bytes).expect("a key of HMAC may have any length")
}

/// Returns true if a token has the algorithm HS256, a correct signature, the issuer `hoptax`, and has not expired by `now_s`, in
/// seconds since 1970.
pub fn is_valid_token(token: &[u8], now_s: u64) -> bool {
    let is_valid =
        |claims: Claims<'_>| claims.iss == ISSUER && claims.exp.saturating_add(CLOCK_SKEW_S) > now_s;
    KEY.claims(token).is_some_and(|claims| serde_json::from_slice(&claims).is_ok_and(is_valid))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CLAIMS: &str = r#"{"iss":"hoptax","sub":"load","exp":4102444799}"#;
    const NOW_S: u64 = 1_800_000_000;

    fn signed(header: &str, claims: &str) -> String {
        let parts = [header, claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part)).join(".");
        let signature = KEY.0.clone().chain_update(&parts).finalize().into_bytes();
        format!("{parts}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }

    fn is_valid(token: &str) -> bool {
        is_valid_token(token.as_bytes(), NOW_S)
    }

    /// The token was signed with OpenSSL's HMAC, not with this crate.
    #[test]
    fn the_token_of_the_catalogue_is_valid() {
        let token = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJob3B0YXgiLCJzdWIiOiJsb2FkIiwiZXhwIjo0MTAyNDQ0Nzk5fQ.encC7ClXmSST89th7rE38PHfXfSMHmoKOJ7fsbHKTuQ";
        assert!(is_valid(token));
        assert_eq!(KEY.sign(CLAIMS.as_bytes()), token);
    }

    #[test]
    fn a_token_with_one_fault_is_refused() {
        let claims = |from: &str, to: &str| signed(HEADER, &CLAIMS.replace(from, to));
        for token in [
            String::new(),
            "..".to_owned(),
            signed(HEADER, CLAIMS) + ".",
            signed(HEADER, CLAIMS).replace('.', ""),
            signed(&HEADER.replace("HS256", "none"), CLAIMS),
            claims("hoptax", "other"),
            claims("4102444799", "1700000000"),
            claims("4102444799", "\"never\""),
            claims("exp", "nbf"),
        ] {
            assert!(!is_valid(&token), "{token}");
        }
    }

    #[test]
    fn a_token_is_valid_for_a_minute_after_its_expiry() {
        let token = signed(HEADER, &CLAIMS.replace("4102444799", &NOW_S.to_string()));
        assert!(is_valid_token(token.as_bytes(), NOW_S + 59));
        assert!(!is_valid_token(token.as_bytes(), NOW_S + 60));
    }

    proptest! {
        #[test]
        fn no_changed_byte_is_accepted(place in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut token = signed(HEADER, CLAIMS).into_bytes();
            let place = place.index(token.len());
            prop_assume!(token[place] != byte);
            token[place] = byte;
            prop_assert!(!is_valid_token(&token, NOW_S));
        }
    }
}
