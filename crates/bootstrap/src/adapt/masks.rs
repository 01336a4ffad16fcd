//! Masks for secrets, and the detection of secrets in texts: in JSON, settings, code, URLs and PEM.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use hoptax_text::secrets::json::{self, Found};
use hoptax_text::secrets::{NAMES, WHOLE_NAMES, users_of_urls};
use regex::Regex;

/// A secret of at least this length with letters and digits cannot be a word, so it is masked wherever it occurs.
const UNMISTAKABLE: usize = 8;
/// Values that are no secrets.
const PLAIN: [&str; 9] = ["", "true", "false", "yes", "no", "on", "off", "none", "null"];
/// First and last lines of PEM blocks.
const PEM_BEGIN: &str = "-----BEGIN ";
pub(super) const PEM_END: &str = "-----END";
/// A command that Envoy substitutes in formats and in values of headers.
const COMMAND: &str = r"%[A-Z][A-Z0-9_]*(?:\([^)]*\))?(?::[0-9]+)?%";

/// The name of a secret within a text. A separator between name and value follows, so a match ends at the end of a name.
static NAME: LazyLock<String> = LazyLock::new(|| {
    let any = |names: &[&str]| names.join("|").replace('_', "[_-]?");
    let (parts, whole) = (any(&NAMES), any(&WHOLE_NAMES));
    format!("(?:[A-Za-z0-9_-]*(?i:{parts})[A-Za-z0-9_-]*|(?:^|[^A-Za-z0-9_-])(?i:{whole}))")
});
/// A name, its separator, and a value in quotes.
static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // JSON quotes within a quoted text are escaped with backslashes.
    let value = r#"(?:\\+"([^"\\\n]*)\\+"|"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|\[\[([^\]]*)\]\])"#;
    Regex::new(&format!(r#"{}[\\"'\])]*\s*(?:=>|==|~=|!=|=|:|,|\.\.)\s*{value}"#, *NAME)).ok()
});
/// A name, its separator, and a value without quotes, to the end of the value or of the line.
static SETTING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let value = format!(r#"((?i:(?:bearer|basic)[ \t]+)?(?:{COMMAND}|[^\s"',;&{{}}\[\]()])+)"#);
    Regex::new(&format!(r"{}[ \t]*[:=][ \t]*{value}", *NAME)).ok()
});
static PEM: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"-----BEGIN [A-Z0-9 ]+-----((?s:.)+?)-----END").ok());
/// Parts of a value that are kept: the scheme of credentials, and commands that Envoy substitutes.
static KEPT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(r"(?i:^(?:bearer|basic|digest|negotiate)(?:\s+|$))|{COMMAND}")).ok()
});

/// Syntax of names and values in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// Values are in quotes; a word without quotes may be a variable.
    Code,
    /// Values may have no quotes.
    Settings,
    /// Only URLs and PEM are searched, not names.
    Other,
}

/// Masks for secrets. A mask has as many letters as its secret has bytes, and different secrets have different masks.
#[derive(Clone, Default)]
pub(crate) struct Masks {
    /// The masks by their secrets.
    known: BTreeMap<String, String>,
    /// The secrets that are masked wherever they occur, with their lengths, the longest first: a secret may contain another.
    unmistakable: BTreeSet<(Reverse<usize>, String)>,
    /// Number of masks of each length, which gives the next mask its number.
    counts: HashMap<usize, usize>,
}

/// Masks that must differ from each other.
#[derive(Debug, Default)]
pub(super) struct Taken {
    masks: HashSet<String>,
    /// The last number that was appended to each mask that was already taken.
    numbers: HashMap<String, usize>,
}

/// Shows only the number of masks.
impl std::fmt::Debug for Masks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Masks({})", self.known.len())
    }
}

