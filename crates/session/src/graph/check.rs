//! Compares the prediction for a graph with the measurements of its processes.

use hoptax_result::{
    CheckedProxy, CheckedTime, ErrorSummary, GraphRunCheck, GraphRunNumber, GraphRunProxy, GraphRunResult,
    GraphRunTargets, Interval, SizeResult,
};
use hoptax_stats::sum_of_independent;

/// The largest errors that a prediction should have.
pub(crate) const TARGETS: GraphRunTargets = GraphRunTargets {
    cpu_mean_share: 0.05,
    cpu_worst_share: 0.10,
    added_mean_share: 0.15,
    added_p99_share: 0.30,
};

/// The prediction beside the numbers of a run. The prediction comes from other processes than the run, so the intervals of differences are
/// those of independent numbers ([`sum_of_independent`]). A measured number with a wide interval is compared as well, and is in no summary.
pub(crate) fn check(run: &GraphRunResult, predicted: &SizeResult) -> GraphRunCheck {
    let of_proxy = |proxy: &GraphRunProxy| {
        let of_it = predicted.proxies.iter().find(|other| other.service == proxy.service);
        let cpu = of_it.map(|of_it| of_it.cpu_us_per_request);
        CheckedProxy {
            service: proxy.service.clone(),
            cpu: checked(proxy.cpu_us_per_request, cpu, proxy.is_wide),
            is_extrapolated: of_it.is_some_and(|of_it| of_it.is_extrapolated),
        }
    };
    let proxies: Vec<CheckedProxy> = run.proxies.iter().map(of_proxy).collect();
    let counting = proxies.iter().filter(|proxy| !proxy.is_extrapolated).filter_map(|proxy| proxy.cpu);
    let errors: Vec<f64> = counting.filter(|time| !time.is_wide).map(|time| time.error_share.abs()).collect();
    let added = predicted.latency.as_ref().map(|latency| latency.added);
    let of_graph = |number, predicted| checked(run.number(number), predicted, run.is_wide(number));
    let of_sources = predicted.findings.iter().map(|finding| &finding.message);
    let all_us = Some(predicted.cores.times(1e6 / predicted.rate));
    let (mean_us, p99_us) = (added.and_then(|one| one.mean_us), added.and_then(|one| one.p99_us));
    GraphRunCheck {
        sources: predicted.sources.clone(),
        all: of_graph(GraphRunNumber::AllCpu, all_us),
        cpu_errors: ErrorSummary::of(&errors),
        mean: of_graph(GraphRunNumber::AddedMean, mean_us),
        p99: of_graph(GraphRunNumber::AddedP99, p99_us),
        are_times_extrapolated: predicted.latency.as_ref().is_some_and(|latency| latency.is_extrapolated),
        no_latency: predicted.no_latency.clone(),
        targets: TARGETS,
        extrapolations: predicted.extrapolations.iter().chain(of_sources).cloned().collect(),
        proxies,
    }
}

/// A measured number, whose interval may be too wide to judge a prediction by, beside its prediction. None if one of them is missing, or an
/// error would be no share of the measured one.
fn checked(measured: Option<Interval>, predicted: Option<Interval>, is_wide: bool) -> Option<CheckedTime> {
    let (measured, predicted) = (measured?, predicted?);
    let difference_us = sum_of_independent(&[measured, predicted.times(-1.0)])?;
    (measured.estimate > 0.0).then(|| CheckedTime {
        measured_us: measured,
        predicted_us: predicted,
        difference_us,
        error_share: -difference_us.estimate / measured.estimate,
        is_interaction: !difference_us.contains(0.0),
        is_wide,
    })
}

#[cfg(test)]
mod tests {
    use hoptax_result::{AddedTime, KubernetesResources, SizeBody, SizeBottleneck, SizeLatency, SizedProxy};

    use super::*;
    use crate::graph::summary::tests::{result_of, round};

    fn about(estimate: f64) -> Interval {
        Interval::new(estimate, 0.97 * estimate, 1.03 * estimate)
    }

