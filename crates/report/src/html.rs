//! A study, and a bill, as a self-contained HTML page without scripts or external resources.

mod bill;

use hoptax_result::{ArmKind, Interval, LoadSpec, Measure, RoundMeasure, SittingsResult, StudyResult};
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, HtmlEscape, UndefinedBehavior, Value};
use serde::Serialize;

use crate::by_load::{CPU_SHARE, CPU_US, Of};
use crate::findings::{self, FindingGroup};
use crate::forest::{Forest, Item, forest};
use crate::in_use::{Multiple, multiples};
use crate::layers::{StackedBars, stacked_bars};
use crate::numbers::ends;
use crate::rows::{Columns, Row, in_percent, rows};
use crate::side::{SideTable, levels_by_load, side_tables, work};
use crate::timeline::Picture;
use crate::{by_load, known, levels, sittings, timeline, words};

pub use bill::bill;

const TEMPLATES: [(&str, &str); 5] = [
    ("study.html", include_str!("../templates/study.html")),
    ("bill.html", include_str!("../templates/bill.html")),
    ("parts.html", include_str!("../templates/parts.html")),
    ("plots.html", include_str!("../templates/plots.html")),
    ("style.css", include_str!("../templates/style.css")),
];

/// Why the page could not be generated, which is a bug in hoptax.
#[derive(Debug, thiserror::Error)]
#[error("cannot render the page: {0}; this is a bug in hoptax")]
pub struct HtmlError(#[from] minijinja::Error);

/// The page of a study.
///
/// # Errors
/// When the template does not evaluate.
pub fn study(result: &StudyResult) -> Result<String, HtmlError> {
    page(result, None)
}

/// The page of several sittings: all together as `one` study, and CPU time by sitting.
///
/// # Errors
/// When the template does not evaluate.
pub fn sittings(result: &SittingsResult, one: &StudyResult) -> Result<String, HtmlError> {
    let of_sittings = PageSittings {
        heading: sittings::HEADING,
        lines: sittings::sittings(result),
        holds: sittings::holds(result),
        tables: sittings::tables(result, &sittings::CPU),
    };
    page(one, Some(of_sittings))
}

fn page(result: &StudyResult, sittings: Option<PageSittings>) -> Result<String, HtmlError> {
    let rows = rows(result);
    let columns = Columns::of(&rows);
    let cpu_loads = cpu_loads(result, &columns);
    let page = Page {
        name: &result.name,
        summary: &result.summary,
        verdict: result.verdict.as_str(),
        verdict_text: words::verdict(result.verdict, &result.findings),
        loosened: words::loosened(&result.loosened),
        sittings,
        lead: findings::lead(result).as_ref().map(PageLead::new),
        levels: levels::levels(result),
        level_notes: if columns.is_empty() { Vec::new() } else { levels::notes(result) },
        cpu_plot: if columns.has_share {
            plot(&rows, |row| (row.cpu_share.text.clone(), row.arm.cost.cpu_share.as_ref().map(in_percent)))
        } else {
            plot(&rows, |row| (row.cpu.text.clone(), row.arm.cost.cpu_us_per_request))
        },
        p50_plot: plot(&rows, |row| (row.p50.text.clone(), row.arm.cost.response_us.p50)),
        response_load: result
            .plan
            .response_load()
            .map_or_else(String::new, |load| format!("{} ({})", load.name, words::loop_of(result, load))),
        has: PageColumns::new(&columns),
        is_empty: columns.is_empty(),
        left_out: columns.left_out.clone(),
        cpu_loads: cpu_loads
            .iter()
            .flatten()
            .map(|load| PageLoad { name: &load.name, rate: by_load::rate(result, load) })
            .collect(),
        rows: rows.iter().map(|row| PageRow::new(result, row, &cpu_loads, &columns)).collect(),
        sides: side_tables(result),
        details: [levels_by_load(result), work(result)].concat(),
        multiples: multiples(result),
        courses: timeline::pictures(result),
        layers: stacked_bars(result),
        known: known::sentences(result),
        findings: findings::below_the_lead(result).iter().map(PageFinding::new).collect(),
        method: words::method(result),
        intervals: words::intervals(result),
        same: words::same(result),
        slices: words::slices(result),
        machine: words::machine(result),
    };
    render("study.html", page)
}

/// The page of a template.
fn render(template: &str, page: impl Serialize) -> Result<String, HtmlError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("capitalised", |text: String| words::capitalised(&text));
    environment.add_filter("code", code);
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    Ok(environment.get_template(template)?.render(Value::from(Serde(page)))?)
}

