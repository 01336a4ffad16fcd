//! Finds the secrets in a user's study file, and masks them in every text that the store keeps.
//!
//! Everything else that hoptax writes into a run folder is free of secrets or is not stored: given configurations contain those of a lab,
//! results never contain header values, and logs and certificates are left out ([`crate::store::folder`]). Secrets may be in the study file
//! itself (headers, environment variables, command lines, user information in URLs), and in the texts that repeat it.

use std::collections::BTreeSet;
use std::ops::Range;

use hoptax_text::secrets::{is_name, json, users_of_urls};
use hoptax_text::yaml::write::written;
use hoptax_text::yaml::{Node, Placed};
use serde_json::Value;

/// Minimum length of a secret that is masked wherever it occurs. A shorter secret may be part of words and numbers, so it is masked only
/// where it is a complete JSON string.
const UNMISTAKABLE: usize = 8;
/// Keys whose values are words of hoptax's formats, or names of a study that the formats use as keys. A short secret may equal such a word
/// by chance, and the file would be unreadable without the word.
const KEYS_OF_WORDS: [&str; 16] = [
    "arm",
    "baseline",
    "compared_with",
    "ended_by",
    "format",
    "id",
    "kind",
    "load",
    "loop",
    "name",
    "proxy",
    "severity",
    "shape",
    "side",
    "study",
    "verdict",
];

/// True if a study file contains secrets, so that only its owner should be able to read it. False for a text that is not YAML.
pub(crate) fn has_secrets(study_file: &str) -> bool {
    Secrets::of_study_file(study_file).is_some_and(|secrets| !secrets.0.is_empty())
}

/// The secrets of a run.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Secrets(BTreeSet<String>);

/// Shows only the number of secrets.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

/// A text without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Masked {
    /// The text. Each character of a secret is an `x`.
    pub(crate) text: String,
    /// True if it had secrets.
    pub(crate) had_secrets: bool,
}

impl Secrets {
    /// The secrets in a study file: values of keys such as `authorization`, arguments after flags with such names, and user information in
    /// URLs. None if the text is not YAML.
    pub(crate) fn of_study_file(text: &str) -> Option<Self> {
        let root: Placed = serde_saphyr::from_str(text).ok()?;
        let mut secrets = Self::default();
        secrets.add_node(&root.value, false);
        Some(secrets)
    }

    /// The study file with its secrets masked. None if a secret is written in a form that cannot be found, such as over several lines; the
    /// file must then not be stored.
    pub(crate) fn mask_study_file(&self, text: &str) -> Option<Masked> {
        let mut masked = text.to_owned();
        for secret in self.longest_first() {
            masked = masked.replace(secret, &mask(secret));
            // In a study file that a command generated, secrets may contain escapes.
            let quoted = written(&Value::from(secret.as_str())).text;
            let inner = quoted.trim_end().strip_prefix('"').and_then(|inner| inner.strip_suffix('"'));
            if let Some(inner) = inner {
                masked = masked.replace(inner, &mask(secret));
            }
        }
        let left = Self::of_study_file(&masked)?;
        let is_masked = left.0.iter().all(|secret| secret.chars().all(|letter| letter == 'x'));
        is_masked.then_some(Masked { had_secrets: masked != text, text: masked })
    }

    /// Another text of the run with the secrets masked. JSON stays valid: secrets are masked only in its string values, not in keys.
    pub(crate) fn mask(&self, text: &str) -> Masked {
        let masked = if self.0.is_empty() {
            text.to_owned()
        } else if is_json(text) {
            self.mask_json(text)
        } else {
            self.mask_text(text)
        };
        Masked { had_secrets: masked != text, text: masked }
    }

    /// Masks the secrets in the string values of a JSON text. Everything else stays unchanged byte for byte.
    fn mask_json(&self, json: &str) -> String {
        let mut masked = String::with_capacity(json.len());
        let mut done = 0;
        for (place, key) in strings(json) {
            let quoted = json.get(place.clone()).unwrap_or_default();
            // Most strings contain no secret. A string with escapes must be parsed before the comparison.
            if !quoted.contains('\\') && !self.0.iter().any(|secret| quoted.contains(secret.as_str())) {
                continue;
            }
            let Ok(value) = serde_json::from_str::<String>(quoted) else { continue };
            let is_word = key.is_some_and(|key| KEYS_OF_WORDS.contains(&key));
            let without = if self.0.contains(&value) && !is_word {
                mask(&value)
            } else {
                // The string may itself contain JSON.
                self.mask(&value).text
            };
            if without != value {
                masked += json.get(done..place.start).unwrap_or_default();
                masked += &Value::from(without).to_string();
                done = place.end;
            }
        }
        masked + json.get(done..).unwrap_or_default()
    }

    fn mask_text(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for secret in self.longest_first() {
            let quoted = Value::from(secret.as_str()).to_string();
            masked = masked.replace(&quoted, &format!("\"{}\"", mask(secret)));
            if secret.len() >= UNMISTAKABLE {
                masked = masked.replace(secret, &mask(secret));
                let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
                masked = masked.replace(inner, &mask(secret));
            }
        }
        masked
    }

