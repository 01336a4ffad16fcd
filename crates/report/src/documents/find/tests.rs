use hoptax_result::{FindBody, FindEvidence, SweepKnee, SweepPoint, TriedObjective, sample};

use super::*;
use crate::fixture::STYLE;
use crate::render::terminal;

pub(in crate::documents) fn trial(rate: f64, p99_us: Option<f64>, holds: bool) -> FindTrial {
    FindTrial {
        rate,
        warmup_s: 0.3,
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
            limit: None,
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

pub(in crate::documents) fn goal(state: FindState, rate: Option<f64>, upper_rate: Option<f64>) -> FoundGoal {
    FoundGoal {
        objectives: vec!["p99<5ms".to_owned()],
        state,
        rate,
        upper_rate,
        estimate: rate.zip(upper_rate).map(|(low, high)| (low * high).sqrt()),
        limited_by: vec!["p99<5ms".to_owned()],
    }
}

pub(super) fn result(state: FindState, rate: Option<f64>, upper_rate: Option<f64>) -> FindResult {
    let load = sample::load();
    let mut late = trial(1_300.0, Some(80_000.0), false);
    late.generator_limits = vec!["send-lag: send lag p99 was 900 us".to_owned()];
    let body = FindBody {
        ended_by: FindEnd::Complete,
        fastest_mode: None,
        goals: vec![goal(state, rate, upper_rate)],
        evidence: FindEvidence { preset: "quick".to_owned(), width: 0.04, confidence: 0.95 },
        arrivals: "poisson".to_owned(),
        min_rate: 2.0,
        max_rate: 2_000.0,
        closed_loop_rate: 1_000.0,
        budget_s: 300.0,
        deciding_budget_s: None,
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
        plan: load.body.plan,
    };
    FindResult::new(load.environment, body)
}

#[test]
fn the_table_of_a_search_for_a_rate() {
    let found = find(&result(FindState::Found, Some(980.5), Some(1_200.0)));
    insta::assert_snapshot!(terminal::screen(&found, STYLE));
}

#[test]
fn the_curve_of_a_sweep_states_its_knee() {
    let near = |estimate: f64| Some(Interval::new(estimate, estimate * 0.95, estimate * 1.05));
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
        blocks: 6,
        trial_s: 1.0,
        confidence: 0.95,
        points: vec![point(98.05, None, 0), point(490.25, near(6_490.0), 0), point(980.5, near(21_000.0), 2)],
        knee: Some(SweepKnee { rate: 490.25, low_rate: 490.25, high_rate: 490.25 }),
    };
    let at_the_end = SweepKnee { rate: 980.5, low_rate: 490.25, high_rate: 980.5 };
    let mut result = result(FindState::Found, Some(980.5), Some(1_200.0));
    let between = SweepKnee { rate: 490.25, low_rate: 98.05, high_rate: 490.25 };
    result.sweep = Some(sweep.clone());
    let mut text = terminal::details(&find(&result), STYLE);
    for knee in [Some(between), Some(at_the_end), None] {
        text += &format!("\n{}", super::knee(&Sweep { knee, ..sweep.clone() }));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn trials_of_a_sweep_that_the_generator_spoilt_are_not_counted_and_the_reason_is_stated() {
    let mut result = result(FindState::Found, Some(980.5), Some(1_200.0));
    result.trials.retain(|trial| trial.generator_limits.is_empty());
    let mut text = |excluded: u32| {
        let point = SweepPoint { rate: 490.25, trials: 6 - excluded, excluded, ..SweepPoint::default() };
        result.sweep =
            Some(Sweep { blocks: 6, trial_s: 1.0, confidence: 0.95, points: vec![point], knee: None });
        terminal::details(&find(&result), STYLE)
    };
    let (whole, spoilt) = (text(0), text(2));
    assert!(whole.contains("6 of 6") && !whole.contains("spoilt"), "{whole}");
    assert!(spoilt.contains("4 of 6") && spoilt.contains("its machine spoilt others"), "{spoilt}");
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
            limit: None,
            loss_ratio: 0.0,
        });
    }
    insta::assert_snapshot!(terminal::screen(&find(&result), STYLE));
    let ended = "account: a process or a thread of `pid 7` ended during the trial, so its CPU time and memory are not known";
    result.trials[1].generator_limits = vec![ended.to_owned()];
    let goal = FoundGoal {
        state: FindState::GeneratorLimited,
        upper_rate: Some(1_300.0),
        ..result.goals[0].clone()
    };
    assert_eq!(
        sentence(&goal, &result),
        format!(
            "The highest rate of independent requests that holds p99<5ms is at least 980 requests/s: no trial at 1,300/s counts ({ended})"
        )
    );
}

