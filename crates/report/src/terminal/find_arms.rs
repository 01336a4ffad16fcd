//! The result of a search on arms of a study: the rate of each, and the ratios.

use hoptax_result::{ArmTrial, FindArmsResult, FindEnd, FindState, FoundArm, Interval};

use super::find::rate;
use super::rows::Rows;
use super::{Paint, Style};
use crate::numbers::counted;

/// A table of the arms, and what limits what it says.
pub fn find_arms(result: &FindArmsResult, style: Style) -> String {
    let first = result.arms.first().map_or("", |arm| arm.arm.as_str());
    let title = format!(
        "Highest rates at which arms of the study `{}` hold {}",
        result.study,
        result.objectives.join(" and ")
    );
    let ratio = format!("ratio to {first}");
    let mut rows = Rows::new(&["arm", "rate/s", "upper rate/s", &ratio, "limited by"]);
    for (number, arm) in result.arms.iter().enumerate() {
        let given = |one: Option<f64>| one.map_or("-".to_owned(), rate);
        let is_known = number == 0 && arm.found.state == FindState::Found;
        let of_first = if is_known { "1" } else { "-" };
        rows.add(
            &arm.arm,
            vec![
                given(arm.found.rate),
                given(arm.found.upper_rate),
                arm.ratio.map_or(of_first.to_owned(), ratio_in_words),
                limited_by(arm),
            ],
        );
    }
    let mut text = format!("\n{}\n\n{}", style.paint(Paint::Bold, &title), rows.text());
    // The sentence about its state also says why an arm without a rate has no ratio.
    let sentence = |arm| state(arm, result).or_else(|| no_ratio(arm)).or_else(|| caution(arm));
    let sentences: Vec<String> = result.arms.iter().filter_map(sentence).collect();
    if !sentences.is_empty() {
        text += "\n";
    }
    text.extend(sentences.iter().map(|line| format!("{}\n", style.wrap(line, 2))));
    text += &format!("\n{}\n", style.wrap(&method(result), 2));
    text
}

/// A ratio with its interval, in steps of at most a tenth of the half-width.
fn ratio_in_words(ratio: Interval) -> String {
    let half_width = (ratio.high - ratio.low) / 2.0;
    let decimals = if half_width > 0.0 { (1.0 - half_width.log10()).ceil().clamp(1.0, 5.0) } else { 3.0 };
    let digits = decimals as usize;
    let in_words = |number: f64| format!("{number:.digits$}");
    format!("{} ({} to {})", in_words(ratio.estimate), in_words(ratio.low), in_words(ratio.high))
}

/// What keeps the rate of an arm from being higher, or unknown.
fn limited_by(arm: &FoundArm) -> String {
    match arm.found.state {
        FindState::Found => arm.found.limited_by.join(", "),
        FindState::MaximumHeld => "highest rate".to_owned(),
        FindState::MinimumFailed => "fails at the lowest rate".to_owned(),
        FindState::GeneratorLimited => "the generator".to_owned(),
        FindState::Unfinished => "time".to_owned(),
    }
}

/// What the rate of an arm does not say, and what to do about it.
fn state(arm: &FoundArm, result: &FindArmsResult) -> Option<String> {
    let name = &arm.arm;
    Some(match arm.found.state {
        FindState::Found => return None,
        FindState::MaximumHeld => {
            format!(
                "{name}: holds them at the highest rate of the search, and may carry more. Raise --max-rate."
            )
        }
        FindState::MinimumFailed => {
            format!(
                "{name}: fails at the lowest rate of the search. Lower --min-rate, or relax the objectives."
            )
        }
        FindState::GeneratorLimited => {
            let is_upper = |one: &&ArmTrial| {
                let is_rate = |upper: f64| one.trial.rate.to_bits() == upper.to_bits();
                one.arm == *name && one.round.is_none() && arm.found.upper_rate.is_some_and(is_rate)
            };
            let mut at_upper = result.trials.iter().filter(is_upper);
            let reason = at_upper.find_map(|one| one.trial.generator_limits.first());
            format!(
                "{name}: the generator cannot produce the upper rate ({}), so the arm may carry more. Leave other work off this \
                 machine, or use one with faster processors.",
                reason.map_or("it was the limit", String::as_str)
            )
        }
        FindState::Unfinished => match result.ended_by {
            FindEnd::Interrupt => format!("{name}: the search was interrupted."),
            FindEnd::Failure => format!("{name}: the search ended because a trial could not run."),
            FindEnd::Budget | FindEnd::Complete => {
                format!("{name}: the search ran out of time. Raise --budget.")
            }
        },
    })
}

fn no_ratio(arm: &FoundArm) -> Option<String> {
    let why = arm.no_ratio.as_ref()?;
    Some(format!("{}: its ratio is not known: {why}.", arm.arm))
}

fn caution(arm: &FoundArm) -> Option<String> {
    let why = arm.ratio_caution.as_ref()?;
    Some(format!("{}: {why}.", arm.arm))
}

