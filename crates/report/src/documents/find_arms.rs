//! The document of a search on arms of a study: the rate of each, and the ratios.

use hoptax_result::{ArmTrial, Body, FindArmsResult, FindEnd, FindState, FindTrial, FoundArm, Severity};
use hoptax_text::command_line::{path_word, word};
use hoptax_text::list::listed;

use super::find::{arrivals, charts, highest, in_words, judgement};
use crate::chart::{Chart, Group};
use crate::document::{Document, FindingText, Judgement, Next, Section};
use crate::environment;
use crate::numbers::{counted, grouped, percent, ungrouped};
use crate::quantity::Quantity;
use crate::table::{Cell, Column, Row, Table};

/// Maximum number of arms that the answer names without a ratio.
const MOST_NAMED: usize = 3;

/// The commands that repeat a search on arms that has just ended.
#[derive(Clone, Debug)]
pub struct SearchedArms {
    /// The command that searches the same, without its time limit: `hoptax find --slo 'p99<5ms' --arms baseline,lua edge.yaml`.
    pub search: String,
    /// The command that measures the study of the arms: `hoptax study edge.yaml`.
    pub study: String,
}

/// The document of a search on arms whose file and other options are unknown.
pub fn find_arms(result: &FindArmsResult) -> Document {
    let objectives: String = result.objectives.iter().map(|one| format!("--slo {} ", word(one))).collect();
    let arms: Vec<&str> = result.arms.iter().map(|arm| arm.arm.as_str()).collect();
    let study = path_word(result.study.as_ref());
    let search = format!("hoptax find {objectives}--arms {} {study}", word(arms.join(",")));
    find_arms_of(result, &SearchedArms { search, study: format!("hoptax study {study}") })
}

/// The document of a search on arms that these commands repeat.
pub fn find_arms_of(result: &FindArmsResult, again: &SearchedArms) -> Document {
    let mut document = Document::of(
        result,
        format!("find --arms {}", result.study),
        result.objectives.join(" and "),
        answer(result),
    );
    document.table = Some(table(result));
    document.verdict = Some(judged(result));
    document.findings = FindingText::all(&result.findings);
    // The note about an arm's state also explains why an arm without a rate has no ratio.
    let note = |arm| state(arm, result).or_else(|| no_ratio(arm));
    document.notes = result.arms.iter().filter_map(note).collect();
    document.next = Some(next(result, again));
    document.plots.extend(trials(result));
    document.sections.extend(Section::of_lines("Method", method(result)));
    document.sections.extend(environment::section(&result.environment, &result.program));
    document
}

/// The judgement of the searches, and of the findings if there are any.
fn judged(result: &FindArmsResult) -> Judgement {
    const WHY: &str = ": the note about each arm says why";
    let warnings = result.findings.iter().filter(|finding| finding.severity > Severity::Info).count();
    if warnings == 0 {
        return judgement(result.verdict, WHY);
    }
    let warning = if warnings == 1 { "warning" } else { "warnings" };
    let of_searches = judgement(result.body.verdict(), WHY).usable;
    Judgement { verdict: result.verdict, usable: format!("{of_searches}; read the {warning} below") }
}

/// A longer search if this one ran out of time; otherwise a study of the arms' costs.
fn next(result: &FindArmsResult, again: &SearchedArms) -> Next {
    let is_short = |arm: &FoundArm| {
        matches!(arm.found.state, FindState::Bounded | FindState::Unfinished) || arm.no_ratio.is_some()
    };
    if result.ended_by == FindEnd::Budget && result.arms.iter().any(is_short) {
        let command = format!("{} --budget {}s", again.search, ungrouped(4.0 * result.budget_s, 0));
        let has_interval = |arm: &FoundArm| {
            highest(&arm.found).is_some_and(|rate| rate.low.is_some() && rate.high.is_some())
        };
        let purpose = if result.arms.iter().any(has_interval) {
            "has four times the time, which halves the intervals"
        } else {
            "has four times the time, so that it may reach an interval"
        };
        return Next::new(command, purpose);
    }
    Next::new(again.study.as_str(), "measures what each arm costs per request")
}

