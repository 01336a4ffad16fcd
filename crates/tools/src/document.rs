//! Finds the JSON of one result in a text that may contain more, such as log lines around it or numbers that JSON does not support.
//!
//! Go and C print `NaN`, `-nan` or `Infinity` for numbers that are not finite (fortio#97, `memtier_benchmark#271`). Such a number is read
//! as unknown, and a note names its line.

use serde_json::Value;

use crate::run::obstacle;
use crate::text::several;

/// Maximum average number of times that each byte of a text is read in search of JSON.
const MOST_READINGS: usize = 50;

/// A document, and notes on its non-finite numbers.
pub(crate) struct Document {
    pub(crate) value: Value,
    /// The line in which it begins.
    pub(crate) line: usize,
    pub(crate) notes: Vec<String>,
}

/// The only document of a text that `is_result` recognises. If it recognises none, the first document: the adapter names its missing
/// fields.
///
/// # Errors
/// The reason, if a text has no JSON, or several results, because numbers of different runs must not be mixed.
pub(crate) fn json(text: &str, is_result: impl Fn(&Value) -> bool) -> Result<Document, String> {
    // Report the problem of the longest invalid text: shorter ones are brackets in log lines.
    let (mut all, mut problem): (Vec<Document>, Option<(usize, String)>) = (Vec::new(), None);
    let (mut at, mut line, mut left) = (0, 1, text.len().saturating_mul(MOST_READINGS));
    while let Some(skipped) = text.get(at..).and_then(|rest| rest.find(['{', '['])) {
        line += lines(text, at, at + skipped);
        at += skipped;
        let rest = text.get(at..).unwrap_or_default();
        let scanned = scan(rest, line);
        let Some(after) = left.checked_sub(scanned.length) else { break };
        left = after;
        match serde_json::from_str::<Value>(&scanned.text) {
            Ok(value) => {
                all.push(Document { value, line, notes: scanned.notes });
                line += lines(text, at, at + scanned.length);
                at += scanned.length;
            }
            Err(error) => {
                let in_text = line + error.line().saturating_sub(1);
                if problem.as_ref().is_none_or(|(length, _)| *length < scanned.length) {
                    problem = Some((scanned.length, format!("invalid JSON in line {in_text}: {error}")));
                }
                // A result may follow after a brace in a log line.
                at += 1;
            }
        }
    }
    let problem = problem.map(|(_, problem)| match obstacle(text) {
        Some(obstacle) => format!("{problem}; {obstacle}"),
        None => problem,
    });
    one(all.into_iter().flat_map(elements).collect(), problem, is_result)
}

/// The only document of a text with these fields, as JSON pointers; `layout` describes texts that have them.
///
/// # Errors
/// Like [`json`], and the names of missing fields.
pub(crate) fn with_fields(text: &str, fields: &[&str], layout: &str) -> Result<Document, String> {
    let is_result = |value: &Value| fields.iter().all(|field| value.pointer(field).is_some());
    let document = json(text, is_result).map_err(|problem| format!("{problem}; {layout}"))?;
    if is_result(&document.value) {
        return Ok(document);
    }
    let names = fields.iter().map(|field| format!("`{}`", field.trim_start_matches('/').replace('/', ".")));
    Err(format!("{} is missing; {layout}", names.collect::<Vec<_>>().join(" or ")))
}

fn one(
    mut all: Vec<Document>,
    problem: Option<String>,
    is_result: impl Fn(&Value) -> bool,
) -> Result<Document, String> {
    let results: Vec<usize> =
        all.iter().enumerate().filter(|(_, one)| is_result(&one.value)).map(|(index, _)| index).collect();
    match (results.as_slice(), problem) {
        ([index], _) => Ok(all.swap_remove(*index)),
        ([], Some(problem)) => Err(problem),
        ([], None) if all.is_empty() => Err("it has no JSON".to_owned()),
        ([], None) => Ok(all.swap_remove(0)),
        (indexes, _) => {
            let lines = indexes.iter().filter_map(|index| all.get(*index)).map(|one| one.line);
            Err(several("runs", &lines.collect::<Vec<_>>()))
        }
    }
}

/// The elements of a list of results as separate documents; any other document unchanged.
fn elements(found: Document) -> Vec<Document> {
    let Document { value, line, notes } = found;
    match value {
        Value::Array(all) if all.iter().all(Value::is_object) => {
            all.into_iter().map(|value| Document { value, line, notes: notes.clone() }).collect()
        }
        value => vec![Document { value, line, notes }],
    }
}

fn lines(text: &str, from: usize, to: usize) -> usize {
    text.get(from..to).unwrap_or_default().matches('\n').count()
}

