//! The document about the measurements that a machine supports.

use hoptax_result::{Ability, CalibrationBody, DoctorResult, Extent, Verdict};
use hoptax_text::list::listed;

use crate::document::{Document, Judgement, Next};
use crate::environment;
use crate::numbers::counted;
use crate::table::{Cell, Column, Row, Table};
use crate::words::capitalised;

/// The document of a diagnosis.
pub fn doctor(result: &DoctorResult) -> Document {
    let mut document = Document::of(result, "trust doctor", "", answer(result));
    let columns = [Column::text("possible", 0), Column::text("because", 1)];
    let rows = result.abilities.iter().map(row);
    document.table = Some(Table::new("measurements on this machine", "measurement", columns, rows));
    document.verdict = Some(Judgement { verdict: result.verdict, usable: usable(result) });
    // The findings have the same words, with ids that no check explains.
    document.notes = result.reasons().into_iter().map(|reason| capitalised(&reason.text)).collect();
    document.next = next(result);
    document.sections.extend(environment::section(&result.environment, &result.program));
    document
}

/// The machine, and how many kinds of measurements have limits.
fn answer(result: &DoctorResult) -> Vec<String> {
    let environment = &result.environment;
    let count = |extent| result.abilities.iter().filter(|ability| ability.extent == extent).count();
    let all = result.abilities.len();
    let extents = match (count(Extent::Limited), count(Extent::Impossible)) {
        (0, 0) => {
            format!("all {all} kinds of measurements are possible without a limit that is known beforehand")
        }
        (limited, 0) => {
            format!("all {all} kinds of measurements are possible, {limited} of them with limits")
        }
        (0, none) => format!(
            "of {all} kinds of measurements, {none} cannot be made, and the others have no known limit"
        ),
        (limited, none) => {
            format!("of {all} kinds of measurements, {none} cannot be made, and {limited} have limits")
        }
    };
    let processors = counted(u64::from(result.machine.processors), "processor");
    vec![format!(
        "On this machine ({}, {processors}, Linux {}), {extents}",
        environment.cpu_model, environment.kernel
    )]
}

fn row(ability: &Ability) -> Row {
    let possible = match ability.extent {
        Extent::Full => "yes",
        Extent::Limited => "limited",
        Extent::Impossible => "no",
    };
    let because = ability.reasons.first().map_or(ability.note.as_str(), |reason| reason.short.as_str());
    let because = if because.is_empty() { Cell::Empty } else { Cell::words(because) };
    Row::new(&ability.measurements, vec![Cell::words(possible), because])
}

/// What the verdict permits: all, the essentials, or not even these.
fn usable(result: &DoctorResult) -> String {
    match result.verdict {
        Verdict::Sound => "no limit of this machine is known beforehand".to_owned(),
        Verdict::Caution => {
            "loads can be sent and CPU costs measured, within the limits of the table".to_owned()
        }
        Verdict::Void => {
            let missing: Vec<&str> =
                result.missing_essentials().map(|ability| ability.measurements.as_str()).collect();
            format!("{} cannot be measured", listed(&missing))
        }
    }
}

/// A calibration, unless there is one; otherwise a study, if it is possible.
fn next(result: &DoctorResult) -> Option<Next> {
    if result.environment.calibration.is_none() {
        let used = &result.machine.used_by_others;
        let is_disturbed = used.iter().any(|used| used.share > CalibrationBody::MOST_OTHERS_SHARE);
        let purpose = if is_disturbed {
            "after you stopped the other work: measures the generator's error here, in two minutes"
        } else {
            "measures the generator's error here, in two minutes"
        };
        return Some(Next::new("hoptax trust calibrate", purpose));
    }
    let study = Next::new("hoptax study quick", "measures the most used functions, in about 6 minutes");
    (!result.lacks_essentials()).then_some(study)
}

#[cfg(test)]
mod tests {
    use hoptax_result::{DoctorBody, Environment, LimitReason};

