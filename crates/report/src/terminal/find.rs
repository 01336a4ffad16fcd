//! The result of a search for a rate, and a line for each of its trials.

use std::collections::BTreeMap;

use hoptax_result::{
    FindEnd, FindResult, FindState, FindTrial, FoundGoal, Interval, LoadResult, ProcessAccount, Sweep,
};

use super::account::COLUMNS;
use super::rows::Rows;
use super::{Paint, Style, account};
use crate::numbers::{counted, grouped, level};
use crate::rows::{MIB, in_percent, in_units};

/// The result of a search.
pub fn find(result: &FindResult, style: Style) -> String {
    let mut text = String::new();
    for goal in &result.goals {
        let title =
            format!("Highest rate at which {} holds {}", result.plan.url, goal.objectives.join(" and "));
        text += &format!("\n{}\n\n{}\n", style.paint(Paint::Bold, &title), sentence(goal, result));
    }
    text += &format!("\n{}", rates(result));
    text += &account_of(result).map(account::legend).unwrap_or_default();
    if let Some(sweep) = &result.sweep {
        text += &self::sweep(sweep);
    }
    let evidence = &result.evidence;
    text += &format!(
        "\n{} in {:.0} s. A rate counts when trials of {} s in total, {} s each, agree by {}.\n",
        counted(result.trials.len() as u64, "trial"),
        result.took_s,
        evidence.duration_sum_s,
        evidence.final_trial_s,
        if evidence.exceed_ratio > 0.0 {
            format!("more than {:.0} %", (1.0 - evidence.exceed_ratio) * 100.0)
        } else {
            "all of them".to_owned()
        }
    );
    text
}

/// A line about a trial.
pub fn find_trial(trial: &FindTrial) -> String {
    let objectives: Vec<String> = trial
        .objectives
        .iter()
        .map(|one| format!("{}: {}", one.objective, value(one.value, &one.unit)))
        .collect();
    let outcome = if !trial.generator_limits.is_empty() {
        format!("does not count ({})", trial.generator_limits.join("; "))
    } else if trial.objectives.iter().all(|one| one.holds) {
        "holds".to_owned()
    } else {
        "fails".to_owned()
    };
    format!("{:>10}/s for {} s: {}; {outcome}", rate(trial.rate), trial.duration_s, objectives.join(", "))
}

/// A line about a trial of a sweep.
pub fn sweep_trial(of_rate: f64, result: &LoadResult, generator_limits: &[String]) -> String {
    let response = &result.latency.response;
    let outcome = match generator_limits {
        [] => String::new(),
        limits => format!("; does not count ({})", limits.join("; ")),
    };
    format!(
        "{:>10}/s: p50 {}, p99 {}{outcome}",
        rate(of_rate),
        value(response.p50_us, "us"),
        value(response.p99_us, "us")
    )
}

/// The latency curve, and its knee in words.
fn sweep(sweep: &Sweep) -> String {
    let is_accounted = sweep.points.iter().any(|point| point.memory_bytes.is_some());
    let mut headings = vec!["rate/s", "trials", "answered/s", "mean us", "p50 us", "p90 us", "p99 us"];
    headings.extend(COLUMNS.iter().filter(|_| is_accounted).map(|column| column.heading));
    let mut rows = Rows::new(&headings);
    for point in &sweep.points {
        let excluded =
            if point.excluded > 0 { format!(" ({} excluded)", point.excluded) } else { String::new() };
        let cell = |number: Option<Interval>| number.map_or("-".to_owned(), |one| level(&one));
        let mut cells = vec![
            format!("{}{excluded}", point.trials),
            cell(point.answered_rate),
            cell(point.mean_us),
            cell(point.p50_us),
            cell(point.p90_us),
            cell(point.p99_us),
        ];
        if is_accounted {
            cells.extend([
                cell(point.cpu_share.as_ref().map(in_percent)),
                cell(point.cpu_us),
                cell(point.memory_bytes.map(|bytes| in_units(&bytes, MIB))),
            ]);
        }
        rows.add(&rate(point.rate), cells);
    }
    let last = sweep.points.last().map_or(f64::INFINITY, |point| point.rate);
    let knee = match sweep.knee {
        None => {
            "The knee is not known: fewer than two rounds have a trial that counts at every rate.".to_owned()
        }
        Some(knee) if knee.high_rate >= last => format!(
            "The knee is at {} requests/s or above: up to there, 1 % more requests add less than 1 % to the mean response time.",
            rate(knee.low_rate)
        ),
        Some(knee) if knee.low_rate.to_bits() == knee.high_rate.to_bits() => format!(
            "The knee is at {} requests/s: below, 1 % more requests add less than 1 % to the mean response time, and above, more.",
            rate(knee.rate)
        ),
        Some(knee) => format!(
            "The knee is between {} and {} requests/s: below, 1 % more requests add less than 1 % to the mean response time, and above, more.",
            rate(knee.low_rate),
            rate(knee.high_rate)
        ),
    };
    format!("\n{}\n{knee}\n", rows.text())
}

