//! Fills requests from the rows of a CSV file: replaces `{{field}}` in URLs, header values and bodies.
//!
//! All rows are encoded before the load begins, so a request costs the same as one without fields. The memory for the rows
//! is limited.

use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};
use hoptax_load::{Content, Target, without_user};
use hoptax_text::file::bytes_up_to;
use hoptax_text::nearest::hint;

use super::requests::{Listed, Request, made_of_all};
use crate::failure::Failure;

/// Maximum size of all encoded requests, bytes.
const MAX_BYTES: usize = 1 << 30;
/// Maximum number of reported errors of one file.
const MAX_ERRORS: usize = 10;

/// A CSV file.
#[derive(Debug)]
pub(super) struct Table {
    name: String,
    fields: Vec<String>,
    rows: Vec<StringRecord>,
    /// Maximum size of all encoded requests, bytes.
    max_bytes: usize,
}

impl Table {
    /// Reads a file whose first row names the fields.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let name = format!("data `{}`", path.display());
        // Requests have all of it, encoded.
        let bytes = bytes_up_to(path, MAX_BYTES as u64)
            .map_err(|error| Failure::bad_input(format!("cannot read the {name}: {error}")))?;
        Self::parse(name, bytes.as_slice()).map_err(Failure::bad_input)
    }

    fn parse(name: String, text: impl std::io::Read) -> Result<Self, String> {
        let mut reader = ReaderBuilder::new().trim(Trim::Headers).from_reader(text);
        let fields: Vec<String> =
            reader.headers().map_err(|error| format!("{name}: {error}"))?.iter().map(str::to_owned).collect();
        for (number, field) in fields.iter().enumerate() {
            if field.is_empty() || field.contains(['{', '}']) {
                return Err(format!(
                    "{name}: column {} has no name; the first row must name all fields",
                    number + 1
                ));
            }
            if fields.iter().take(number).any(|other| other == field) {
                return Err(format!("{name}: two columns are named `{field}`"));
            }
        }
        let rows: Vec<StringRecord> =
            reader.records().collect::<Result<_, _>>().map_err(|error| format!("{name}: {error}"))?;
        if rows.is_empty() {
            return Err(format!("{name}: there is no row after the field names"));
        }
        Ok(Self { name, fields, rows, max_bytes: MAX_BYTES })
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The targets of all requests, filled in from each row, in the order of the rows.
    pub(super) fn targets(
        &self,
        requests: Vec<Listed>,
        target: impl Fn(&Request) -> Result<Target, String>,
    ) -> Result<Vec<Target>, Failure> {
        let templates = self.templates(requests)?;
        let (mut targets, mut errors, mut bytes) = (Vec::new(), Vec::new(), 0);
        for row in &self.rows {
            for template in &templates {
                match target(&template.fill(row)) {
                    Ok(mut target) => {
                        // Results show the URL with its placeholders, which is the same for all rows.
                        target.url = without_user(&template.request.url);
                        let is_message = target.protocol.content() == Content::Messages;
                        if is_message && template.has_fields_outside_body {
                            return Err(Failure::bad_input(format!(
                                "{}: with {}, fields can only be in the body: URL and headers are sent once for each connection",
                                self.name,
                                target.protocol.title()
                            )));
                        }
                        bytes += target.memory_bytes();
                        targets.push(target);
                    }
                    Err(error) => errors.push(format!("{}, {}: {error}", self.name, line(row))),
                }
                if errors.len() >= MAX_ERRORS {
                    return Err(Failure::bad_input(errors.join("\n")));
                }
                if bytes > self.max_bytes {
                    return Err(Failure::bad_input(format!(
                        "{}: the requests of its {} rows exceed {} MiB after {} requests: use fewer rows, fewer requests or \
                         shorter bodies",
                        self.name,
                        self.rows.len(),
                        self.max_bytes >> 20,
                        targets.len()
                    )));
                }
            }
        }
        if errors.is_empty() { Ok(targets) } else { Err(Failure::bad_input(errors.join("\n"))) }
    }

    fn templates(&self, requests: Vec<Listed>) -> Result<Vec<Template>, Failure> {
        let templates = made_of_all(requests, |request| Template::new(request, &self.fields))?;
        if !templates.iter().any(|template| template.has_fields) {
            return Err(Failure::bad_input(format!(
                "{}: no request uses one of its fields; write `{{{{{}}}}}` in a URL, a header or a body",
                self.name,
                self.fields.join("}}`, `{{")
            )));
        }
        Ok(templates)
    }
}

/// The line of a row, for messages.
fn line(row: &StringRecord) -> String {
    row.position().map_or_else(|| "a row".to_owned(), |position| format!("line {}", position.line()))
}

/// A request with placeholders.
struct Template {
    request: Request,
    url: Text,
    headers: Vec<(String, Text)>,
    /// None if the body is not text.
    body: Option<Text>,
    /// True if the URL, a header or the body has a field.
    has_fields: bool,
    /// True if the URL or a header has a field.
    has_fields_outside_body: bool,
}

impl Template {
    fn new(request: Request, fields: &[String]) -> Result<Self, String> {
        let url = Text::new(&request.url, fields)?;
        let headers = request
            .headers
            .iter()
            .map(|(name, value)| Ok((name.clone(), Text::new(value, fields)?)))
            .collect::<Result<Vec<_>, String>>()?;
        let body = std::str::from_utf8(&request.body).ok().map(|body| Text::new(body, fields)).transpose()?;
        let has_fields_outside_body = url.has_fields() || headers.iter().any(|(_, value)| value.has_fields());
        let has_fields = has_fields_outside_body || body.as_ref().is_some_and(Text::has_fields);
        Ok(Self { request, url, headers, body, has_fields, has_fields_outside_body })
    }

