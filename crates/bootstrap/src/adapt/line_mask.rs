//! Masks secrets in the output of a program that runs with a configuration, line by line.

use super::masks::{Masks, PEM_END, ends_in_pem, without_secrets};

/// Prepended to a line that continues a PEM block.
const OPENED: &str = "-----BEGIN CUT-----\n";
/// Prefixes of the header lines of a PEM block (RFC 1421).
const HEADERS: [&str; 2] = ["Proc-Type:", "DEK-Info:"];

/// Masks secrets in the lines of one stream, which must come in order.
#[derive(Clone, Debug, Default)]
pub struct LineMask {
    /// The secrets of the configuration.
    masks: Masks,
    /// True if the previous line ended within a PEM block.
    is_in_pem: bool,
}

impl LineMask {
    /// For a program whose configuration has these texts. Their secrets are masked wherever they occur, unless a secret could be an
    /// ordinary word.
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut masks = Masks::default();
        texts.into_iter().for_each(|text| masks.find(text));
        Self { masks, is_in_pem: false }
    }

    /// Masks a line that may repeat pieces of the configuration, such as a log line. This also masks values next to names of secrets, user
    /// information in URLs, and PEM blocks, which may span several lines.
    pub fn log_line(&mut self, line: &[u8]) -> Vec<u8> {
        self.each_text(line, |mask, text| {
            let opened = if mask.is_in_pem && continues_pem(text) { OPENED } else { "" };
            let text = mask.masks.swept(&format!("{opened}{text}"));
            mask.is_in_pem = ends_in_pem(&text);
            let masked = without_secrets(&text);
            masked.strip_prefix(opened).unwrap_or(&masked).to_owned()
        })
    }

    /// Masks a line about requests, such as an access log line: only the secrets of the configuration are masked. Otherwise, senders of
    /// requests could hide the rest of a line.
    pub fn access_line(&mut self, line: &[u8]) -> Vec<u8> {
        self.each_text(line, |mask, text| mask.masks.swept(text))
    }

    /// Changes the valid UTF-8 parts of a line.
    fn each_text(&mut self, line: &[u8], change: impl Fn(&mut Self, &str) -> String) -> Vec<u8> {
        let mut changed = Vec::with_capacity(line.len());
        for chunk in line.utf8_chunks() {
            if !chunk.valid().is_empty() {
                changed.extend(change(self, chunk.valid()).into_bytes());
            }
            changed.extend(chunk.invalid());
        }
        changed
    }
}

/// True if a text can continue a PEM block. A block that a log truncates has no end.
fn continues_pem(text: &str) -> bool {
    let body = text.split(PEM_END).next().unwrap_or_default();
    // A backslash is part of an escaped line break in a quoted text.
    let is_of_body = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\\".contains(&byte);
    HEADERS.iter().any(|header| body.starts_with(header))
        || body.bytes().all(|byte| is_of_body(byte) || byte.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Masks lines of a log.
    fn logged(mask: &mut LineMask, lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| String::from_utf8(mask.log_line(line.as_bytes())).unwrap()).collect()
    }

    #[test]
    fn a_key_is_masked_in_all_of_its_lines_and_what_follows_is_not() {
        let lines = [
            "[info] no file: -----BEGIN PRIVATE KEY-----\n",
            "Proc-Type: 4,ENCRYPTED\n",
            "\n",
            "MHcCAQEE+/==\n",
            "hunter2\n",
            "-----END PRIVATE KEY----- of listener 7\n",
            "hunter2\n",
        ];
        let masked = logged(&mut LineMask::default(), &lines);
        assert_eq!(masked[0], lines[0]);
        assert_eq!(masked[2..5], ["\n", "xxxxxxxxxxxx\n", "xxxxxxx\n"]);
        assert_eq!(masked[5..], lines[5..]);
    }

    #[test]
    fn a_key_that_is_cut_off_ends_with_the_next_message() {
        let lines = ["-----BEGIN PRIVATE KEY-----\n", "MHcC\n", "[2026-11-28][warning] lost\n", "MHcC\n"];
        assert_eq!(logged(&mut LineMask::default(), &lines), [lines[0], "xxxx\n", lines[2], lines[3]]);
        // A line of 64 KiB is cut, too.
        let lines = [r"key: -----BEGIN PRIVATE KEY-----\nMHcC", r"MHcC\n-----END PRIVATE KEY-----"];
        let masked = logged(&mut LineMask::default(), &lines);
        assert_eq!(masked[1], r"xxxx\n-----END PRIVATE KEY-----");
        assert!(masked[0].ends_with(r"\nxxxx"), "{masked:?}");
    }

    #[test]
    fn secrets_of_the_configuration_are_masked_wherever_they_are() {
        for text in
            [r#"{"routes": [{"prefix": "/hook?token=hunter2-ab"}]}"#, "prefix: /hook?token=hunter2-ab\n"]
        {
            let mut mask = LineMask::new([text]);
            let line = mask.access_line(b"GET /hook?token=hunter2-ab \xff hunter2-ab 503\n");
            assert_eq!(line, b"GET /hook?token=xxxxxxxxxx \xff xxxxxxxxxx 503\n");
            assert_eq!(logged(&mut mask, &["path hunter2-ab\n"]), ["path xxxxxxxxxx\n"]);
        }
    }

    #[test]
    fn a_log_is_masked_beside_names_and_what_was_sent_is_not() {
        let line = "'authorization', 'Bearer hunter2'\n";
        assert_eq!(logged(&mut LineMask::default(), &[line]), ["'authorization', 'Bearer xxxxxxx'\n"]);
        let sent = "GET /-----BEGIN A-----?token=abc HTTP/1.1 503\n";
        let mut mask = LineMask::default();
        assert_eq!(mask.access_line(sent.as_bytes()), sent.as_bytes());
        assert_eq!(mask.access_line(b"GET / 200\n"), b"GET / 200\n");
    }
}
