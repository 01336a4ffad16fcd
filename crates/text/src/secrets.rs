//! Says which names look like those of secrets, and finds user information and private keys in texts. The store, given
//! configurations and printed requests mask by the same rules.

pub mod json;

use std::ops::Range;
use std::sync::LazyLock;

/// Parts of names whose values are secret; `_` stands for `_`, `-` or nothing, and case does not matter.
pub const NAMES: [&str; 16] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "authorization",
    "cookie",
    "api_key",
    "access_key",
    "private_key",
    "signing_key",
    "auth_key",
    "license_key",
    "hmac",
    "signature",
    "credential",
];
/// Whole names whose values are secret, written as in [`NAMES`]. As parts they would be in names of other things: `author`, `design`.
pub const WHOLE_NAMES: [&str; 5] = ["auth", "x_auth", "sig", "pwd", "x_honeycomb_team"];
/// The same without the places for `-` and `_`.
static PLAIN_NAMES: LazyLock<Vec<String>> = LazyLock::new(|| NAMES.map(plain).into());
static PLAIN_WHOLE_NAMES: LazyLock<Vec<String>> = LazyLock::new(|| WHOLE_NAMES.map(plain).into());
/// Ends of names that say something of a secret and do not hold it, without `-` and `_`.
const OF_OTHERS: [&str; 3] = ["header", "algorithm", "version"];
/// End of the line that begins a private key in PEM.
const PRIVATE_KEY: &str = "PRIVATE KEY-----";

/// Returns true if the value of a header, a variable, a flag or a field with this name is secret. `-` and `_` are ignored, so that
/// `x-api-key`, `api_key` and `apiKey` are alike.
pub fn is_name(name: &str) -> bool {
    let name = plain(name);
    if OF_OTHERS.iter().any(|end| name.ends_with(end)) {
        return false;
    }
    PLAIN_NAMES.iter().any(|part| name.contains(part)) || PLAIN_WHOLE_NAMES.contains(&name)
}

fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| !matches!(letter, '-' | '_'));
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Returns the ranges of the user information of URLs in a text: the text between `://` and the last `@` of the authority.
pub fn users_of_urls(text: &str) -> Vec<Range<usize>> {
    let authorities = text.match_indices("://").map(|(at, separator)| at + separator.len());
    let user = |start: usize| {
        let rest = text.get(start..)?;
        let authority = rest.split(['/', '?', '#', ' ', '"', '\'', '\n']).next()?;
        authority.rfind('@').filter(|length| *length > 0).map(|length| start..start + length)
    };
    authorities.filter_map(user).collect()
}

/// A text whose JSON Web Tokens have no signatures. Some algorithms sign the same claims differently each time.
pub fn without_signatures(text: &str) -> String {
    let is_of_token = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let mut left = String::new();
    // Between two other characters is a word.
    for piece in text.split_inclusive(|letter| !is_of_token(letter)) {
        let word = piece.trim_end_matches(|letter| !is_of_token(letter));
        let signed = word.rsplit_once('.').filter(|(rest, _)| rest.starts_with("eyJ") && rest.contains('.'));
        left += signed.map_or(word, |(rest, _)| rest);
        left += piece.get(word.len()..).unwrap_or_default();
    }
    left
}

/// Returns true if a text holds a private key.
pub fn has_private_key(text: &str) -> bool {
    text.contains(PRIVATE_KEY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_in_every_spelling() {
        for name in
            ["x-api-key", "apiKey", "API_KEY", "Authorization", "set-cookie", "DB_PASSWORD", "signing-key"]
        {
            assert!(is_name(name), "{name}");
        }
        for name in ["x-auth-key", "licenseKey", "NEW_RELIC_LICENSE_KEY", "hmac_key", "x-hub-signature-256"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["auth", "X-Auth", "sig", "PWD", "x-honeycomb-team"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["accept", "x-key", "host", "x-forwarded-for", "kid"] {
            assert!(!is_name(name), "{name}");
        }
        for name in ["signature_header", "hmacAlgorithm", "token-version"] {
            assert!(!is_name(name), "{name}");
        }
        for name in ["author", "authority", "design", "signal", "ext-authz", "team"] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn tokens_with_the_same_claims_are_alike_without_their_signatures() {
        let text = |claims: &str, signature: &str| {
            format!("a: \"Bearer eyJh.{claims}.{signature}\", /b?t=eyJh.{claims}.{signature}&c")
        };
        assert_eq!(without_signatures(&text("eyJi", "s-1_")), without_signatures(&text("eyJi", "other")));
        assert_ne!(without_signatures(&text("eyJi", "s")), without_signatures(&text("eyJj", "s")));
        assert_eq!(without_signatures("host.example.com 1.2.3\n"), "host.example.com 1.2.3\n");
    }

    #[test]
    fn only_the_user_of_a_url_is_found() {
        let text = "redis://joe:pass@word@cache:1/a@b and http://host/x@y, https://ann@host";
        let found: Vec<&str> = users_of_urls(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["joe:pass@word", "ann"]);
        assert!(has_private_key("-----BEGIN EC PRIVATE KEY-----\nMHc") && !has_private_key("PRIVATE"));
    }
}
