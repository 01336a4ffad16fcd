//! A page for each built-in study: its question, its arms, the prices of those that the price list has, with a picture, its file, and the
//! pages of results that used it.

use std::path::Path;

use hoptax_plan::plan::Plan;
use hoptax_report::numbers::UNCERTAIN_SIGN;
use hoptax_result::{ArmResult, StudyResult, counted};

use super::Chapter;
use super::markdown::{cell, code, file_name, line, row};
use super::picture::{Bar, picture};
use super::results::{self, ResultPage};
use crate::failure::Failure;
use crate::functions::{Price, circumstances, own_load};
use crate::{library, prices};

/// The pages and their list.
///
/// # Errors
/// When the catalogue or the price list cannot be read.
pub(super) fn chapter(documents: &Path) -> Result<Chapter, Failure> {
    let (plans, listed) = (library::plans()?, prices::published()?);
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
        pages.push((name.clone(), page(name, plan, listed, &results)?));
    }
    Ok(Chapter { folder: "studies", list, pages })
}

fn page(name: &str, plan: &Plan, listed: &StudyResult, results: &[ResultPage]) -> Result<String, Failure> {
    let mut text = format!("# {name}\n\n{}\n\n    hoptax study {name}\n\n", line(&plan.summary));
    text += &format!("- Takes {}.\n", library::expense(plan));
    text.extend(plan.needs().iter().map(|need| format!("- Needs {}.\n", line(need))));
    text.extend(headers_of_functions(plan));
    for result in results.iter().filter(|result| names_study(&result.text, name)) {
        text += &format!("- Results: {}.\n", result.link());
    }
    text += "\n## Arms\n\n";
    text += &row(["arm", "content"]);
    text += &row(["---", "---"]);
    text.extend(plan.arms.iter().map(|arm| row([&cell(&code(&arm.id)), &cell(&arm.summary)])));
    text += &listed_prices(plan, listed);
    let file = library::study(name)?;
    Ok(text + &format!("\n## File\n\n```yaml\n{}\n```\n", file.trim_end()))
}

/// The headers that all arms get because some functions need them: they are also a part of the price of each function that copies headers.
/// None if no function needs any.
fn headers_of_functions(plan: &Plan) -> Option<String> {
    let names: Vec<String> = plan.headers.keys().map(|name| code(name)).collect();
    let bytes: usize = plan.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    (!names.is_empty()).then(|| {
        let (number, bytes) = (counted(names.len() as u64, "header"), counted(bytes as u64, "byte"));
        let names = names.join(", ");
        format!(
            "- All arms get {number} that some functions need, with {bytes} of names and values: {names}.\n"
        )
    })
}

/// The prices of the arms that the price list has, and their picture; empty without any.
fn listed_prices(plan: &Plan, listed: &StudyResult) -> String {
    let of_id = |id: &str| listed.arms.iter().find(|arm| arm.id == id && arm.function.is_some());
    let arms: Vec<&ArmResult> = plan.arms.iter().filter_map(|arm| of_id(&arm.id)).collect();
    if arms.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n## Prices\n\nWhat arms of this study add to each request, with a 95 % interval, by the \
         [price list](../results/price-list/README.md), whose loads may be others: {}. CPU time is that of the proxy.\n\n",
        circumstances(listed)
    );
    text += &row(["arm", "CPU time", "us", "p50, us"]);
    text += &row(["---", "---:", "---:", "---:"]);
    for arm in &arms {
        let Price { cpu_share, cpu_us, p50_us } = Price::from_arm(arm);
        let name = cell(&code(&arm.id)) + &own_load(listed, arm);
        text += &row([&name, &cpu_share, &cpu_us, &p50_us]);
    }
    if text.contains(UNCERTAIN_SIGN) {
        text += "\n`?`: the sign is uncertain when all costs of the list are judged together.\n";
    }
    let bars: Vec<Bar> = arms.iter().filter_map(|arm| Bar::of_arm(arm, listed)).collect();
    text + &picture(&bars)
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
    fn a_study_has_the_listed_prices_of_its_arms_alone_with_their_picture() {
        let Chapter { pages, .. } = chapter(Path::new("none")).unwrap();
        let page = |id: &str| &pages.iter().find(|(name, _)| name == id).unwrap().1;
        let tails = page("tails");
        let jwt = prices::published().unwrap().arms.iter().find(|arm| arm.id == "jwt").unwrap();
        let row = tails.lines().find(|line| line.starts_with("| `jwt`") && line.contains('±')).unwrap();
        assert!(row.contains(&Price::from_arm(jwt).cpu_us), "{row}");
        assert!(tails.contains(">jwt</text>") && !tails.contains(">csrf</text>"), "{tails}");
        // Its arms are copies of the baseline.
        assert!(!page("null").contains("## Prices"), "{}", page("null"));
    }

    #[test]
    fn a_study_states_the_headers_that_all_arms_get_for_the_functions_of_some() {
        let Chapter { pages, .. } = chapter(Path::new("none")).unwrap();
        let page = |id: &str| &pages.iter().find(|(name, _)| name == id).unwrap().1;
        // Of `x-hoptax-route: chosen`.
        let stated = "- All arms get 1 header that some functions need, with 20 bytes of names and values: \
                      `x-hoptax-route`.\n";
        let routing = page("routing-and-balancing");
        assert!(routing.contains(stated), "{routing}");
        assert!(!page("null").contains("All arms get"), "{}", page("null"));
    }

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
