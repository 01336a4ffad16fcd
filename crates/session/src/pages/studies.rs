//! A page for each built-in study: its question, its arms, its file, and the pages of results that used it.

use std::path::Path;

use hoptax_plan::plan::Plan;

use super::Chapter;
use super::markdown::{cell, code, file_name, line, row};
use super::results::{self, ResultPage};
use crate::failure::Failure;
use crate::library;

/// The pages and their list.
///
/// # Errors
/// When the catalogue cannot be read.
pub(super) fn chapter(documents: &Path) -> Result<Chapter, Failure> {
    let plans = library::plans()?;
    let results = results::all(documents);
    let mut list = "# Experiments\n\nThe built-in studies. `hoptax study NAME` measures one, `hoptax study NAME --smoke` shows in seconds \
                    that all of its parts start, and `hoptax study list` lists them.\n\n"
        .to_owned();
    list += &row(["study", "question", "takes"]);
    list += &row(["---", "---", "---"]);
    let mut pages = Vec::new();
    for (name, plan) in plans {
        let link = format!("[{}]({})", code(name), file_name(name));
        list += &row([&link, &cell(&plan.summary), &library::expense(plan)]);
        pages.push((name.clone(), page(name, plan, &results)?));
    }
    Ok(Chapter { folder: "studies", list, pages })
}

fn page(name: &str, plan: &Plan, results: &[ResultPage]) -> Result<String, Failure> {
    let mut text = format!("# {name}\n\n{}\n\n    hoptax study {name}\n\n", line(&plan.summary));
    text += &format!("- Takes {}.\n", library::expense(plan));
    text.extend(plan.needs().iter().map(|need| format!("- Needs {}.\n", line(need))));
    for result in results.iter().filter(|result| names_study(&result.text, name)) {
        text += &format!("- Results: {}.\n", result.link());
    }
    text += "\n## Arms\n\n";
    text += &row(["arm", "content"]);
    text += &row(["---", "---"]);
    text.extend(plan.arms.iter().map(|arm| row([&cell(&code(&arm.id)), &cell(&arm.summary)])));
    let file = library::study(name)?;
    Ok(text + &format!("\n## File\n\n```yaml\n{}\n```\n", file.trim_end()))
}

/// True if a page contains the command that runs a study.
fn names_study(page: &str, name: &str) -> bool {
    let is_of_name = |sign: char| sign.is_ascii_alphanumeric() || sign == '-';
    let command = format!("hoptax study {name}");
    page.match_indices(&command).any(|(begin, command)| {
        !page.get(begin + command.len()..).unwrap_or_default().starts_with(is_of_name)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_page_names_a_study_only_by_its_whole_name() {
        assert!(names_study("Command: `hoptax study positions`.", "positions"));
        assert!(names_study("hoptax study positions --rounds 3", "positions"));
        assert!(!names_study("`hoptax study front-proxies`", "front"));
        assert!(!names_study("`hoptax study points`", "point"));
    }

    #[test]
    fn a_study_links_the_results_that_name_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("results/deep")).unwrap();
        fs::write(folder.path().join("results/deep/a.md"), "# Title of a\n\n`hoptax study quick`\n").unwrap();
        fs::write(folder.path().join("results/b.md"), "# Title of b\n\n`hoptax study quick-2`\n").unwrap();
        let Chapter { pages, list, .. } = chapter(folder.path()).unwrap();
        let (_, page) = pages.iter().find(|(name, _)| name == "quick").unwrap();
        assert!(page.contains("- Results: [Title of a](../results/deep/a.md).\n"), "{page}");
        assert!(!page.contains("Title of b"), "{page}");
        assert!(list.contains("[`quick`](quick.md)"), "{list}");
    }
}