#[test]
fn a_search_whose_trials_do_not_count_says_why() {
    let mut spoilt = result(FindState::Unfinished, None, None);
    let text = terminal::screen(&find(&spoilt), STYLE);
    assert!(!text.contains("do not count"), "{text}");
    for trial in spoilt.trials.iter_mut().skip(3) {
        trial.generator_limits = vec!["run-delay: 31 %".to_owned()];
    }
    let text = terminal::screen(&find(&spoilt), STYLE);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("4 of 6 trials do not count, most of them by `run-delay`"), "{text}");
}

#[test]
fn every_state_says_what_is_known_and_what_to_do() {
    let cases = [
        (FindState::MaximumHeld, Some(2_000.0), None),
        (FindState::MinimumFailed, None, Some(2.0)),
        (FindState::GeneratorLimited, Some(1_200.0), Some(1_300.0)),
        (FindState::GeneratorLimited, None, Some(1_300.0)),
        (FindState::Bounded, Some(980.5), Some(1_200.0)),
        (FindState::Unfinished, Some(980.5), None),
        (FindState::Unfinished, None, None),
    ];
    let sentences: Vec<String> = cases
        .into_iter()
        .map(|(state, lower, upper)| {
            let result = result(state, lower, upper);
            let next = next(&result, GivenOptions::default()).map_or_else(String::new, |next| next.command);
            format!("{}\n  {next}", sentence(&result.goals[0], &result))
        })
        .collect();
    insta::assert_snapshot!(sentences.join("\n"));
}

#[test]
fn trials_that_held_and_decide_nothing_are_stated_with_what_would_decide() {
    let mut result = result(FindState::Unfinished, None, None);
    let text = |result: &FindResult| sentence(&result.goals[0], result);
    let several = "2 trials at 980/s held, but together they have too few requests to decide";
    assert!(text(&result).ends_with(&format!("{several}: give the search more time with `--budget`")));
    // One of the two.
    result.trials.remove(3);
    let one = "One trial at 980/s held, which is too little to decide";
    assert!(text(&result).ends_with(&format!("{one}: give the search more time with `--budget`")));
    result.ended_by = FindEnd::Interrupt;
    assert!(text(&result).ends_with(&format!("{one}: let the search run to its end")), "{}", text(&result));
    // No time limit decides.
    (result.ended_by, result.deciding_budget_s) = (FindEnd::Budget, Some(1e12));
    assert!(text(&result).ends_with(one), "{}", text(&result));
}

#[test]
fn a_longer_search_keeps_the_highest_rate_and_is_not_proposed_if_no_trial_counts() {
    let mut result = result(FindState::Unfinished, None, None);
    (result.min_rate, result.max_rate) = (1.5, 1_500.0);
    let command =
        |result: &FindResult| next(result, GivenOptions::default()).map(|next| next.command).unwrap();
    assert_eq!(
        command(&result),
        "hoptax find --slo 'p99<5ms' --max-rate 1500 --budget 1200s 'http://127.0.0.1:1/'"
    );
    // Four times the time may still be too little.
    result.deciding_budget_s = Some(1_300.2);
    assert!(command(&result).contains(" --budget 1301s "), "{}", command(&result));
    result.deciding_budget_s = Some(20.0);
    assert!(command(&result).contains(" --budget 1200s "), "{}", command(&result));
    // A command line accepts a year at most.
    result.deciding_budget_s = Some(93_499_814_307.0);
    assert_eq!(next(&result, GivenOptions::default()), None);
    result.deciding_budget_s = Some(20.0);
    // Rounded, it would be above what was asked for.
    result.max_rate = 1.5;
    assert!(command(&result).contains(" --max-rate 1.5 "), "{}", command(&result));
    result.trials.retain(|trial| !trial.generator_limits.is_empty());
    assert_eq!(command(&result), "hoptax trust doctor");
}