    /// Longest first, because a secret may contain another one.
    fn longest_first(&self) -> Vec<&String> {
        let mut all: Vec<&String> = self.0.iter().collect();
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        all
    }

    fn add_node(&mut self, node: &Node, is_secret: bool) {
        match node {
            Node::Scalar(value) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                if is_secret && !value.is_null() {
                    self.add(&text);
                }
                self.add_user_of_urls(&text);
                for one in json::secrets(&text).unwrap_or_default() {
                    self.add(&one.value);
                }
            }
            Node::Sequence(items) => {
                let mut follows_secret_flag = false;
                for item in items {
                    self.add_node(&item.value, is_secret || follows_secret_flag);
                    follows_secret_flag = self.add_flag(&item.value);
                }
            }
            Node::Mapping(entries) => {
                for (key, value) in entries {
                    self.add_node(&value.value, is_secret || is_name(&key.value));
                }
            }
        }
    }

    /// Returns true if an argument is a flag and the next argument is its secret value. Adds the value of `--password=VALUE`.
    fn add_flag(&mut self, argument: &Node) -> bool {
        let Node::Scalar(value) = argument else { return false };
        let Some(flag) = value.as_str().filter(|text| text.starts_with('-')) else { return false };
        match flag.split_once('=') {
            Some((name, value)) if is_name(name) => self.add(value),
            Some(_) => {}
            None => return is_name(flag),
        }
        false
    }

    fn add_user_of_urls(&mut self, text: &str) {
        for user in users_of_urls(text) {
            self.add(text.get(user).unwrap_or_default());
        }
    }

    fn add(&mut self, secret: &str) {
        if !secret.is_empty() {
            self.0.insert(secret.to_owned());
        }
    }
}

fn mask(secret: &str) -> String {
    "x".repeat(secret.chars().count())
}

/// True if a text is a JSON object or array. A single number or word counts as plain text.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<Value>(text).is_ok()
}

/// The string values of a JSON text: the range of each, including its quotes, and the key that it belongs to, without quotes.
fn strings(json: &str) -> Vec<(Range<usize>, Option<&str>)> {
    let mut found: Vec<(Range<usize>, Option<&str>)> = Vec::new();
    let (mut begin, mut is_escaped, mut key) = (None, false, None);
    for (at, byte) in json.bytes().enumerate() {
        match (begin, byte) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), b'\\') => is_escaped = true,
            (Some(start), b'"') => {
                let end = at + 1;
                found.push((start..end, key.take()));
                begin = None;
            }
            (None, b'"') => begin = Some(at),
            // The last string was a key.
            (None, b':') => key = found.pop().and_then(|(place, _)| json.get(place.start + 1..place.end - 1)),
            (None, b'{' | b'[' | b',') => key = None,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use hoptax_text::secrets::has_private_key;
    use proptest::prelude::*;

    use super::*;

    const STUDY: &str = r#"name: ours
arms:
  - name: on-mesh
    url: http://joe:hunter2hunter2@127.0.0.1:15001/
    request: {headers: {Authorization: "Bearer abc.def.ghi", accept: text/html}}
  - name: own
    env: {DB_PASSWORD: s3cr3t, LEVEL: debug}
