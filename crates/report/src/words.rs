//! Sentences shared by all outputs of a study.

use hoptax_result::{ArmKind, ArmResult, Disturbance, LoadSpec, Loop, Slices, StudyResult, Verdict};

use crate::numbers::{difference, grouped};
use crate::probe;

/// The result of the A/A arm.
pub(crate) fn same(result: &StudyResult) -> Option<String> {
    let arm = result.arms.iter().find(|arm| arm.kind == ArmKind::Same)?;
    let cost = arm.cost.cpu_us_per_request?;
    let verdict = if cost.contains(0.0) {
        "an interval that holds zero, as it must"
    } else {
        "although it must cost nothing"
    };
    Some(format!("A/A: the same configuration again seems to cost {} us, {verdict}", difference(&cost)))
}

/// The caption of the main table.
pub(crate) const ADDED: &str = "what is added to that; CPU time and response time per request";

/// How the study was measured.
pub(crate) fn method(result: &StudyResult) -> String {
    let plan = &result.plan;
    let loads: Vec<String> = plan
        .loads
        .iter()
        .map(|load| {
            let how = loop_of(load);
            format!(
                "{} ({how}, {} {}{}, {} {} of {} ms)",
                load.name,
                load.connections,
                if load.caller == "php" { "processes of PHP" } else { "connections" },
                load.requests_per_connection.map_or_else(String::new, |requests| {
                    format!(" of {requests} request{}", if requests == 1 { "" } else { "s" })
                }),
                load.blocks,
                if load.blocks == 1 { "block" } else { "blocks" },
                grouped(load.slice_s * 1e3, 0)
            )
        })
        .collect();
    let resumed: String = plan
        .resumed_after_rounds
        .iter()
        .map(|round| format!(", taken up again after round {round}"))
        .collect();
    let resumed = resumed + &until(result);
    format!(
        "{} of {} rounds{resumed}, all processes started afresh in each; loads: {}; seed {}; {} s",
        plan.rounds_completed,
        plan.rounds_planned,
        loads.join(", "),
        plan.seed,
        grouped(plan.wall_seconds, 0)
    )
}

/// What ended a study with a time budget or a target precision.
fn until(result: &StudyResult) -> String {
    let plan = &result.plan;
    let budget = plan
        .budget_s
        .map_or_else(String::new, |budget_s| format!(", as many as fit into {} s", grouped(budget_s, 0)));
    let Some(sequential) = &plan.sequential else { return budget };
    let looks: Vec<String> = sequential.looks.iter().map(u32::to_string).collect();
    format!(
        "{budget}, until nearly all intervals of CPU cost are within {} % of the CPU time compared with ({}; widths were looked at \
         after {} rounds)",
        grouped(sequential.target_share * 100.0, usize::from(sequential.target_share < 0.1)),
        if sequential.reached { "reached" } else { "not reached" },
        if looks.is_empty() { "no".to_owned() } else { looks.join(", ") }
    )
}

/// How the requests of a load are released.
pub(crate) fn loop_of(load: &LoadSpec) -> String {
    match (load.loop_, load.rate) {
        (Loop::Open, rate) => {
            let arrivals = load.arrivals.as_deref().unwrap_or_default();
            let rate = rate.map_or_else(
                || format!("{:.0} % of what each arm can take", load.utilisation.unwrap_or(0.0) * 100.0),
                |rate| format!("{} requests/s", grouped(rate, 0)),
            );
            format!("open loop, {rate}, {arrivals}")
        }
        _ => "closed loop".to_owned(),
    }
}

/// Half-width of a narrow interval, as a share of plain proxying.
const NARROW: f64 = 0.01;

/// The meaning of the intervals.
pub(crate) fn intervals(result: &StudyResult) -> String {
    let level_of = |id: &String| result.arms.iter().find(|arm| arm.id == *id)?.cpu_us_per_request;
    // Half-width as a share of the arm compared with.
    let half = |arm: &ArmResult| {
        let cost = arm.cost.cpu_us_per_request?;
        Some((cost.high - cost.low) / 2.0 / level_of(arm.compared_with.as_ref()?)?.estimate)
    };
    let halves: Vec<f64> = result.arms.iter().filter_map(half).collect();
    let (costs, narrow) = (halves.len(), halves.iter().filter(|half| **half <= NARROW).count());
    let speed = result.host.neighbour_weight.map_or_else(String::new, |weight| {
        format!(
            "; CPU time is at the machine's usual speed, as block and neighbouring slices tell it (Papadakis, weight \
             {weight:.2})"
        )
    });
    // With many intervals, some are likely to miss the truth.
    let missing = (costs as f64 * (1.0 - result.plan.confidence)).round();
    let missing = if missing < 1.0 {
        String::new()
    } else {
        format!(
            "; of {costs} such intervals of CPU cost, {narrow} are within {:.0} % of the baseline's CPU time, and \
             {missing} or so do not hold the true one",
            NARROW * 100.0
        )
    };
    let looks = result.plan.sequential.as_ref().map_or_else(String::new, |sequential| {
        format!(
            ", with the quantile of {:.0} %, since the study ended when intervals were narrow",
            sequential.quantile_confidence * 100.0
        )
    });
    format!(
        "± is half of the {:.0} % interval over rounds of the difference paired by block (Hodges-Lehmann within a \
         round, Student over rounds{looks}), at p90 and p99 of quantiles of all rounds (jackknife over rounds){speed}{missing}",
        result.plan.confidence * 100.0
    )
}

