//! Sentences that all outputs of a study share.

use hoptax_result::{
    ArmKind, ArmResult, CostMeasure, Disturbance, LoadSpec, Loop, Loosened, Slices, StudyResult,
};

use crate::numbers::{count, counted, grouped, percent, percent_difference};
use crate::{load_rate, probe, timeline};

/// The result of the A/A arm.
pub(crate) fn same(result: &StudyResult) -> Option<String> {
    let arm = result.arms.iter().find(|arm| arm.kind == ArmKind::Same)?;
    let share = arm.cost.cpu_share?;
    let verdict = if share.contains(0.0) {
        "the interval contains zero, as expected"
    } else {
        "the interval excludes zero, although the true cost is zero"
    };
    Some(format!("A/A arm (identical to the baseline): {}; {verdict}", percent_difference(&share)))
}

/// A warning that a subject does other work than its reference; none if both give the same answers.
pub(crate) fn other_work(subject: &str, reference: &str, differences: &[String]) -> Option<String> {
    (!differences.is_empty()).then(|| {
        format!(
            "{subject} answers differently from {reference}: {}. So their costs are those of different work",
            differences.join(", ")
        )
    })
}

/// Returns the method of the study.
pub(crate) fn method(result: &StudyResult) -> String {
    let plan = &result.plan;
    let loads: Vec<String> = plan
        .loads
        .iter()
        .map(|load| {
            let how = loop_of(result, load);
            let arms = match load.arms.len() as u64 {
                0 => String::new(),
                some => format!(", for {}", counted(some, "arm")),
            };
            format!(
                "{} ({how}, {} {}{}, {} {} of {} ms{arms})",
                load.name,
                load.connections,
                if load.is_sent_by_hoptax() { "connections" } else { "caller processes" },
                load.requests_per_connection.map_or_else(String::new, |requests| {
                    format!(" of {requests} request{}", if requests == 1 { "" } else { "s" })
                }),
                load.blocks,
                if load.blocks == 1 { "block" } else { "blocks" },
                grouped(load.slice_s * 1e3, 0)
            )
        })
        .collect();
    let resumed: String =
        plan.resumed_after_rounds.iter().map(|round| format!(", resumed after round {round}")).collect();
    let resumed = resumed + &until(result);
    let resumed = match result.sittings.len() {
        0 => resumed,
        sittings => format!(" in {sittings} sittings"),
    };
    format!(
        "{} of {}{resumed}, all processes restarted in each; loads: {}; seed {}; {} s",
        plan.rounds_completed,
        counted(plan.rounds_planned.into(), "round"),
        loads.join(", "),
        plan.seed,
        grouped(plan.wall_seconds, 0)
    )
}

/// The time budget or target precision of a study, if any.
fn until(result: &StudyResult) -> String {
    let plan = &result.plan;
    let budget = plan
        .budget_s
        .map_or_else(String::new, |budget_s| format!(", within a budget of {} s", grouped(budget_s, 0)));
    let Some(sequential) = &plan.sequential else { return budget };
    let of_cost = if sequential.of_cost_share > 0.0 {
        format!(" or ±{} % of the cost", grouped(sequential.of_cost_share * 100.0, 0))
    } else {
        String::new()
    };
    let looks: Vec<String> = sequential.looks.iter().map(u32::to_string).collect();
    format!(
        "{budget}, until nearly all CPU cost intervals are within ±{} % of the baseline{of_cost} ({}; checked after {} rounds)",
        grouped(sequential.target_share * 100.0, usize::from(sequential.target_share < 0.1)),
        if sequential.reached { "reached" } else { "not reached" },
        if looks.is_empty() { "no".to_owned() } else { looks.join(", ") }
    )
}

