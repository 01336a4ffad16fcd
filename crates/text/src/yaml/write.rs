//! Writes a value as YAML that people read, and in which no text can be taken for anything but itself.
//!
//! Texts that are not plain words are in double quotes, with escapes as in JSON. Signs that templates and shells replace (`{{`, `{%`, `{#`,
//! `${`, `$(` and backticks) are escaped too, so a file that passes through one of them stays as it is.

use serde_json::Value;

use super::plain::is_plain;

/// Nodes up to this depth have their lines recorded: `/static_resources/listeners/3`.
const MARKED: usize = 3;

/// A text, with the lines on which its outer nodes begin.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The text, with a line break at its end.
    pub text: String,
    /// The JSON pointers of nodes up to the depth of a listener of Envoy, with their lines from 1.
    pub lines: Vec<(String, u64)>,
}

/// Writes a value.
pub fn written(value: &Value) -> Written {
    let mut writer = Writer { written: Written::default(), line: 1 };
    match value {
        Value::Object(keys) if !keys.is_empty() => writer.node(value, 0, "", 0, false),
        Value::Array(items) if !items.is_empty() => writer.node(value, 0, "", 0, false),
        _ => {
            writer.inline(value);
            writer.end_line();
        }
    }
    writer.written
}

struct Writer {
    written: Written,
    line: u64,
}

impl Writer {
    fn end_line(&mut self) {
        self.written.text.push('\n');
        self.line += 1;
    }

    fn indent(&mut self, by: usize) {
        const SPACES: &str = "                                ";
        let mut left = by;
        while left > 0 {
            let part = left.min(SPACES.len());
            self.written.text.push_str(SPACES.get(..part).unwrap_or_default());
            left -= part;
        }
    }

    fn scalar(&mut self, text: &str) {
        // Most texts are plain, and a large file has millions of them.
        if is_plain(text) {
            self.written.text.push_str(text);
        } else {
            self.written.text.push_str(&quoted(text));
        }
    }

    fn mark(&mut self, path: &str, depth: usize) {
        if depth <= MARKED {
            self.written.lines.push((path.to_owned(), self.line));
        }
    }

    /// A value on one line.
    fn inline(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.scalar(text),
            Value::Object(_) => self.written.text.push_str("{}"),
            Value::Array(_) => self.written.text.push_str("[]"),
            other => self.written.text.push_str(&other.to_string()),
        }
    }

    /// A value in lines of its own, or behind a dash, where its first line begins already.
    fn node(&mut self, value: &Value, by: usize, path: &str, depth: usize, mut has_begun: bool) {
        match value {
            Value::Object(keys) => {
                for (key, inner) in keys {
                    if !std::mem::take(&mut has_begun) {
                        self.indent(by);
                    }
                    let path = if depth < MARKED { format!("{path}/{key}") } else { String::new() };
                    self.mark(&path, depth + 1);
                    self.scalar(key);
                    self.written.text.push(':');
                    self.behind(inner, by, &path, depth + 1);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    if !std::mem::take(&mut has_begun) {
                        self.indent(by);
                    }
                    let path = if depth < MARKED { format!("{path}/{index}") } else { String::new() };
                    self.mark(&path, depth + 1);
                    self.written.text.push_str("- ");
                    if is_block(item) {
                        self.node(item, by + 2, &path, depth + 1, true);
                    } else {
                        self.inline(item);
                        self.end_line();
                    }
                }
            }
            _ => {}
        }
    }

    /// A value behind a key.
    fn behind(&mut self, value: &Value, by: usize, path: &str, depth: usize) {
        if is_block(value) {
            self.end_line();
            let by = if value.is_array() { by } else { by + 2 };
            self.node(value, by, path, depth, false);
        } else {
            self.written.text.push(' ');
            self.inline(value);
            self.end_line();
        }
    }
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(keys) => !keys.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// A text in quotes.
fn quoted(text: &str) -> String {
    // Escapes of JSON are valid in YAML.
    let text = Value::String(text.to_owned()).to_string();
    guarded(&text, "\\x7b", "\\x24", "\\x60")
}