application: {command: [./server, --api-key, k-123456789, --session-token=t-1, --port, "{port}"]}
"#;

    #[test]
    fn secrets_in_json_that_a_study_file_holds_are_masked_whichever_way_they_are_escaped() {
        let study = r#"request: {body: '{"p\u0061ssword": "hunter2-\u0061", "mode": "fast"}'}"#;
        let secrets = Secrets::of_study_file(study).unwrap();
        let text = r#"{"body": "hunter2-a", "mode": "fast"}"#;
        assert_eq!(secrets.mask(text).text, r#"{"body": "xxxxxxxxx", "mode": "fast"}"#);
    }

    #[test]
    fn secrets_of_a_study_file_are_masked_and_all_else_stays() {
        let secrets = Secrets::of_study_file(STUDY).unwrap();
        let masked = secrets.mask_study_file(STUDY).unwrap();
        assert!(masked.had_secrets);
        for secret in ["joe", "hunter2", "abc.def", "s3cr3t", "k-123", "t-1,"] {
            assert!(!masked.text.contains(secret), "{secret}: {}", masked.text);
        }
        for kept in [
            "Authorization: \"xxxxxxxxxxxxxxxxxx\", accept: text/html",
            "LEVEL: debug",
            "--port",
            "@127.0.0.1",
        ] {
            assert!(masked.text.contains(kept), "{kept}: {}", masked.text);
        }
        assert_eq!(masked.text.len(), STUDY.len());
        assert_eq!(format!("{secrets:?}"), "Secrets(5)");
    }

    #[test]
    fn secrets_are_masked_wherever_a_result_repeats_them() {
        let secrets = Secrets::of_study_file(STUDY).unwrap();
        let result = r#"{"environment": {"DB_PASSWORD": "s3cr3t"}, "flags": ["--session-token=t-1"], "n": "k-123456789 b"}"#;
        let masked = secrets.mask(result).text;
        assert!(masked.contains(r#""DB_PASSWORD": "xxxxxx""#) && !masked.contains("k-123"), "{masked}");
        assert_eq!(
            secrets.mask("{\"rate\": 1}"),
            Masked { text: "{\"rate\": 1}".to_owned(), had_secrets: false }
        );
    }

    #[test]
    fn masking_changes_neither_numbers_nor_keys_nor_words_of_the_format() {
        let study = "env: {DB_PASSWORD: \"00000000\", API_KEY: envoy, A_TOKEN: estimate}\n";
        let secrets = Secrets::of_study_file(study).unwrap();
        let result = |key: &str, password: &str| {
            format!(
                r#"{{"proxy":  "envoy", "estimate": 0.30000000000000004, "env": {{"API_KEY": "{key}"}},
                "flags": ["--password={password}", "{key}"], "arm": {{"x": "{key}"}}}}"#
            )
        };
        let masked = secrets.mask(&result("envoy", "00000000"));
        assert_eq!(masked, Masked { text: result("xxxxx", "xxxxxxxx"), had_secrets: true });
        // A file that only looks as if it had a secret stays byte for byte.
        let same = r#"{ "proxy":"envoy" , "estimate":1.00000000 }"#;
        assert_eq!(secrets.mask(same), Masked { text: same.to_owned(), had_secrets: false });
        // Other texts have no numbers that a reader depends on.
        assert_eq!(secrets.mask("a 00000000 b").text, "a xxxxxxxx b");
        assert_eq!(secrets.mask("00000000").text, "xxxxxxxx");
    }

    #[test]
    fn a_file_without_secrets_stays_as_it_was() {
        let text = "name: plain # a comment\narms: [baseline, {function: jwt}]\n";
        let masked = Secrets::of_study_file(text).unwrap().mask_study_file(text).unwrap();
        assert_eq!(masked, Masked { text: text.to_owned(), had_secrets: false });
    }

    #[test]
    fn a_secret_that_is_written_with_escapes_is_masked() {
        let request = serde_json::json!({"headers": {"cookie": "a=\"1\"; b=`{{ c }}`", "accept": "`"}});
        let text = written(&serde_json::json!({"arms": [{"request": request}]})).text;
        assert!(text.contains("\\x60\\x7b"), "{text}");
        let masked = Secrets::of_study_file(&text).unwrap().mask_study_file(&text).unwrap();
        assert!(masked.had_secrets && masked.text.contains("cookie: \"xxxxxxxxxxxxxxxxxx\"\n"), "{masked:?}");
        assert!(masked.text.contains("accept: \"\\x60\""), "{masked:?}");
    }

    #[test]
    fn a_secret_that_cannot_be_found_in_the_text_keeps_the_file_out() {
        let folded = "arms:\n  - request:\n      headers:\n        cookie: >\n          one two\n          three four\n";
        let secrets = Secrets::of_study_file(folded).unwrap();
        assert_eq!(secrets.mask_study_file(folded), None);
        assert_eq!(Secrets::of_study_file("a: [unclosed"), None);
        assert!(has_private_key("-----BEGIN EC PRIVATE KEY-----\nMHc"));
    }

    proptest! {
        /// Whatever the secret is, JSON stays JSON, and no string of it has the secret, nor a string of JSON in a string.
        #[test]
        fn masked_json_is_the_same_but_for_the_secret(secret in "[ -~]{8,20}") {
            let result = |secret: &str| {
                let (nested, flag) = (serde_json::json!({"a": [secret]}).to_string(), format!("--a={secret}"));
                serde_json::json!({"cost": 0.5, "flags": [secret, 1, flag], "nested": nested})
            };
            let masked = Secrets([secret.clone()].into()).mask(&result(&secret).to_string());
            let value: Value = serde_json::from_str(&masked.text).unwrap();
            prop_assert_eq!(value, result(&mask(&secret)));
        }

        /// However a value is quoted, either it is masked or the file is kept out.
        #[test]
        fn no_secret_is_left_in_a_masked_file(secret in "[ -~]{4,40}", style in 0..3) {
            let value = match style {
                0 => serde_json::Value::from(secret.as_str()).to_string(),
                1 => format!("'{}'", secret.replace('\'', "''")),
                _ => secret.clone(),
            };
            let text = format!("name: a\narms:\n  - env:\n      MY_TOKEN: {value}\n");
            if let Some(secrets) = Secrets::of_study_file(&text)
                && let Some(masked) = secrets.mask_study_file(&text)
            {
                let again = Secrets::of_study_file(&masked.text).unwrap();
                prop_assert!(again.0.iter().all(|left| left.chars().all(|letter| letter == 'x')), "{}", masked.text);
            }
        }
    }
}
