//! Elements of Markdown: code, table cells, links to sources.

/// The file name of a page: `rate-limit-local.md` for `rate-limit/local`.
pub(super) fn file_name(name: &str) -> String {
    format!("{}.md", name.replace('/', "-"))
}

/// A text as inline code. If it contains a backtick, it is delimited by two.
pub(super) fn code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// A text as one line of a page. Escapes outside of code what would be HTML.
pub(super) fn line(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(place, part)| {
        let one_line = part.replace('\n', " ");
        if place % 2 == 0 { one_line.replace('<', "&lt;") } else { one_line }
    });
    parts.collect::<Vec<_>>().join("`")
}

/// A text as a table cell. Escapes bars, which would end the cell even within code.
pub(super) fn cell(text: &str) -> String {
    line(text).replace('|', "\\|")
}

/// A row of a table.
pub(super) fn row<const COLUMNS: usize>(cells: [&str; COLUMNS]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// A source, with its addresses as links.
pub(super) fn source(text: &str) -> String {
    let word = |word: &str| {
        if !word.starts_with("https://") && !word.starts_with("http://") {
            return line(word);
        }
        let address = word.trim_end_matches([';', ',', '.', ')']);
        let rest = word.strip_prefix(address).unwrap_or_default();
        format!("<{address}>{rest}")
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_becomes_markup() {
        assert_eq!(file_name("rate-limit/local"), "rate-limit-local.md");
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a `b`"), "`` a `b` ``");
        assert_eq!(line("a <b> `<c>`\nd"), "a &lt;b> `<c>` d");
        assert_eq!(cell("`a|b` | c"), "`a\\|b` \\| c");
        assert_eq!(row(["a", "b"]), "| a | b |\n");
    }

    #[test]
    fn addresses_of_a_source_are_links_without_the_signs_behind_them() {
        assert_eq!(source("https://a.example/b; Tene (2013)"), "<https://a.example/b>; Tene (2013)");
        assert_eq!(source("RFC 9411, 7.1"), "RFC 9411, 7.1");
    }
}