/// Escapes text and marks parts between backticks as code.
#[expect(clippy::needless_pass_by_value, reason = "filters are given their own")]
fn code(text: String) -> Value {
    let parts = text.split('`').enumerate().map(|(number, part)| match (number % 2, HtmlEscape(part)) {
        (0, part) => part.to_string(),
        (_, part) => format!("<code>{part}</code>"),
    });
    Value::from_safe_string(parts.collect())
}

#[derive(Serialize)]
struct Page<'a> {
    name: &'a str,
    summary: &'a str,
    verdict: &'static str,
    verdict_text: &'static str,
    loosened: Vec<String>,
    sittings: Option<PageSittings>,
    lead: Option<PageLead<'a>>,
    levels: Option<SideTable>,
    level_notes: Vec<String>,
    cpu_plot: Option<Forest>,
    p50_plot: Option<Forest>,
    /// The load of the second plot.
    response_load: String,
    has: PageColumns,
    is_empty: bool,
    left_out: Option<String>,
    /// The loads of the columns of costs in CPU time; none if there is only one column.
    cpu_loads: Vec<PageLoad<'a>>,
    rows: Vec<PageRow>,
    sides: Vec<SideTable>,
    layers: Option<StackedBars>,
    /// Tables that few readers need.
    details: Vec<SideTable>,
    multiples: Vec<Multiple>,
    /// What callers saw over time, by arm.
    courses: Vec<Picture>,
    known: Vec<String>,
    findings: Vec<PageFinding<'a>>,
    method: String,
    intervals: Vec<String>,
    same: Option<String>,
    slices: Vec<String>,
    machine: String,
}

/// The sittings of a combined study.
#[derive(Serialize)]
struct PageSittings {
    heading: &'static str,
    lines: Vec<String>,
    /// What the intervals hold for.
    holds: String,
    tables: Vec<SideTable>,
}

/// A forest plot of one cost, with the interval of the A/A arm as its band.
fn plot(rows: &[Row<'_>], cost: impl Fn(&Row<'_>) -> (String, Option<Interval>)) -> Option<Forest> {
    let item = |row: &Row<'_>| {
        let (value, interval) = cost(row);
        Some(Item { family: family(row), label: row.name.clone(), value, interval: interval? })
    };
    // The arm without a proxy lies so far on the other side of zero that it would leave only half of the axis for the
    // functions.
    let proxied = rows.iter().filter(|row| row.arm.kind != ArmKind::Direct);
    let items: Vec<Item> = proxied.filter_map(item).collect();
    let same = rows.iter().find(|row| row.arm.kind == ArmKind::Same);
    forest(&items, same.and_then(|row| cost(row).1))
}

/// The family that an arm is drawn with: the first part of its function's id.
fn family(row: &Row<'_>) -> String {
    let id = row.arm.function.as_ref().unwrap_or(&row.arm.id);
    id.split(['/', '{']).next().unwrap_or_default().to_owned()
}

/// Which columns of the main table have a number.
#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "one for each column of slices")]
struct PageColumns {
    cpu_share: bool,
    p50: bool,
    p90: bool,
    p99: bool,
    max_rate: bool,
    of_rounds: Vec<PageHeading>,
}

/// The heading of a column of measures that arms have once per round.
#[derive(Serialize)]
struct PageHeading {
    /// That of the first measure.
    text: &'static str,
    /// Those of the measures whose numbers are printed below it.
    below: Vec<&'static str>,
}