/// A rate, with a decimal if it is small.
pub fn rate(rate: f64) -> String {
    grouped(rate, usize::from(rate < 100.0))
}

/// The result for a goal, in words.
fn sentence(goal: &FoundGoal, result: &FindResult) -> String {
    let given = |one: Option<f64>| one.map_or("-".to_owned(), rate);
    let (lower, upper) = (given(goal.rate), given(goal.upper_rate));
    match goal.state {
        FindState::Found => {
            let limited_by = if goal.limited_by.is_empty() {
                String::new()
            } else {
                format!(", where {} fails", goal.limited_by.join(" and "))
            };
            format!("{lower} requests/s, and less than {upper}/s{limited_by}.")
        }
        FindState::MaximumHeld => format!(
            "At least {lower} requests/s, the highest rate of the search: the server may carry more. Raise --max-rate."
        ),
        FindState::MinimumFailed => format!(
            "None: they fail at {upper} requests/s, the lowest rate of the search. Lower --min-rate, or relax them."
        ),
        FindState::GeneratorLimited => {
            let reason = result
                .trials
                .iter()
                .filter(|trial| goal.upper_rate.is_some_and(|upper| trial.rate.to_bits() == upper.to_bits()))
                .find_map(|trial| trial.generator_limits.first());
            let known = goal.rate.map_or("Unknown".to_owned(), |_| format!("At least {lower} requests/s"));
            if let Some(reason) = reason.filter(|reason| reason.starts_with("account: ")) {
                return format!("{known}: no trial at {upper}/s counts ({reason}).");
            }
            format!(
                "{known}: the generator cannot produce {upper}/s ({}), so the server may carry more. Use more --workers, or a \
                 machine of its own for the generator.",
                reason.map_or("it was the limit", String::as_str)
            )
        }
        FindState::Unfinished => {
            let ended = match result.ended_by {
                FindEnd::Interrupt => "was interrupted",
                FindEnd::Failure => "ended because a trial could not run",
                FindEnd::Budget | FindEnd::Complete => "ran out of time; raise --budget",
            };
            let known = match (goal.rate, goal.upper_rate) {
                (Some(_), Some(_)) => format!("between {lower} and {upper} requests/s"),
                (Some(_), None) => format!("at least {lower} requests/s"),
                (None, Some(_)) => format!("less than {upper} requests/s"),
                (None, None) => "unknown".to_owned(),
            };
            format!("Not decided: {known}. The search {ended}.")
        }
    }
}

/// The rates that were tried, ascending, with the medians of what the objectives limit.
fn rates(result: &FindResult) -> String {
    let objectives: Vec<&str> = result
        .trials
        .first()
        .map(|trial| trial.objectives.iter().map(|one| one.objective.as_str()).collect())
        .unwrap_or_default();
    let mut headings = vec!["rate/s", "trials", "seconds", "held", "answered/s"];
    headings.extend(&objectives);
    let is_accounted = account_of(result).is_some();
    headings.extend(COLUMNS.iter().filter(|_| is_accounted).map(|column| column.heading));
    let mut rows = Rows::new(&headings);
    // Rates are positive, so their bits are in their order.
    let mut by_rate: BTreeMap<u64, Vec<&FindTrial>> = BTreeMap::new();
    for trial in &result.trials {
        by_rate.entry(trial.rate.to_bits()).or_default().push(trial);
    }
    for trials in by_rate.values() {
        let usable: Vec<&&FindTrial> =
            trials.iter().filter(|trial| trial.generator_limits.is_empty()).collect();
        let held = usable.iter().filter(|trial| trial.objectives.iter().all(|one| one.holds)).count();
        let unusable = trials.len() - usable.len();
        let mut cells = vec![
            format!(
                "{}{}",
                trials.len(),
                if unusable > 0 { format!(" ({unusable} excluded)") } else { String::new() }
            ),
            grouped(trials.iter().map(|trial| trial.duration_s).sum(), 1),
            held.to_string(),
            median(usable.iter().map(|trial| Some(trial.answered_rate))).map_or("-".to_owned(), rate),
        ];
        for number in 0..objectives.len() {
            let values = usable.iter().map(|trial| trial.objectives.get(number)?.value);
            let unit =
                trials.first().and_then(|trial| trial.objectives.get(number)).map_or("", |one| &one.unit);
            cells.push(value(median(values), unit));
        }
        for column in COLUMNS.iter().filter(|_| is_accounted) {
            let values = usable.iter().map(|trial| (column.value)(trial.account.as_ref()?));
            cells.push(column.text(median(values)));
        }
        rows.add(&rate(trials.first().map_or(0.0, |trial| trial.rate)), cells);
    }
    rows.text()
}

