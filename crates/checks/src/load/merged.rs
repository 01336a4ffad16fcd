//! Results that were merged from several runs: all of the load must be in them, at the same time.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_result::{
    Agents, Finding, LoadResult, Measured, Merged, MergedRun, RunLeftOut, Severity, grouped, percent,
};

use crate::check::{Check, severity_above};
use crate::thresholds;

/// Listed runs that are not in the result.
pub(super) const LEFT_OUT: Check<LoadResult> = Check {
    id: "runs-left-out",
    protects_from: "part of a load read as the whole, because the result of a generator is missing",
    source: "own",
    judge: |result, _| {
        let Some(merged) = &result.merged else { return Vec::new() };
        let listed = merged.runs.len() + merged.left_out.len();
        let finding = |one: &RunLeftOut| {
            Finding::new(
                "runs-left-out",
                Severity::Warn,
                Measured::count(1.0, 0.0, "runs"),
                format!(
                    "`{}`, 1 of {listed} runs, is not in the result: {}; {}",
                    one.file,
                    one.reason,
                    lost(merged, one)
                ),
                "if it was sent, the server had that load too: find the result or repeat all runs",
            )
        };
        // Agents that are lost have a check of their own. Those that are void are named here.
        let is_agent = |one: &RunLeftOut| {
            result.agents.iter().flat_map(Agents::lost).any(|agent| agent.name == one.file)
        };
        merged.left_out.iter().filter(|one| !is_agent(one)).map(finding).collect()
    },
    withhold: None,
};

/// The share of the planned rate that a run which is left out had.
fn lost(merged: &Merged, one: &RunLeftOut) -> String {
    let rates: Option<Vec<f64>> = merged.runs.iter().map(|run| run.rate.target).collect();
    let Some(rates) = rates else {
        return "without planned rates, its share of the load is not known".to_owned();
    };
    let known: f64 = rates.iter().sum();
    let others: Option<f64> = merged.left_out.iter().map(|other| other.planned_rate).sum();
    match (one.planned_rate, others) {
        (Some(rate), Some(others)) => {
            format!(
                "{rate}/s, {} % of the planned rate, are missing",
                grouped(rate / (known + others) * 100.0, 1),
                rate = grouped(rate, 0)
            )
        }
        (Some(rate), None) => format!("{rate}/s of the planned rate are missing", rate = grouped(rate, 0)),
        (None, _) => {
            let listed = (rates.len() + merged.left_out.len()) as f64;
            format!(
                "its planned rate is not known; if it was the mean of the merged rates, {}/s, {} % of the planned rate are missing",
                grouped(known / rates.len().max(1) as f64, 0),
                grouped(100.0 / listed, 1)
            )
        }
    }
}

/// The runs must have recorded at the same time.
pub(super) const COMMON_WINDOW: Check<LoadResult> = Check {
    id: "common-window",
    protects_from: "requests sent while only some of the generators ran, counted as if all had sent",
    source: "own: requests outside of the time in which all runs recorded; a twentieth is the length of a batch",
    judge: |result, limits| {
        let Some(merged) = &result.merged else { return Vec::new() };
        let (warn, fail) =
            (limits.value(&thresholds::OUTSIDE_SHARE), limits.value(&thresholds::OUTSIDE_SHARE_FAIL));
        let intervals = if merged.has_intervals { "" } else { "; quantiles have no intervals" };
        let outside = merged.outside_share;
        let found = severity_above(outside, warn, fail).or_else(|| {
            // Batches that differ in number or in their times.
            (!merged.has_intervals).then_some((Severity::Info, warn))
        });
        found
            .map(|(severity, threshold)| {
                Finding::new(
                    "common-window",
                    severity,
                    Measured::percent(outside, threshold),
                    format!(
                        "{} of the requests were answered when not all runs recorded; rates are those of the {} s in which \
                         all did{intervals}",
                        percent(outside, 1),
                        grouped(result.recorded_s, 1)
                    ),
                    "start all generators at the same time, for the same time, and synchronise the clocks of their machines",
                )
            })
            .into_iter()
            .collect()
    },
    withhold: None,
};

/// Runs whose random arrivals are the same.
pub(super) const SAME_SEED: Check<LoadResult> = Check {
    id: "same-seed",
    protects_from: "generators that repeat each other's random arrivals, so that bursts coincide",
    source: "Lancet (ATC 2019), on a fault of Treadmill; sums of independent Poisson processes are Poisson, sums of equal ones are not",
    judge: |result, _| {
        let arrivals = result.plan.arrivals.as_deref().unwrap_or_default();
        let Some(merged) = result.merged.as_ref().filter(|_| is_random(arrivals)) else {
            return Vec::new();
        };
        let mut by_seed: BTreeMap<u64, Vec<&MergedRun>> = BTreeMap::new();
        for run in &merged.runs {
            by_seed.entry(run.seed).or_default().push(run);
        }
        let finding = |(seed, runs): (u64, Vec<&MergedRun>)| -> Option<Finding> {
            let files = repeating(&runs);
            (!files.is_empty()).then(|| {
                Finding::new(
                    "same-seed",
                    Severity::Warn,
                    Measured::count(files.len() as f64, 1.0, "runs"),
                    format!(
                        "{} have seed {seed}, so their {arrivals} arrivals are drawn from the same numbers",
                        files.join(", ")
                    ),
                    "give each generator a `--seed` of its own",
                )
            })
        };
        by_seed.into_iter().filter_map(finding).collect()
    },
    withhold: None,
};