/// A value as JSON in lines, in which templates and shells find nothing to replace.
pub fn json(value: &Value) -> String {
    let mut text = format!("{value:#}\n");
    // Braces of the structure stand alone, so the others are inside of texts.
    if ["{{", "{%", "{#", "${", "$(", "`"].iter().any(|sign| text.contains(sign)) {
        text = guarded(&text, "\\u007b", "\\u0024", "\\u0060");
    }
    text
}

/// A quoted text in which the signs of templates and shells are escaped.
fn guarded(quoted: &str, brace: &str, dollar: &str, backtick: &str) -> String {
    let mut guarded = String::with_capacity(quoted.len());
    let mut letters = quoted.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        match letter {
            '{' if matches!(next, Some('{' | '%' | '#')) => guarded.push_str(brace),
            '$' if matches!(next, Some('{' | '(')) => guarded.push_str(dollar),
            '`' => guarded.push_str(backtick),
            // Line breaks of YAML 1.1, and what no text of YAML may have.
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' | '\u{7f}'..='\u{9f}' => {
                guarded.push_str(&format!("\\u{:04x}", letter as u32));
            }
            other => guarded.push(other),
        }
    }
    guarded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::yaml::envoy::first;

    #[test]
    fn a_value_is_written_in_lines_and_its_outer_nodes_have_theirs() {
        let value =
            json!({"a": {"b": [{"c": "x", "d": {}}, [1, [2]], "4.5s"]}, "e": [], "f": "yes", "g": "a: b"});
        let written = written(&value);
        let expected =
            "a:\n  b:\n  - c: x\n    d: {}\n  - - 1\n    - - 2\n  - 4.5s\ne: []\nf: \"yes\"\ng: \"a: b\"\n";
        assert_eq!(written.text, expected);
        let line = |path: &str| written.lines.iter().find(|(own, _)| own == path).map(|(_, line)| *line);
        assert_eq!(["/a", "/a/b/0", "/a/b/1", "/g"].map(line), [Some(1), Some(3), Some(5), Some(10)]);
    }

    #[test]
    fn templates_and_shells_find_nothing_in_it() {
        for text in ["{{ x }}", "{% x %}", "{# x #}", "${X}", "$(x)", "`x`", "{{{ x", "a{{b"] {
            for written in [quoted(text), json(&json!({"k": text}))] {
                for sign in ["{{", "{%", "{#", "${", "$(", "`"] {
                    assert!(!written.contains(sign), "{written}");
                }
            }
            assert_eq!(first(&quoted(text)).unwrap().to_value(), json!(text));
            assert_eq!(
                serde_json::from_str::<Value>(&json(&json!({"k": text}))).unwrap(),
                json!({"k": text})
            );
        }
    }

    #[test]
    fn a_character_that_no_text_of_yaml_may_have_is_written_as_its_number() {
        for text in ["\u{fffe}", "a\u{ffff}", "\u{feff}", "\u{85}", "\u{2028}", "\u{7f}", "\u{0}"] {
            let written = written(&json!({"k": text})).text;
            assert!(written.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)), "{written}");
            assert_eq!(first(&written).unwrap().to_value(), json!({"k": text}));
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "\\PC*".prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[-:{}#&*!|>%@`'\" \n\ta0]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z@ :{]{1,4}", inner, 0..4)
                    .prop_map(|keys| Value::Object(keys.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(value in any_value()) {
            let value = json!({"k": value});
            let text = written(&value).text;
            prop_assert_eq!(&first(&text).unwrap().to_value(), &value, "{}", text);
            prop_assert_eq!(&serde_json::from_str::<Value>(&json(&value)).unwrap(), &value);
        }
    }
}
