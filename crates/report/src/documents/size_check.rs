//! The document of a check of predictions: their errors for the compositions that a study measured.

mod charts;

use hoptax_result::{
    CheckedComposition, CheckedResponse, CheckedTime, ErrorSummary, SizeCheckResult, UncheckedComposition,
};
use hoptax_text::command_line::path_word;

use crate::document::{Block, Document, FindingText, IN_DETAILS, Judgement, Next, Section};
use crate::numbers::{counted, grouped, percent};
use crate::quantity::{Form, Quantity};
use crate::table::{Cell, Column, Row, Table};
use crate::usable;

/// Mark of a difference that is more than chance explains.
const INTERACTION: &str = "more than chance";
/// Mark of a prediction beyond the measurements that it is learned from.
const EXTRAPOLATED: &str = "beyond measurements";

/// The document of a check of the study in `source`, its folder or file.
pub fn size_check_of(result: &SizeCheckResult, source: &str) -> Document {
    let command = format!("hoptax predict size --check {} --details", path_word(source.as_ref()));
    let next = Next::new(command, "prints response times, and what was left out");
    Document { next: Some(next), ..size_check(result) }
}

/// The document of a check of a study with an unknown folder. The largest error comes first.
pub fn size_check(result: &SizeCheckResult) -> Document {
    let mut document = Document::new(format!("predict size --check {}", result.study), "", answer(result));
    let usable = usable::of_whole("the errors", result.verdict, &result.findings);
    document.verdict = Some(Judgement { verdict: result.verdict, usable });
    document.findings = FindingText::all(&result.findings);
    document.table = (!result.compositions.is_empty()).then(|| compositions(result));
    document.plots = charts::charts(result);
    document.next =
        Some(Next::sitting(&result.study, "measures another sitting, which shows whether the errors stay"));
    let extrapolated = result.compositions.iter().filter(|one| one.is_extrapolated).count();
    if extrapolated > 0 {
        document.notes.push(format!(
            "beyond measurements, and not in the average: {extrapolated} with a proxy busier or less busy than those measured"
        ));
    }
    if !result.left_out.is_empty() {
        let count = result.left_out.len();
        document.notes.push(format!(
            "compositions that cannot be predicted: {count}, each with its reason {IN_DETAILS}"
        ));
    }
    document.sections.extend((!result.response_times.is_empty()).then(|| response_times(result)));
    document.sections.extend(Section::of_lines("Left out", left_out(&result.left_out)));
    document
        .sections
        .extend(Section::of_lines("Left out of response times", left_out(&result.response_times_left_out)));
    document.sections.extend(Section::of_lines("Method", method(result)));
    document
}

/// The errors, and the compositions whose difference is not due to chance.
fn answer(result: &SizeCheckResult) -> Vec<String> {
    let (Some(mean), Some(worst)) = (result.mean_error_share, result.worst_error_share) else {
        return vec!["No composition can be compared".to_owned()];
    };
    let is_worst = |one: &&CheckedComposition| !one.is_extrapolated && one.error_share.abs() >= worst;
    let at = result.compositions.iter().find(is_worst);
    let at = at.map_or_else(String::new, |one| format!(" (`{}` under {})", one.arm, one.load));
    let compared = result.compositions.iter().filter(|one| !one.is_extrapolated).count();
    let found = result.compositions.iter().filter(|one| one.is_interaction).count();
    let by_chance = (1.0 - result.confidence) * result.compositions.len() as f64;
    let interactions = if found == 0 {
        "Every interval of a difference contains 0: no function costs more or less beside others".to_owned()
    } else {
        format!(
            "{found} of {} differ by more than chance explains; by chance, {} would",
            result.compositions.len(),
            grouped(by_chance, 1)
        )
    };
    vec![
        format!(
            "Predicted CPU time of combined functions or proxies is off by {} on average and at most {}{at}, in {}",
            percent(mean, 1),
            percent(worst, 1),
            counted(compared as u64, "comparison")
        ),
        interactions,
    ]
}

