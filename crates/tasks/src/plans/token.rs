//! Tokens of the image registry: JSON Web Tokens with the account and its plan, signed by the application.

use crate::token::Key;
use serde::Deserialize;

use super::plan::Plan;

/// Lifetime of a token, seconds. An account that changes its plan keeps the old plan for at most this long with tokens that it was
/// given before. It is short because nobody can revoke a token: the data plane only looks at its signature and its expiry.
pub const TOKEN_LIFETIME_S: u64 = 300;

/// The issuer of valid tokens.
const ISSUER: &str = "image-registry";

/// Grant of a token: an account and its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The account, by its number.
    pub account: u64,
    /// Its plan when the token was issued.
    pub plan: Plan,
}

#[derive(Deserialize)]
struct Claims<'a> {
    iss: &'a str,
    /// The account. It is a string in every token (RFC 7519, section 4.1.2).
    sub: &'a str,
    plan: &'a str,
    /// Expiry, seconds since 1970.
    exp: u64,
}

impl Grant {
    /// A token that grants this from `now_s`, seconds since 1970, for [`TOKEN_LIFETIME_S`].
    pub fn token(self, key: &Key, now_s: u64) -> String {
        let Self { account, plan } = self;
        let (plan, expiry_s) = (plan.name(), now_s.saturating_add(TOKEN_LIFETIME_S));
        let claims = format!(r#"{{"iss":"{ISSUER}","sub":"{account}","plan":"{plan}","exp":{expiry_s}}}"#);
        key.sign(claims.as_bytes())
    }

    /// Returns the grant of a token at `now_s`, seconds since 1970; None if the token is not signed with this key, has expired, or is
    /// not of the registry.
    pub fn read(token: &[u8], key: &Key, now_s: u64) -> Option<Self> {
        let claims = key.claims(token)?;
        let claims: Claims<'_> = serde_json::from_slice(&claims).ok()?;
        let is_valid = claims.iss == ISSUER && claims.exp > now_s;
        let grant = || Some(Self { account: claims.sub.parse().ok()?, plan: Plan::read(claims.plan)? });
        is_valid.then(grant)?
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    use proptest::prelude::*;

    use super::*;

    const NOW_S: u64 = 1_800_000_000;

    fn key() -> Key {
        Key::new(b"a key of a test")
    }

    fn grant() -> impl Strategy<Value = Grant> {
        (any::<u64>(), prop::sample::select(&Plan::ALL[..]))
            .prop_map(|(account, plan)| Grant { account, plan })
    }

    proptest! {
        #[test]
        fn a_token_grants_what_was_signed_until_it_expires(grant in grant()) {
            let token = grant.token(&key(), NOW_S);
            let at = |now_s| Grant::read(token.as_bytes(), &key(), now_s);
            prop_assert_eq!(at(NOW_S), Some(grant));
            prop_assert_eq!(at(NOW_S + TOKEN_LIFETIME_S - 1), Some(grant));
            prop_assert_eq!(at(NOW_S + TOKEN_LIFETIME_S), None);
        }

        #[test]
        fn no_changed_byte_is_accepted(grant in grant(), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut token = grant.token(&key(), NOW_S).into_bytes();
            let place = place.index(token.len());
            prop_assume!(token[place] != byte);
            token[place] = byte;
            prop_assert_eq!(Grant::read(&token, &key(), NOW_S), None);
        }
    }

    #[test]
    fn a_token_with_one_fault_grants_nothing() {
        let valid = r#"{"iss":"image-registry","sub":"7","plan":"team","exp":1800000001}"#;
        let read = |claims: &str| Grant::read(key().sign(claims.as_bytes()).as_bytes(), &key(), NOW_S);
        assert_eq!(read(valid), Some(Grant { account: 7, plan: Plan::Team }));
        for (from, to) in [
            ("image-registry", "hoptax"),
            (r#""7""#, "7"),
            (r#""7""#, r#""-7""#),
            ("team", "unlimited"),
            ("1800000001", "1800000000"),
            ("1800000001", "null"),
            ("exp", "nbf"),
        ] {
            assert_eq!(read(&valid.replace(from, to)), None, "{to}");
        }
        let another = Key::new(b"another key").sign(valid.as_bytes());
        assert_eq!(Grant::read(another.as_bytes(), &key(), NOW_S), None);
    }

    #[test]
    fn a_token_that_claims_no_algorithm_grants_nothing() {
        let encoded = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
        let claims = encoded(r#"{"iss":"image-registry","sub":"7","plan":"team","exp":1800000001}"#);
        for algorithm in ["none", "None", "NONE", "HS512", "RS256"] {
            let header = encoded(&format!(r#"{{"alg":"{algorithm}","typ":"JWT"}}"#));
            for signature in [String::new(), encoded("signature")] {
                let token = format!("{header}.{claims}.{signature}");
                assert_eq!(Grant::read(token.as_bytes(), &key(), NOW_S), None, "{token}");
            }
        }
    }
}
