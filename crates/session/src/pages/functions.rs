//! A page for each function of the catalogue: its price with a picture, its knobs, its requests and its configuration.

use std::path::Path;

use hoptax_functions::{Catalogue, Function};
use hoptax_report::numbers::UNCERTAIN_SIGN;
use hoptax_result::{ArmResult, StudyResult, grouped};

use super::Chapter;
use super::markdown::{cell, code, file_name, line, row, source};
use super::picture::{Bar, picture};
use super::results::{self, ResultPage};
use crate::failure::Failure;
use crate::functions::{
    Price, by_family, circumstances, listed_arms, meaning_of_own_loads, own_load, truncated,
};
use crate::{library, prices};

/// The pages and their list.
///
/// # Errors
/// When the catalogue or the price list cannot be read.
pub(super) fn chapter(documents: &Path) -> Result<Chapter, Failure> {
    let (catalogue, listed) = (library::catalogue()?, prices::published()?);
    let results = results::all(documents);
    let pages: Result<Vec<(String, String)>, Failure> = catalogue
        .iter()
        .map(|function| Ok((function.id.clone(), page(function, listed, &results)?)))
        .collect();
    Ok(Chapter { folder: "functions", list: list(catalogue, listed), pages: pages? })
}

/// The list of all functions, by family, each with the price at its default knobs.
fn list(catalogue: &Catalogue, listed: &StudyResult) -> String {
    let mut text = format!(
        "# Functions\n\nThe functions of the catalogue, each with the CPU time that it adds to a request at its default knobs, in percent \
         of plain proxying, with a 95 % interval: {}.{} `?` marks a cost whose sign is uncertain when all costs of the list are judged \
         together. A cost holds for one machine and one load: [read results](../guide/results.md#loads-and-machines).\n",
        circumstances(listed),
        meaning_of_own_loads(listed)
    );
    for (family, functions) in by_family(catalogue) {
        text += &format!("\n## {}\n\n", capitalised(family));
        text += &row(["function", "price", "purpose"]);
        text += &row(["---", "---", "---"]);
        for function in functions {
            let name = format!("[`{}`]({})", function.id, file_name(&function.id));
            let arm = listed_arms(listed, &function.id).into_iter().find(|arm| arm.id == function.id);
            let price = |arm: &ArmResult| Price::from_arm(arm).cpu_share + &own_load(listed, arm);
            let price = arm.map_or_else(|| "-".to_owned(), price);
            text += &row([&name, &price, &cell(&function.summary)]);
        }
    }
    text
}

fn page(function: &Function, listed: &StudyResult, results: &[ResultPage]) -> Result<String, Failure> {
    let summary = line(&function.summary);
    let mut text = format!("# {}\n\n{}.\n\n", function.id, summary.trim_end_matches('.'));
    if let Some(description) = &function.description {
        text += &format!("{}\n\n", line(description));
    }
    text += &format!("- Family: {}\n- Source: {}\n", function.family.as_str(), source(&function.source));
    for change in &function.changes {
        text += &format!("- Changed in Envoy {}: {}\n", change.release, line(&change.summary));
    }
    text += &format!(
        "\n`hoptax functions show {}` prints this on a terminal. [Studies](../guide/studies.md#your-own-study) name it as an arm.\n",
        function.id
    );
    text += &price(function, listed, results);
    text += &knobs(function);
    text += &work(function)?;
    text += "\n## Configuration\n\nMerged into a plain proxy, a template over the knobs:\n\n```yaml\n";
    text.extend(function.fragment().lines().map(|line| truncated(line) + "\n"));
    Ok(text + "```\n")
}

/// The rows of the price list that have this function, and their picture. If there are none, links to the pages of results that name it.
fn price(function: &Function, listed: &StudyResult, results: &[ResultPage]) -> String {
    let arms = listed_arms(listed, &function.id);
    let mut text = "\n## Price\n\n".to_owned();
    if arms.is_empty() {
        let named = results.iter().filter(|result| names_function(&result.text, &function.id));
        let links: Vec<String> = named.map(ResultPage::link).collect();
        let elsewhere = if links.is_empty() {
            String::new()
        } else {
            format!(" What was measured: {}.", links.join(", "))
        };
        return text + "The price list does not have it." + &elsewhere + "\n";
    }
    let has_companion = arms.iter().any(|arm| arm.companion_cpu_us_per_request.is_some());
    text += &format!(
        "Added to each request, with a 95 % interval, by the [price list](../results/price-list/README.md): {}. CPU time is that of the \
         proxy{}.\n\n",
        circumstances(listed),
        if has_companion {
            "; the CPU time of the companion, a service beside it, is in addition"
        } else {
            ""
        }
    );
    let mut rows = vec![["arm", "CPU time", "us", "us of the companion", "p50, us"].map(str::to_owned)];
    rows.push(["---", "---:", "---:", "---:", "---:"].map(str::to_owned));
    rows.extend(arms.iter().map(|arm| {
        let load = own_load(listed, arm);
        let Price { cpu_share, cpu_us, p50_us } = Price::from_arm(arm);
        let companion = arm.companion_cpu_us_per_request;
        let companion = companion.map_or_else(|| "-".to_owned(), |one| grouped(one.estimate, 1));
        [format!("{}{load}", cell(&code(&arm.id))), cpu_share, cpu_us, companion, p50_us]
    }));
    for [arm, cpu_share, cpu_us, companion, p50_us] in &rows {
        text += &if has_companion {
            row([arm, cpu_share, cpu_us, companion, p50_us])
        } else {
            row([arm, cpu_share, cpu_us, p50_us])
        };
    }
    if text.contains(UNCERTAIN_SIGN) {
        text += "\n`?`: the sign is uncertain when all costs of the list are judged together.\n";
    }
    let bars: Vec<Bar> = arms.iter().filter_map(|arm| Bar::of_arm(arm, listed)).collect();
    text + &picture(&bars)
}

