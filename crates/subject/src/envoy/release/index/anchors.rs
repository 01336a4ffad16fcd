//! The addresses of the anchors on a page in HTML.
//!
//! Indexes have simple pages, so this parser knows only tags, quoted and bare values, comments, and character references in values. It
//! treats the content of scripts as text, and ignores `<base>`. At worst it finds an address that is not of a wheel, or no address, and
//! then the release is missing. Parsing takes linear time for every page.

/// Maximum length of a known character reference after its `&`, as in `&#x10FFFF;`.
const MOST_REFERENCE_BYTES: usize = 9;

/// The values of `href` of all anchors, in their order.
pub fn addresses(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        if let Some(comment) = after.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        // A `<` that is not followed by a name is text, and end tags have no address.
        if !after.starts_with(|character: char| character.is_ascii_alphabetic()) {
            rest = after;
            continue;
        }
        let (address, after) = tag(after);
        found.extend(address);
        rest = after;
    }
    found
}

/// Reads a tag from after its `<`. Returns its address if it is an anchor, and the rest of the text.
fn tag(text: &str) -> (Option<String>, &str) {
    let ends_name = |character: char| character.is_ascii_whitespace() || ['>', '/'].contains(&character);
    let (name, mut rest) = text.split_at(text.find(ends_name).unwrap_or(text.len()));
    let is_anchor = name.eq_ignore_ascii_case("a");
    let mut address = None;
    loop {
        rest = rest.trim_start_matches(|character: char| character.is_ascii_whitespace() || character == '/');
        if let Some(after) = rest.strip_prefix('>') {
            return (address, after);
        }
        if rest.is_empty() {
            // The page ends within the tag.
            return (None, rest);
        }
        let ends_attribute = |character: char| ends_name(character) || character == '=';
        // A stray `=` begins a name, so each iteration consumes something.
        let mut others = rest.char_indices().skip(1);
        let end = others.find(|(_, character)| ends_attribute(*character));
        let (attribute, after) = rest.split_at(end.map_or(rest.len(), |(end, _)| end));
        let after = after.trim_ascii_start();
        let (value, after) =
            after.strip_prefix('=').map_or(("", after), |after| value(after.trim_ascii_start()));
        if is_anchor && address.is_none() && attribute.eq_ignore_ascii_case("href") {
            address = Some(unescaped(value.trim_ascii()));
        }
        rest = after;
    }
}

/// Reads the value of an attribute: in quotes, or up to white space or the end of the tag.
fn value(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(quoted) = text.strip_prefix(quote) {
            return quoted.split_once(quote).unwrap_or((quoted, ""));
        }
    }
    let ends = |character: char| character.is_ascii_whitespace() || character == '>';
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

/// Replaces character references. Other text stays as it is.
fn unescaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('&') {
        text.push_str(before);
        let end = after.bytes().take(MOST_REFERENCE_BYTES).position(|byte| byte == b';');
        let reference = end.and_then(|end| Some((character(after.get(..end)?)?, after.get(end + 1..)?)));
        let (character, after) = reference.unwrap_or(('&', after));
        text.push(character);
        rest = after;
    }
    text.push_str(rest);
    text
}

/// The character of a reference, which is given without `&` and `;`.
fn character(reference: &str) -> Option<char> {
    match reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = reference.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_read_however_they_are_written() {
        for page in [
            r#"<a href="x">"#,
            "<a href='x'>",
            "<a href=x>",
            "<a href=' x\n'>",
            "<A  class=k\n HREF = \"x\" download/>",
            r#"<p>1 < 2 <a rel=">" href="x" href="y">y</a>"#,
            r#"<!-- <a href="y"> --><a href="x">"#,
            "<br/><a =href='y' href=x>",
            "<a href='x'><a href='y",
        ] {
            assert_eq!(addresses(page), ["x"], "{page}");
        }
        assert_eq!(addresses("<a href=1><b href=2><a name=3></a><a href=4/5>"), ["1", "4/5"]);
    }

    #[test]
    fn what_is_no_anchor_has_no_address() {
        for page in [
            "",
            "<",
            "<a",
            "<a href",
            "<a href=",
            "<a href=x",
            "<!--<a href=x>",
            "<abbr href=x>",
            "</a href",
            "a href=x",
        ] {
            assert!(addresses(page).is_empty(), "{page}");
        }
    }

    #[test]
    fn character_references_are_replaced_and_others_stay() {
        let text = "a&amp;b&#38;c&#x26;d&lt;&gt;&quot;&apos;&#39;";
        assert_eq!(unescaped(text), "a&b&c&d<>\"''");
        for text in ["&", "&;", "&amp", "&nbsp;", "&#;", "&#x110000;", "&#xD800;", "&é;", "a&b=c;"] {
            assert_eq!(unescaped(text), text);
        }
    }

    /// Each page would take hours if parsing were quadratic.
    #[test]
    fn a_long_page_is_read_at_once() {
        let megabytes = |part: &str| part.repeat((4 << 20) / part.len());
        for page in [
            megabytes("<"),
            megabytes("<a "),
            megabytes("="),
            format!("<a {}", megabytes("= ")),
            format!("<a href='{}'>", megabytes("&")),
            megabytes("<!--"),
            megabytes("<a href=\""),
        ] {
            assert!(addresses(&page).len() < page.len());
        }
    }
}