/// The trials of each arm with the value and the limit of the first objective, and the found rate; none without a value.
fn trials(result: &FindArmsResult) -> Option<Section> {
    let of = |arm: &FoundArm| {
        let trials: Vec<&FindTrial> =
            result.trials.iter().filter(|one| one.arm == arm.arm).map(|one| &one.trial).collect();
        let chart = charts::of_trials(&trials, 0, Some(&arm.found))?;
        Some(Group { name: arm.arm.clone(), charts: vec![chart] })
    };
    let groups = result.arms.iter().filter_map(of).collect();
    let all: Vec<&FindTrial> = result.trials.iter().map(|one| &one.trial).collect();
    Section::of_charts("Trials by rate", &charts::about(&all), Chart::groups(groups))
}

fn ratio(arm: &FoundArm) -> Option<Quantity> {
    arm.ratio.as_ref().map(|ratio| Quantity::level(ratio, ""))
}

/// The rate of the first arm, and the arm with the lowest ratio to it, or what is known of the others without one.
fn answer(result: &FindArmsResult) -> Vec<String> {
    let [first, others @ ..] = result.arms.as_slice() else { return vec!["No arm was searched".to_owned()] };
    let objectives = result.objectives.join(" and ");
    let rate = in_words(highest(&first.found).as_ref());
    let of_first = format!("The highest rate at which `{}` holds {objectives} is {rate}", first.arm);
    let estimate = |arm: &FoundArm| arm.ratio.map_or(f64::INFINITY, |ratio| ratio.estimate);
    let known = result.arms.iter().filter(|arm| arm.ratio.is_some());
    let lowest = known.min_by(|one, other| estimate(one).total_cmp(&estimate(other)));
    let lowest = lowest.and_then(|arm| {
        let rate = in_words(highest(&arm.found).as_ref());
        Some(format!("`{}` holds them at the lowest ratio to it, {}: {rate}", arm.arm, ratio(arm)?.text()))
    });
    std::iter::once(of_first).chain(lowest.or_else(|| without_ratio(others))).collect()
}

/// The rates of arms none of which has a ratio to the first; none without arms.
fn without_ratio(arms: &[FoundArm]) -> Option<String> {
    let of = |arm: &FoundArm| format!("of `{}`: {}", arm.arm, in_words(highest(&arm.found).as_ref()));
    let mut rates: Vec<String> = arms.iter().take(MOST_NAMED).map(of).collect();
    let more = arms.len().saturating_sub(MOST_NAMED) as u64;
    rates.extend((more > 0).then(|| format!("of {}: in the table", counted(more, "more arm"))));
    (!arms.is_empty()).then(|| format!("No ratio to it is known; highest rate {}", listed(&rates)))
}

fn table(result: &FindArmsResult) -> Table {
    let first = result.arms.first().map_or("", |arm| arm.arm.as_str());
    let row = |(number, arm): (usize, &FoundArm)| {
        let is_known = number == 0 && matches!(arm.found.state, FindState::Found | FindState::Bounded);
        let of_first = if is_known { Cell::words("1") } else { Cell::Empty };
        Row::new(
            &arm.arm,
            vec![
                highest(&arm.found).into(),
                ratio(arm).map_or(of_first, Cell::Quantity),
                Cell::words(limited_by(arm)),
            ],
        )
    };
    let columns = [
        Column::new("rate/s", 0),
        Column::new(format!("ratio to {first}"), 0),
        Column::text("limited by", 1),
    ];
    let title = format!(
        "highest rate of {} at which each arm holds {}",
        arrivals(&result.arrivals),
        result.objectives.join(" and ")
    );
    Table::new(title, "arm", columns, result.arms.iter().enumerate().map(row))
}

/// The limit of the rate of an arm.
fn limited_by(arm: &FoundArm) -> String {
    match arm.found.state {
        FindState::Found | FindState::Bounded => arm.found.limited_by.join(", "),
        FindState::MaximumHeld => "highest rate of the search".to_owned(),
        FindState::MinimumFailed => "fails at the lowest rate".to_owned(),
        FindState::GeneratorLimited => "the generator".to_owned(),
        FindState::Unfinished => "time of the search".to_owned(),
    }
}