    /// A prediction of both proxies of the graph, CPU us per request.
    fn predicted(front_us: f64, back_us: f64) -> SizeResult {
        let proxy = |service: &str, us: f64| SizedProxy {
            service: service.to_owned(),
            workers: 1,
            requests_per_second: 400.0,
            cpu_us_per_request: about(us),
            cores: about(us * 4e-4),
            busy_share: about(us * 4e-4),
            max_rate: about(9_000.0),
            memory_bytes: None,
            new_connections: None,
            is_extrapolated: false,
            kubernetes: KubernetesResources::default(),
        };
        let body = SizeBody {
            graph: "pair".to_owned(),
            rate: 400.0,
            confidence: 0.95,
            sources: Vec::new(),
            proxies: vec![proxy("back", back_us), proxy("front", front_us)],
            functions: Vec::new(),
            cores: about((front_us + 2.0 * back_us) * 4e-4),
            memory_bytes: None,
            curve: Vec::new(),
            bottleneck: SizeBottleneck { service: "front".to_owned(), rate: about(9_000.0), or: Vec::new() },
            latency: Some(SizeLatency {
                added: AddedTime { mean_us: Some(about(330.0)), p99_us: None },
                wide: Vec::new(),
                is_extrapolated: false,
                proxies: Vec::new(),
            }),
            no_latency: None,
            money: None,
            extrapolations: vec!["one".to_owned()],
            services: Vec::new(),
        };
        SizeResult::new((), body)
    }

    #[test]
    fn errors_are_shares_of_what_was_measured() {
        let run = result_of([0.0, 0.5, -0.5, 0.2, -0.2].map(round).to_vec());
        // Measured: 100 and 60 us, 220 in all, and 300 us added.
        let found = check(&run, &predicted(107.0, 58.5));
        let near = |time: &Option<CheckedTime>, error: f64| {
            let time = time.as_ref().unwrap();
            assert!((time.error_share - error).abs() < 2e-3, "{time:?}");
            time.is_interaction
        };
        assert!(near(&found.proxies[0].cpu, 0.07), "7 % are more than both intervals");
        assert!(!near(&found.proxies[1].cpu, -0.025));
        assert!(!near(&found.all, 4.0 / 220.0));
        assert!(near(&found.mean, 0.1));
        assert_eq!((found.p99, found.extrapolations.len()), (None, 1));
        let errors = found.cpu_errors.unwrap();
        assert!(
            errors.count == 2
                && (errors.mean_share - 0.0475).abs() < 2e-3
                && (errors.worst_share - 0.07).abs() < 2e-3
        );
    }

    #[test]
    fn a_proxy_beyond_what_was_measured_is_in_no_error() {
        let run = result_of([0.0, 0.5, -0.5].map(round).to_vec());
        let mut size = predicted(200.0, 60.0);
        size.proxies[1].is_extrapolated = true;
        let found = check(&run, &size);
        assert!(found.proxies[0].is_extrapolated && found.proxies[0].cpu.is_some());
        assert_eq!(found.cpu_errors.unwrap().count, 1);
        size.proxies[0].is_extrapolated = true;
        assert_eq!(check(&run, &size).cpu_errors, None);
    }

    #[test]
    fn a_wide_number_is_compared_and_is_in_no_error() {
        let mut run = result_of([0.0, 0.5, -0.5].map(round).to_vec());
        run.proxies[0].cpu_us_per_request = Some(Interval::around(100.0, 80.0));
        run.proxies[0].is_wide = true;
        run.wide = vec![GraphRunNumber::AllCpu, GraphRunNumber::AddedMean];
        let found = check(&run, &predicted(107.0, 58.5));
        let [front, back] = [0, 1].map(|number: usize| found.proxies[number].cpu.unwrap());
        assert!(front.is_wide && !back.is_wide);
        assert_eq!(front.measured_us, Interval::around(100.0, 80.0));
        assert!(found.all.unwrap().is_wide && found.mean.unwrap().is_wide);
        let errors = found.cpu_errors.unwrap();
        assert!(errors.count == 1 && (errors.worst_share - 0.025).abs() < 2e-3, "{errors:?}");
        run.proxies[1].is_wide = true;
        assert_eq!(check(&run, &predicted(107.0, 58.5)).cpu_errors, None);
    }

    #[test]
    fn a_run_without_numbers_is_compared_with_nothing() {
        let mut run = result_of(vec![round(0.0)]);
        (run.added, run.all_cpu_us) = (None, None);
        let mut size = predicted(100.0, 60.0);
        (size.latency, size.no_latency) = (None, Some("no rounds".to_owned()));
        let found = check(&run, &size);
        assert!(found.proxies.iter().all(|proxy| proxy.cpu.is_none()));
        assert_eq!((found.all, found.mean, found.cpu_errors), (None, None, None));
        assert_eq!(found.no_latency.as_deref(), Some("no rounds"));
    }
}
