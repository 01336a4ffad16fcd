//! Findings about the source of CPU times, about the placement of the pods, and about slices at saturation.

use hoptax_checks::thresholds::{self, Limits};
use hoptax_result::{
    CpuTimeSource, Finding, Generator, LimitPeriods, Measure, Measured as Value, Severity, count, counted,
    grouped, percent,
};

use crate::measured::{Measured, Slice, Source};
use crate::plan::{Arm, Plan, SATURATION};
use crate::source::{scrape_share, tick_share};

/// All findings, but those about slices at saturation.
pub fn findings(plan: &Plan, measured: &Measured) -> Vec<Finding> {
    let mut found = unknown(plan, measured);
    found.extend(throttled(plan, measured));
    found.extend(source(measured));
    found.extend(idle(measured));
    found.extend(idle_of_own(plan, measured));
    found.extend(bypassed(plan, measured));
    found.extend(same_node(measured));
    found
}

/// The slices of an arm.
fn slices(measured: &Measured, arm: usize) -> Vec<&Slice> {
    measured.rounds.iter().flat_map(|round| &round.slices).filter(|slice| slice.arm == arm).collect()
}

fn unknown(plan: &Plan, measured: &Measured) -> Vec<Finding> {
    let of_arm = |(index, arm): (usize, &Arm)| {
        let slices = slices(measured, index);
        let unknown = slices.iter().filter(|slice| slice.proxies.iter().any(Option::is_none)).count();
        if unknown == 0 {
            return None;
        }
        let message = format!(
            "{unknown} of {} slices of `{}` have no CPU time: there are fewer than two readings of a proxy in them, or a proxy was restarted",
            slices.len(),
            arm.id
        );
        let share = Value::percent(unknown as f64 / slices.len() as f64, 0.0);
        let advice = "use longer slices (`--slice`), and check whether its proxies were restarted";
        let finding = Finding::new("cpu-unknown", Severity::Warn, share, message, advice);
        Some(Finding { arm: Some(arm.id.clone()), measures: vec![Measure::Cpu], ..finding })
    };
    plan.arms.iter().enumerate().filter_map(of_arm).collect()
}

/// Throttling by a CPU limit, such as a default of the namespace, which may also affect the caller and the origin.
fn throttled(plan: &Plan, measured: &Measured) -> Vec<Finding> {
    let of_arm = |(index, arm): (usize, &Arm)| {
        let slices = slices(measured, index);
        let caller: u64 = slices.iter().filter_map(|slice| slice.load.generator.throttled).sum();
        let limits = slices.iter().filter_map(|slice| slice.origin?.limit);
        let origin = limits.fold(LimitPeriods::default(), |sum, one| sum + one);
        let of_caller = (caller > 0).then(|| format!("the caller in {}", counted(caller, "period")));
        let LimitPeriods { periods, throttled, .. } = origin;
        let of_origin = (throttled > 0)
            .then(|| format!("the origin in {} of {} periods", count(throttled), count(periods)));
        let stopped: Vec<String> = [of_caller, of_origin].into_iter().flatten().collect();
        if stopped.is_empty() {
            return None;
        }
        let message = format!("a CPU limit (cgroup) throttled pods of `{}`: {}", arm.id, stopped.join("; "));
        let advice = "check which limit the namespace or the template sets for pods: response times contain the waits that it causes, and \
                      times of slices in which it stopped the caller are withheld";
        let value = Value::count(caller.saturating_add(throttled) as f64, 0.0, "periods");
        let finding = Finding::new("throttled-pods", Severity::Warn, value, message, advice);
        Some(Finding { arm: Some(arm.id.clone()), measures: Measure::TIMED.to_vec(), ..finding })
    };
    plan.arms.iter().enumerate().filter_map(of_arm).collect()
}

/// The findings about slices at saturation, which doubt nothing but maximum rates. A caller that a limit or a hypervisor stops seems to have
/// spare time, although it bounds the rate.
pub fn at_saturation(plan: &Plan, measured: &Measured, limits: &Limits) -> Vec<Finding> {
    let of_arm = |(index, arm): (usize, &Arm)| -> Vec<Finding> {
        let slices = measured.rounds.iter().flat_map(|round| &round.at_saturation);
        let of_arm = slices.filter(|slice| slice.arm == index);
        let callers: Vec<&Generator> = of_arm.map(|slice| &slice.load.generator).collect();
        let about = |finding: Finding| Finding {
            arm: Some(arm.id.clone()),
            load: Some(SATURATION.to_owned()),
            measures: vec![Measure::Rate, Measure::MaxRate],
            ..finding
        };
        [throttled_callers(&callers), stolen(&callers, limits)].into_iter().flatten().map(about).collect()
    };
    plan.arms.iter().enumerate().flat_map(of_arm).collect()
}