impl Masks {
    /// Returns the mask of a secret value. Schemes such as `Bearer ` and commands such as `%REQ(x)%` are kept.
    pub(super) fn value(&mut self, value: &str) -> String {
        let (mut masked, mut rest) = (String::new(), 0);
        for kept in KEPT.as_ref().into_iter().flat_map(|kept| kept.find_iter(value)) {
            masked += &self.literal(value.get(rest..kept.start()).unwrap_or_default());
            masked += kept.as_str();
            rest = kept.end();
        }
        masked + &self.literal(value.get(rest..).unwrap_or_default())
    }

    /// Returns the mask of a secret that need not be text. The line break at the end of a file is kept.
    pub(super) fn bytes(&mut self, secret: &[u8]) -> String {
        let Ok(text) = std::str::from_utf8(secret) else { return "x".repeat(secret.len()) };
        let word = text.trim_end();
        self.value(word) + text.get(word.len()..).unwrap_or_default()
    }

    /// Returns a mask that must differ from the masks in `taken`. It is longer than the secret if the usual mask is taken, as in a dump,
    /// where Envoy writes the same word for all secrets.
    pub(super) fn distinct(&mut self, secret: &str, taken: &mut Taken) -> String {
        let mask = self.value(secret);
        let mut distinct = mask.clone();
        while !taken.masks.insert(distinct.clone()) {
            let number = taken.numbers.entry(mask.clone()).or_default();
            *number += 1;
            distinct = format!("{mask}-{number}");
        }
        distinct
    }

    fn literal(&mut self, secret: &str) -> String {
        let letters = secret.trim_end_matches(|last: char| last.is_ascii_digit());
        let is_masked = !letters.is_empty() && letters.bytes().all(|byte| byte == b'x');
        if is_masked || PLAIN.contains(&secret.to_ascii_lowercase().as_str()) {
            return secret.to_owned();
        }
        if let Some(known) = self.known.get(secret) {
            return known.clone();
        }
        let length = secret.len();
        // Masks of one length differ by their numbers.
        let count = self.counts.entry(length).or_default();
        let number = if *count == 0 { String::new() } else { count.to_string() };
        let mask = match length.checked_sub(number.len()).filter(|letters| *letters > 0) {
            Some(letters) => {
                *count += 1;
                "x".repeat(letters) + &number
            }
            None => "x".repeat(length),
        };
        if is_unmistakable(secret) {
            self.unmistakable.insert((Reverse(length), secret.to_owned()));
        }
        self.known.insert(secret.to_owned(), mask.clone());
        mask
    }

    /// A text with the secrets that it states masked; none if it states none.
    pub(super) fn text(&mut self, text: &str, syntax: Syntax) -> Option<String> {
        let of_text = |range: Range<usize>| {
            let value = text.get(range.clone()).unwrap_or_default().to_owned();
            Found { range, value }
        };
        let mut found: Vec<Found> = users_of_urls(text).into_iter().map(of_text).collect();
        if syntax != Syntax::Other {
            match json::secrets(text) {
                Some(of_json) => found.extend(of_json),
                None => found.extend(named(text, syntax).into_iter().map(of_text)),
            }
        }
        found.sort_by_key(|found| (found.range.start, Reverse(found.range.end)));
        let (mut masked, mut rest) = (String::new(), 0);
        for Found { range, value } in found {
            if range.start < rest {
                continue;
            }
            masked += text.get(rest..range.start).unwrap_or_default();
            masked += &self.value(&value);
            rest = range.end;
        }
        masked += text.get(rest..).unwrap_or_default();
        let masked = self.swept(&without_pem(&masked));
        (masked != text).then_some(masked)
    }

    /// Finds the secrets that a text states, including those within strings in JSON.
    pub(super) fn find(&mut self, text: &str) {
        let _ = self.text(text, Syntax::Settings);
        for range in named(text, Syntax::Settings) {
            let _ = self.value(text.get(range).unwrap_or_default());
        }
    }