    use super::*;
    use crate::documents::of_text;
    use crate::fixture::{self, STYLE};
    use crate::render::terminal;

    fn of(abilities: Vec<Ability>) -> DoctorResult {
        let environment = Environment { cpu_model: "A Processor".to_owned(), ..Environment::default() };
        let body = DoctorBody { machine: fixture::machine(10.0, 5.0), abilities };
        DoctorResult::new(environment, body)
    }

    #[test]
    fn one_screen_says_what_is_possible_and_each_reason_once() {
        let text = "the host takes 3 %: use another machine";
        let steal = LimitReason::new("steal", "the host takes processor time", text);
        let no_envoy = LimitReason::new("no-envoy", "no Envoy", "there is none: install it");
        let limited = Ability::new("loads", "rates of servers", Vec::new(), vec![steal.clone()]);
        let impossible = Ability::new("cpu-costs", "CPU costs", vec![no_envoy], vec![steal.clone()]);
        let also = Ability::new("rates", "maximum rates", Vec::new(), vec![steal]);
        let full =
            Ability::new("connections", "many connections", Vec::new(), Vec::new()).with_note("a note");
        let diagnosed = of(vec![limited, impossible, also, full]);
        let answer = answer(&diagnosed).concat();
        assert!(answer.contains("1 cannot be made, and 2 have limits"), "{answer}");
        let screen = terminal::screen(&doctor(&diagnosed), STYLE);
        for words in ["A Processor", "no Envoy", "a note", "There is none: install it"] {
            assert!(screen.contains(words), "{words}: {screen}");
        }
        assert_eq!(screen.matches("The host takes 3 %").count(), 1, "{screen}");
        let details = terminal::details(&doctor(&diagnosed), STYLE);
        assert_eq!(details.matches("The host takes 3 %").count(), 1, "{details}");
        assert!(screen.contains("next: hoptax trust calibrate"), "{screen}");
        assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    }

    /// A calibration beside other work is not kept.
    #[test]
    fn a_calibration_is_advised_after_other_work() {
        let purpose = |share| {
            let mut diagnosed = of(Vec::new());
            diagnosed.machine.used_by_others[0].share = share;
            next(&diagnosed).unwrap().purpose
        };
        assert!(purpose(0.6).starts_with("after you stopped the other work"), "{}", purpose(0.6));
        assert!(purpose(0.03).starts_with("measures"), "{}", purpose(0.03));
    }

    #[test]
    fn a_machine_without_limits_is_told_so() {
        let full = Ability::new("loads", "rates of servers", Vec::new(), Vec::new());
        let diagnosed = of(vec![full]);
        let answer = answer(&diagnosed).concat();
        assert!(answer.contains("all 1 kinds of measurements are possible without a limit"), "{answer}");
        let screen = terminal::screen(&doctor(&diagnosed), STYLE);
        assert!(screen.contains("sound: no limit of this machine is known beforehand"), "{screen}");
    }

    #[test]
    fn a_machine_without_an_essential_is_void_and_its_file_says_the_same() {
        let no_envoy = LimitReason::new("no-envoy", "no Envoy", "there is none: install it");
        let loads = Ability::new("loads", "rates of servers", Vec::new(), Vec::new()).essential();
        let costs = Ability::new("cpu-costs", "CPU costs", vec![no_envoy], Vec::new()).essential();
        let diagnosed = of(vec![loads, costs]);
        let screen = terminal::screen(&doctor(&diagnosed), STYLE);
        assert!(screen.contains("void: CPU costs cannot be measured"), "{screen}");
        let text = serde_json::to_string(&diagnosed).unwrap();
        assert_eq!(serde_json::from_str::<DoctorResult>(&text).unwrap(), diagnosed);
        assert_eq!(terminal::screen(&of_text(&text, |_| false).unwrap(), STYLE), screen);
    }
}
