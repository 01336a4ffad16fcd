//! Requirements of a request: nothing, a token, or a token and a count.

use std::path::PathBuf;

use crate::token::Key;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::plan::{Limits, Plan};
use super::refusal::Refusal;
use super::token::Grant;

/// The settings of a data plane.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The key of the tokens, in base64url without padding.
    key: String,
    personal: Option<u32>,
    team: Option<u32>,
    enterprise: Option<u32>,
    /// The beginning of the paths of images.
    #[serde(default = "images")]
    images: String,
    #[serde(default = "token_header")]
    token_header: String,
    counts: Option<PathBuf>,
    usage_cluster: Option<String>,
}

fn images() -> String {
    "/images/".to_owned()
}

fn token_header() -> String {
    "authorization".to_owned()
}

/// The rules of a data plane, from its settings.
pub struct Rules {
    key: Key,
    limits: Limits,
    images: String,
    /// The name of the header with the token.
    pub token_header: String,
    /// The file with the counts of a dynamic module.
    pub counts: Option<PathBuf>,
    /// The name of the cluster that a WebAssembly filter asks for the pulls of an account that it has no count of.
    pub usage_cluster: Option<String>,
}

/// Decision about a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It continues.
    Pass,
    /// It is a pull, to be counted.
    Count(Grant),
    /// It is answered.
    Refuse(Refusal),
}

impl Rules {
    /// The rules of an application with this key: the published plans.
    pub fn with_key(key: Key) -> Self {
        Self {
            key,
            limits: Limits::default(),
            images: images(),
            token_header: token_header(),
            counts: None,
            usage_cluster: None,
        }
    }

    /// Parses settings: a JSON object with the `key` of the tokens in base64url without padding, and optionally the limits `personal`,
    /// `team` and `enterprise`, the beginning of the paths of `images`, the `token_header`, and the fields `counts` and `usage_cluster`
    /// of [`Rules`].
    ///
    /// # Errors
    /// The invalid setting, with its place.
    pub fn read(settings: &str) -> Result<Self, String> {
        let settings: Settings = serde_json::from_str(settings)
            .map_err(|error| format!("the settings of the plans are invalid: {error}"))?;
        let Settings { key, personal, team, enterprise, images, token_header, counts, usage_cluster } =
            settings;
        let usual = Limits::default();
        let limits = Limits {
            personal: personal.unwrap_or(usual.personal),
            team: team.unwrap_or(usual.team),
            enterprise: enterprise.unwrap_or(usual.enterprise),
        };
        let key = BASE64_URL_SAFE_NO_PAD
            .decode(key)
            .map_err(|error| format!("the `key` of the plans is not base64url without padding: {error}"))?;
        Ok(Self { key: Key::new(&key), limits, images, token_header, counts, usage_cluster })
    }

    /// Pulls per minute of a plan.
    pub fn limit(&self, plan: Plan) -> u32 {
        self.limits.pulls_per_minute(plan)
    }

    /// A token for a grant, valid from `now_s`, seconds since 1970, for [`TOKEN_LIFETIME_S`](super::token::TOKEN_LIFETIME_S).
    pub fn token(&self, grant: Grant, now_s: u64) -> String {
        grant.token(&self.key, now_s)
    }

    /// Returns the grant of the token in a header's value at `now_s`, with or without `Bearer` before it.
    pub fn grant(&self, header: Option<&[u8]>, now_s: u64) -> Option<Grant> {
        let value = header?;
        let scheme = value.get(..7).filter(|start| start.eq_ignore_ascii_case(b"bearer "));
        let token = if scheme.is_some() { &value[7..] } else { value };
        Grant::read(token.trim_ascii(), &self.key, now_s)
    }