    /// A text with secrets masked that were found elsewhere and cannot be words.
    pub(super) fn swept(&self, text: &str) -> String {
        // Longer secrets cannot occur in it. Masking does not change the length.
        let secrets = self.unmistakable.range((Reverse(text.len()), String::new())..);
        secrets.fold(text.to_owned(), |text, (_, secret)| match self.known.get(secret) {
            Some(mask) if text.contains(secret.as_str()) => text.replace(secret.as_str(), mask),
            _ => text,
        })
    }
}

/// A program's message about a configuration with secrets masked: user information in URLs, values next to names of secrets, and PEM
/// blocks, even truncated ones.
pub fn without_secrets(message: &str) -> String {
    let end = if ends_in_pem(message) { PEM_END } else { "" };
    let closed = format!("{message}{end}");
    let masked = Masks::default().text(&closed, Syntax::Settings).unwrap_or(closed);
    masked.strip_suffix(end).unwrap_or(&masked).to_owned()
}

/// True if a text ends within a PEM block.
pub(super) fn ends_in_pem(text: &str) -> bool {
    text.rfind(PEM_BEGIN).is_some_and(|begin| !text.get(begin..).unwrap_or_default().contains(PEM_END))
}

/// True if a secret cannot be an ordinary word. It is then masked wherever it occurs.
fn is_unmistakable(secret: &str) -> bool {
    let has = |is_kind: fn(&char) -> bool| secret.chars().any(|letter| is_kind(&letter));
    secret.len() >= UNMISTAKABLE && has(char::is_ascii_alphabetic) && has(char::is_ascii_digit)
}

/// Returns the ranges of values with secret names in a text that is not JSON, but may contain pieces of JSON.
fn named(text: &str, syntax: Syntax) -> Vec<Range<usize>> {
    let (plain, places) = json::unescaped(text);
    let place = |at: usize| places.get(at).copied().unwrap_or(text.len());
    let unquoted = if syntax == Syntax::Settings { SETTING.as_ref() } else { None };
    let expressions = [QUOTED.as_ref(), unquoted].into_iter().flatten();
    let values = expressions.flat_map(|expression| expression.captures_iter(&plain));
    let value =
        |groups: regex::Captures<'_>| groups.iter().skip(1).flatten().next().map(|value| value.range());
    values.filter_map(value).map(|range| place(range.start)..place(range.end)).collect()
}

