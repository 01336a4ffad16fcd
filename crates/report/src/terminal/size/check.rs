//! How far predictions are from compositions that a study measured.

use hoptax_result::{
    CheckedComposition, CheckedResponse, CheckedTime, ErrorSummary, SizeCheckResult, UncheckedComposition,
};

use crate::numbers::{grouped, level, signed};
use crate::terminal::rows::Rows;
use crate::terminal::{Paint, Style};
use crate::words;

/// Each composition as predicted and as measured.
pub fn size_check(result: &SizeCheckResult, style: Style) -> String {
    let mut text = String::new();
    if let Some(warning) = words::warning(result.verdict, "the study is void: read its findings first") {
        text += &format!("\n{}\n", style.paint(Style::of_verdict(result.verdict), warning));
    }
    let title = format!("{}: compositions, CPU us per request", result.study);
    text += &format!("\n{}\n\n{}\n", style.paint(Paint::Bold, &title), compositions(result));
    text.extend(summary(result).iter().map(|line| style.wrap(line, 2) + "\n"));
    text.extend(left_out(&result.left_out).iter().map(|line| style.wrap(line, 2) + "\n"));
    text += &response_times(result, style);
    text + &format!("\n{}\n", style.wrap(&method_of_check(result), 2))
}

fn compositions(result: &SizeCheckResult) -> String {
    let header =
        ["composition", "load", "proxies", "functions", "measured", "predicted", "difference", "error"];
    let mut rows = Rows::new(&header);
    for one in &result.compositions {
        let [low, high] = [one.difference_us.low, one.difference_us.high].map(|us| signed(us, 1));
        let mark = if one.is_interaction { " *" } else { "" };
        rows.add(
            &one.arm,
            vec![
                one.load.clone(),
                one.hops.to_string(),
                one.functions.to_string(),
                level(&one.measured_us),
                level(&one.predicted_us),
                format!("{} ({low} to {high}){mark}", signed(one.difference_us.estimate, 1)),
                format!(
                    "{} %{}",
                    signed(100.0 * one.error_share, 1),
                    if one.is_extrapolated { " ~" } else { "" }
                ),
            ],
        );
    }
    rows.text()
}

fn summary(result: &SizeCheckResult) -> Vec<String> {
    let (Some(mean), Some(worst)) = (result.mean_error_share, result.worst_error_share) else {
        return vec!["no composition can be compared".to_owned()];
    };
    let is_worst = |one: &&CheckedComposition| !one.is_extrapolated && one.error_share.abs() >= worst;
    let at = result.compositions.iter().find(is_worst);
    let at = at.map_or_else(String::new, |one| format!(" (`{}` under {})", one.arm, one.load));
    let found: Vec<String> = result
        .compositions
        .iter()
        .filter(|one| one.is_interaction)
        .map(|one| format!("`{}` under {}", one.arm, one.load))
        .collect();
    let mut lines =
        vec![format!("error: {:.1} % on average, {:.1} % at worst{at}", 100.0 * mean, 100.0 * worst)];
    let by_chance = (1.0 - result.confidence) * result.compositions.len() as f64;
    lines.push(if found.is_empty() {
        "* no interaction: every interval of a difference contains 0".to_owned()
    } else {
        format!(
            "* interactions, whose difference excludes 0: {}. By chance, {} of {} would",
            found.join(", "),
            grouped(by_chance, 1),
            result.compositions.len()
        )
    });
    let extrapolated = result.compositions.iter().filter(|one| one.is_extrapolated).count();
    if extrapolated > 0 {
        lines.push(format!(
            "~ extrapolated, and not in these errors: {extrapolated}. A proxy is less busy or busier than those that its parts were \
             measured on"
        ));
    }
    lines
}

/// What is left out, with all compositions of one reason in a sentence.
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
    let line = |(reason, names): (&str, Vec<String>)| format!("left out: {}: {reason}", names.join(", "));
    reasons.into_iter().map(line).collect()
}

/// Each composition's response time as predicted and as measured.
fn response_times(result: &SizeCheckResult, style: Style) -> String {
    let mut text = String::new();
    if !result.response_times.is_empty() {
        let title = "response times, us";
        let table = compared_times(&result.response_times);
        text += &format!("\n{}\n\n{table}\n", style.paint(Paint::Bold, title));
    }
    let errors = [("mean", result.mean_response_errors), ("p99", result.p99_response_errors)];
    let lines = errors.into_iter().filter_map(|(what, errors)| Some(error_line(what, errors?)));
    text.extend(lines.map(|line| style.wrap(&line, 2) + "\n"));
    let extrapolated = result.response_times.iter().filter(|one| one.is_extrapolated).count();
    if extrapolated > 0 {
        text += &format!("~ extrapolated, and not in these errors: {extrapolated}\n");
    }
    let of_times = left_out(&result.response_times_left_out);
    text.extend(of_times.iter().map(|line| style.wrap(&format!("response times {line}"), 2) + "\n"));
    text
}

fn compared_times(all: &[CheckedResponse]) -> String {
    let header = ["composition", "load", "mean", "predicted", "error", "p99", "predicted", "error"];
    let mut rows = Rows::new(&header);
    for one in all {
        let mark = if one.is_extrapolated { " ~" } else { "" };
        let cells = |time: &CheckedTime| {
            let of_error = if time.is_interaction { " *" } else { "" };
            let error = format!("{} %{of_error}{mark}", signed(100.0 * time.error_share, 1));
            vec![level(&time.measured_us), level(&time.predicted_us), error]
        };
        let p99 = one.p99.as_ref().map_or_else(|| vec!["-".to_owned(); 3], cells);
        rows.add(&one.arm, [vec![one.load.clone()], cells(&one.mean), p99].concat());
    }
    rows.text()
}

fn error_line(what: &str, errors: ErrorSummary) -> String {
    format!(
        "error of the {what}: {:.1} % on average of {}, {:.1} % at worst",
        100.0 * errors.mean_share,
        errors.count,
        100.0 * errors.worst_share
    )
}

fn method_of_check(result: &SizeCheckResult) -> String {
    let chains = match result.chains.as_slice() {
        [] => String::new(),
        chains => format!(
            " What proxies that share processors cost each other is that of `{}`, which {} not predicted.",
            chains.join("`, `"),
            if chains.len() == 1 { "is" } else { "are" }
        ),
    };
    format!(
        "Predicted is the plain proxy for each proxy, and the cost of each function alone, of the same study at the rate of the \
         composition.{chains} The difference is measured minus predicted, within rounds; the error is predicted minus measured, of the \
         measured. Response times include the origin, and are predicted at the busy share of the processors that the proxies share. \
         Intervals are those of {:.0} %.",
        100.0 * result.confidence
    )
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Interval, Verdict};

    use super::*;
    use crate::fixture::{about, checked_time};

    const WIDE: Style = Style { width: 110, colour: false };

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

    fn checked(arm: &str, measured: f64, difference: f64) -> CheckedComposition {
        let difference_us = Interval { estimate: difference, low: difference - 2.0, high: difference + 2.0 };
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

    #[test]
    fn a_check_names_interactions_and_what_it_left_out() {
        let result = SizeCheckResult {
            format: SizeCheckResult::FORMAT.to_owned(),
            study: "prediction".to_owned(),
            verdict: Verdict::Sound,
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
        insta::assert_snapshot!(size_check(&result, WIDE));
    }
}
