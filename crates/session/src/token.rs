//! The token that a client presents to a server or an agent, and its comparison in constant time.

mod file;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use subtle::ConstantTimeEq;

/// Number of random bytes in a generated token.
const RANDOM_BYTES: usize = 32;
/// Minimum length of a token from somebody else, in characters. A shorter one could be guessed over the network.
const SHORTEST: usize = 16;

/// A secret that clients must present: to a server as `Authorization: Bearer TOKEN`, or as the password of `Basic`, which browsers prompt
/// for; to an agent as plain text.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A new token from the system's random number generator.
    pub fn generated() -> Self {
        Self(URL_SAFE_NO_PAD.encode(rand::random::<[u8; RANDOM_BYTES]>()))
    }

    /// The token in a text, without surrounding white space.
    ///
    /// # Errors
    /// When it is too short, or has characters that a header or a browser's prompt may change. The error is the end of a sentence.
    pub fn of_text(text: &str) -> Result<Self, String> {
        let token = text.trim();
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("has spaces, or characters other than visible ASCII".to_owned());
        }
        if token.len() < SHORTEST {
            return Err(format!("has {} characters, and the minimum is {SHORTEST}", token.len()));
        }
        Ok(Self(token.to_owned()))
    }

    /// The secret itself, to show to its owner.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// True if the value of an `Authorization` header presents this token. The time depends on the length of the value, not on how much of
    /// it is right.
    pub fn is_shown_by(&self, authorization: &str) -> bool {
        let Some((scheme, credentials)) = authorization.split_once(' ') else { return false };
        let credentials = credentials.trim();
        if scheme.eq_ignore_ascii_case("bearer") {
            return self.equals(credentials.as_bytes());
        }
        let pair = STANDARD.decode(credentials).unwrap_or_default();
        // Ignore the user name.
        let password = pair.splitn(2, |byte| *byte == b':').nth(1);
        scheme.eq_ignore_ascii_case("basic") && password.is_some_and(|password| self.equals(password))
    }

    /// True if these bytes equal the token. The time depends only on their number.
    pub fn equals(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_as_a_bearer_or_as_a_password_and_in_no_other_way() {
        let token = Token::of_text("  0123456789abcdef\n").unwrap();
        let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
        for shown in [
            "Bearer 0123456789abcdef".to_owned(),
            "bearer 0123456789abcdef".to_owned(),
            basic("joe:0123456789abcdef"),
            basic(":0123456789abcdef"),
        ] {
            assert!(token.is_shown_by(&shown), "{shown}");
        }
        for other in [
            String::new(),
            "Bearer".to_owned(),
            "Bearer ".to_owned(),
            "Bearer 0123456789abcdeg".to_owned(),
            "Bearer 0123456789abcde".to_owned(),
            "Bearer 0123456789abcdeff".to_owned(),
            "Digest 0123456789abcdef".to_owned(),
            "0123456789abcdef".to_owned(),
            basic("0123456789abcdef"),
            basic("0123456789abcdef:"),
            basic("joe:0123456789abcde"),
            "Basic !".to_owned(),
        ] {
            assert!(!token.is_shown_by(&other), "{other}");
        }
    }

    #[test]
    fn short_and_unclear_tokens_are_refused_and_generated_ones_differ() {
        for text in ["", "0123456789abcde", "0123456789 abcdef", "0123456789abcdé0"] {
            assert!(Token::of_text(text).is_err(), "{text}");
        }
        let [one, other] = [Token::generated(), Token::generated()];
        assert_ne!(one.secret(), other.secret());
        assert!(Token::of_text(one.secret()).is_ok() && one.secret().len() >= 43);
        assert_eq!(format!("{one:?}"), "(not shown)");
    }
}