/// The files of those runs of one seed whose arrivals repeat those of another. All do, except shares of one load: with the same number of
/// shares, each index has workers of its own, which draw from seeds of their own.
fn repeating<'a>(runs: &[&'a MergedRun]) -> Vec<&'a str> {
    let share = |run: &MergedRun| run.share.map(|share| (share.index, share.of));
    let mut numbers: BTreeMap<Option<(u32, u32)>, usize> = BTreeMap::new();
    for run in runs {
        *numbers.entry(share(run)).or_default() += 1;
    }
    let loads: BTreeSet<Option<u32>> = numbers.keys().map(|share| share.map(|(_, of)| of)).collect();
    let repeats =
        |run: &MergedRun| loads.len() > 1 || numbers.get(&share(run)).is_some_and(|number| *number > 1);
    runs.iter().filter(|run| repeats(run)).map(|run| run.file.as_str()).collect()
}

fn is_random(arrivals: &str) -> bool {
    arrivals == "poisson" || arrivals.starts_with("jitter")
}

/// Generators on machines that differ.
pub(super) const MACHINES: Check<LoadResult> = Check {
    id: "machines-differ",
    protects_from: "generators with different errors, read as one",
    source: "own",
    judge: |result, _| {
        let differences = result.merged.iter().flat_map(|merged| &merged.differences);
        let found: Vec<&str> = differences.map(String::as_str).collect();
        if found.is_empty() {
            return Vec::new();
        }
        vec![Finding::new(
            "machines-differ",
            Severity::Info,
            Measured::count(found.len() as f64, 0.0, "properties"),
            format!("the machines of the runs differ in {}", found.join("; ")),
            "`merged.runs` of the result has the response time of each",
        )]
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Known, LoadRate, PlanShare, TimeOf, Verdict};

    use super::*;
    use crate::judge_merged;
    use crate::load::tests::{fired, sound};

    fn run(file: &str, rate: f64, seed: u64) -> MergedRun {
        let load = sound();
        MergedRun {
            file: file.to_owned(),
            program: load.program,
            verdict: Verdict::Sound,
            recorded_from_unix_s: 0.0,
            recorded_s: 10.0,
            rate: LoadRate { target: Some(rate), offered: rate, achieved: Some(rate) },
            connections: 16,
            seed,
            share: None,
            response: load.body.latency.response,
            bounds: hoptax_result::LatencyBounds::default(),
            environment: load.environment,
        }
    }

    fn two() -> Merged {
        Merged {
            runs: vec![run("a.json", 1_000.0, 1), run("b.json", 2_000.0, 2)],
            has_intervals: true,
            ..Merged::default()
        }
    }

    fn left_out(planned_rate: Option<f64>) -> RunLeftOut {
        RunLeftOut { file: "c.json".to_owned(), reason: "cannot be read".to_owned(), planned_rate }
    }

    #[test]
    fn a_merged_result_without_faults_is_sound() {
        let mut result = sound();
        result.merged = Some(two());
        judge_merged(&mut result);
        assert_eq!((result.verdict, result.findings.len()), (Verdict::Sound, 0));
    }

    #[test]
    fn a_run_that_is_left_out_is_a_caution_with_its_share_of_the_rate() {
        for (planned_rate, expected) in [
            (Some(1_000.0), "1,000/s, 25.0 % of the planned rate, are missing"),
            (None, "its planned rate is not known; if it was the mean of the merged rates, 1,500/s, 33.3 %"),
        ] {
            let (severity, result) = fired("runs-left-out", |result| {
                result.merged = Some(Merged { left_out: vec![left_out(planned_rate)], ..two() });
            });
            assert_eq!((severity, result.verdict), (Some(Severity::Warn), Verdict::Caution));
            let message = &result.findings[0].message;
            assert!(
                message.starts_with("`c.json`, 1 of 3 runs, is not in the result: cannot be read; "),
                "{message}"
            );
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn a_missing_run_is_told_before_worse_findings() {
        let mut result = sound();
        let missing = vec![left_out(None)];
        result.merged = Some(Merged { left_out: missing, outside_share: 0.6, has_intervals: false, ..two() });
        judge_merged(&mut result);
        let ids: Vec<&str> = result.findings.iter().map(|finding| finding.id.as_str()).collect();
        assert_eq!(ids, ["runs-left-out", "common-window"]);
    }

    #[test]
    fn requests_outside_of_the_common_window_are_in_doubt_and_most_of_them_void_the_result() {
        for (outside_share, has_intervals, expected) in [
            (0.04, true, None),
            (0.04, false, Some(Severity::Info)),
            (0.2, false, Some(Severity::Warn)),
            (0.6, false, Some(Severity::Fail)),
        ] {
            let (severity, result) = fired("common-window", |result| {
                result.merged = Some(Merged { outside_share, has_intervals, ..two() });
            });
            assert_eq!(severity, expected, "{outside_share}");
            assert_eq!(result.verdict == Verdict::Void, severity == Some(Severity::Fail));
        }
    }

    #[test]
    fn random_arrivals_with_the_same_seed_are_in_doubt() {
        let with = |arrivals: &str| {
            fired("same-seed", |result| {
                result.plan.arrivals = Some(arrivals.to_owned());
                let mut merged = two();
                merged.runs[1].seed = 1;
                result.merged = Some(merged);
            })
        };
        let (severity, result) = with("poisson");
        assert_eq!(severity, Some(Severity::Warn));
        assert!(
            result.findings[0].message.starts_with("a.json, b.json have seed 1"),
            "{:?}",
            result.findings
        );
        assert_eq!(with("jitter=10%").0, Some(Severity::Warn));
        assert_eq!(with("uniform").0, None);
    }

    #[test]
    fn of_one_seed_only_different_shares_of_one_load_have_arrivals_of_their_own() {
        let [first, second] = [0, 1].map(|index| Some(PlanShare { index, of: 2 }));
        let of_three = Some(PlanShare { index: 2, of: 3 });
        for (shares, repeating) in [
            (vec![first, second], None),
            (vec![first, first], Some("a, b have seed 1")),
            (vec![first, of_three], Some("a, b have seed 1")),
            (vec![None, second], Some("a, b have seed 1")),
            (vec![None, None], Some("a, b have seed 1")),
            (vec![second, first, second], Some("a, c have seed 1")),
            (vec![first, second, of_three], Some("a, b, c have seed 1")),
        ] {
            let (severity, result) = fired("same-seed", |result| {
                result.plan.arrivals = Some("poisson".to_owned());
                let of = |(share, file)| MergedRun { share, ..run(file, 1_000.0, 1) };
                let runs = shares.iter().copied().zip(["a", "b", "c"]).map(of).collect();
                result.merged = Some(Merged { runs, has_intervals: true, ..Merged::default() });
            });
            assert_eq!(severity, repeating.map(|_| Severity::Warn), "{shares:?}");
            let message = result.findings.first().map_or("", |finding| finding.message.as_str());
            assert!(message.starts_with(repeating.unwrap_or_default()), "{message}");
        }
    }

    #[test]
    fn machines_that_differ_are_named_without_doubt() {
        let (severity, result) = fired("machines-differ", |result| {
            result.merged = Some(Merged { differences: vec!["cpus: 2 (a), 4 (b)".to_owned()], ..two() });
        });
        assert_eq!((severity, result.verdict), (Some(Severity::Info), Verdict::Sound));
        assert!(result.findings[0].message.ends_with("differ in cpus: 2 (a), 4 (b)"));
    }

    #[test]
    fn findings_of_runs_are_kept_and_those_about_quantiles_are_judged_again() {
        let mut result = sound();
        result.merged = Some(two());
        let of_run = |id: &str| Finding {
            message: "`a.json`: text".to_owned(),
            ..Finding::new(id, Severity::Warn, Measured::us(2.0, 1.0), String::new(), "")
        };
        result.findings = vec![of_run("too-few-samples"), of_run("steal")];
        judge_merged(&mut result);
        let ids: Vec<&str> = result.findings.iter().map(|finding| finding.id.as_str()).collect();
        assert_eq!((ids, result.verdict), (vec!["steal"], Verdict::Caution));
        result.latency.response.count = 150;
        judge_merged(&mut result);
        let ids: Vec<&str> = result.findings.iter().map(|finding| finding.id.as_str()).collect();
        assert!(ids.contains(&"too-few-samples") && ids.contains(&"steal"), "{ids:?}");
        assert_eq!(result.latency.response.p50_us, None);
    }

    #[test]
    fn what_a_run_only_bounds_is_only_bounded_in_the_merged_result() {
        let with = |of_run: Finding, states_lag: bool| {
            let mut result = sound();
            result.merged = Some(two());
            if !states_lag {
                result.without_generator = None;
            }
            result.findings = vec![of_run];
            judge_merged(&mut result);
            result.response(TimeOf::Percentile(50.0))
        };
        let of_run =
            |id: &str| Finding::new(id, Severity::Fail, Measured::percent(0.2, 0.05), String::new(), "");
        let is_bounded = |known: Known| matches!(known, Known::Bounded(_));
        assert!(is_bounded(with(of_run("steal").bounding(&["times"]), true)));
        assert!(!is_bounded(with(of_run("steal"), true)), "a warning that leaves all times");
        // The merged histograms say by how much the generators lengthened the times of all, here by little.
        assert!(!is_bounded(with(of_run("send-lag").bounding(&["p50"]), true)));
        assert!(is_bounded(with(of_run("send-lag").bounding(&["p50"]), false)));
    }
}