#[test]
fn an_interrupted_search_is_proposed_again_with_the_same_time() {
    let mut result = result(FindState::Unfinished, None, None);
    (result.ended_by, result.budget_s, result.deciding_budget_s) = (FindEnd::Interrupt, 30.0, Some(90.0));
    let next = next(&result, GivenOptions::default()).map(|next| (next.command, next.purpose));
    let same = "hoptax find --slo 'p99<5ms' --budget 30s 'http://127.0.0.1:1/'";
    assert_eq!(next, Some((same.to_owned(), "searches to the end".to_owned())));
    // The time limit of its preset need not be given.
    for (budget_s, preset, expected) in [
        (300.0, "quick", "hoptax find --slo 'p99<5ms' 'http://127.0.0.1:1/'"),
        (5_400.0, "careful", "hoptax find --slo 'p99<5ms' --preset careful 'http://127.0.0.1:1/'"),
        (90.0, "careful", "hoptax find --slo 'p99<5ms' --preset careful --budget 90s 'http://127.0.0.1:1/'"),
    ] {
        result.budget_s = budget_s;
        result.evidence.preset = preset.to_owned();
        let command = super::next(&result, GivenOptions::default()).map(|next| next.command);
        assert_eq!(command.as_deref(), Some(expected));
    }
}

#[test]
fn a_search_that_narrows_an_interval_is_not_proposed_if_no_command_line_accepts_its_time() {
    let mut result = result(FindState::Bounded, Some(980.5), Some(1_200.0));
    result.ended_by = FindEnd::Budget;
    let next = next(&result, GivenOptions::default()).map(|next| (next.command, next.purpose));
    let longer = "hoptax find --slo 'p99<5ms' --budget 1200s 'http://127.0.0.1:1/'";
    assert_eq!(next, Some((longer.to_owned(), "halves the interval".to_owned())));
    result.budget_s = 100.0 * 86_400.0;
    assert_eq!(super::next(&result, GivenOptions::default()), None);
}

#[test]
fn a_search_is_repeated_with_its_options() {
    let mut result = result(FindState::Unfinished, None, None);
    result.min_rate = 20.0;
    result.evidence.preset = "careful".to_owned();
    (result.plan.connections, result.plan.timeout_s) = (4, 0.5);
    result.plan.unstated = vec!["headers".to_owned(), "body".to_owned()];
    let again = next(&result, GivenOptions::default()).unwrap();
    assert_eq!(
        again.command,
        "hoptax find --slo 'p99<5ms' --preset careful --min-rate 20 --budget 1200s -c 4 --timeout 0.5s \
         'http://127.0.0.1:1/'"
    );
    assert_eq!(again.purpose, "probably decides, with the same headers and body");
    let given = GivenOptions { of_both: " --never-halt always", of_itself: " --sweep" };
    let again = find_of(&result, given).next.unwrap().command;
    assert!(again.contains(" --timeout 0.5s --sweep --never-halt always 'http://"), "{again}");
}

#[test]
fn a_load_at_the_found_rate_has_the_options_of_the_search_that_a_load_has_too() {
    let result = result(FindState::Found, Some(980.5), Some(1_200.0));
    let given = GivenOptions { of_both: " --threshold steal=0.02", of_itself: " --sweep" };
    let load = find_of(&result, given).next.unwrap().command;
    assert!(load.starts_with("hoptax load ") && load.contains(" --threshold steal=0.02 'http://"), "{load}");
    assert!(!load.contains("--sweep"), "{load}");
}

#[test]
fn a_line_about_a_trial() {
    let result = result(FindState::Found, None, None);
    let lines: Vec<String> = result.trials.iter().take(3).map(find_trial).collect();
    insta::assert_snapshot!(lines.join("\n"));
    let mut late = result.trials[1].clone();
    late.generator_limits =
        ["send-lag", "run-delay", "steal"].map(|id| format!("{id}: {}", "long ".repeat(20))).to_vec();
    assert_eq!(find_trial(&late), "     1,300/s: does not count (send-lag, run-delay and 1 more)");
}