fn throttled_callers(callers: &[&Generator]) -> Option<Finding> {
    let periods: u64 = callers.iter().filter_map(|caller| caller.throttled).sum();
    let message = format!(
        "a CPU limit (cgroup) throttled its caller in {} at saturation: the maximum rate may be that of the caller",
        counted(periods, "period")
    );
    let value = Value::count(periods as f64, 0.0, "periods");
    let advice = "check which limit the namespace or the template sets for the pod of the caller";
    (periods > 0).then(|| Finding::new("throttled-pods", Severity::Warn, value, message, advice))
}

fn stolen(callers: &[&Generator], limits: &Limits) -> Option<Finding> {
    let seconds: f64 = callers.iter().map(|caller| caller.wall_seconds).sum();
    let stolen_s: f64 = callers.iter().map(|caller| caller.wall_seconds * caller.steal_share).sum();
    let limit = limits.value(&thresholds::STEAL);
    // NaN without a slice.
    let share = Some(stolen_s / seconds).filter(|share| *share > limit)?;
    let message = format!(
        "steal was {} of CPU time at saturation: the node of the callers had less than its processors",
        percent(share, 2)
    );
    let advice = "read the maximum rate as a lower bound; nodes that may use their processors only for a part of the time need a \
                  measurement of their own for maximum rates";
    Some(Finding::new("steal", Severity::Warn, Value::percent(share, limit), message, advice))
}

fn source(measured: &Measured) -> Option<Finding> {
    let Source { from, gap_s, slice_s, has_times_of_scrapes, .. } = measured.source;
    let shortest_s = measured.source.shortest_s?;
    let why = measured.source.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    let taken = format!(
        "in each slice of {slice_s} s, between the first and the last reading in it",
        slice_s = grouped(slice_s, 0)
    );
    let message = match from {
        CpuTimeSource::Cgroup => format!(
            "CPU times are from the control groups of the containers{why}, which readers on their nodes read every {gap_s} s or less: \
             {taken}, at least {shortest_s} s apart; ticks of the kernel cause an error of at most {} of a processor for each thread",
            percent(tick_share(shortest_s), 1),
            gap_s = grouped(gap_s, 1),
            shortest_s = grouped(shortest_s, 1)
        ),
        CpuTimeSource::Kubelet => format!(
            "CPU times are from the metrics of the kubelets{why}, which read each container every {gap_s} s or less: {taken}, at least \
             {shortest_s} s apart",
            gap_s = grouped(gap_s, 0),
            shortest_s = grouped(shortest_s, 0)
        ),
        CpuTimeSource::Prometheus => {
            let wrong = has_times_of_scrapes.then(|| {
                format!(
                    "; Prometheus states the times of its scrapes, not of the readings, which causes an error of a CPU time of up to {}",
                    percent(scrape_share(shortest_s), 0)
                )
            });
            format!(
                "CPU times are from a Prometheus{why}, which has a reading of each container every {gap_s} s or less: {taken} that follow \
                 another reading, at least {shortest_s} s apart{}",
                wrong.unwrap_or_default(),
                gap_s = grouped(gap_s, 0),
                shortest_s = grouped(shortest_s, 0)
            )
        }
    };
    let (severity, advice) = if has_times_of_scrapes {
        let advice = "set `honor_timestamps: true` for the kubelets' `/metrics/cadvisor`, so that Prometheus keeps the times of the \
                      readings; without it, the error differs from round to round, so the intervals include it, and more rounds narrow them";
        (Severity::Warn, advice)
    } else {
        let advice = "this causes no error: the times of both readings are known, and the load is constant between them";
        (Severity::Info, advice)
    };
    let value = Value::count(shortest_s, gap_s, "s");
    let finding = Finding::new("cpu-source", severity, value, message, advice);
    Some(Finding { measures: vec![Measure::Cpu], ..finding })
}

fn idle(measured: &Measured) -> Vec<Finding> {
    let of = |(name, share): (&String, &f64)| {
        let message = format!(
            "`{name}`, which other pods use too, took {} of a processor without load, which the costs do not include",
            percent(*share, 2)
        );
        let advice =
            "measure while nothing else uses it: the costs would include the requests of others through it";
        let finding =
            Finding::new("shared-proxy", Severity::Info, Value::percent(*share, 0.0), message, advice);
        Finding { measures: vec![Measure::Cpu], ..finding }
    };
    measured.source.idle.iter().map(of).collect()
}