/// A text in which the letters of PEM blocks are replaced by `x`. Letters after a backslash are part of escaped line breaks in a quoted
/// text.
fn without_pem(text: &str) -> String {
    let Some(pem) = PEM.as_ref() else { return text.to_owned() };
    pem.replace_all(text, |block: &regex::Captures<'_>| {
        let (all, body) = (&block[0], &block[1]);
        let mut is_escaped = false;
        let masked: String = body
            .chars()
            .map(|letter| {
                let is_kept = is_escaped || !(letter.is_ascii_alphanumeric() || "+/=".contains(letter));
                is_escaped = letter == '\\';
                if is_kept { letter } else { 'x' }
            })
            .collect();
        all.replacen(body, &masked, 1)
    })
    .into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn masked(text: &str, syntax: Syntax) -> String {
        Masks::default().text(text, syntax).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn code_loses_literals_beside_names_of_secrets_and_nothing_else() {
        let code = r#"
local api_key = "hunter2-a"
handle:headers():add("authorization", "Bearer hunter2-b")
if handle:headers():get("x-token") == 'hunter2-c' then keys["client_secret"] = [[hunter2-d]] end
local token = get_token(handle)
local url = "https://joe:hunter2-e@host/" .. path
handle:respond({[":status"] = "401"}, "no token")"#;
        let masked = masked(code, Syntax::Code);
        assert!(!masked.contains("hunter2"), "{masked}");
        for kept in [
            r#"add("authorization", "Bearer xxxxxxx"#,
            "local token = get_token(handle)",
            r#"[":status"] = "401"}, "no token")"#,
            "@host/",
        ] {
            assert!(masked.contains(kept), "{kept}: {masked}");
        }
        assert_eq!(masked.len(), code.len());
    }

    #[test]
    fn settings_and_json_lose_values_of_secret_names() {
        let settings =
            "mode: fast\napi_key: hunter2-a\npassword=hunter2-b&next=1\nAuthorization: Bearer hunter2-c\n";
        let plain = masked(settings, Syntax::Settings);
        assert!(
            !plain.contains("hunter2") && plain.contains("mode: fast") && plain.contains("&next=1"),
            "{plain}"
        );
        let json = r#"{"apiKey": "hunter2-a", "list": [{"key": "cookie", "value": "hunter2-b"}], "mode": "fast",
            "jwk": {"kty": "oct", "k": "hunter2-c", "kid": "one"}, "secrets": {"a": ["hunter2-d"]}}"#;
        let masked = masked(json, Syntax::Settings);
        assert!(
            !masked.contains("hunter2") && masked.contains("\"fast\"") && masked.contains("\"one\""),
            "{masked}"
        );
        assert_eq!(masked.len(), json.len(), "the form of the text stays");
    }

    #[test]
    fn secrets_behind_escapes_are_masked() {
        for text in [
            r#"{"\u0070assword": "hunter2-a"}"#,
            r#"{"password": "h\u0075nter2-a"}"#,
            r#"{"body": "{\"password\": \"hunter2-a\", \"mode\": \"fast\"}"}"#,
            r#"local body = "{\"\u0070assword\": \"hunter2-a\", \"mode\": \"fast\"}""#,
            r#"log: {"p\u0061ssword": "hunter2-a"} %REQ(:path)%"#,
        ] {
            for syntax in [Syntax::Code, Syntax::Settings] {
                let masked = masked(text, syntax);
                assert!(!masked.contains("nter2") && masked.contains("xxxxxxxxx"), "{masked}");
                assert_eq!(masked.contains("fast"), text.contains("fast"), "{masked}");
            }
        }
    }

    #[test]
    fn a_short_name_of_a_secret_is_a_whole_name_and_commands_beside_names_stay() {
        for (settings, kept) in [
            ("sig=hunter2-a&n=1", "sig=xxxxxxxxx&n=1"),
            ("?n=1&auth=hunter2-a", "?n=1&auth=xxxxxxxxx"),
            ("pwd: 'hunter2-a'", "pwd: 'xxxxxxxxx'"),
            ("design=oak author: ann my-auth=open", "design=oak author: ann my-auth=open"),
            (
                "token=%REQ(X-TOKEN):8% hmac=%AN_ENTRY%hunter2-a",
                "token=%REQ(X-TOKEN):8% hmac=%AN_ENTRY%xxxxxxxxx",
            ),
        ] {
            assert_eq!(masked(settings, Syntax::Settings), kept);
        }
        assert_eq!(Masks::default().value("a%41%42"), "xxxxxxx");
    }

    #[test]
    fn secrets_that_must_differ_do_so_although_a_dump_has_one_word_for_all() {
        let mut masks = Masks::default();
        let mut taken = Taken::default();
        let keys = ["[redacted]", "[redacted]", "hunter2-ab", "[redacted]"]
            .map(|secret| masks.distinct(secret, &mut taken));
        assert_eq!(keys, ["xxxxxxxxxx", "xxxxxxxxxx-1", "xxxxxxxxx1", "xxxxxxxxxx-2"]);
        assert_eq!(masks.bytes(b"hunter2-ab\n"), format!("{}\n", keys[2]));
        assert_eq!(masks.bytes(&[0xff; 3]), "xxx");
    }

    /// Would take minutes if each mask were compared with all others.
    #[test]
    fn thousands_of_secrets_have_masks_of_their_own_length_and_are_found_in_texts() {
        let mut masks = Masks::default();
        let secrets: Vec<String> = (0..5000).map(|number| format!("hunter2-{number:05}")).collect();
        let all: Vec<String> = secrets.iter().map(|secret| masks.value(secret)).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), secrets.len());
        for (secret, mask) in secrets.iter().zip(&all) {
            assert_eq!((mask.len(), &masks.value(secret)), (secret.len(), mask));
        }
        let last = &all[4999];
        assert_eq!(masks.swept("to hunter2-04999!"), format!("to {last}!"));
        // There is only one mask with one letter.
        assert_eq!(["a", "b"].map(|secret| masks.value(secret)), ["x", "x"]);
        assert_eq!(["ab", "cd"].map(|secret| masks.value(secret)), ["xx", "x1"]);
    }

    #[test]
    fn a_message_loses_secrets_and_keeps_what_it_says() {
        for (message, expected) in [
            (
                "a.yaml:3:5: `http://joe:hunter2@host` is no host",
                "a.yaml:3:5: `http://xxxxxxxxxxx@host` is no host",
            ),
            ("no file `-----BEGIN PRIVATE KEY-----\nMHcC", "no file `-----BEGIN PRIVATE KEY-----\nxxxx"),
            ("password: hunter2-a in it", "password: xxxxxxxxx in it"),
            (
                "a.yaml:3:5: unknown key `token`; did you mean `to`?",
                "a.yaml:3:5: unknown key `token`; did you mean `to`?",
            ),
        ] {
            assert_eq!(without_secrets(message), expected);
        }
    }

    #[test]
    fn blocks_of_pem_are_masked_also_where_line_breaks_are_quoted() {
        let block = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE+/==\n-----END EC PRIVATE KEY-----";
        let expected = "-----BEGIN EC PRIVATE KEY-----\nxxxxxxxxxxxx\n-----END EC PRIVATE KEY-----";
        assert_eq!(masked(block, Syntax::Other), expected);
        assert_eq!(masked(&block.replace('\n', "\\n"), Syntax::Other), expected.replace('\n', "\\n"));
    }

    #[test]
    fn equal_secrets_have_equal_masks_and_others_differ() {
        let mut masks = Masks::default();
        let [a, b] = ["hunter2-a", "hunter2-b"].map(|secret| masks.value(secret));
        assert_eq!((a.as_str(), b.as_str()), ("xxxxxxxxx", "xxxxxxxx1"));
        assert_eq!(masks.value("hunter2-a"), a);
        assert_eq!(masks.value(&b), b, "a mask stays");
        assert_ne!(masks.value("12345"), "12345");
        assert_eq!(masks.value("%REQ(x-token)%"), "%REQ(x-token)%");
        assert_eq!((masks.value("true"), masks.value("Basic ")), ("true".to_owned(), "Basic ".to_owned()));
        assert_eq!(masks.swept("at /etc/hunter2-b.txt"), format!("at /etc/{b}.txt"));
    }

    proptest! {
        #[test]
        fn a_value_beside_a_name_of_a_secret_is_gone_in_every_form(
            name in "[a-z]{0,4}(password|secret|token|api_key|cookie)",
            secret in "[a-wyz]{3}[A-Za-z0-9.-]{6,20}",
            form in 0..5_usize,
        ) {
            prop_assume!(!name.contains(&secret));
            let text = match form {
                0 => format!("{name} = \"{secret}\""),
                1 => format!("h:add('{name}', '{secret}')"),
                2 => format!("{name}: {secret}"),
                3 => format!("{{\"a\": [{{\"{name}\": \"{secret}\"}}]}}"),
                _ => format!("see https://{secret}@host/{name}"),
            };
            let masked = masked(&text, Syntax::Settings);
            prop_assert!(!masked.contains(&secret), "{masked}");
            prop_assert_eq!(masked.len(), text.len());
        }
    }
}
