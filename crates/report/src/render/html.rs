//! A document as one HTML file: the page of `ui/` with the document inside. It loads nothing from disk or network; a page from a server may
//! send requests to that server.

use serde_json::Result;

use crate::document::Document;

/// The page built by `make ui`, with placeholders for the title, the answer as text, and the document.
const PAGE: &str = include_str!("../../../../ui/dist/report.html");
/// The placeholders, in their order.
const PLACES: [&str; 5] = [POLICY_END, "{{ title }}", ROOT, "{{ words }}", "{{ document }}"];

/// Start of the policy in the page.
const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"";
/// End of the policy in the page.
const POLICY_END: &str = "; img-src data:";
/// Addition to the policy that lets a page send requests only to its own server.
const CONNECT: &str = "; connect-src 'self'";
/// The root element of the page. Its attributes carry settings.
const ROOT: &str = "<div id=\"page\"";

/// Settings that a server passes to its page. A page in a file has none, so it sends no requests.
#[derive(Clone, Copy, Debug)]
pub struct Served<'a> {
    /// The path of the API, without a trailing slash.
    pub api: &'a str,
    /// True if users may send configurations to be priced.
    pub allows_bills: bool,
    /// The run of the store that the page shows; None for the page of the history, and for a comparison of several runs.
    pub run: Option<i64>,
    /// The outputs in which the API offers the run, each its extension and its name for people.
    pub outputs: &'a [(&'a str, &'a str)],
    /// The names of other tools' formats in which the API offers the run.
    pub exports: &'a [&'a str],
    /// The fragment of the history page's URL that opens the form with the settings of the run; None if the settings are unknown.
    pub again: Option<&'a str>,
    /// The run of the same study on the same machine before the run that the page shows, and its start; None on other pages, and without
    /// one.
    pub before: Option<(i64, &'a str)>,
    /// The runs that the page compares, the reference first; empty on other pages.
    pub compared: &'a [i64],
    /// The newest run of the history that has a result; None on other pages, and if there is no run.
    pub newest: Option<i64>,
}

/// The page of a document.
///
/// # Errors
/// When a number of the document is not finite.
pub fn page(document: &Document) -> Result<String> {
    filled(document, "", "")
}

/// The page of a document as a server sends it, with forms to start loads and files to download.
///
/// # Errors
/// As [`page`].
pub fn served_page(document: &Document, served: Served<'_>) -> Result<String> {
    let run = served.run.map(|run| format!(" data-run=\"{run}\"")).unwrap_or_default();
    let outputs: Vec<String> =
        served.outputs.iter().map(|(ending, name)| format!("{ending}={name}")).collect();
    let outputs = match outputs.as_slice() {
        [] => String::new(),
        all => format!(" data-outputs=\"{}\"", escaped(&all.join(","))),
    };
    let exports = match served.exports {
        [] => String::new(),
        names => format!(" data-exports=\"{}\"", names.join(" ")),
    };
    let again = served.again.map(|again| format!(" data-again=\"{}\"", escaped(again))).unwrap_or_default();
    let before = served.before.map(|(run, start)| format!(" data-before=\"{run} {}\"", escaped(start)));
    let before = before.unwrap_or_default();
    let compared: Vec<String> = served.compared.iter().map(i64::to_string).collect();
    let compared = match compared.as_slice() {
        [] => String::new(),
        runs => format!(" data-compared=\"{}\"", runs.join(",")),
    };
    let newest = served.newest.map(|run| format!(" data-newest=\"{run}\"")).unwrap_or_default();
    let bills = if served.allows_bills { " data-bills=\"\"" } else { "" };
    let api = escaped(served.api);
    let told = format!(" data-api=\"{api}\"{bills}{run}{outputs}{exports}{again}{before}{compared}{newest}");
    filled(document, CONNECT, &told)
}

/// The page with an addition to its policy and with attributes of its root element.
fn filled(document: &Document, more_policy: &str, attributes: &str) -> Result<String> {
    // In JSON, `<` occurs only in strings. Escape it, so that no string can end the script element.
    let json = serde_json::to_string(document)?.replace('<', "\\u003c");
    let title = escaped(&format!("{} - hoptax", document.subject));
    let mut page = String::with_capacity(PAGE.len() + json.len());
    let mut rest = PAGE;
    let texts =
        [format!("{POLICY_END}{more_policy}"), title, format!("{ROOT}{attributes}"), words(document), json];
    for (place, text) in PLACES.into_iter().zip(texts) {
        let (before, after) = rest.split_once(place).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(&text);
        rest = after;
    }
    page.push_str(rest);
    Ok(page)
}

/// The Content-Security-Policy of the page, for servers. It allows only the page's own script, by its hash.
pub fn policy() -> &'static str {
    let (_, rest) = PAGE.split_once(POLICY).unwrap_or_default();
    rest.split_once('"').map_or("default-src 'none'", |(policy, _)| policy)
}

/// The Content-Security-Policy of [`served_page`], for servers.
pub fn served_policy() -> String {
    format!("{}{CONNECT}", policy())
}

/// Returns the text for a browser without scripts: the answer, and where to find the rest.
fn words(document: &Document) -> String {
    let answer =
        document.answer.iter().map(|sentence| format!("<p>{}.</p>", escaped(sentence.trim_end_matches('.'))));
    let rest = "<p>This page draws with a script that is inside it. Without scripts, read the Markdown or the JSON file beside it.</p>";
    answer.chain([rest.to_owned()]).collect()
}

