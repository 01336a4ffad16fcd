//! The index `MeshMark` of the arms of a study, and their value for cost.

use hoptax_result::{MeshMarkArm, MeshMarkResult, ValueForCost, Verdict};

use super::rows::Rows;
use super::{Paint, Style};
use crate::numbers::grouped;

/// The index of each arm and load, and what it means.
pub fn meshmark(result: &MeshMarkResult, style: Style) -> String {
    let mut rows =
        Rows::new(&["arm", "load", "CPU left", "memory left", "MeshMark", "as printed", "value for cost"]);
    for arm in &result.arms {
        let marks =
            [arm.mean, arm.product].map(|mark| mark.map_or_else(|| "-".to_owned(), |mark| grouped(mark, 1)));
        let [mean, product] = marks;
        rows.add(
            &arm.arm,
            vec![arm.load.clone(), left(arm.cpu_mue), left(arm.memory_mue), mean, product, value(arm)],
        );
    }
    let title = format!("{}: MeshMark and value for cost", result.study);
    let mut text = format!("\n{}\n\n{}\n", style.paint(Paint::Bold, &title), rows.text());
    if result.arms.iter().any(|arm| arm.asks_companion && arm.value_for_cost.is_some()) {
        text +=
            &format!("{}\n", style.wrap("*: without the CPU time of the service that the function calls", 2));
    }
    for line in [
        "MeshMark: 100 times the mean share of CPU and memory that is left, with a weight of 0 % as the factor 1; `as printed` \
         multiplies by weights of +50 %. It has no interval. An idle proxy scores best, and what it does is in no term: \
         docs/reference/smp.md lists the defects.",
        &format!(
            "value for cost: requests for each second of CPU time that the arm adds to the one that it is compared with, \
             1,000,000 / (added us per request), with its interval of {:.0} %.",
            100.0 * result.confidence
        ),
    ] {
        text += &format!("{}\n", style.wrap(line, 2));
    }
    if result.verdict == Verdict::Void {
        text +=
            &format!("\n{}\n", style.paint(Paint::Red, "the study is void: its numbers are not supported"));
    }
    text
}

fn left(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}

/// `50,000/s (48,780 to 51,282)`; with `or more` where there is no upper end.
fn value(arm: &MeshMarkArm) -> String {
    let Some(ValueForCost { estimate, low, high }) = arm.value_for_cost else { return "-".to_owned() };
    let number = |value: f64| grouped(value, 0);
    let mark = if arm.asks_companion { "*" } else { "" };
    let range = match high {
        Some(high) => format!("{} to {}", number(low), number(high)),
        None => format!("{} or more", number(low)),
    };
    match estimate {
        Some(estimate) => format!("{}/s ({range}){mark}", number(estimate)),
        None => format!("({range}){mark}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(name: &str, value_for_cost: Option<ValueForCost>) -> MeshMarkArm {
        MeshMarkArm {
            arm: name.to_owned(),
            load: "saturation".to_owned(),
            cpu_mue: Some(0.5),
            memory_mue: Some(0.9),
            product: Some(35.0),
            mean: Some(70.0),
            value_for_cost,
            asks_companion: false,
        }
    }

    fn result(arms: Vec<MeshMarkArm>) -> MeshMarkResult {
        MeshMarkResult {
            format: MeshMarkResult::FORMAT.to_owned(),
            study: "quick".to_owned(),
            verdict: Verdict::Sound,
            confidence: 0.95,
            arms,
        }
    }

    #[test]
    fn marks_and_values_with_and_without_an_upper_end() {
        let value = |estimate, low, high| Some(ValueForCost { estimate, low, high });
        let unknown =
            MeshMarkArm { cpu_mue: None, memory_mue: None, product: None, mean: None, ..arm("direct", None) };
        let companion =
            MeshMarkArm { asks_companion: true, ..arm("ext-authz", value(Some(1e4), 9e3, Some(1.2e4))) };
        let result = result(vec![
            unknown,
            arm("lua", value(Some(50_000.0), 48_780.4, Some(51_282.1))),
            arm("route", value(Some(1e6), 2e5, None)),
            arm("same", value(None, 3e5, None)),
            companion,
        ]);
        insta::assert_snapshot!(meshmark(&result, Style { width: 110, colour: false }));
    }

    #[test]
    fn a_void_study_is_said() {
        let void = MeshMarkResult { verdict: Verdict::Void, ..result(vec![arm("lua", None)]) };
        let style = Style { width: 100, colour: false };
        assert!(meshmark(&void, style).contains("the study is void"));
        assert!(!meshmark(&result(vec![arm("lua", None)]), style).contains("void"));
    }
}