/// How the numbers came about.
fn method(result: &FindArmsResult) -> String {
    let (search, round) = (&result.evidence, &result.round_evidence);
    let most = if search.exceed_ratio > 0.0 {
        format!("more than {:.0} % of the", (1.0 - search.exceed_ratio) * 100.0)
    } else {
        "all".to_owned()
    };
    format!(
        "{} in {:.0} s, with the requests of the load `{}` on {}. Objectives hold at the rate, and fail at the upper \
         rate, in {most} trials of {} s, {} s in total, on processes that were started once. Ratios are means over {} of {} rounds, with \
         intervals of {:.0} %; each round starts all processes again, and decides by trials of {} s in total.",
        counted(result.trials.len() as u64, "trial"),
        result.took_s,
        result.load,
        counted(result.connections.into(), "connection"),
        search.final_trial_s,
        search.duration_sum_s,
        result.rounds,
        result.rounds_planned,
        result.confidence * 100.0,
        round.duration_sum_s,
    )
}

#[cfg(test)]
mod tests {
    use hoptax_result::{FindEvidence, FoundGoal, sample};

    use super::super::find::tests::trial;
    use super::*;

    fn arm(name: &str, state: FindState, rate: Option<f64>, upper_rate: Option<f64>) -> FoundArm {
        FoundArm {
            arm: name.to_owned(),
            found: FoundGoal {
                objectives: vec!["p99<5ms".to_owned()],
                state,
                rate,
                upper_rate,
                conditional_throughput: rate,
                limited_by: vec!["p99<5ms".to_owned()],
            },
            min_rate: 2.0,
            max_rate: 30_000.0,
            closed_loop_rate: 15_000.0,
            round_rates: vec![rate; 6],
            ratio: None,
            no_ratio: None,
            ratio_caution: None,
        }
    }

    fn result(arms: Vec<FoundArm>) -> FindArmsResult {
        let evidence = |duration_sum_s| FindEvidence {
            preset: "quick".to_owned(),
            final_trial_s: 1.0,
            duration_sum_s,
            exceed_ratio: 0.5,
            width: 0.02,
        };
        let mut late = trial(31_000.0, Some(80_000.0), false);
        late.generator_limits = vec!["send-lag: send lag p99 was 900 us".to_owned()];
        FindArmsResult {
            format: String::new(),
            ended_by: FindEnd::Complete,
            study: "quick".to_owned(),
            load: "fixed-rate".to_owned(),
            connections: 64,
            arrivals: "uniform".to_owned(),
            objectives: vec!["p99<5ms".to_owned(), "errors<0.1%".to_owned()],
            arms,
            evidence: evidence(11.0),
            round_evidence: evidence(5.0),
            rounds_planned: 6,
            rounds: 6,
            confidence: 0.95,
            seed: 1,
            budget_s: 600.0,
            took_s: 301.2,
            trials: vec![ArmTrial { arm: "direct".to_owned(), round: None, trial: late }],
            environment: sample::load().environment,
        }
    }

    const STYLE: Style = Style { width: 100, colour: false };

    #[test]
    fn the_table_of_a_search_on_arms() {
        let mut lua = arm("lua", FindState::Found, Some(9_805.0), Some(9_990.0));
        lua.ratio = Some(Interval { estimate: 0.8412, low: 0.8263, high: 0.8561 });
        lua.ratio_caution = Some("the interval of its ratio may be too narrow".to_owned());
        let baseline = arm("baseline", FindState::Found, Some(11_650.0), Some(11_880.0));
        insta::assert_snapshot!(find_arms(&result(vec![baseline, lua]), STYLE));
    }

    #[test]
    fn every_state_says_what_is_missing_and_what_to_do() {
        let mut arms = vec![
            arm("direct", FindState::GeneratorLimited, Some(30_000.0), Some(31_000.0)),
            arm("baseline", FindState::Found, Some(11_650.0), Some(11_880.0)),
            arm("lua", FindState::MinimumFailed, None, Some(2.0)),
            arm("rbac", FindState::MaximumHeld, Some(30_000.0), None),
            arm("jwt", FindState::Unfinished, None, None),
        ];
        for arm in &mut arms[1..] {
            arm.no_ratio = Some("the search found no rate of `direct`".to_owned());
        }
        insta::assert_snapshot!(find_arms(&result(arms), STYLE));
    }

    #[test]
    fn a_ratio_has_as_many_digits_as_its_interval_supports() {
        let of = |estimate: f64, half: f64| {
            ratio_in_words(Interval { estimate, low: estimate - half, high: estimate + half })
        };
        assert_eq!(of(1.9812, 0.0312), "1.981 (1.950 to 2.012)");
        assert_eq!(of(1.98, 0.5), "1.98 (1.48 to 2.48)");
        assert_eq!(of(0.5, 0.0), "0.500 (0.500 to 0.500)");
    }
}