/// The idle use of sidecars is part of their cost, but that of shared proxies is not, so a table with both needs this note.
fn idle_of_own(plan: &Plan, measured: &Measured) -> Vec<Finding> {
    let of = |(index, share): (&usize, &f64)| {
        let arm = &plan.arms[*index];
        let us = share * 1e6 / plan.asked.rate;
        let message = format!(
            "the proxies of the pods of `{}` took {} of a processor before the first load, which corresponds to {us} us per request",
            arm.id,
            percent(*share, 2),
            us = grouped(us, 1)
        );
        let advice = "the costs include it: at a higher rate, it is less per request";
        let finding =
            Finding::new("idle-proxies", Severity::Info, Value::percent(*share, 0.0), message, advice);
        // No arm in the scope, so that each is listed: findings about several arms would be merged, with the first number.
        Finding { measures: vec![Measure::Cpu], ..finding }
    };
    measured.source.idle_of_own.iter().map(of).collect()
}

/// Reading and writing each request and response alone takes a proxy longer than this.
const LEAST_US: f64 = 2.0;
/// Relative variation over time of the CPU use of proxies without load: two Istio sidecars used 0.42 to 0.51 % of a processor.
const IDLE_DIFFERS: f64 = 0.1;

/// A mesh that uses no CPU time for requests is not in their path: the pods are not enrolled, or the port is excluded.
fn bypassed(plan: &Plan, measured: &Measured) -> Vec<Finding> {
    let of_arm = |index: &usize| {
        let arm = &plan.arms[*index];
        let of_slice =
            |slice: &Slice| slice.proxies.iter().map(|used| Some(used.as_ref()?.share)).sum::<Option<f64>>();
        let shares: Vec<f64> = slices(measured, *index).into_iter().filter_map(of_slice).collect();
        let share = shares.iter().sum::<f64>() / shares.len() as f64;
        let idle = measured.source.idle_of_own.get(index).copied().unwrap_or_default();
        let of_request = |share: f64| share * 1e6 / plan.asked.rate;
        let (us, limit_us) = (of_request(share - idle), LEAST_US + of_request(idle * IDLE_DIFFERS));
        // NaN without a slice.
        if us.is_nan() || us >= limit_us {
            return None;
        }
        let message = format!(
            "the proxies of `{}` took {us} us of CPU time per request more than without load: requests seem to bypass them",
            arm.id,
            us = grouped(us, 1)
        );
        let advice =
            "while a measurement runs, check whether the mesh takes the pods of its namespace and the port";
        let finding = Finding::new("mesh-bypassed", Severity::Warn, Value::us(us, limit_us), message, advice);
        Some(Finding { arm: Some(arm.id.clone()), measures: vec![Measure::Cpu], ..finding })
    };
    measured.proxies.keys().filter_map(of_arm).collect()
}

