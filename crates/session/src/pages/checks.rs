//! A page for each validity check.

use hoptax_checks::about::{self, About};
use hoptax_checks::thresholds::{self, Threshold};

use super::Chapter;
use super::markdown::{cell, code, file_name, line, row, source};

/// The pages and their list.
pub(super) fn chapter() -> Chapter {
    let all = about::all();
    let pages = all.iter().map(|about| (about.id.to_owned(), page(about))).collect();
    Chapter { folder: "checks", list: list(&all), pages }
}

fn list(all: &[About]) -> String {
    let mut text = "# Checks\n\nThe checks that judge every result. A finding of a check states the observation, the limit and what to do. \
                    A failed check withholds the numbers that are no longer supported, or bounds them.\n\n"
        .to_owned();
    text += &row(["check", "protects from"]);
    text += &row(["---", "---"]);
    for about in all {
        let name = format!("[{}]({})", code(about.id), file_name(about.id));
        text += &row([&name, &cell(about.protects_from)]);
    }
    text += "\n## Thresholds\n\nThe limits of the checks, which `--threshold NAME=VALUE` sets. Shares are from 0 to 1. Results list the \
             thresholds that were loosened.\n\n";
    text += &row(["threshold", "default", "stricter", "meaning"]);
    text += &row(["---", "---:", "---", "---"]);
    text.extend(thresholds::ALL.iter().map(threshold));
    text
}

fn threshold(one: &Threshold) -> String {
    let stricter = if one.larger_is_tighter { "larger" } else { "smaller" };
    row([&code(one.name), &one.default.to_string(), stricter, &cell(one.about)])
}

fn page(about: &About) -> String {
    format!(
        "# {}\n\nProtects from: {}.\n\nJudges: {}.\n\nSource: {}\n\nIts limits are among the [thresholds](README.md#thresholds). \
         `hoptax trust checks explain {}` prints this page.\n",
        about.id,
        line(about.protects_from).trim_end_matches('.'),
        about.judged(),
        source(about.source),
        about.id
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_a_page_with_its_source_and_every_threshold_a_row() {
        let Chapter { list, pages, .. } = chapter();
        for about in about::all() {
            let (_, page) = pages.iter().find(|(name, _)| name == about.id).unwrap();
            assert!(page.contains(&source(about.source)), "{page}");
        }
        assert!(thresholds::ALL.iter().all(|one| list.contains(&format!("\n| `{}` | ", one.name))), "{list}");
    }
}