/// Numbers of slices that count and that do not.
pub(crate) fn slices(result: &StudyResult) -> String {
    let sum = |of: fn(&Slices) -> u64| result.arms.iter().map(|arm| of(&arm.slices)).sum::<u64>();
    let (used, set_aside, lost) =
        (sum(|slices| slices.used), sum(|slices| slices.set_aside), sum(|slices| slices.lost));
    let lacking = match lost {
        _ if set_aside == 0 => String::new(),
        0 => " and measured again".to_owned(),
        _ => format!(", of which {} could not be measured again", grouped(lost as f64, 0)),
    };
    let by = |disturbance: &Disturbance| {
        let counts = result.arms.iter().filter_map(|arm| arm.slices.set_aside_by.get(disturbance));
        let count: u64 = counts.sum();
        (count > 0).then(|| format!("{} for {}", grouped(count as f64, 0), disturbance.as_str()))
    };
    let reasons: Vec<String> = Disturbance::ALL.iter().filter_map(by).collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    let delayed = match sum(|slices| slices.delayed) {
        0 => String::new(),
        delayed => format!(
            "; of {} planned ones only the CPU time counts, since the proxy waited for its processor",
            grouped(delayed as f64, 0)
        ),
    };
    let mut text = format!(
        "{} slices used, {} set aside{reasons}{lacking}{delayed}: {}",
        grouped(used as f64, 0),
        grouped(set_aside as f64, 0),
        result.plan.set_aside_rule
    );
    if result.host.waited_s >= 1.0 {
        text += &format!(
            ". The study waited {:.0} s until the processors were close together",
            result.host.waited_s
        );
    }
    text
}

/// The machine.
pub(crate) fn machine(result: &StudyResult) -> String {
    let environment = &result.environment;
    let numbers = |cpus: &[u32]| cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let (proxy, near) = (numbers(&environment.proxy_cpus), numbers(&environment.generator_cpus));
    let places = match &result.plan.link {
        None => {
            let handover = result.host.handover_ns.map_or_else(String::new, |handover_ns| {
                format!(", {handover_ns:.0} ns for a cache line from one to the other and back")
            });
            format!("proxy on CPU {proxy}, generator and origin on {near}{handover}")
        }
        Some(link) => format!(
            "callers and what is beside them on CPU {near}, the rest on {proxy}, {} ms between them each way",
            link.delay_us / 1e3
        ),
    };
    format!(
        "Envoy {}; hoptax {}; {}, {} CPUs{}; Linux {}; {places}; {}{}{}",
        environment.proxy_version.as_deref().unwrap_or("-"),
        environment.hoptax_version,
        environment.cpu_model,
        environment.cpus,
        if environment.virtual_machine { " of a virtual machine" } else { "" },
        environment.kernel,
        environment.started_at,
        environment.calibration.as_ref().map_or_else(String::new, |calibration| format!(
            "; an origin that answers at once takes p50 {:.1} us here at 1,000/s (calibrated {})",
            calibration.floor_p50_us, calibration.measured_at
        )),
        probe::machine(result.machine.as_ref(), result.plan.never_halted)
            .map_or_else(String::new, |said| format!("; {said}"))
    )
}

/// The text with a capital first letter.
pub(crate) fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(char::to_uppercase).into_iter().flatten();
    first.chain(characters).collect()
}

/// The meaning of a load's verdict.
pub(crate) fn verdict_of_load(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Sound => "sound: no check of weight has fired",
        Verdict::Caution => "caution: the numbers stand, read the findings before using them",
        Verdict::Void => "void: the evidence does not support the numbers, which are withheld",
    }
}

/// The meaning of a study's verdict.
pub(crate) fn verdict(result: &StudyResult) -> &'static str {
    let withholds = result.findings.iter().any(|finding| finding.withholds);
    match result.verdict {
        Verdict::Sound if withholds => {
            "sound: no check of weight has fired; what could not be measured is withheld"
        }
        Verdict::Sound => "sound: no check of weight has fired",
        Verdict::Caution if withholds => {
            "caution: the findings say which numbers are withheld; the others stand, with what the findings say of them"
        }
        Verdict::Caution => "caution: the numbers stand, read the findings before using them",
        Verdict::Void => {
            "void: nothing is left of what the study asks; numbers that no finding takes away stand"
        }
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::Disturbance;

    use super::*;
    use crate::fixture;

    #[test]
    fn the_verdict_says_whether_numbers_are_withheld() {
        let mut result = fixture::study();
        assert!(verdict(&result).contains("withheld"));
        result.findings.retain(|finding| !finding.withholds);
        assert_eq!(verdict(&result), "caution: the numbers stand, read the findings before using them");
    }

    #[test]
    fn slices_that_were_set_aside_are_counted_by_reason() {
        let mut result = fixture::study();
        let counts = |text: &str| text.split(": a slice").next().unwrap_or_default().to_owned();
        assert_eq!(
            counts(&slices(&result)),
            "1,131 slices used, 39 set aside (13 for steal, 39 for run-delay), of which 13 could not be measured again; of \
             26 planned ones only the CPU time counts, since the proxy waited for its processor"
        );
        for arm in &mut result.arms {
            arm.slices = Slices { used: 10, set_aside: 1, ..Slices::default() };
        }
        assert_eq!(counts(&slices(&result)), "130 slices used, 13 set aside and measured again");
        result.arms[0].slices.set_aside_by.insert(Disturbance::Handover, 1);
        assert!(slices(&result).contains("(1 for handover)"));
    }
}