/// An error as a percentage.
fn error(share: f64) -> Quantity {
    Quantity::point(100.0 * share, "%", Form::Difference)
}

/// The error of a response time: by its ends if an interval is too wide for a share of the estimate.
fn error_of_time(time: &CheckedTime) -> Quantity {
    let CheckedTime { measured_us, predicted_us, error_share, is_wide, .. } = time;
    if *is_wide { Quantity::error_by_ends(measured_us, predicted_us) } else { error(*error_share) }
}

/// The marks of a comparison that apply.
fn marks(marks: &[(bool, &str)]) -> Cell {
    let marks: Vec<&str> = marks.iter().filter_map(|(is, mark)| is.then_some(*mark)).collect();
    Cell::words(marks.join(", "))
}

/// The compositions, the largest error first.
fn worst_first(result: &SizeCheckResult) -> Vec<&CheckedComposition> {
    let mut all: Vec<&CheckedComposition> = result.compositions.iter().collect();
    all.sort_by(|one, other| other.error_share.abs().total_cmp(&one.error_share.abs()));
    all
}

fn compositions(result: &SizeCheckResult) -> Table {
    let row = |one: &&CheckedComposition| {
        Row::new(
            &one.arm,
            vec![
                Cell::Quantity(error(one.error_share)),
                Cell::level(Some(&one.measured_us), "us"),
                Cell::Quantity(Quantity::level(&one.predicted_us, "us").predicted()),
                // With the sign of the error beside it; the result has it the other way round, as the cost of an interaction.
                Cell::Quantity(Quantity::difference(&one.difference_us.times(-1.0), "us")),
                marks(&[(one.is_interaction, INTERACTION), (one.is_extrapolated, EXTRAPOLATED)]),
                Cell::words(&one.load),
                Cell::words(one.hops.to_string()),
                Cell::words(one.functions.to_string()),
            ],
        )
    };
    let columns = [
        Column::new("error %", 0),
        Column::new("measured", 0),
        Column::new("predicted", 0),
        Column::new("difference", 2),
        Column::text("note", 1),
        Column::text("load", 3),
        Column::new("proxies", 4),
        Column::new("functions", 5),
    ];
    let title = "CPU us per request of each composition, the largest error first";
    Table::new(title, "composition", columns, worst_first(result).iter().map(row)).without_empty_columns()
}

/// A sentence per reason, with all compositions that were left out for it.
fn left_out(all: &[UncheckedComposition]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for one in all {
        let load = one.load.as_ref().map_or_else(String::new, |load| format!(" under {load}"));
        let name = format!("`{}`{load}", one.arm);
        match reasons.iter_mut().find(|(reason, _)| *reason == one.reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((&one.reason, vec![name])),
        }
    }
    reasons.into_iter().map(|(reason, names)| format!("{}: {reason}", names.join(", "))).collect()
}