#[test]
fn trials_above_a_rate_that_the_generator_cannot_produce_are_explained() {
    let mut result = result(FindState::GeneratorLimited, Some(1_200.0), Some(1_300.0));
    result.trials[1].generator_limits.push("run-delay: a worker waited 590 ms".to_owned());
    result.trials.extend([trial(1_400.0, None, true), trial(1_500.0, None, false)]);
    let text = sentence(&result.goals[0], &result);
    assert!(text.contains("Stop other work on this machine, or send from another"), "{text}");
    let why = "Trials at up to 1,400/s held too, but do not raise the answer: most trials at a lower rate do not count";
    assert!(text.ends_with(why), "{text}");
}

#[test]
fn the_found_rate_is_rounded_down_and_the_row_of_the_rate_that_was_tried_has_a_value() {
    let mut result = result(FindState::GeneratorLimited, Some(1_199.6), Some(1_300.0));
    let mut held = trial(1_199.6, None, true);
    held.objectives[0].limit = Some(5_000.0);
    result.trials.push(held);
    let document = find(&result);
    assert!(document.answer[0].contains("at least 1,199 requests/s"), "{:?}", document.answer);
    let command = document.next.unwrap().command;
    assert!(command.starts_with("hoptax load -q 1199 "), "{command}");
    // The fixture has another trial at 1,200/s, which fails.
    let rows = document.table.unwrap().rows;
    let row = rows.iter().find(|row| row.name == "1,199.6").unwrap();
    assert_eq!(row.cells[0].text(), "yes");
    assert_eq!(row.cells[2].text(), "≤ 5,000 us");
}

#[test]
fn a_search_of_a_hundred_rates_shows_those_nearest_to_its_result() {
    let mut result = result(FindState::Found, Some(980.5), Some(1_200.0));
    result.trials.extend((1..100).map(|number| trial(f64::from(number) * 20.0, Some(1_000.0), number < 50)));
    result.goals = vec![result.goals[0].clone(); 20];
    let document = find(&result);
    let rows = &document.table.as_ref().unwrap().rows;
    assert!(rows.len() <= rates::NEAREST && rows.iter().any(|row| row.name == "980.5"), "{rows:?}");
    let text = terminal::screen(&document, STYLE);
    let title = format!(" rates tried, of which these {} are nearest to the result:", rows.len());
    assert!(text.contains(&title), "{text}");
    assert!(text.lines().count() <= 40, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(terminal::details(&document, STYLE).contains("\n20 "), "all rates");
}

#[test]
fn a_fastest_mode_is_there_or_not_or_unknown() {
    let mode = |peak_us: f64| Mode { low_us: peak_us, peak_us, high_us: peak_us, share: 1.0 };
    let load = |rate: Option<f64>, peak_us: f64| ModesOfLoad {
        rate,
        answered_rate: rate.unwrap_or(580.0),
        modes: vec![mode(peak_us)],
        does_not_count: Vec::new(),
    };
    let found = FastestMode {
        mode: Some(mode(5_100.0)),
        limit_us: Some(16_700.0),
        loads: vec![load(None, 55_000.0), load(Some(58.0), 5_100.0)],
    };
    let with = |fastest: FastestMode| {
        let mut searched = result(FindState::Found, Some(980.5), Some(1_200.0));
        if fastest.mode.is_none() {
            searched.goals.clear();
        }
        searched.fastest_mode = Some(fastest);
        let document = find(&searched);
        [document.answer, document.notes].concat().join("\n")
    };
    let text = with(found.clone());
    assert!(text.contains("mode of the response times is around 5,100 us, and ends at 16.7 ms"), "{text}");
    assert!(text.contains("closed loop, 580 responses/s: 100 % around 55.0 ms"), "{text}");
    let none = FastestMode { mode: None, limit_us: None, ..found.clone() };
    assert!(with(none.clone()).starts_with("Response times have a single mode"), "{}", with(none));
    let mut late = load(None, 1.0);
    (late.modes, late.does_not_count) = (Vec::new(), vec!["run-delay: workers waited".to_owned()]);
    let unknown = with(FastestMode { loads: vec![late], mode: None, limit_us: None });
    assert!(unknown.contains("is unknown: the generator") && unknown.contains("run-delay"), "{unknown}");
}