fn same_node(measured: &Measured) -> Option<Finding> {
    let cluster = measured.environment.cluster.as_ref()?;
    let [node] = cluster.nodes.as_slice() else { return None };
    let message = format!(
        "callers and origins were on one node, `{}`: they shared its processors, and no request crossed a network between nodes",
        node.name
    );
    let advice = "name two nodes with `--node` and `--caller-node`, if the cluster has them";
    Some(Finding::new("one-node", Severity::Info, Value::count(1.0, 2.0, "nodes"), message, advice))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ClusterEnvironment, ClusterNode, Environment, sample};

    use super::*;
    use crate::measured::{Proxy, Round};
    use crate::plan::tests::plan;
    use crate::used::Used;

    #[test]
    fn the_source_of_cpu_times_the_load_of_others_and_one_node_are_stated() {
        let plan = plan(&["istio-ambient"]).unwrap();
        let mut measured = Measured::default();
        assert!(findings(&plan, &measured).is_empty());
        measured.source = Source {
            gap_s: 12.4,
            slice_s: 45.0,
            shortest_s: Some(24.6),
            idle: [("ztunnel".to_owned(), 0.0123)].into(),
            idle_of_own: [(2, 0.005)].into(),
            ..Source::default()
        };
        let cluster = |nodes: usize| {
            let nodes = vec![ClusterNode { name: "node-1".to_owned(), ..ClusterNode::default() }; nodes];
            let cluster = Some(ClusterEnvironment { nodes, ..ClusterEnvironment::default() });
            Environment { cluster, ..Environment::default() }
        };
        measured.environment = cluster(1);
        let found = findings(&plan, &measured);
        let texts: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
        let [source, idle, own, node] = texts.as_slice() else { panic!("{texts:#?}") };
        assert!(source.contains("every 12 s") && source.contains("at least 25 s apart"), "{source}");
        assert!(idle.contains("`ztunnel`") && idle.contains("1.23 % of a processor"), "{idle}");
        // Of 500 requests a second.
        assert!(own.contains("0.50 % of a processor") && own.contains("10.0 us per request"), "{own}");
        assert!(node.contains("`node-1`"), "{node}");
        assert!(found.iter().all(|finding| !finding.withholds && finding.severity == Severity::Info));
        measured.environment = cluster(2);
        assert_eq!(findings(&plan, &measured).len(), 3);
    }

    #[test]
    fn a_source_that_is_not_the_first_choice_says_why_in_one_line_and_control_groups_say_how_exact_they_are()
    {
        let plan = plan(&[]).unwrap();
        let message = |source: Source| {
            let source = Source { slice_s: 6.0, gap_s: 0.31, shortest_s: Some(5.0), ..source };
            let found = findings(&plan, &Measured { source, ..Measured::default() });
            let [found] = found.as_slice() else { panic!("{found:#?}") };
            assert_eq!(found.id, "cpu-source");
            found.message.clone()
        };
        let why = Some("control groups cannot be read: no".to_owned());
        let of_kubelets = message(Source { why, ..Source::default() });
        let expected = "metrics of the kubelets (control groups cannot be read: no), which read";
        assert!(of_kubelets.contains(expected) && !of_kubelets.contains('\n'), "{of_kubelets}");
        let of_groups = message(Source { from: CpuTimeSource::Cgroup, ..Source::default() });
        for expected in
            ["control groups of the containers, which", "every 0.3 s or less", "at least 5.0 s apart"]
        {
            assert!(of_groups.contains(expected), "{of_groups}");
        }
        // A tick of 10 ms in 5 s.
        assert!(of_groups.ends_with("at most 0.2 % of a processor for each thread"), "{of_groups}");
    }

    #[test]
    fn readings_with_the_times_of_scrapes_are_a_warning_that_says_how_wrong_they_may_be() {
        let plan = plan(&[]).unwrap();
        let finding = |has_times_of_scrapes: bool| {
            let source = Source {
                from: CpuTimeSource::Prometheus,
                slice_s: 132.0,
                gap_s: 30.0,
                shortest_s: Some(60.0),
                has_times_of_scrapes,
                ..Source::default()
            };
            findings(&plan, &Measured { source, ..Measured::default() }).pop().unwrap()
        };
        let [exact, by_scrapes] = [false, true].map(finding);
        assert_eq!([exact.severity, by_scrapes.severity], [Severity::Info, Severity::Warn]);
        for found in [&exact, &by_scrapes] {
            assert_eq!(found.id, "cpu-source");
            let message = &found.message;
            assert!(
                message.contains("from a Prometheus, which has a reading of each container every 30 s"),
                "{message}"
            );
            assert!(message.contains("that follow another reading, at least 60 s apart"), "{message}");
        }
        // 20 s of 60 s.
        assert!(
            by_scrapes.message.ends_with("an error of a CPU time of up to 33 %"),
            "{}",
            by_scrapes.message
        );
        assert!(!exact.message.contains("error"), "{}", exact.message);
    }

    #[test]
    fn proxies_that_work_no_more_than_without_load_are_not_on_the_way() {
        let plan = plan(&["istio"]).unwrap();
        let found = |share: Option<f64>, idle: f64| {
            let used = |share: Option<f64>| share.map(|share| Used { share, seconds: 20.0, limit: None });
            let proxies = vec![used(Some(0.004)), used(share)];
            let slice = Slice { arm: 2, began_s: 0.0, load: sample::load(), proxies, origin: None };
            let measured = Measured {
                rounds: vec![Round { slices: vec![slice], ..Round::default() }],
                proxies: [(2, vec![Proxy::default(), Proxy::default()])].into(),
                source: Source { idle_of_own: [(2, idle)].into(), ..Source::default() },
                ..Measured::default()
            };
            findings(&plan, &measured).into_iter().any(|finding| finding.id == "mesh-bypassed")
        };
        // 20 us of a request at 500 requests a second, and 1 us.
        assert!(!found(Some(0.006), 0.0));
        assert!(found(Some(0.006), 0.009_5));
        // 5 and 8 us more than 40 us without load, which may have been 4 us more or less.
        assert!(found(Some(0.018_5), 0.02));
        assert!(!found(Some(0.02), 0.02));
        assert!(!found(None, 0.0), "what is not known is no zero");
    }
}