    fn fill(&self, row: &StringRecord) -> Request {
        Request {
            url: self.url.fill(row),
            method: self.request.method.clone(),
            headers: self.headers.iter().map(|(name, value)| (name.clone(), value.fill(row))).collect(),
            body: match &self.body {
                Some(body) => body.fill(row).into_bytes(),
                None => self.request.body.clone(),
            },
        }
    }
}

/// A text with placeholders: each piece is followed by the field with that index.
#[derive(Debug)]
struct Text {
    pieces: Vec<(String, usize)>,
    rest: String,
}

impl Text {
    /// Finds the placeholders. Braces around anything else stay unchanged, because JSON has braces, too.
    fn new(text: &str, fields: &[String]) -> Result<Self, String> {
        let (mut pieces, mut piece, mut rest) = (Vec::new(), String::new(), text);
        while let Some((before, after)) = rest.split_once("{{") {
            piece.push_str(before);
            let name = after.split_once("}}").filter(|(name, _)| is_name(name));
            let Some((name, behind)) = name else {
                // Of three braces, the second may begin the next placeholder.
                piece.push('{');
                rest = rest.get(before.len() + 1..).unwrap_or_default();
                continue;
            };
            let Some(number) = fields.iter().position(|field| field == name.trim()) else {
                return Err(format!(
                    "unknown field `{}`{}; the fields are `{}`",
                    name.trim(),
                    hint(name.trim(), fields.iter().map(String::as_str)),
                    fields.join("`, `")
                ));
            };
            pieces.push((std::mem::take(&mut piece), number));
            rest = behind;
        }
        Ok(Self { pieces, rest: piece + rest })
    }

    fn has_fields(&self) -> bool {
        !self.pieces.is_empty()
    }

    fn fill(&self, row: &StringRecord) -> String {
        let mut text = String::new();
        for (piece, field) in &self.pieces {
            text.push_str(piece);
            text.push_str(row.get(*field).unwrap_or_default());
        }
        text + &self.rest
    }
}

fn is_name(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains(['{', '}', '"', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<Table, String> {
        Table::parse("data".to_owned(), text.as_bytes())
    }

    fn listed(url: &str, header: &str, body: &str) -> Vec<Listed> {
        let headers = vec![("x-a".to_owned(), header.to_owned())];
        let request = Request {
            url: url.to_owned(),
            method: "POST".to_owned(),
            headers,
            body: body.as_bytes().to_vec(),
        };
        vec![Listed { place: String::new(), request: Ok(request) }]
    }

    fn filled(rows: &Table, template: &str) -> Vec<String> {
        let text = Text::new(template, &rows.fields).unwrap();
        rows.rows.iter().map(|row| text.fill(row)).collect()
    }

    #[test]
    fn every_row_is_filled_into_its_places() {
        let rows = rows("id, name\n1,a\n2,\"b, \"\"c\"\"\"\n").unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(filled(&rows, "{{id}}-{{ name }}{{id}}"), ["1-a1", "2-b, \"c\"2"]);
        // Braces of JSON are no fields, also before one.
        assert_eq!(filled(&rows, r#"{"a":{"b":{{id}}}}{{"#)[1], r#"{"a":{"b":2}}{{"#);
        assert_eq!(filled(&rows, "{{{id}}}")[0], "{1}");
        let targets = rows.targets(listed("http://127.0.0.1/{{id}}", "{{name}}", "b{{id}}"), |request| {
            Target::new(&request.url, "POST", request.headers.clone(), request.body.clone())
                .map_err(|error| error.to_string())
        });
        let paths: Vec<String> = targets.unwrap().iter().map(|target| target.path().to_owned()).collect();
        assert_eq!(paths, ["/1", "/2"]);
    }

    #[test]
    fn rows_above_the_memory_limit_are_rejected() {
        let mut rows = rows("id\n1\n2\n3\n").unwrap();
        let refused = |rows: &Table, body: usize| {
            let requests = listed("http://127.0.0.1/{{id}}", "", &"x".repeat(body));
            let target = |request: &Request| {
                Target::new(&request.url, "POST", Vec::new(), request.body.clone())
                    .map_err(|error| error.to_string())
            };
            rows.targets(requests, target).err().map(|error| error.to_string())
        };
        rows.max_bytes = 2 << 20;
        assert_eq!(refused(&rows, 100), None);
        let error = refused(&rows, 900 << 10).unwrap();
        assert!(error.contains("3 rows exceed 2 MiB"), "{error}");
    }

    #[test]
    fn errors_in_data_are_reported_with_their_position() {
        for (text, expected) in [
            ("id,id\n1,2\n", "two columns are named `id`"),
            ("id,\n1,2\n", "column 2 has no name"),
            ("id\n", "no row"),
            ("", "no row"),
            ("id,name\n1,a\n2\n", "line: 3"),
        ] {
            let error = rows(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let rows = rows("identity,name\n1,a\n2,b\n").unwrap();
        let error = |requests| {
            let fail = |request: &Request| match request.url.as_str() {
                "http://127.0.0.1/2" => Err("wrong".to_owned()),
                url => Target::new(url, "GET", Vec::new(), Vec::new()).map_err(|error| error.to_string()),
            };
            format!("{:?}", rows.targets(requests, fail).unwrap_err())
        };
        assert!(error(listed("/", "{{identiy}}", "")).contains("did you mean `identity`?"));
        assert!(
            error(listed("/", "", "")).contains("no request uses one of its fields; write `{{identity}}`")
        );
        assert!(error(listed("http://127.0.0.1/{{identity}}", "", "")).contains("data, line 3: wrong"));
        assert!(error(listed("ws://127.0.0.1/{{identity}}", "", "")).contains("only be in the body"));
    }
}
