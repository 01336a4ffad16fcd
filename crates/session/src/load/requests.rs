//! Parses the file of `--requests`. Each line is one request: a path, a method with path and body, or a JSON target of vegeta.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hoptax_load::join_url;
use hoptax_text::file::text_up_to;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Requests;
use crate::failure::Failure;

/// The most bytes of a file of requests.
const MOST_BYTES: u64 = 1 << 30;

/// One request of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) url: String,
    pub(super) method: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// A request of a list, or the reason why it is invalid.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    /// Its place in the file; empty if it comes from no file.
    pub(super) place: String,
    /// The request.
    pub(super) request: Result<Request, String>,
}

/// Applies a function to each request. If some are invalid, returns an error that lists all of their errors, each with its place.
pub(super) fn made_of_all<T>(
    requests: Vec<Listed>,
    make: impl Fn(Request) -> Result<T, String>,
) -> Result<Vec<T>, Failure> {
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    for Listed { place, request } in requests {
        match request.and_then(&make) {
            Ok(one) => all.push(one),
            Err(error) if place.is_empty() => errors.push(error),
            Err(error) => errors.push(format!("{place}: {error}")),
        }
    }
    if errors.is_empty() { Ok(all) } else { Err(Failure::bad_input(errors.join("\n"))) }
}

/// A line of JSON, with the fields of vegeta's targets.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    url: String,
    method: Option<String>,
    /// Each header name with its values.
    #[serde(default)]
    header: Map<String, Value>,
    /// The body in base64.
    body: Option<String>,
}

/// Reads the requests of a file. `base` is the host of the paths. A line without a method or a header uses those of `all`.
pub(super) fn read(path: &Path, base: &str, all: &Requests) -> Result<Vec<Listed>, Failure> {
    let text = text_up_to(path, MOST_BYTES).map_err(|error| {
        Failure::bad_input(format!("cannot read the requests `{}`: {error}", path.display()))
    })?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let read = lines.map(|(number, line)| {
        let place = format!("requests `{}`, line {number}", path.display());
        Listed { place, request: request(line.trim(), base, &all.method, &all.headers) }
    });
    let requests: Vec<_> = read.collect();
    if requests.is_empty() {
        return Err(Failure::bad_input(format!(
            "requests `{}`: the file has no request; expected one per line, as `/path` or `POST /path BODY`",
            path.display()
        )));
    }
    Ok(requests)
}

fn request(line: &str, base: &str, method: &str, headers: &[(String, String)]) -> Result<Request, String> {
    if line.starts_with('{') {
        return request_from_json(line, base, method, headers);
    }
    let mut words = line.splitn(3, ' ');
    let first = words.next().unwrap_or_default();
    let (method, place, body) = if first.starts_with('/') || first.contains("://") {
        if words.next().is_some() {
            return Err(
                "unexpected text after the path: a line with a body needs a method, as in `POST /path BODY`"
                    .to_owned(),
            );
        }
        (method, first, "")
    } else {
        (first, words.next().unwrap_or("/"), words.next().unwrap_or_default())
    };
    Ok(Request {
        url: join_url(base, place),
        method: method.to_owned(),
        headers: headers.to_vec(),
        body: body.as_bytes().to_vec(),
    })
}

fn request_from_json(
    line: &str,
    base: &str,
    method: &str,
    headers: &[(String, String)],
) -> Result<Request, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| format!("invalid JSON request: {error}"))?;
    let mut own = Vec::new();
    for (name, values) in line.header {
        let invalid = || format!("the values of header `{name}` must be strings, as in `[\"value\"]`");
        let values = match values {
            Value::Array(values) => values,
            value => vec![value],
        };
        for value in values {
            own.push((name.clone(), value.as_str().ok_or_else(invalid)?.to_owned()));
        }
    }
    // A header of the line replaces the header of the same name in `all`.
    let is_own = |name: &str| own.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    let mut all: Vec<_> = headers.iter().filter(|(name, _)| !is_own(name)).cloned().collect();
    all.append(&mut own);
    let body = STANDARD
        .decode(line.body.unwrap_or_default())
        .map_err(|error| format!("the body is not base64: {error}"))?;
    Ok(Request {
        url: join_url(base, &line.url),
        method: line.method.unwrap_or_else(|| method.to_owned()),
        headers: all,
        body,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn read(line: &str) -> Result<Request, String> {
        request(line, "http://a:1/base", "GET", &headers(&[("x-a", "all"), ("x-b", "all")]))
    }

    #[test]
    fn lines_are_paths_or_methods_with_paths_and_bodies() {
        let is = |line: &str, method: &str, url: &str, body: &str| {
            let read = read(line).unwrap();
            assert_eq!((read.method.as_str(), read.url.as_str()), (method, url), "{line}");
            assert_eq!(read.body, body.as_bytes(), "{line}");
        };
        is("/x?y=1", "GET", "http://a:1/x?y=1", "");
        is("POST /x {\"a\": 1}", "POST", "http://a:1/x", "{\"a\": 1}");
        is("http://b:2/z", "GET", "http://b:2/z", "");
        is("HEAD http://b:2/z", "HEAD", "http://b:2/z", "");
        assert!(read("/a b").unwrap_err().contains("POST /path BODY"));
    }

    #[test]
    fn a_json_line_has_headers_and_a_binary_body() {
        let line =
            r#"{"method": "PUT", "url": "/x", "header": {"X-B": ["1", "2"], "x-c": "3"}, "body": "/wA="}"#;
        let expected = Request {
            url: "http://a:1/x".to_owned(),
            method: "PUT".to_owned(),
            headers: headers(&[("x-a", "all"), ("X-B", "1"), ("X-B", "2"), ("x-c", "3")]),
            body: vec![0xff, 0],
        };
        assert_eq!(read(line).unwrap(), expected);
        let least = read(r#"{"url": "http://b/"}"#).unwrap();
        assert_eq!((least.method.as_str(), least.url.as_str(), least.headers.len()), ("GET", "http://b/", 2));
        for (line, expected) in [
            (r#"{"url": "/", "bodi": ""}"#, "unknown field `bodi`"),
            (r#"{"method": "GET"}"#, "missing field `url`"),
            (r#"{"url": "/", "body": "?"}"#, "not base64"),
            (r#"{"url": "/", "header": {"a": [1]}}"#, "header `a` must be strings"),
            (r#"{"url""#, "invalid JSON request"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