/// A document with its non-finite numbers removed.
struct Scanned {
    text: String,
    /// Length of the original, bytes.
    length: usize,
    notes: Vec<String>,
}

/// The document at the start of a text: up to the brace that closes the first one, or the whole text.
fn scan(text: &str, first_line: usize) -> Scanned {
    let mut scanned = Scanned { text: String::new(), length: text.len(), notes: Vec::new() };
    let (mut depth, mut line, mut is_in_string, mut is_escaped) = (0_u32, first_line, false, false);
    // Where the name of the last string begins in the scanned text, without its quotes.
    let (mut string_begin, mut name) = (0, String::new());
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if character == '\n' {
            line += 1;
        }
        if is_in_string {
            scanned.text.push(character);
            match character {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => {
                    is_in_string = false;
                    let end = scanned.text.len() - 1;
                    scanned.text.get(string_begin..end).unwrap_or_default().clone_into(&mut name);
                }
                _ => {}
            }
            continue;
        }
        if let Some(length) = no_number(text.get(at..).unwrap_or_default()) {
            let word = text.get(at..at + length).unwrap_or_default();
            scanned.notes.push(format!("`{name}` in line {line}, which is `{word}`"));
            scanned.text.push_str("null");
            while characters.peek().is_some_and(|(next, _)| *next < at + length) {
                characters.next();
            }
            continue;
        }
        scanned.text.push(character);
        match character {
            '"' => (is_in_string, string_begin) = (true, scanned.text.len()),
            '{' | '[' => depth += 1,
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    scanned.length = at + 1;
                    return scanned;
                }
            }
            _ => {}
        }
    }
    scanned
}

/// The length of a non-finite number at the start of a text.
fn no_number(text: &str) -> Option<usize> {
    let word = text.strip_prefix(['-', '+']).unwrap_or(text);
    let end = word.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(word.len());
    let is_none = ["nan", "inf", "infinity"]
        .iter()
        .any(|none| word.get(..end).is_some_and(|word| word.eq_ignore_ascii_case(none)));
    is_none.then_some(text.len() - word.len() + end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_result(value: &Value) -> bool {
        value.get("count").is_some()
    }

    #[test]
    fn numbers_that_are_none_are_not_known_and_their_lines_are_named() {
        let text = "log {x}\n{\"count\": 1,\n \"mean\": -nan, \"max\":NaN,\n\"a\": [Infinity, -inf, +Inf]}";
        let document = json(text, is_result).unwrap();
        assert_eq!(document.value, json!({"count": 1, "mean": null, "max": null, "a": [null, null, null]}));
        assert_eq!(
            document.notes[..2],
            ["`mean` in line 3, which is `-nan`", "`max` in line 3, which is `NaN`"]
        );
        assert_eq!((document.notes.len(), document.notes[4].as_str()), (5, "`a` in line 4, which is `+Inf`"));
    }

    #[test]
    fn strings_keep_such_words() {
        let text = r#"{"count": 1, "path": "/nan/Infinity \" NaN", "nan": "inf"}"#;
        let document = json(text, is_result).unwrap();
        assert_eq!(document.value, json!({"count": 1, "path": "/nan/Infinity \" NaN", "nan": "inf"}));
        assert!(document.notes.is_empty());
        // Words that only begin like one are invalid, and stay so.
        assert!(json("{\"count\": nano}", is_result).is_err());
    }

    #[test]
    fn several_results_are_refused_and_other_documents_are_not() {
        let log = "{\"level\": \"info\"}\n";
        let one = "{\"count\":\n 1}\n";
        assert_eq!(json(&format!("{log}{one}{log}"), is_result).unwrap().value, json!({"count": 1}));
        let error = |text: &str| json(text, is_result).err().unwrap();
        let problem = error(&format!("{log}{one}{one}"));
        assert!(problem.starts_with("it has 2 runs, which begin in lines 2 and 4: keep one"), "{problem}");
        assert!(error(&format!("[{}, {}]", one.trim(), one.trim())).starts_with("it has 2 runs"));
        assert_eq!(json(&format!("[{}]", one.trim()), is_result).unwrap().value, json!({"count": 1}));
        assert_eq!(error("nothing"), "it has no JSON");
    }

    #[test]
    fn a_document_that_does_not_end_is_named_with_its_line() {
        let error = json("log\n{\"a\": {\"b\": 1}", is_result).err().unwrap();
        assert!(error.starts_with("invalid JSON in line 2: EOF"), "{error}");
        assert!(json(&"{".repeat(20_000), is_result).is_err());
    }
}