    /// Decides about a request from the bytes of its method, of its path with the query, and of the header with the token.
    ///
    /// Everything below the path of images needs a token. `GET` and `HEAD` there are pulls. The path is compared as it was sent:
    /// the application has no other path that leads to an image, so a spelling that does not begin with it finds none.
    pub fn judge(&self, method: &[u8], path: &[u8], header: Option<&[u8]>, now_s: u64) -> Verdict {
        if !path.starts_with(self.images.as_bytes()) {
            return Verdict::Pass;
        }
        match self.grant(header, now_s) {
            None => Verdict::Refuse(Refusal::unauthorized()),
            Some(grant) if matches!(method, b"GET" | b"HEAD") => Verdict::Count(grant),
            Some(_) => Verdict::Pass,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const NOW_S: u64 = 1_800_000_000;
    const GRANT: Grant = Grant { account: 7, plan: Plan::Team };

    fn rules() -> Rules {
        Rules::with_key(Key::new(b"a key of a test"))
    }

    fn token() -> String {
        rules().token(GRANT, NOW_S)
    }

    fn judge(method: &str, path: &str, header: Option<&str>) -> Verdict {
        rules().judge(method.as_bytes(), path.as_bytes(), header.map(str::as_bytes), NOW_S)
    }

    #[test]
    fn settings_change_the_defaults() {
        let settings = r#"{"key": "YQ", "team": 7, "images": "/", "token_header": "x-token", "counts": "/a b/counts",
            "usage_cluster": "app"}"#;
        let rules = Rules::read(settings).unwrap();
        assert_eq!(Plan::ALL.map(|plan| rules.limit(plan)), [10, 7, 1000]);
        assert_eq!((rules.images.as_str(), rules.token_header.as_str()), ("/", "x-token"));
        assert_eq!(rules.counts, Some("/a b/counts".into()));
        assert_eq!(rules.usage_cluster.as_deref(), Some("app"));
        let token = GRANT.token(&Key::new(b"a"), NOW_S);
        assert_eq!(rules.grant(Some(token.as_bytes()), NOW_S), Some(GRANT));
    }

    #[test]
    fn invalid_settings_are_rejected_with_the_reason() {
        for (settings, reason) in [
            ("", "EOF"),
            ("{}", "`key`"),
            (r#"{"key": "Y"}"#, "base64url"),
            (r#"{"key": "YQ", "team": -1}"#, "-1"),
            (r#"{"key": "YQ", "plan": "team"}"#, "`plan`"),
        ] {
            let error = Rules::read(settings).err().unwrap();
            assert!(error.contains(reason), "{settings}: {error}");
        }
    }

    #[test]
    fn images_need_a_token_and_pulls_are_counted() {
        let token = token();
        let bearer = format!("Bearer {token}");
        for header in [&token, &bearer, &bearer.replace("Bearer", "bearer")] {
            assert_eq!(judge("GET", "/images/a", Some(header)), Verdict::Count(GRANT));
            assert_eq!(judge("HEAD", "/images/a?b", Some(header)), Verdict::Count(GRANT));
            assert_eq!(judge("PUT", "/images/a", Some(header)), Verdict::Pass);
        }
        for header in [None, Some(""), Some("Bearer"), Some("Bearer "), Some("Basic YTpi")] {
            for method in ["GET", "PUT", "DELETE"] {
                let refused = Verdict::Refuse(Refusal::unauthorized());
                assert_eq!(judge(method, "/images/a", header), refused, "{header:?}");
            }
        }
        for path in ["/", "/images", "/login", "/account"] {
            assert_eq!(judge("GET", path, None), Verdict::Pass, "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic_or_are_admitted(
            method in vec(any::<u8>(), 0..8),
            path in vec(any::<u8>(), 0..40),
            header in proptest::option::of(vec(any::<u8>(), 0..200)),
        ) {
            let path = [b"/images/", path.as_slice()].concat();
            let verdict = rules().judge(&method, &path, header.as_deref(), NOW_S);
            prop_assert_eq!(verdict, Verdict::Refuse(Refusal::unauthorized()));
        }

        /// Mutations of a valid token reach further into its parser than random bytes.
        #[test]
        fn no_mutation_of_a_token_panics_or_is_admitted(
            cut in any::<prop::sample::Index>(),
            insert in vec(any::<u8>(), 0..5),
            skip in 0..5_usize,
        ) {
            let token = token().into_bytes();
            let cut = cut.index(token.len());
            let mutated = [&token[..cut], &insert, token.get(cut + skip..).unwrap_or_default()].concat();
            prop_assume!(mutated.trim_ascii() != token.as_slice());
            let verdict = rules().judge(b"GET", b"/images/a", Some(&mutated), NOW_S);
            prop_assert_eq!(verdict, Verdict::Refuse(Refusal::unauthorized()));
        }
    }
}