/// The predicted and the measured response time of each composition.
fn response_times(result: &SizeCheckResult) -> Section {
    let row = |one: &CheckedResponse| {
        let cells = |time: Option<&CheckedTime>| {
            vec![
                Cell::level(time.map(|time| &time.measured_us), "us"),
                time.map(|time| Quantity::level(&time.predicted_us, "us").predicted()).into(),
                time.map(error_of_time).into(),
            ]
        };
        let is_interaction = one.mean.is_interaction || one.p99.is_some_and(|p99| p99.is_interaction);
        let notes = marks(&[
            (is_interaction, INTERACTION),
            (one.is_extrapolated, EXTRAPOLATED),
            (one.mean.is_wide, "wide mean"),
            (one.p99.is_some_and(|p99| p99.is_wide), "wide p99"),
        ]);
        let mut all = cells(Some(&one.mean));
        all.extend(cells(one.p99.as_ref()));
        all.extend([notes, Cell::words(&one.load)]);
        Row::new(&one.arm, all)
    };
    let columns = [
        Column::new("mean", 0),
        Column::new("predicted", 0),
        Column::new("error %", 0),
        Column::new("p99", 1),
        Column::new("predicted", 1),
        Column::new("error %", 1),
        Column::text("note", 2),
        Column::text("load", 3),
    ];
    let title = "response times of compositions, us";
    let table = Table::new(title, "composition", columns, result.response_times.iter().map(row));
    let wide = |time: fn(&CheckedResponse) -> Option<CheckedTime>| {
        let counting = result.response_times.iter().filter(|one| !one.is_extrapolated);
        counting.filter_map(time).filter(|time| time.is_wide).count()
    };
    let errors = [
        ("mean", result.mean_response_errors, wide(|one| Some(one.mean))),
        ("p99", result.p99_response_errors, wide(|one| one.p99)),
    ];
    let lines: Vec<String> =
        errors.into_iter().filter_map(|(time, errors, wide)| error_line(time, errors, wide)).collect();
    let mut blocks = vec![Block::Table(table.without_empty_columns())];
    blocks.extend((!lines.is_empty()).then_some(Block::Lines(lines)));
    Section::new("Response times, us", blocks)
}

/// The errors of a time, and the number of those that are left out because they are `wide`; none if there are neither.
fn error_line(time: &str, errors: Option<ErrorSummary>, wide: usize) -> Option<String> {
    let Some(errors) = errors else {
        let none = "no average without those beyond measurements";
        return (wide > 0).then(|| format!("error of the {time}: {none} and {wide} wide"));
    };
    let left_out = if wide > 0 { format!(" and {wide} wide") } else { String::new() };
    Some(format!(
        "error of the {time}: {} on average of {}, {} at worst, without those beyond measurements{left_out}",
        percent(errors.mean_share, 1),
        errors.count,
        percent(errors.worst_share, 1)
    ))
}