/// The remedy for an unknown rate.
fn state(arm: &FoundArm, result: &FindArmsResult) -> Option<String> {
    let name = &arm.arm;
    Some(match arm.found.state {
        FindState::Found => return None,
        FindState::Bounded => {
            format!("{name}: the interval is wider than asked: raise `--budget`")
        }
        FindState::MaximumHeld => format!("{name}: may carry more than the highest rate: raise `--max-rate`"),
        FindState::MinimumFailed => {
            format!("{name}: fails at the lowest rate: lower `--min-rate`, or relax the objectives")
        }
        FindState::GeneratorLimited => {
            let is_upper = |one: &&ArmTrial| {
                let is_rate = |upper: f64| one.trial.rate.to_bits() == upper.to_bits();
                one.arm == *name && one.round.is_none() && arm.found.upper_rate.is_some_and(is_rate)
            };
            let mut at_upper = result.trials.iter().filter(is_upper);
            let reason = at_upper.find_map(|one| one.trial.generator_limits.first());
            format!(
                "{name}: may carry more, but the generator cannot produce it ({}): use an idle or a faster machine",
                reason.map_or("it was the limit", String::as_str)
            )
        }
        FindState::Unfinished => match result.ended_by {
            FindEnd::Interrupt => format!("{name}: the search was interrupted"),
            FindEnd::Failure => format!("{name}: the search ended because a trial could not run"),
            FindEnd::Budget | FindEnd::Complete => {
                format!("{name}: the search ran out of time: raise `--budget`")
            }
        },
    })
}

fn no_ratio(arm: &FoundArm) -> Option<String> {
    let why = arm.no_ratio.as_ref()?;
    Some(format!("{}: no ratio: {why}", arm.arm))
}

/// Returns the method of the numbers.
fn method(result: &FindArmsResult) -> Vec<String> {
    let (search, round) = (&result.evidence, &result.round_evidence);
    vec![
        format!(
            "{} in {} s, with the requests of the load `{}` on {}",
            counted(result.trials.len() as u64, "trial"),
            grouped(result.took_s, 0),
            result.load,
            counted(result.connections.into(), "connection")
        ),
        format!(
            "the search on processes that were started once ends when the interval of {} of a rate is {} wide",
            percent(search.confidence, 0),
            percent(search.width, 0)
        ),
        format!(
            "ratios are means over {} of {} rounds, with intervals of {}; each round starts all processes again, and ends when the \
             interval of each rate is {} wide",
            result.rounds,
            result.rounds_planned,
            percent(result.confidence, 0),
            percent(round.width, 0)
        ),
    ]
}

#[cfg(test)]
mod tests {
    use hoptax_result::{FindArmsBody, FindEvidence, Finding, Interval, Measured, Verdict, sample};

    use super::super::find::tests::{goal, trial};
    use super::*;
    use crate::fixture::STYLE;
    use crate::render::terminal;

    fn arm(name: &str, state: FindState, rate: Option<f64>, upper_rate: Option<f64>) -> FoundArm {
        FoundArm {
            arm: name.to_owned(),
            found: goal(state, rate, upper_rate),
            min_rate: 2.0,
            max_rate: 30_000.0,
            closed_loop_rate: 15_000.0,
            round_rates: vec![rate; 6],
            ratio: None,
            no_ratio: None,
        }
    }

    fn result(arms: Vec<FoundArm>) -> FindArmsResult {
        let evidence = |width| FindEvidence { preset: "quick".to_owned(), width, confidence: 0.95 };
        let mut late = trial(31_000.0, Some(80_000.0), false);
        late.generator_limits = vec!["send-lag: send lag p99 was 900 us".to_owned()];
        let body = FindArmsBody {
            ended_by: FindEnd::Complete,
            study: "quick".to_owned(),
            load: "fixed-rate".to_owned(),
            connections: 64,
            arrivals: "poisson".to_owned(),
            objectives: vec!["p99<5ms".to_owned(), "errors<0.1%".to_owned()],
            arms,
            evidence: evidence(0.04),
            round_evidence: evidence(0.08),
            rounds_planned: 6,
            rounds: 6,
            confidence: 0.95,
            seed: 1,
            budget_s: 600.0,
            took_s: 301.2,
            trials: vec![ArmTrial { arm: "direct".to_owned(), round: None, trial: late }],
        };
        FindArmsResult::new(sample::load().environment, body)
    }

    #[test]
    fn the_table_of_a_search_on_arms() {
        let mut lua = arm("lua", FindState::Found, Some(9_805.0), Some(9_990.0));
        lua.ratio = Some(Interval::new(0.8412, 0.8263, 0.8561));
        let baseline = arm("baseline", FindState::Found, Some(11_650.0), Some(11_880.0));
        insta::assert_snapshot!(terminal::details(&find_arms(&result(vec![baseline, lua])), STYLE));
    }

