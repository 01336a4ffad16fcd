//! Addresses of an index, and addresses on its page, which may be relative to it and contain secrets.

use ureq::http::Uri;

/// Resolves a reference on a page to an absolute address (RFC 3986, section 5.2); none if it is not an HTTP address.
pub(super) fn resolved(page: &Uri, reference: &str) -> Option<String> {
    if let Some(scheme) = scheme(reference) {
        let is_http = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
        return is_http.then(|| reference.to_owned());
    }
    let scheme = page.scheme_str()?;
    if reference.starts_with("//") {
        return Some(format!("{scheme}:{reference}"));
    }
    let (path, query) = reference.split_at(reference.find('?').unwrap_or(reference.len()));
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        // Replaces the last segment of the page's path.
        let (folder, _) = page.path().rsplit_once('/')?;
        format!("{folder}/{path}")
    };
    Some(format!("{scheme}://{}{}{query}", page.authority()?, without_dots(&path)))
}

/// Splits an address into the address without user information, and the user information, if any.
pub(super) fn without_user(address: &str) -> (String, Option<&str>) {
    let whole = || (address.to_owned(), None);
    let Some((scheme, rest)) = address.split_once("//") else { return whole() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let Some((user, host)) = authority.rsplit_once('@') else { return whole() };
    (format!("{scheme}//{host}{path}"), Some(user))
}

/// The part of an address that may be shown: its user information is secret, and its query may be.
pub(super) fn shown(address: &str) -> String {
    let (mut address, _) = without_user(address);
    address.truncate(address.find(['?', '#']).unwrap_or(address.len()));
    address
}

/// The scheme of an address; none if it has none.
fn scheme(reference: &str) -> Option<&str> {
    let (scheme, _) = reference.split_once(':')?;
    let is_one = scheme.starts_with(|character: char| character.is_ascii_alphabetic())
        && scheme.chars().all(|character| character.is_ascii_alphanumeric() || "+-.".contains(character));
    is_one.then_some(scheme)
}

/// A path that begins with `/`, with the segments `.` and `..` resolved.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut parts = path.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        match part {
            "." => {}
            ".." => {
                kept.pop();
            }
            part => kept.push(part),
        }
        if is_last && [".", ".."].contains(&part) {
            // The path names a folder.
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_as_the_standard_says() {
        let page: Uri = "https://a.test:8443/b/c/d?q".parse().unwrap();
        for (reference, expected) in [
            ("g", "https://a.test:8443/b/c/g"),
            ("./g", "https://a.test:8443/b/c/g"),
            ("g/", "https://a.test:8443/b/c/g/"),
            ("/g", "https://a.test:8443/g"),
            ("//g.test/h", "https://g.test/h"),
            ("g?y=./x", "https://a.test:8443/b/c/g?y=./x"),
            ("..", "https://a.test:8443/b/"),
            ("../g", "https://a.test:8443/b/g"),
            ("../../g", "https://a.test:8443/g"),
            ("../../../g", "https://a.test:8443/g"),
            ("/./g", "https://a.test:8443/g"),
            ("/../g", "https://a.test:8443/g"),
            ("g.", "https://a.test:8443/b/c/g."),
            ("..g", "https://a.test:8443/b/c/..g"),
            ("./g/.", "https://a.test:8443/b/c/g/"),
            ("g/./h", "https://a.test:8443/b/c/g/h"),
            ("g/../h", "https://a.test:8443/b/c/h"),
            ("http://other.test/../x", "http://other.test/../x"),
            ("HTTPS://other.test/x", "HTTPS://other.test/x"),
        ] {
            assert_eq!(resolved(&page, reference).as_deref(), Some(expected), "{reference}");
        }
        let top: Uri = "http://a.test".parse().unwrap();
        assert_eq!(resolved(&top, "g").as_deref(), Some("http://a.test/g"));
    }

    #[test]
    fn neither_a_user_nor_a_query_is_shown() {
        for address in [
            "https://a.test/b.whl",
            "https://a.test/b.whl?token=secret#c",
            "https://me:secret@a.test/b.whl",
            "https://me:s@cret@a.test/b.whl?secret@",
        ] {
            assert_eq!(shown(address), "https://a.test/b.whl", "{address}");
        }
        assert_eq!(shown("//me:secret@a.test/b"), "//a.test/b");
        // An `@` after the host is part of the path.
        assert_eq!(shown("https://a.test/feed@view/simple"), "https://a.test/feed@view/simple");
    }

    #[test]
    fn addresses_of_other_schemes_are_none() {
        let page: Uri = "https://a.test/".parse().unwrap();
        for reference in ["file:///etc/passwd", "ftp://a.test/x", "javascript:x", "data:,x"] {
            assert_eq!(resolved(&page, reference), None, "{reference}");
        }
        // A colon after a slash is part of the path.
        assert_eq!(resolved(&page, "x/y:z").as_deref(), Some("https://a.test/x/y:z"));
    }
}