/// True if a page mentions a function as code, with or without knobs.
fn names_function(page: &str, id: &str) -> bool {
    page.contains(&format!("`{id}`")) || page.contains(&format!("`{id}{{"))
}

fn knobs(function: &Function) -> String {
    if function.knobs.is_empty() {
        return String::new();
    }
    let mut text = "\n## Knobs\n\n".to_owned();
    text += &row(["knob", "default", "takes", "meaning"]);
    text += &row(["---", "---", "---", "---"]);
    for (name, knob) in &function.knobs {
        let default = cell(&code(&knob.default.to_string()));
        text += &row([&code(name), &default, &cell(&knob.range.to_string()), &cell(&knob.summary)]);
    }
    text
}

/// The requests that make the function do work, and how a study verifies that it does.
fn work(function: &Function) -> Result<String, Failure> {
    let mut lines = Vec::new();
    for (name, value) in function.request.headers.iter().chain(&function.request.own_headers) {
        lines.push(format!("Requests have the header {}.", code(&format!("{name}: {}", truncated(value)))));
    }
    if let Some(query) = &function.request.query {
        lines.push(format!("Requests have the query {}.", code(query)));
    }
    let knobs = function.default_knobs();
    if let Some(body) = function.body(&knobs).map_err(Failure::environment)? {
        lines.push(format!("Requests have a body of {} bytes.", body.len()));
    }
    if function.asks_companion {
        lines.push("It calls a companion, a service that the study starts.".to_owned());
    }
    for proof in function.proofs(&knobs).map_err(Failure::environment)? {
        let how = if proof.above.is_some() { "holds in each round" } else { "moves in each round" };
        let name = code(&proof.to_string());
        lines.push(format!("Envoy's statistic {name} {how}, or its numbers are withheld."));
    }
    if lines.is_empty() {
        return Ok(String::new());
    }
    let lines: String = lines.iter().map(|line| format!("- {line}\n")).collect();
    Ok(format!("\n## Work\n\n{lines}"))
}

fn capitalised(text: &str) -> String {
    let mut signs = text.chars();
    signs.next().map_or_else(String::new, |first| first.to_uppercase().chain(signs).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::functions::tests::with_own_load;

    #[test]
    fn every_listed_arm_is_on_the_page_of_its_function_with_its_price() {
        let (chapter, listed) = (chapter(Path::new("none")).unwrap(), prices::published().unwrap());
        let mut found = 0;
        for arm in &listed.arms {
            let Some(id) = &arm.function else { continue };
            let (_, page) = chapter.pages.iter().find(|(name, _)| name == id).unwrap();
            let expected = format!("| {}", cell(&code(&arm.id)));
            let row = page.lines().find(|line| line.starts_with(&expected)).expect(&expected);
            assert!(row.contains(&Price::from_arm(arm).cpu_us), "{row}");
            assert!(page.contains(&circumstances(listed)), "{page}");
            found += 1;
        }
        assert!(found > 50, "{found} arms: the list has more");
    }

    #[test]
    fn a_description_is_on_the_page_of_its_function_and_not_in_the_list() {
        let Chapter { pages, list, .. } = chapter(Path::new("none")).unwrap();
        let catalogue = library::catalogue().unwrap();
        let cors = catalogue.iter().find(|function| function.id == "cors").unwrap();
        let description = cors.description.as_deref().unwrap();
        let (_, page) = pages.iter().find(|(name, _)| name == "cors").unwrap();
        let begin = format!("# cors\n\n{}.\n\n{description}\n\n- Family", cors.summary);
        assert!(page.starts_with(&begin), "{page}");
        assert!(list.contains(&cors.summary) && !list.contains(description), "{list}");
    }

    #[test]
    fn a_price_of_another_load_than_most_names_it_on_its_page_and_in_the_list() {
        let (catalogue, listed) = (library::catalogue().unwrap(), with_own_load());
        let list = list(catalogue, &listed);
        assert!(
            list.contains(&circumstances(&listed)) && list.contains(meaning_of_own_loads(&listed)),
            "{list}"
        );
        let jwt = catalogue.iter().find(|function| function.id == "jwt").unwrap();
        let page = page(jwt, &listed, &[]).unwrap();
        for (text, begin) in [(&list, "| [`jwt`]"), (&page, "| `jwt`, at")] {
            let row = text.lines().find(|line| line.starts_with(begin)).unwrap();
            assert!(row.contains(", at 1,500 requests/s"), "{row}");
        }
        let lua = list.lines().find(|line| line.starts_with("| [`lua`]")).unwrap();
        assert!(!lua.contains("requests/s"), "{lua}");
    }

    #[test]
    fn a_function_without_a_price_leads_to_the_results_that_name_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("results")).unwrap();
        let text = "# Tools\n\n`mcp{body_kib=8}` and `check-token/luas`\n";
        fs::write(folder.path().join("results/tools.md"), text).unwrap();
        let Chapter { pages, .. } = chapter(folder.path()).unwrap();
        let page = |id: &str| &pages.iter().find(|(name, _)| name == id).unwrap().1;
        let named = "The price list does not have it. What was measured: [Tools](../results/tools.md).\n";
        assert!(page("mcp").contains(named), "{}", page("mcp"));
        assert!(page("check-token/lua").contains("The price list does not have it.\n"));
        assert!(!page("jwt").contains("Tools"));
    }
}