/// The columns of measures that arms have once per round, each with its measures. The first of a column is printed if any of them
/// has a number, the others if they have one themselves.
fn columns_of_rounds(columns: &Columns) -> Vec<Vec<RoundMeasure>> {
    let mut all: Vec<Vec<RoundMeasure>> = Vec::new();
    for measure in RoundMeasure::compared() {
        match all.last_mut().filter(|_| measure.definition().below.is_some()) {
            Some(column) => column.push(measure),
            None => all.push(vec![measure]),
        }
    }
    let has = |measure: &RoundMeasure| columns.has(Measure::OfRounds(*measure));
    all.retain(|column| column.iter().any(has));
    for column in &mut all {
        let first = column.first().copied();
        column.retain(|measure| Some(*measure) == first || has(measure));
    }
    all
}

impl PageColumns {
    fn new(columns: &Columns) -> Self {
        Self {
            cpu_share: columns.has_share,
            p50: columns.has(Measure::ResponseP50),
            p90: columns.has(Measure::ResponseP90),
            p99: columns.has(Measure::ResponseP99),
            max_rate: columns.has(Measure::MaxRate),
            of_rounds: columns_of_rounds(columns)
                .iter()
                .filter_map(|column| PageHeading::new(column))
                .collect(),
        }
    }
}

impl PageHeading {
    fn new(column: &[RoundMeasure]) -> Option<Self> {
        let (first, below) = column.split_first()?;
        let below = below.iter().filter_map(|measure| measure.definition().below).collect();
        Some(Self { text: first.definition().heading, below })
    }
}

#[derive(Serialize)]
struct PageRow {
    name: String,
    summary: String,
    /// The arm that it is compared with, if not the main baseline.
    compared_with: Option<String>,
    /// Its costs in CPU time, one for each of their columns.
    cpu: Vec<PageCpu>,
    p50: String,
    p90: String,
    p99: String,
    max_rate: String,
    max_rate_percent: String,
    /// Its texts in the columns of measures of rounds: that of the first measure, and those below it.
    of_rounds: Vec<Vec<String>>,
    is_near_zero: bool,
}

/// A cost in CPU time.
#[derive(Serialize)]
struct PageCpu {
    /// In percent if there are shares, otherwise in us.
    leading: String,
    /// The ends of its interval.
    ends: String,
    is_near_zero: bool,
    /// In us beside a share.
    us: Option<String>,
}

/// A load with its rate, and how busy it kept the proxies.
#[derive(Serialize)]
struct PageLoad<'a> {
    name: &'a str,
    rate: String,
}

/// The columns of costs in CPU time: one for each load with such costs, without its load if it is the only one.
fn cpu_loads<'a>(result: &'a StudyResult, columns: &Columns) -> Vec<Option<&'a LoadSpec>> {
    let loads = by_load::loads_with(result, CPU_US);
    match loads.len() {
        _ if !columns.has(Measure::Cpu) => Vec::new(),
        0 | 1 => vec![None],
        _ => loads.into_iter().map(Some).collect(),
    }
}

impl PageCpu {
    /// The cost of an arm under `load`, or its usual one.
    fn new(result: &StudyResult, row: &Row<'_>, load: Option<&LoadSpec>, has_share: bool) -> Self {
        let arm = row.arm;
        let text = |load: &LoadSpec, of: Of| by_load::cost(result, arm, load, (Measure::Cpu, of)).text;
        let (share, us) = match load {
            Some(load) => (
                (text(load, CPU_SHARE), by_load::under(arm, load, CPU_SHARE)),
                (text(load, CPU_US), by_load::under(arm, load, CPU_US)),
            ),
            None => (
                (row.cpu_share.text.clone(), arm.cost.cpu_share.as_ref().map(in_percent)),
                (row.cpu.text.clone(), arm.cost.cpu_us_per_request),
            ),
        };
        let ((leading, interval), us) = if has_share { (share, Some(us.0)) } else { (us, None) };
        Self {
            leading,
            ends: interval.as_ref().map(ends).unwrap_or_default(),
            is_near_zero: interval.is_some_and(|interval| interval.contains(0.0)),
            us,
        }
    }
}