/// The processes that the trials accounted for.
fn account_of(result: &FindResult) -> Option<&ProcessAccount> {
    result.trials.iter().find_map(|trial| trial.account.as_ref())
}

/// The median; None if a value is missing, since it may be the largest.
fn median(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect::<Option<_>>()?;
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// What an objective limits, in its unit.
fn value(value: Option<f64>, unit: &str) -> String {
    match (value, unit) {
        (None, _) => "-".to_owned(),
        (Some(us), "us") if us >= 10_000.0 => format!("{} ms", grouped(us / 1e3, 1)),
        (Some(us), "us") => format!("{} us", grouped(us, 0)),
        (Some(percent), "%") => format!("{percent:.2} %"),
        (Some(bytes), "bytes") => format!("{} MiB", grouped(bytes / MIB, 1)),
        (Some(count), _) => grouped(count, 0),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use hoptax_result::{FindEvidence, SweepKnee, SweepPoint, TriedObjective, sample};

    use super::*;

    pub(in crate::terminal) fn trial(rate: f64, p99_us: Option<f64>, holds: bool) -> FindTrial {
        FindTrial {
            rate,
            duration_s: 1.0,
            took_s: 1.4,
            planned: rate as u64,
            answered: rate as u64,
            answered_rate: rate,
            objectives: vec![TriedObjective {
                objective: "p99<5ms".to_owned(),
                holds,
                value: p99_us,
                unit: "us".to_owned(),
                loss_ratio: if holds { 0.001 } else { 0.2 },
            }],
            generator_limits: Vec::new(),
            account: None,
        }
    }

    /// Trials with an account, of which the first is not known in full.
    fn accounted(mut result: FindResult) -> FindResult {
        for (number, trial) in result.trials.iter_mut().enumerate() {
            trial.account = Some(ProcessAccount {
                processes: "process envoy".to_owned(),
                processors: 2.0,
                cpu_share: Some(trial.rate * 40e-6).filter(|_| number > 0),
                cpu_us: Some(80.0).filter(|_| number > 0),
                memory_bytes: Some(48 << 20),
            });
        }
        result
    }

    fn result(state: FindState, rate: Option<f64>, upper_rate: Option<f64>) -> FindResult {
        let load = sample::load();
        let mut late = trial(1_300.0, Some(80_000.0), false);
        late.generator_limits = vec!["send-lag: send lag p99 was 900 us".to_owned()];
        FindResult {
            format: String::new(),
            ended_by: FindEnd::Complete,
            goals: vec![FoundGoal {
                objectives: vec!["p99<5ms".to_owned()],
                state,
                rate,
                upper_rate,
                conditional_throughput: rate,
                limited_by: vec!["p99<5ms".to_owned()],
            }],
            evidence: FindEvidence {
                preset: "quick".to_owned(),
                final_trial_s: 1.0,
                duration_sum_s: 11.0,
                exceed_ratio: 0.5,
                width: 0.02,
            },
            min_rate: 2.0,
            max_rate: 2_000.0,
            closed_loop_rate: 1_000.0,
            budget_s: 300.0,
            took_s: 55.4,
            trials: vec![
                trial(1_200.0, None, false),
                late,
                trial(980.5, Some(2_100.0), true),
                trial(980.5, Some(2_300.0), true),
                trial(980.5, Some(12_300.0), false),
                trial(20.5, Some(1_800.0), true),
            ],
            sweep: None,
            plan: load.plan,
            environment: load.environment,
        }
    }

    #[test]
    fn the_table_of_a_search_for_a_rate() {
        let style = Style { width: 100, colour: false };
        insta::assert_snapshot!(find(&result(FindState::Found, Some(980.5), Some(1_200.0)), style));
    }

    #[test]
    fn the_curve_of_a_sweep_states_its_knee() {
        let near = |estimate: f64| Some(Interval { estimate, low: estimate * 0.95, high: estimate * 1.05 });
        let point = |rate: f64, p99_us: Option<Interval>, excluded: u32| SweepPoint {
            rate,
            trials: 6 - excluded,
            excluded,
            answered_rate: near(rate),
            mean_us: near(1e6 / (1_200.0 - rate)),
            p50_us: near(0.7e6 / (1_200.0 - rate)),
            p90_us: near(2.3e6 / (1_200.0 - rate)),
            p99_us,
            cpu_share: near(rate * 40e-6),
            cpu_us: near(80.0),
            memory_bytes: near(48.0 * MIB),
        };
        let sweep = Sweep {
            rounds: 6,
            trial_s: 1.0,
            confidence: 0.95,
            points: vec![
                point(98.05, None, 0),
                point(490.25, near(6_490.0), 0),
                point(980.5, near(21_000.0), 2),
            ],
            knee: Some(SweepKnee { rate: 490.25, low_rate: 490.25, high_rate: 490.25 }),
        };
        let at_the_end = SweepKnee { rate: 980.5, low_rate: 490.25, high_rate: 980.5 };
        let mut result = result(FindState::Found, Some(980.5), Some(1_200.0));
        let between = SweepKnee { rate: 490.25, low_rate: 98.05, high_rate: 490.25 };
        result.sweep = Some(sweep.clone());
        let mut text = find(&result, Style { width: 100, colour: false });
        for knee in [Some(between), Some(at_the_end), None] {
            let table = super::sweep(&Sweep { knee, ..sweep.clone() });
            text += table.lines().last().unwrap();
            text += "\n";
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn processes_have_columns_in_the_table_and_objectives_of_their_own() {
        let mut result = accounted(result(FindState::Found, Some(980.5), Some(1_200.0)));
        for trial in &mut result.trials {
            let bytes = trial.account.as_ref().and_then(|account| account.memory_bytes);
            trial.objectives.push(TriedObjective {
                objective: "memory<50MiB".to_owned(),
                holds: true,
                value: bytes.map(|bytes| bytes as f64),
                unit: "bytes".to_owned(),
                loss_ratio: 0.0,
            });
        }
        insta::assert_snapshot!(find(&result, Style { width: 100, colour: false }));
        let ended =
            "account: a process or a thread of `pid 7` ended during the trial, so its use is not known";
        result.trials[1].generator_limits = vec![ended.to_owned()];
        let goal = FoundGoal {
            state: FindState::GeneratorLimited,
            upper_rate: Some(1_300.0),
            ..result.goals[0].clone()
        };
        assert_eq!(
            sentence(&goal, &result),
            format!("At least 980 requests/s: no trial at 1,300/s counts ({ended}).")
        );
    }

    #[test]
    fn every_state_says_what_is_known_and_what_to_do() {
        let cases = [
            (FindState::MaximumHeld, Some(2_000.0), None),
            (FindState::MinimumFailed, None, Some(2.0)),
            (FindState::GeneratorLimited, Some(1_200.0), Some(1_300.0)),
            (FindState::GeneratorLimited, None, Some(1_300.0)),
            (FindState::Unfinished, Some(980.5), Some(1_200.0)),
            (FindState::Unfinished, Some(980.5), None),
            (FindState::Unfinished, None, None),
        ];
        let sentences: Vec<String> = cases
            .into_iter()
            .map(|(state, lower, upper)| {
                let result = result(state, lower, upper);
                sentence(&result.goals[0], &result)
            })
            .collect();
        insta::assert_snapshot!(sentences.join("\n"));
    }

    #[test]
    fn a_line_about_a_trial() {
        let result = result(FindState::Found, None, None);
        let lines: Vec<String> = result.trials.iter().take(3).map(find_trial).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