/// Returns how a load releases its requests, as text.
pub(crate) fn loop_of(result: &StudyResult, load: &LoadSpec) -> String {
    match (load.loop_, load.rate) {
        (Loop::Open, rate) => {
            let arrivals = load.arrivals.as_deref().unwrap_or_default();
            let of_capacity = || {
                let busy = load_rate::busy_share(result, load).map_or_else(String::new, |share| {
                    format!(", proxies busy {} of the time at the median", percent(share, 0))
                });
                let share = percent(load.utilisation.unwrap_or(0.0), 0);
                format!("{share} of the capacity of each arm{busy}")
            };
            let rate = rate.map_or_else(of_capacity, |rate| format!("{} requests/s", grouped(rate, 0)));
            format!("open loop, {rate}, {arrivals}")
        }
        _ => "closed loop".to_owned(),
    }
}

/// Maximum half-width of a narrow interval, as a share of plain proxying.
const NARROW: f64 = 0.01;

/// The meaning of the intervals, one sentence each.
pub(crate) fn intervals(result: &StudyResult) -> Vec<String> {
    let level_of =
        |arm: &ArmResult| result.level_of_reference(arm, result.reference_of(arm)?, CostMeasure::CpuUs);
    // Half-width as a share of the reference arm.
    let half = |arm: &ArmResult| {
        let cost = arm.cost.cpu_us_per_request?;
        Some((cost.high - cost.low) / 2.0 / level_of(arm)?.estimate)
    };
    let halves: Vec<f64> = result.arms.iter().filter_map(half).collect();
    let (costs, narrow) = (halves.len(), halves.iter().filter(|half| **half <= NARROW).count());
    let confidence = result.plan.confidence * 100.0;
    let sequential = result.plan.sequential.as_ref().map_or_else(String::new, |sequential| {
        format!(" at {}, since interval widths ended the study", percent(sequential.quantile_confidence, 0))
    });
    // Intervals whose variances do not borrow have the degrees of freedom of their rounds, and state none.
    let borrows = |measure: CostMeasure| {
        let loads = result.arms.iter().flat_map(|arm| &arm.loads);
        let mut costs = loads.filter_map(|load| measure.interval(&load.cost));
        costs.any(|cost| cost.degrees_of_freedom.is_some())
    };
    let borrowed = if CostMeasure::all().into_iter().any(borrows) {
        "; with so few rounds, the variances of costs borrow from each other (empirical Bayes, after Smyth)"
    } else {
        ""
    };
    let of_one = format!(
        "± is half of the {confidence} % interval: paired by block, Hodges-Lehmann within a round, Student over rounds\
         {sequential}{borrowed}",
        confidence = grouped(confidence, 0)
    );
    let of_machine = format!(
        "± is half of the {confidence} % interval for this machine, Student over sittings, which all count alike; a number that some \
         sittings withhold is combined from the others; one that a single sitting has keeps the interval of that sitting, unless another \
         bounds it",
        confidence = grouped(confidence, 0)
    );
    let mut sentences = vec![
        if result.sittings.is_empty() { of_one } else { of_machine },
        "tail quantiles (p90, p99) are taken over all rounds, with jackknife intervals over rounds"
            .to_owned(),
    ];
    sentences.extend(quiet(result).map(|quiet| {
        format!("{quiet}; slices are classified by the waits that the kernel counts, never by response times, and p99 is that of all slices")
    }));
    if let Some(weight) = result.host.neighbour_weight {
        sentences.push(format!(
            "CPU time is adjusted for changes of the machine's speed (Papadakis, weight {weight})",
            weight = grouped(weight, 2)
        ));
    }
    // Among many intervals, some probably miss the truth.
    let missing = (costs as f64 * (1.0 - result.plan.confidence)).round();
    if missing >= 1.0 {
        sentences.push(format!(
            "of {costs} CPU cost intervals, {narrow} are narrower than ±{} of the baseline; about {missing} can be expected to \
             miss the true cost",
            percent(NARROW, 0)
        ));
    }
    sentences
}