impl PageRow {
    fn new(result: &StudyResult, row: &Row<'_>, cpu_loads: &[Option<&LoadSpec>], columns: &Columns) -> Self {
        let arm = row.arm;
        let other = arm.compared_with.clone().filter(|other| *other != result.plan.baseline);
        Self {
            name: row.name.clone(),
            summary: arm.summary.clone(),
            compared_with: other,
            cpu: cpu_loads.iter().map(|load| PageCpu::new(result, row, *load, columns.has_share)).collect(),
            p50: row.p50.text.clone(),
            p90: row.p90.text.clone(),
            p99: row.p99.text.clone(),
            max_rate: row.max_rate.text.clone(),
            max_rate_percent: row.max_rate_percent.clone(),
            of_rounds: columns_of_rounds(columns)
                .iter()
                .map(|column| column.iter().map(|measure| row.of_rounds(*measure)).collect())
                .collect(),
            is_near_zero: row.is_near_zero,
        }
    }
}

#[derive(Serialize)]
struct PageLead<'a> {
    cut: Option<String>,
    failed: Vec<PageFinding<'a>>,
    next: String,
}

impl<'a> PageLead<'a> {
    fn new(lead: &findings::Lead<'a>) -> Self {
        let failed = lead.failed.iter().map(PageFinding::new).collect();
        Self { cut: lead.cut.clone(), failed, next: lead.next.clone() }
    }
}

#[derive(Serialize)]
struct PageFinding<'a> {
    severity: &'static str,
    id: &'a str,
    scope: String,
    message: String,
    measured: Option<String>,
    withheld: Option<String>,
    advice: &'a str,
}

impl<'a> PageFinding<'a> {
    fn new(group: &FindingGroup<'a>) -> Self {
        let finding = group.finding;
        Self {
            severity: finding.severity.as_str(),
            id: &finding.id,
            scope: group.scope(),
            message: group.message(),
            measured: group.measured(),
            withheld: group.withheld(),
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
        result.findings[0].message = "`<img src=y>` <img src=z>".to_owned();
        let page = study(&result).unwrap();
        assert!(!page.contains("<script") && !page.contains("<img"));
        assert!(page.contains("&lt;script&gt;") && page.contains("<code>&lt;img src=y&gt;</code>"));
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
        assert!(!page.contains("<svg") && !page.contains('±'), "{page}");
        let at = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words}: {page}"));
        assert!(
            at("fail: steal") < at("Remedy:")
                && at("Remedy:") < at("Next:")
                && at("Next:") < at("Not shown, withheld for all arms")
        );
    }

    #[test]
    fn a_function_at_several_rates_is_drawn_with_its_baseline() {
        let page = study(&fixture::loaded()).unwrap();
        let pictures = |class: &str| page.matches(&format!("<svg class=\"{class}\"")).count();
        // Share, CPU time and p99 of each of nine functions; the share has no baseline.
        assert_eq!((pictures("multiple"), page.matches("class=\"other\"").count()), (27, 18));
        assert_eq!(study(&fixture::study()).unwrap().matches("class=\"multiple\"").count(), 0);
    }

    #[test]
    fn sittings_are_on_one_page_with_their_variation() {
        let mut one = fixture::study();
        let three = sittings::fixture::three();
        one.sittings.clone_from(&three.sittings);
        let page = super::sittings(&three, &one).unwrap();
        let at = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words}: {page}"));
        assert!(at("Verdict:") < at("Sitting 1: ") && at("Sitting 1: ") < at("All numbers"));
        assert!(at("All numbers") < at(sittings::HEADING) && at(sittings::HEADING) < at("<h2>Findings"));
        assert!(at("between sittings</th>") < at("Findings") && page.contains("rounds in 3 sittings"));
        assert!(!study(&one).unwrap().contains(sittings::HEADING));
    }

    #[test]
    fn the_evidence_for_the_setup_is_on_the_page() {
        let page = study(&fixture::study()).unwrap();
        for words in ["expected 10 us more than without burning", "for run-delay", "probe before", "memory"] {
            assert!(page.contains(words), "{words}");
        }
    }
}