    #[test]
    fn every_state_says_what_is_missing_and_what_to_do() {
        let mut arms = vec![
            arm("direct", FindState::GeneratorLimited, Some(30_000.0), Some(31_000.0)),
            arm("baseline", FindState::Found, Some(11_650.0), Some(11_880.0)),
            arm("lua", FindState::MinimumFailed, None, Some(2.0)),
            arm("rbac", FindState::MaximumHeld, Some(30_000.0), None),
            arm("jwt", FindState::Unfinished, None, None),
            arm("cors", FindState::Bounded, Some(10_000.0), Some(12_000.0)),
        ];
        for arm in &mut arms[1..] {
            arm.no_ratio = Some("only a bound of the rate of `direct` is known".to_owned());
        }
        insta::assert_snapshot!(terminal::screen(&find_arms(&result(arms)), STYLE));
    }

    #[test]
    fn arms_without_a_ratio_are_in_the_answer_and_an_arm_alone_has_no_others() {
        let baseline = || arm("baseline", FindState::Unfinished, Some(9_041.0), None);
        let jwt = arm("jwt", FindState::Unfinished, None, None);
        let of = |arms: Vec<FoundArm>| answer(&result(arms));
        let both = of(vec![baseline(), jwt]);
        assert_eq!(both[1], "No ratio to it is known; highest rate of `jwt`: unknown");
        assert_eq!(of(vec![baseline()]).len(), 1);
    }

    #[test]
    fn a_warning_stands_beside_the_judgement_of_the_searches() {
        let baseline = arm("baseline", FindState::Found, Some(11_650.0), Some(11_880.0));
        let of = |severity: Severity| {
            let finding = Finding::new("x", severity, Measured::us(1.0, 0.0), "a build".to_owned(), "");
            let verdict = if severity == Severity::Info { Verdict::Sound } else { Verdict::Caution };
            let document = find_arms(&result(vec![baseline.clone()]).judged(verdict, vec![finding]));
            assert_eq!(document.findings.len(), 1);
            let Judgement { verdict, usable } = document.verdict.unwrap();
            (verdict, usable)
        };
        let ended = "every search ended with an answer";
        assert_eq!(of(Severity::Info), (Verdict::Sound, ended.to_owned()));
        assert_eq!(of(Severity::Warn), (Verdict::Caution, format!("{ended}; read the warning below")));
    }

    #[test]
    fn the_next_step_is_a_longer_search_or_what_the_arms_cost() {
        let baseline = arm("baseline", FindState::Found, Some(11_650.0), Some(11_880.0));
        let mut result = result(vec![baseline, arm("lua", FindState::Bounded, Some(9_000.0), Some(9_990.0))]);
        let search = "hoptax find --preset careful edge.yaml";
        let again = SearchedArms { search: search.to_owned(), study: "hoptax study edge.yaml".to_owned() };
        let next = |result: &FindArmsResult| find_arms_of(result, &again).next.unwrap().command;
        assert_eq!(next(&result), "hoptax study edge.yaml");
        result.ended_by = FindEnd::Budget;
        assert_eq!(next(&result), format!("{search} --budget 2400s"));
        let purpose = |result: &FindArmsResult| find_arms(result).next.unwrap().purpose;
        assert!(purpose(&result).ends_with("halves the intervals"), "{}", purpose(&result));
        let mut open = result.clone();
        for one in &mut open.arms {
            one.found = goal(FindState::Unfinished, Some(9_041.0), None);
        }
        assert!(purpose(&open).ends_with("may reach an interval"), "{}", purpose(&open));
        result.study = "my edge".to_owned();
        let stored = find_arms(&result).next.unwrap().command;
        let longer =
            "hoptax find --slo 'p99<5ms' --slo 'errors<0.1%' --arms baseline,lua 'my edge' --budget 2400s";
        assert_eq!(stored, longer);
        result.arms[1].found.state = FindState::Found;
        assert_eq!(next(&result), "hoptax study edge.yaml");
        result.study = "-edge.yaml".to_owned();
        assert_eq!(find_arms(&result).next.unwrap().command, "hoptax study ./-edge.yaml");
    }
}