/// The meaning of ± in a sentence, for whoever does not read the method; none for a timeline, which explains its numbers.
pub(crate) fn half_width(result: &StudyResult) -> Option<String> {
    let over = match result.sittings.len() as u64 {
        0 => counted(result.plan.rounds_completed.into(), "round"),
        sittings => counted(sittings, "sitting"),
    };
    let confidence = percent(result.plan.confidence, 0);
    result.plan.timeline.is_none().then(|| format!("± is half of the {confidence} interval, over {over}."))
}

/// Explains the quiet p99, with the share of responses that it is based on; none without one.
pub(crate) fn quiet(result: &StudyResult) -> Option<String> {
    let rule = result.plan.quiet_rule?;
    let of_arm = |arm: &ArmResult| {
        let under = arm.under(&result.plan.response_load_of(&arm.id)?.name)?;
        under.response_us.quiet_p99.and(under.quiet_share)
    };
    let shares: Vec<f64> = result.arms.iter().filter_map(of_arm).collect();
    let least = shares.iter().copied().reduce(f64::min)?;
    let most = shares.iter().copied().fold(least, f64::max);
    let percent = |share: f64| grouped(share * 100.0, 0);
    let shares = match (percent(least), percent(most)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}"),
    };
    Some(format!(
        "quiet p99: while generator and proxies each waited for a processor for at most {} % of the time; {shares} % of the responses",
        (rule.max_wait_share * 1e4).round() / 100.0
    ))
}

/// Numbers of slices that count and that do not, with the rule, one sentence each; and explanations of the numbers of a timeline.
pub(crate) fn slices(result: &StudyResult) -> Vec<String> {
    if let Some(sentences) = timeline::sentences(result) {
        return sentences;
    }
    let sum = |of: fn(&Slices) -> u64| result.arms.iter().map(|arm| of(&arm.slices)).sum::<u64>();
    let (used, set_aside, lost) =
        (sum(|slices| slices.used), sum(|slices| slices.set_aside), sum(|slices| slices.lost));
    let replaced = match lost {
        _ if set_aside == 0 => String::new(),
        0 => "; all were measured again".to_owned(),
        _ => format!("; {} were not replaced", count(lost)),
    };
    let number = |disturbance: &Disturbance| -> u64 {
        result.arms.iter().filter_map(|arm| arm.slices.set_aside_by.get(disturbance)).sum()
    };
    let by = |disturbance: &Disturbance| match number(disturbance) {
        0 => None,
        all => Some(format!("{} for {}", count(all), disturbance.as_str())),
    };
    let mut reasons: Vec<String> = Disturbance::ALL.iter().filter_map(by).collect();
    // Without these words, the numbers would seem not to add up.
    if Disturbance::ALL.iter().map(number).sum::<u64>() > set_aside {
        reasons.push("some for several reasons".to_owned());
    }
    let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    let mut sentences =
        vec![format!("{} slices used, {} set aside{reasons}{replaced}", count(used), count(set_aside))];
    let delayed = sum(|slices| slices.delayed);
    if delayed > 0 {
        sentences.push(format!(
            "{} slices count only for CPU time, since the proxy waited for its processor",
            count(delayed)
        ));
    }
    sentences.push(result.plan.set_aside_rule.clone());
    if result.host.waited_s >= 1.0 {
        sentences.push(format!(
            "the study waited {} s for the hypervisor to place the processors close together",
            grouped(result.host.waited_s, 0)
        ));
    }
    sentences
}