fn method(result: &SizeCheckResult) -> Vec<String> {
    let mut lines = vec![
        "predicted: the plain proxy for each proxy, and the cost of each function alone, of the same study at the rate of the composition"
            .to_owned(),
        "difference: predicted minus measured, within rounds; error: the same as a share of the measured"
            .to_owned(),
        "response times include the origin, and are predicted at the busy share of the processors that the proxies share".to_owned(),
        format!("intervals are those of {}", percent(result.confidence, 0)),
    ];
    let times = || result.response_times.iter().flat_map(|one| [Some(one.mean), one.p99]).flatten();
    if times().any(|time| time.is_wide) {
        lines.push(
            "wide: an interval is wider than half of the measured time, so the error is stated by its ends, and is in no average"
                .to_owned(),
        );
    }
    if !result.chains.is_empty() {
        lines.push(format!(
            "the cost of proxies to each other on the same processors is that of `{}`, which {} not predicted",
            result.chains.join("`, `"),
            if result.chains.len() == 1 { "is" } else { "are" }
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Interval, SizeCheckBody};

    use super::*;
    use crate::fixture::{STYLE, about, checked_time};
    use crate::render::terminal;

    fn response(arm: &str, p99: Option<CheckedTime>) -> CheckedResponse {
        CheckedResponse {
            arm: arm.to_owned(),
            load: "in-use-30".to_owned(),
            hops: 2,
            functions: 0,
            mean: checked_time(410.0, 402.0),
            p99,
            is_extrapolated: arm == "idle-hops",
        }
    }

    pub(super) fn checked(arm: &str, measured: f64, difference: f64) -> CheckedComposition {
        let difference_us = Interval::around(difference, 2.0);
        CheckedComposition {
            arm: arm.to_owned(),
            load: "saturation".to_owned(),
            hops: 1,
            functions: 2,
            measured_us: about(measured, 0.02),
            predicted_us: about(measured - difference, 0.03),
            difference_us,
            error_share: -difference / measured,
            is_interaction: !difference_us.contains(0.0),
            is_extrapolated: arm == "idle-hops",
        }
    }

    pub(super) fn result() -> SizeCheckResult {
        let body = SizeCheckBody {
            study: "prediction".to_owned(),
            confidence: 0.95,
            chains: vec!["two-proxies".to_owned()],
            compositions: vec![
                checked("jwt-and-lua", 110.0, 1.1),
                checked("two-hops", 150.0, -7.5),
                checked("idle-hops", 290.0, 120.0),
            ],
            left_out: vec![UncheckedComposition {
                arm: "mesh".to_owned(),
                load: None,
                reason: "no arm has only `lua`".to_owned(),
            }],
            mean_error_share: Some(0.03),
            worst_error_share: Some(0.05),
            response_times: vec![
                response("two-hops", Some(checked_time(1_100.0, 900.0))),
                response("idle-hops", None),
            ],
            response_times_left_out: vec![UncheckedComposition {
                arm: "mesh".to_owned(),
                load: None,
                reason: "`prediction` has no arm without a proxy beside `baseline`".to_owned(),
            }],
            mean_response_errors: Some(ErrorSummary { count: 1, mean_share: 0.0195, worst_share: 0.0195 }),
            p99_response_errors: Some(ErrorSummary { count: 1, mean_share: 0.182, worst_share: 0.182 }),
        };
        SizeCheckResult::new((), body)
    }

    #[test]
    fn a_check_states_errors_and_what_it_left_out() {
        insta::assert_snapshot!(terminal::details(&size_check(&result()), STYLE));
    }

    #[test]
    fn an_error_and_the_difference_beside_it_have_one_sign() {
        let table = compositions(&result());
        let texts = |name: &str| -> Vec<String> {
            let row = table.rows.iter().find(|row| row.name == name).unwrap();
            [0, 3].map(|cell| row.cells[cell].text()).to_vec()
        };
        assert_eq!(texts("idle-hops"), ["-41.4", "-120.0 ±2.0"]);
        assert_eq!(texts("two-hops"), ["+5.00", "+7.5 ±2.0"]);
    }

    #[test]
    fn a_wide_time_is_shown_with_its_bounds_and_counted_beside_the_averages() {
        let mut result = result();
        let measured_us = Interval::around(400.0, 300.0);
        let time = CheckedTime { measured_us, is_wide: true, ..checked_time(400.0, 420.0) };
        let mut wide = response("wide-hops", Some(time));
        wide.mean = time;
        result.response_times.push(wide);
        let section = response_times(&result);
        let [Block::Table(table), Block::Lines(lines)] = section.blocks.as_slice() else {
            panic!("{section:?}")
        };
        let row = table.rows.iter().find(|row| row.name == "wide-hops").unwrap();
        let texts: Vec<String> = row.cells.iter().map(Cell::text).collect();
        // 407.4 / 700 and 432.6 / 100.
        assert_eq!(texts[..3], ["400 ±300", "420 ±13", "-42 to +333"]);
        assert!(texts.contains(&"more than chance, wide mean, wide p99".to_owned()), "{texts:?}");
        assert!(lines.iter().all(|line| line.ends_with("beyond measurements and 1 wide")), "{lines:?}");
        assert!(method(&result).iter().any(|line| line.starts_with("wide: ")));
        (result.mean_response_errors, result.p99_response_errors) = (None, None);
        let section = response_times(&result);
        let Some(Block::Lines(lines)) = section.blocks.last() else { panic!("{section:?}") };
        assert_eq!(lines[0], "error of the mean: no average without those beyond measurements and 1 wide");
    }

    #[test]
    fn a_check_without_compositions_says_so() {
        let mut none = result();
        none.compositions.clear();
        (none.mean_error_share, none.worst_error_share) = (None, None);
        let text = terminal::screen(&size_check(&none), STYLE);
        assert!(text.contains("No composition can be compared"), "{text}");
    }
}
