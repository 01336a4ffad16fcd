//! User sessions: a random secret in a cookie. The storage has only its hash.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// The lifetime of a session, seconds, unless its owner logs out before.
pub(crate) const LIFETIME_S: u64 = 12 * 60 * 60;

/// The name of the cookie.
const NAME: &str = "session";

/// The secret of a session.
pub(crate) struct Secret(String);

impl Secret {
    /// A new one.
    pub(crate) fn new() -> Self {
        Self(BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>()))
    }

    /// The secret in a request, valid or not; None if the request has no such cookie.
    pub(crate) fn in_request(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        let mut cookies =
            values.flat_map(|value| value.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        cookies.find(|(name, _)| *name == NAME).map(|(_, secret)| Self(secret.to_owned()))
    }

    /// Its hash.
    pub(crate) fn hash(&self) -> Vec<u8> {
        Sha256::digest(self.0.as_bytes()).to_vec()
    }

    /// The value of `Set-Cookie` that stores the secret in a browser. Scripts cannot read it, and other sites cannot send it.
    pub(crate) fn cookie(&self) -> String {
        format!("{NAME}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={LIFETIME_S}", self.0)
    }

    /// The value of `Set-Cookie` that deletes the secret.
    pub(crate) fn no_cookie() -> String {
        format!("{NAME}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_returns_the_secret_among_its_cookies() {
        let secret = Secret::new();
        let sent = secret.cookie().split(';').next().unwrap().to_owned();
        let mut headers = HeaderMap::new();
        assert!(Secret::in_request(&headers).is_none());
        headers.append(COOKIE, format!("a=b; {sent}").parse().unwrap());
        assert_eq!(Secret::in_request(&headers).unwrap().hash(), secret.hash());
        assert_ne!(Secret::new().hash(), secret.hash());
    }
}