/// The machine.
pub(crate) fn machine(result: &StudyResult) -> String {
    let environment = &result.environment;
    if let Some(cluster) = &environment.cluster {
        let nodes = cluster.nodes.iter().map(|node| {
            format!(
                "`{}` with {}, Linux {}",
                node.name,
                counted(node.processors.into(), "processor"),
                node.kernel
            )
        });
        let proxies = cluster.proxies.join(", ");
        return format!(
            "Kubernetes {}; hoptax {}; servers and callers on {}; {}; {}",
            cluster.kubernetes,
            result.program.version,
            nodes.collect::<Vec<_>>().join(" and "),
            if proxies.is_empty() { "no proxies" } else { proxies.as_str() },
            environment.started_at
        );
    }
    let numbers = |cpus: &[u32]| cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let (proxy, near) = (numbers(&environment.proxy_cpus), numbers(&environment.generator_cpus));
    let placement = match &result.plan.link {
        None => {
            let handover = result.host.handover_ns.map_or_else(String::new, |handover_ns| {
                format!(", cache-line round trip {handover_ns} ns", handover_ns = grouped(handover_ns, 0))
            });
            format!("proxy on CPU {proxy}, generator and origin on {near}{handover}")
        }
        Some(link) => format!(
            "callers and their proxies on CPU {near}, the rest on {proxy}, one-way delay {} ms",
            link.delay_us / 1e3
        ),
    };
    format!(
        "Envoy {}; hoptax {}; {}, {} CPUs{}; Linux {}; {placement}; {}{}{}",
        environment.proxy_version.as_deref().unwrap_or("-"),
        result.program.version,
        environment.cpu_model,
        environment.cpus,
        if environment.virtual_machine { ", virtual machine" } else { "" },
        environment.kernel,
        environment.started_at,
        environment.calibration.as_ref().map_or_else(String::new, |calibration| format!(
            "; latency floor p50 {} us at 1,000 requests/s (calibrated {})",
            grouped(calibration.floor_p50_us, 1),
            calibration.measured_at
        )),
        probe::machine(result.machine.as_ref(), result.plan.never_halted)
            .map_or_else(String::new, |probe| format!("; {probe}"))
    )
}

/// The text with a capital first letter.
pub(crate) fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(char::to_uppercase).into_iter().flatten();
    first.chain(characters).collect()
}

/// The loosened thresholds, one line each.
pub(crate) fn loosened(all: &[Loosened]) -> Vec<String> {
    let line = |one: &Loosened| {
        format!("with a loosened threshold: {} {} instead of {}", one.name, one.value, one.default)
    };
    all.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use hoptax_result::Disturbance;

    use super::*;
    use crate::document::Block;
    use crate::fixture;

    #[test]
    fn a_share_of_the_capacity_is_given_with_how_busy_the_proxies_were() {
        let result = fixture::shares();
        assert!(loop_of(&result, &result.plan.loads[1]).starts_with(
            "open loop, 25 % of the capacity of each arm, proxies busy 39 % of the time at the median, "
        ));
        assert!(method(&result).contains("busy 62 % of the time"));
    }

    #[test]
    fn the_meaning_of_an_interval_names_its_confidence_and_what_it_is_over() {
        let result = fixture::study();
        let rounds = result.plan.rounds_completed;
        let expected = format!("± is half of the 95 % interval, over {rounds} rounds.");
        assert_eq!(half_width(&result), Some(expected));
        let document = crate::documents::study(&result);
        let blocks = &document.plots[0].blocks[..];
        assert!(matches!(blocks, [Block::Note(note), Block::Chart(_)] if note.starts_with('±')));
    }

    #[test]
    fn slices_that_were_set_aside_are_counted_by_reason() {
        let mut result = fixture::study();
        assert_eq!(
            slices(&result)[..2],
            [
                "1,131 slices used, 39 set aside (13 for steal, 39 for run-delay, some for several reasons); 13 were not replaced",
                "26 slices count only for CPU time, since the proxy waited for its processor"
            ]
        );
        for arm in &mut result.arms {
            arm.slices = Slices { used: 10, set_aside: 1, ..Slices::default() };
        }
        assert_eq!(slices(&result)[0], "130 slices used, 13 set aside; all were measured again");
        result.arms[0].slices.set_aside_by.insert(Disturbance::Handover, 1);
        assert!(slices(&result)[0].contains("(1 for handover)"));
    }
}
