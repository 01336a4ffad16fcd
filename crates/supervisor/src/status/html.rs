//! The status as a web page, with the same words as the text. It loads nothing and runs no script.

use super::Status;
use super::page::HEADINGS;

/// The colours are those of reports (`ui/src/style/colours.css`). On a narrow screen, each upstream becomes a list of its values.
const STYLE: &str = "\
:root { color-scheme: light dark; --ink: light-dark(#1b1f24, #e6e9ed); --soft: light-dark(#56606b, #a3adb8); \
--line: light-dark(#dde2e8, #2c343d); --page: light-dark(#fff, #12161b); --panel: light-dark(#f4f6f8, #1a2027); \
--own: light-dark(#0b62c4, #6cb0ff); --alarm: light-dark(#c4271e, #ff7b72); }
body { margin: 0 auto; padding: 1.25rem 1rem 2rem; max-width: 68rem; color: var(--ink); background: var(--page); \
font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.1rem; } header p, footer { color: var(--soft); } footer { margin-top: 1rem; }
header p { margin: 0 0 1rem; } section p { margin: 0; } a { color: var(--own); }
.said { margin: .5rem 0; padding: .5rem .75rem; background: var(--panel); border-left: .25rem solid var(--line); }
.alarm { border-left-color: var(--alarm); }
code, pre { font: .9em/1.5 ui-monospace, monospace; }
pre { margin: .5rem 0 0; white-space: pre-wrap; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .6rem; text-align: right; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; } th:first-child { text-align: left; padding-left: 0; }
tbody th { color: inherit; } td { white-space: nowrap; } .slow { color: var(--alarm); }
@media (max-width: 46rem) {
thead { position: absolute; clip-path: inset(50%); } table, tbody, tr, th, td { display: block; }
tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
th, td { padding: .1rem 0; border: 0; } td { display: flex; justify-content: space-between; }
td::before { content: attr(data-heading); color: var(--soft); } }
";

impl Status {
    /// The page with the time of the status.
    pub(crate) fn html(&self, at: &str) -> String {
        let state = if self.needs_attention() { "look" } else { "sound" };
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<title>{state}: \
             {file}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<header><h1>{file}</h1><p>As of {at}; \
             reload the page to update it</p></header>\n<main>\n<section>\n",
            file = escaped(&self.file),
        );
        for statement in self.statements() {
            let class = if statement.is_alarm { "said alarm" } else { "said" };
            let details = match statement.details.join("\n") {
                details if details.is_empty() => String::new(),
                details => format!("<pre>{}</pre>", escaped(&details)),
            };
            page += &format!("<div class=\"{class}\"><p>{}</p>{details}</div>\n", named(&statement.text));
        }
        page += &format!("</section>\n<p>{}</p>\n", self.counted());
        for line in self.of_times() {
            page += &format!("<p>{}</p>\n", escaped(&line));
        }
        if !self.upstreams.is_empty() {
            self.add_upstreams(&mut page);
        }
        page += "</main>\n<footer>The same data as <a href=\"/status.json\">JSON</a> and as <a \
                 href=\"/metrics\">metrics</a></footer>\n</body>\n</html>\n";
        page
    }

    fn add_upstreams(&self, page: &mut String) {
        let headings: String =
            HEADINGS.iter().map(|heading| format!("<th scope=\"col\">{heading}</th>")).collect();
        *page += &format!("<table>\n<thead><tr>{headings}</tr></thead>\n<tbody>\n");
        for upstream in &self.upstreams {
            let slow = if upstream.slow.is_some() { " <span class=\"slow\">slow</span>" } else { "" };
            let cells = upstream.cells();
            let [name, values @ ..] = &cells;
            *page += &format!("<tr><th scope=\"row\">{}{slow}</th>", escaped(name));
            for (heading, value) in HEADINGS.iter().skip(1).zip(values) {
                *page += &format!("<td data-heading=\"{heading}\">{value}</td>");
            }
            *page += "</tr>\n";
        }
        *page += "</tbody>\n</table>\n";
    }
}

/// Converts names between backticks to elements.
fn named(text: &str) -> String {
    let mut pieces = text.split('`');
    let mut page = escaped(pieces.next().unwrap_or_default());
    while let Some(name) = pieces.next().map(escaped) {
        page += &match pieces.next() {
            Some(rest) => format!("<code>{name}</code>{}", escaped(rest)),
            // An unmatched backtick.
            None => format!("`{name}"),
        };
    }
    page
}

fn escaped(text: &str) -> String {
    let sign = |letter: char| match letter {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#39;".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn a_browser_gets_what_the_text_says() {
        let page = sample().html("2026-11-28T14:04:00Z");
        // The style is looked at, not read.
        insta::assert_snapshot!(page.replace(STYLE, ""));
    }

    #[test]
    fn no_name_of_a_file_is_markup() {
        let mut status = sample();
        let markup = "<script>&\"'`";
        status.file = markup.to_owned();
        status.last.reason = Some(markup.to_owned());
        status.unknown_times = Some(markup.to_owned());
        status.upstreams.iter_mut().for_each(|upstream| upstream.name = markup.to_owned());
        let page = status.html("now");
        assert!(!page.contains("<script"), "{page}");
        assert!(page.matches("&lt;script&gt;&amp;&quot;&#39;").count() > 8, "{page}");
    }

    #[test]
    fn a_text_with_an_odd_backtick_loses_nothing() {
        assert_eq!(named("a `b` c"), "a <code>b</code> c");
        assert_eq!(named("`a` `b"), "<code>a</code> `b");
        assert_eq!(named("a `b"), "a `b");
    }
}
