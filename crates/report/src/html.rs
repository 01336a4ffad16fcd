//! A study as one self-contained page: no script, nothing fetched.

use hoptax_result::{ArmKind, StudyResult};
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value};
use serde::Serialize;

use crate::forest::{Forest, Item, forest};
use crate::numbers::ends;
use crate::rows::{self, Row, rows};
use crate::side::{SideTable, side_tables};
use crate::words::{self, FindingGroup};

const TEMPLATE: &str = include_str!("../templates/study.html");

/// Why there is no page, which is a fault of hoptax.
#[derive(Debug, thiserror::Error)]
#[error("the page cannot be made: {0}; this is a fault of hoptax")]
pub struct HtmlError(#[from] minijinja::Error);

/// The page of a study.
///
/// # Errors
/// When the template does not evaluate.
pub fn study(result: &StudyResult) -> Result<String, HtmlError> {
    let rows = rows(result);
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment.add_template("study", TEMPLATE)?;
    let page = Page {
        name: &result.name,
        summary: &result.summary,
        verdict: result.verdict.word(),
        verdict_text: words::verdict(result.verdict),
        levels_title: if rows::baselines(result).iter().all(|arm| arm.hops.is_empty()) {
            "Without a proxy"
        } else {
            "Plain proxying"
        },
        levels: words::levels(result),
        cpu_plot: cpu_plot(result, &rows),
        p50_plot: p50_plot(&rows),
        rows: rows.iter().map(PageRow::new).collect(),
        sides: side_tables(result),
        findings: words::groups(&result.findings).iter().map(PageFinding::new).collect(),
        method: words::method(result),
        intervals: words::intervals(result),
        same: words::same(result),
        slices: words::slices(result),
        machine: words::machine(result),
        ended_early: result.plan.ended_early.as_deref(),
    };
    Ok(environment.get_template("study")?.render(Value::from(Serde(page)))?)
}

#[derive(Serialize)]
struct Page<'a> {
    name: &'a str,
    summary: &'a str,
    verdict: &'static str,
    verdict_text: &'static str,
    levels_title: &'static str,
    levels: Vec<String>,
    cpu_plot: Option<Forest>,
    p50_plot: Option<Forest>,
    rows: Vec<PageRow>,
    sides: Vec<SideTable>,
    findings: Vec<PageFinding<'a>>,
    method: String,
    intervals: String,
    same: Option<String>,
    slices: String,
    machine: String,
    ended_early: Option<&'a str>,
}

fn cpu_plot(result: &StudyResult, rows: &[Row<'_>]) -> Option<Forest> {
    let items: Vec<Item> = rows
        .iter()
        .filter_map(|row| {
            let interval = row.arm.cost.cpu_us_per_request?;
            Some(Item { label: row.name.clone(), value: row.cpu.text.clone(), interval })
        })
        .collect();
    let same = result.arms.iter().find(|arm| arm.kind == ArmKind::Same);
    forest(&items, same.and_then(|arm| arm.cost.cpu_us_per_request))
}

fn p50_plot(rows: &[Row<'_>]) -> Option<Forest> {
    let mut items: Vec<Item> = rows
        .iter()
        .filter_map(|row| {
            let interval = row.arm.cost.response_us.p50?;
            Some(Item { label: row.name.clone(), value: row.p50.text.clone(), interval })
        })
        .collect();
    items.sort_by(|a, b| b.interval.estimate.total_cmp(&a.interval.estimate));
    let same = rows.iter().find(|row| row.arm.kind == ArmKind::Same);
    forest(&items, same.and_then(|row| row.arm.cost.response_us.p50))
}

#[derive(Serialize)]
struct PageRow {
    name: String,
    summary: String,
    compared_with: String,
    cpu: String,
    cpu_ends: String,
    cpu_percent: String,
    p50: String,
    p99: String,
    max_rate: String,
    max_rate_percent: String,
    slices: String,
    is_near_zero: bool,
}

impl PageRow {
    fn new(row: &Row<'_>) -> Self {
        let arm = row.arm;
        Self {
            name: row.name.clone(),
            summary: arm.summary.clone(),
            compared_with: arm.compared_with.clone().unwrap_or_default(),
            cpu: row.cpu.text.clone(),
            cpu_ends: arm.cost.cpu_us_per_request.as_ref().map(ends).unwrap_or_default(),
            cpu_percent: row.cpu_percent.clone(),
            p50: row.p50.text.clone(),
            p99: row.p99.text.clone(),
            max_rate: row.max_rate.text.clone(),
            max_rate_percent: row.max_rate_percent.clone(),
            slices: format!("{} + {}", arm.slices.used, arm.slices.set_aside),
            is_near_zero: row.is_near_zero,
        }
    }
}

#[derive(Serialize)]
struct PageFinding<'a> {
    severity: &'static str,
    id: &'a str,
    scope: String,
    message: &'a str,
    measured: String,
    advice: &'a str,
}

impl<'a> PageFinding<'a> {
    fn new(group: &FindingGroup<'a>) -> Self {
        let finding = group.finding;
        Self {
            severity: finding.severity.word(),
            id: &finding.id,
            scope: group.scope(),
            message: &finding.message,
            measured: words::measured(finding),
            advice: &finding.advice,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn text_of_a_file_is_not_markup() {
        let mut result = fixture::study();
        result.name = "<script>alert(1)</script>".to_owned();
        result.arms[3].id = "\"><img src=x>".to_owned();
        let page = study(&result).unwrap();
        assert!(!page.contains("<script") && !page.contains("<img"));
        assert!(page.contains("&lt;script&gt;"));
    }

    #[test]
    fn every_compared_arm_is_on_the_page_and_nothing_is_fetched() {
        let result = fixture::study();
        let page = study(&result).unwrap();
        for arm in result.arms.iter().filter(|arm| arm.kind != ArmKind::Baseline) {
            assert!(page.contains(&arm.summary.replace('/', "&#x2f;")), "{}", arm.id);
        }
        for outside in ["http://", "https://", "<script", "<link", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn a_void_study_has_no_number_on_its_page() {
        let page = study(&fixture::void()).unwrap();
        assert!(!page.contains("<svg") && page.contains("withheld"));
    }
}