/// Escapes markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{documents, fixture};

    /// The document inside a page.
    fn inside(page: &str) -> serde_json::Value {
        let (_, rest) = page.split_once("<script type=\"application/json\" id=\"document\">").unwrap();
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
    }

    #[test]
    fn the_built_page_has_each_place_once_and_in_order() {
        let places = PLACES.map(|place| PAGE.find(place).unwrap_or_else(|| panic!("{place}")));
        assert!(places.is_sorted());
        assert!(PLACES.iter().all(|place| PAGE.matches(place).count() == 1));
    }

    #[test]
    fn a_page_holds_its_document_and_says_the_answer_without_scripts() {
        let document = documents::study_of(&fixture::study(), "quick", "runs/quick");
        let page = page(&document).unwrap();
        assert_eq!(inside(&page), serde_json::to_value(&document).unwrap());
        let (_, words) = page.split_once("<noscript>").unwrap();
        let words = words.split_once("</noscript>").unwrap().0;
        assert!(words.contains(&escaped(&document.answer[0])), "{words}");
    }

    #[test]
    fn text_of_a_file_is_not_markup_on_a_page_and_reads_as_it_was_written() {
        let evil = "</script><script>alert(1)</script><!-- {{ document }}";
        let mut result = fixture::study();
        result.name = evil.to_owned();
        result.summary = evil.to_owned();
        for arm in &mut result.arms {
            arm.summary = evil.to_owned();
        }
        result.arms[1].id = evil.to_owned();
        let document = documents::study(&result);
        let page = page(&document).unwrap();
        assert!(!page.contains("<script>alert") && !page.contains("<!-- "));
        // The only scripts are those of the page itself.
        assert_eq!(page.matches("<script").count(), PAGE.matches("<script").count());
        assert_eq!(page.matches("</script").count(), PAGE.matches("</script").count());
        assert_eq!(inside(&page), serde_json::to_value(&document).unwrap());
    }

    #[test]
    fn a_page_may_load_nothing() {
        assert!(PAGE.contains("default-src 'none'") && !PAGE.contains(" src=") && !PAGE.contains("<link"));
        assert!(policy().starts_with("default-src 'none'; "), "{}", policy());
        assert!(
            policy().contains("script-src 'sha256-") && policy().ends_with("img-src data:"),
            "{}",
            policy()
        );
    }

    #[test]
    fn only_the_page_of_a_server_is_told_where_its_api_is_and_may_ask_it() {
        let document = documents::study(&fixture::study());
        let tag = |page: &str| {
            let (_, rest) = page.split_once("<body>").unwrap();
            rest.split_once('>').unwrap().0.trim().to_owned()
        };
        let in_file = page(&document).unwrap();
        assert_eq!(tag(&in_file), "<div id=\"page\"");
        assert!(!in_file.contains("connect-src") && !policy().contains("connect-src"));
        let policy_of_page = format!("{POLICY}{}\"", served_policy());
        assert!(policy_of_page.ends_with("; connect-src 'self'\""), "{policy_of_page}");
        let nothing = Served {
            api: "/api/v1",
            allows_bills: false,
            run: None,
            outputs: &[],
            exports: &[],
            again: None,
            before: None,
            compared: &[],
            newest: None,
        };
        for (served, expected) in [
            (nothing, ""),
            (Served { allows_bills: true, ..nothing }, " data-bills=\"\""),
            (Served { run: Some(12), ..nothing }, " data-run=\"12\""),
            (
                Served { run: Some(12), outputs: &[("md", "Markdown"), ("txt", "plain text")], ..nothing },
                " data-run=\"12\" data-outputs=\"md=Markdown,txt=plain text\"",
            ),
            (
                Served { run: Some(12), exports: &["hgrm", "smp"], ..nothing },
                " data-run=\"12\" data-exports=\"hgrm smp\"",
            ),
            (
                Served { run: Some(12), again: Some("start=load&rate=9"), ..nothing },
                " data-run=\"12\" data-again=\"start=load&amp;rate=9\"",
            ),
            (
                Served { run: Some(12), before: Some((9, "2026-11-28T09:15:31Z")), ..nothing },
                " data-run=\"12\" data-before=\"9 2026-11-28T09:15:31Z\"",
            ),
            (Served { compared: &[9, 12], ..nothing }, " data-compared=\"9,12\""),
            (Served { newest: Some(12), ..nothing }, " data-newest=\"12\""),
        ] {
            let expected = format!("<div id=\"page\" data-api=\"/api/v1\"{expected}");
            let served = served_page(&document, served).unwrap();
            assert_eq!(tag(&served), expected);
            assert_eq!(served.matches(&policy_of_page).count(), 1);
            assert_eq!(inside(&served), inside(&in_file));
        }
        let evil = Served { api: "\"><script>", before: Some((9, "\"><script>")), ..nothing };
        let evil = served_page(&document, evil).unwrap();
        assert_eq!(evil.matches("<script").count(), in_file.matches("<script").count());
    }

    #[test]
    fn the_page_is_small_before_its_document() {
        assert!(PAGE.len() < 600_000, "{}", PAGE.len());
    }
}
