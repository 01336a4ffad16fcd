//! The document of a search for a rate.

pub(super) mod charts;
mod headlines;
mod rates;
mod trial_lines;

use std::collections::BTreeMap;

use hoptax_load::options::{
    ABOVE_CLOSED_LOOP, ARRIVALS_OF_SEARCH, BUDGET, BUDGET_OF_CAREFUL, LONGEST, LOWEST_RATE, LOWEST_SHARE,
    PRESET,
};
use hoptax_result::{
    FastestMode, FindEnd, FindResult, FindState, FindTrial, FoundGoal, Interval, Mode, ModesOfLoad,
    ProcessAccount, Sweep, SweepPoint, Verdict,
};
use hoptax_text::command_line::quoted;

use crate::account;
use crate::document::{Document, Judgement, Next, Section};
use crate::environment;
use crate::numbers::{counted, grouped, percent, rate, ungrouped};
use crate::quantity::{Basis, Form, Quantity};
use crate::rows::{MIB, in_percent};
use crate::same_load::{self, GivenOptions};
use crate::table::{Cell, Column, Row, Table};

pub use trial_lines::{find_trial, sweep_trial};

/// Maximum number of goals in the answer on the first screen; the others are in notes.
const ANSWERS: usize = 2;

/// The document of a search whose other options are unknown.
pub fn find(result: &FindResult) -> Document {
    find_of(result, GivenOptions::default())
}

/// The document of a search that was begun with these options.
pub fn find_of(result: &FindResult, given: GivenOptions<'_>) -> Document {
    let mut answers: Vec<String> = result.goals.iter().map(|goal| sentence(goal, result)).collect();
    let mut notes = answers.split_off(ANSWERS.min(answers.len()));
    if let Some(found) = &result.fastest_mode {
        let of_mode = if answers.is_empty() { &mut answers } else { &mut notes };
        of_mode.push(fastest_mode(found));
        notes.extend(found.loads.iter().map(modes));
    }
    let mut document = Document::of(result, format!("find {}", result.plan.url), "", answers);
    document.notes = notes;
    document.verdict = Some(judgement(result.verdict, ", for the reason above"));
    document.headlines = headlines::headlines(result);
    if let Some(account) = account_of(result) {
        let of = account::processors(account);
        document.notes.push(format!("CPU %: of {of}, used by {}", account.processes));
    }
    let mut swept = result.sweep.iter().flat_map(|found| &found.points);
    let is_spoilt = |trial: &FindTrial| !trial.generator_limits.is_empty();
    if result.trials.iter().any(is_spoilt) || swept.any(|point| point.excluded > 0) {
        document.notes.push(rates::COUNTED.to_owned());
    }
    let all = rates::rates(result);
    document.table = (!all.rows.is_empty()).then(|| rates::nearest(&all, result));
    document.next = next(result, given);
    document.plots = charts::charts(result);
    if all.rows.len() > rates::NEAREST {
        document.sections.push(Section::of_table(all));
    }
    if let Some(found) = &result.sweep {
        document.notes.push(knee(found));
        document.sections.push(Section::folded(sweep(found)));
    }
    document.sections.extend(Section::of_lines("Method", vec![method(result)]));
    document.sections.extend(environment::section(&result.environment, &result.program));
    document
}

/// An arrival process as text.
pub(super) fn arrivals(process: &str) -> String {
    if process == "poisson" {
        "independent requests".to_owned()
    } else {
        format!("requests with {process} arrivals")
    }
}

/// Returns a judgement from the verdict of a search: the answer can be used, can be used only as a bound, or cannot be used. `why` names
/// where the reason is stated.
pub(super) fn judgement(verdict: Verdict, why: &str) -> Judgement {
    let usable = match verdict {
        Verdict::Sound => "every search ended with an answer".to_owned(),
        Verdict::Caution => format!("some answers are only bounds{why}"),
        Verdict::Void => format!("no rate is known{why}"),
    };
    Judgement { verdict, usable }
}

/// The result for a goal.
fn sentence(goal: &FoundGoal, result: &FindResult) -> String {
    let objectives = goal.objectives.join(" and ");
    let found = format!(
        "The highest rate of {} that holds {objectives} is {}",
        arrivals(&result.arrivals),
        in_words(highest(goal).as_ref())
    );
    match goal.state {
        FindState::Found if goal.limited_by.len() == goal.objectives.len() => found,
        FindState::Found => format!("{found}; above, {} fails", goal.limited_by.join(" and ")),
        FindState::Bounded => format!(
            "{found}. The search {}, so the interval is wider than {}",
            ended(result.ended_by),
            percent(result.evidence.width, 0)
        ),
        FindState::MaximumHeld => format!("{found}, the highest rate of the search"),
        FindState::MinimumFailed => format!(
            "No rate that holds {objectives} was found: it fails at {} requests/s, the lowest rate of the search",
            goal.upper_rate.map_or_else(|| "-".to_owned(), rate)
        ),
        FindState::GeneratorLimited => {
            format!("{found}: {}{}", limit(goal, result), held_above(goal, result))
        }
        FindState::Unfinished => {
            let ended = ended(result.ended_by);
            let known = match (goal.rate, goal.upper_rate) {
                (Some(_), None) => "; the upper end is not known yet",
                (None, Some(_)) => "; the lower end is not known yet",
                (Some(_), Some(_)) => ", undecided",
                (None, None) => "",
            };
            let held = if goal.rate.is_none() { held(result) } else { String::new() };
            format!("{found}{known}: the search {ended}{held}{}", excluded(result))
        }
    }
}

/// Returns the reason why a search ended early.
fn ended(by: FindEnd) -> &'static str {
    match by {
        FindEnd::Interrupt => "was interrupted",
        FindEnd::Failure => "ended because a trial could not run",
        FindEnd::Budget | FindEnd::Complete => "ran out of time",
    }
}

/// The highest rate of trials that count and held all objectives, with their number and what would decide; empty without one.
fn held(result: &FindResult) -> String {
    let counts = result.trials.iter().filter(|trial| trial.generator_limits.is_empty());
    let held = counts.filter(|trial| trial.objectives.iter().all(|one| one.holds)).map(|trial| trial.rate);
    let held: Vec<f64> = held.collect();
    let Some(highest) = held.iter().copied().max_by(f64::total_cmp) else { return String::new() };
    let more = match result.ended_by {
        FindEnd::Interrupt => ": let the search run to its end",
        _ if deciding_budget_s(result).is_some() => ": give the search more time with `--budget`",
        _ => "",
    };
    match held.iter().filter(|one| one.to_bits() == highest.to_bits()).count() {
        1 => format!(". One trial at {}/s held, which is too little to decide{more}", rate(highest)),
        several => format!(
            ". {several} trials at {}/s held, but together they have too few requests to decide{more}",
            rate(highest)
        ),
    }
}

/// The time limit with which an unfinished search probably decides, seconds. None if its trials cannot run, or if its percentile needs more
/// responses than any search at these rates can have.
fn deciding_budget_s(result: &FindResult) -> Option<f64> {
    let budget_s = result.deciding_budget_s.unwrap_or(0.0).ceil().max(4.0 * result.budget_s);
    Some(budget_s)
        .filter(|budget_s| result.ended_by != FindEnd::Failure && *budget_s <= LONGEST.as_secs_f64())
}

/// The trials that were limited by the generator or its machine, with the most frequent reason; empty if they were few.
fn excluded(result: &FindResult) -> String {
    let excluded: Vec<&FindTrial> =
        result.trials.iter().filter(|trial| !trial.generator_limits.is_empty()).collect();
    if 2 * excluded.len() <= result.trials.len() {
        return String::new();
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in excluded.iter().filter_map(|trial| trial.generator_limits.first()) {
        *reasons.entry(reason.split(':').next().unwrap_or_default()).or_default() += 1;
    }
    let most = reasons.into_iter().max_by_key(|(_, count)| *count).map_or("generator", |(reason, _)| reason);
    format!(
        ". {} of {} trials do not count, most of them by `{most}`: the generator did not get its processor in time. Stop other work on \
         this machine, or send from another",
        excluded.len(),
        result.trials.len()
    )
}

/// The fastest mode, or why there is none.
fn fastest_mode(found: &FastestMode) -> String {
    match (&found.mode, found.limit_us, found.unknown()) {
        (Some(mode), Some(limit_us), _) => format!(
            "The fastest mode of the response times is around {}, and ends at {}",
            value(Some(mode.peak_us), "us"),
            value(Some(limit_us), "us")
        ),
        (_, _, Some(reason)) => format!(
            "The fastest mode of the response times is unknown: the generator or its machine spoilt the load that would show it \
             ({reason}). Stop other work, use more `--workers`, or a machine of its own for the generator"
        ),
        _ => "Response times have a single mode: no rate makes them leave it. Name objectives with `--slo` instead of \
              `--goal fastest-mode`"
            .to_owned(),
    }
}

/// The modes that a load showed.
fn modes(load: &ModesOfLoad) -> String {
    let at = load.rate.map_or_else(|| "closed loop".to_owned(), |at| format!("{} requests/s", rate(at)));
    let mode = |mode: &Mode| format!("{} around {}", percent(mode.share, 0), value(Some(mode.peak_us), "us"));
    let modes: Vec<String> = load.modes.iter().map(mode).collect();
    let modes = if modes.is_empty() { "modes unknown".to_owned() } else { modes.join(", ") };
    format!("{at}, {} responses/s: {modes}", rate(load.answered_rate))
}

/// A rate in a sentence. A bound is rounded outward, as in its own text, so that the sentence and the headline state the same number.
pub(super) fn in_words(rate: Option<&Quantity>) -> String {
    let Some(found) = rate else { return "unknown".to_owned() };
    let text = found.text();
    let bound = text.trim_start_matches(['≥', '≤', ' ']);
    match (found.low, found.high) {
        (Some(_), None) => format!("at least {bound} {}", found.unit),
        (None, Some(_)) => format!("less than {bound} {}", found.unit),
        _ => found.with_unit(),
    }
}

/// Returns the reason why the generator or the accounting limits a goal.
fn limit(goal: &FoundGoal, result: &FindResult) -> String {
    let is_upper =
        |trial: &&FindTrial| goal.upper_rate.is_some_and(|upper| trial.rate.to_bits() == upper.to_bits());
    let at_upper = result.trials.iter().filter(is_upper);
    let reasons: Vec<&str> = at_upper.flat_map(|trial| &trial.generator_limits).map(String::as_str).collect();
    let upper =
        goal.upper_rate.map_or_else(|| "a higher rate".to_owned(), |upper| format!("{}/s", rate(upper)));
    let remedy = if reasons.iter().any(|reason| reason.starts_with("run-delay: ")) {
        "Stop other work on this machine, or send from another"
    } else {
        "Use more `--workers`, or a machine of its own for the generator"
    };
    match reasons.first() {
        Some(reason) if reason.starts_with("account: ") => format!("no trial at {upper} counts ({reason})"),
        reason => format!(
            "the generator cannot produce {upper} ({}), so the server may carry more. {remedy}",
            reason.copied().unwrap_or("it was the limit")
        ),
    }
}

/// The highest rate above the found one at which a trial held; empty without one. It does not raise the answer.
fn held_above(goal: &FoundGoal, result: &FindResult) -> String {
    let holds = |trial: &FindTrial| {
        let mut of_goal = trial.objectives.iter().filter(|one| goal.objectives.contains(&one.objective));
        trial.generator_limits.is_empty() && of_goal.all(|one| one.holds)
    };
    let above = result.trials.iter().filter(|trial| goal.rate.is_some_and(|found| trial.rate > found));
    let highest = above.filter(|trial| holds(trial)).map(|trial| trial.rate).max_by(f64::total_cmp);
    highest.map_or_else(String::new, |highest| {
        format!(
            ". Trials at up to {}/s held too, but do not raise the answer: most trials at a lower rate do not count",
            rate(highest)
        )
    })
}

/// The highest rate of a goal: its interval, or the known end of it.
pub(super) fn highest(goal: &FoundGoal) -> Option<Quantity> {
    let upper = goal.upper_end();
    if goal.rate.is_none() && upper.is_none() {
        return None;
    }
    if let (Some(estimate), Some(low), Some(high)) = (goal.estimate, goal.rate, upper) {
        return Some(Quantity::level(&Interval::new(estimate, low, high), "requests/s"));
    }
    let basis = if goal.state == FindState::Found { Basis::Measured } else { Basis::Bounded };
    let bounds = Quantity::bounded(goal.rate, upper, "requests/s", Form::Level);
    Some(Quantity { basis, ..bounds })
}

/// The next command: a load at the found rate, or a search that reaches a decision. None if a short command cannot repeat the requests.
fn next(result: &FindResult, given: GivenOptions<'_>) -> Option<Next> {
    let plan = &result.plan;
    if !plan.is_plain() {
        return None;
    }
    let url = quoted(&plan.url);
    let GivenOptions { of_both, of_itself } = given;
    let found = result.goals.iter().filter_map(|goal| goal.rate).min_by(f64::total_cmp);
    let is = |state: FindState| result.goals.iter().any(|goal| goal.state == state);
    let again = |option: String, purpose: &str| {
        let objectives: Vec<&String> = result.goals.iter().flat_map(|goal| &goal.objectives).collect();
        let objectives: String = objectives.iter().map(|one| format!("--slo {} ", quoted(one))).collect();
        let each = if result.goals.len() > 1 { "--each " } else { "" };
        // The user may have set the highest rate to protect the server.
        let usual_max = ABOVE_CLOSED_LOOP * result.closed_loop_rate;
        let is_usual = (result.max_rate / usual_max - 1.0).abs() < 0.001;
        let is_given = result.fastest_mode.is_none() && !is_usual && !option.contains("--max-rate");
        let option = if is_given { format!("--max-rate {} {option}", result.max_rate) } else { option };
        let usual_min = (result.max_rate * LOWEST_SHARE).max(LOWEST_RATE);
        let is_usual = (result.min_rate / usual_min - 1.0).abs() < 0.001;
        let is_given = !is_usual && !option.contains("--min-rate");
        let option = if is_given { format!("--min-rate {} {option}", result.min_rate) } else { option };
        let option = match result.arrivals.as_str() {
            ARRIVALS_OF_SEARCH => option,
            other => format!("--arrivals {other} {option}"),
        };
        let option = match result.evidence.preset.as_str() {
            PRESET => option,
            other => format!("--preset {other} {option}"),
        };
        let options = same_load::options(plan);
        let search = format!("hoptax find {objectives}{each}{option}");
        let command = format!("{}{options}{of_itself}{of_both} {url}", search.trim_end());
        Some(Next::new(command, same_load::purpose(plan, purpose)))
    };
    let within = |budget_s: f64, purpose: &str| {
        // No command line accepts it: a decision needs more responses than any search at these rates can have.
        if budget_s > LONGEST.as_secs_f64() {
            return None;
        }
        again(format!("--budget {}s", ungrouped(budget_s, 0)), purpose)
    };
    if is(FindState::MaximumHeld) {
        return again(format!("--max-rate {}", ungrouped(4.0 * result.max_rate, 0)), "tries higher rates");
    }
    if is(FindState::MinimumFailed) {
        return again(format!("--min-rate {}", result.min_rate / 10.0), "tries lower rates");
    }
    let counts = |trial: &FindTrial| trial.generator_limits.is_empty();
    if is(FindState::Unfinished) && !result.trials.is_empty() && !result.trials.iter().any(counts) {
        return Some(Next::new("hoptax trust doctor", "says what kept this machine from sending on time"));
    }
    // Nothing says that its time limit is too short.
    if is(FindState::Unfinished) && result.ended_by == FindEnd::Interrupt {
        let usual = if result.evidence.preset == PRESET { BUDGET } else { BUDGET_OF_CAREFUL };
        let budget_s = result.budget_s.ceil();
        if budget_s as u64 == usual.as_secs() {
            return again(String::new(), "searches to the end");
        }
        return within(budget_s, "searches to the end");
    }
    if is(FindState::Unfinished) && result.ended_by != FindEnd::Failure {
        return within(deciding_budget_s(result)?, "probably decides");
    }
    if is(FindState::Bounded) && result.ended_by == FindEnd::Budget {
        return within(4.0 * result.budget_s, "halves the interval");
    }
    // A load has at least one request per second.
    let held = Quantity::bounded(Some(found?.max(1.0)), None, "requests/s", Form::Level);
    let command = format!(
        "hoptax load -q {} --arrivals {} -c {}{}{of_both} {url}",
        held.rounded_down()?,
        result.arrivals,
        plan.connections,
        same_load::options_without_connections(plan)
    );
    Some(Next::new(command, same_load::purpose(plan, "measures that rate")))
}

/// The processes that the trials accounted for.
fn account_of(result: &FindResult) -> Option<&ProcessAccount> {
    result.trials.iter().find_map(|trial| trial.account.as_ref())
}

/// The number that an objective limits, in its unit.
fn value(value: Option<f64>, unit: &str) -> String {
    match (value, unit) {
        (None, _) => "-".to_owned(),
        (Some(us), "us") if us >= 10_000.0 => format!("{} ms", grouped(us / 1e3, 1)),
        (Some(us), "us") => format!("{} us", grouped(us, 0)),
        (Some(percent), "%") => format!("{} %", grouped(percent, 2)),
        (Some(bytes), "bytes") => format!("{} MiB", grouped(bytes / MIB, 1)),
        (Some(count), _) => grouped(count, 0),
    }
}

/// The latency curve.
fn sweep(sweep: &Sweep) -> Table {
    let row = |point: &SweepPoint| {
        let us = |number: &Option<Interval>| Cell::level(number.as_ref(), "us");
        let memory = point.memory_bytes.map(|bytes| bytes.in_units(MIB));
        Row::new(
            rate(point.rate),
            vec![
                us(&point.mean_us),
                us(&point.p50_us),
                us(&point.p90_us),
                us(&point.p99_us),
                Cell::level(point.answered_rate.as_ref(), "requests/s"),
                Cell::level(point.cpu_share.as_ref().map(in_percent).as_ref(), "%"),
                us(&point.cpu_us),
                Cell::level(memory.as_ref(), "MiB"),
                Cell::words(format!("{} of {}", point.trials, point.trials + point.excluded)),
            ],
        )
    };
    let headings =
        ["mean us", "p50 us", "p90 us", "p99 us", "answered/s", "CPU %", "CPU us", "memory MiB", "counted"];
    let priorities = [0, 0, 3, 0, 4, 1, 1, 2, 5];
    let columns = headings.iter().zip(priorities).map(|(heading, priority)| Column::new(*heading, priority));
    let title = "response times and use of the server by rate";
    let table = Table::new(title, "rate/s", columns, sweep.points.iter().map(row));
    table.with_words(&["counted"]).without_empty_columns()
}

/// The reason why a sweep has no knee.
const NO_KNEE: &str = "fewer than two blocks have a trial that counts at every rate";

/// The rate of the knee of the latency curve; none if it is not known. If it may be at the last rate of the sweep, it has no upper end.
fn knee_rate(sweep: &Sweep) -> Option<Quantity> {
    let last = sweep.points.last().map_or(f64::INFINITY, |point| point.rate);
    let knee = sweep.knee?;
    if knee.low_rate.to_bits() == knee.high_rate.to_bits() && knee.high_rate < last {
        return Some(Quantity::point(knee.rate, "requests/s", Form::Level));
    }
    let high = Some(knee.high_rate).filter(|high| *high < last);
    Some(Quantity::bounded(Some(knee.low_rate), high, "requests/s", Form::Level))
}

/// The knee of the latency curve.
fn knee(sweep: &Sweep) -> String {
    let Some(found) = knee_rate(sweep) else { return format!("knee: not known: {NO_KNEE}") };
    let place = in_words(Some(&found));
    format!("knee: {place}; below, 1 % more requests add less than 1 % to the mean response time")
}

fn method(result: &FindResult) -> String {
    let evidence = &result.evidence;
    format!(
        "{} in {} s; a trial begins to count when the queue has settled, and the search ends when the interval of {} is {} wide",
        counted(result.trials.len() as u64, "trial"),
        grouped(result.took_s, 0),
        percent(evidence.confidence, 0),
        percent(evidence.width, 0)
    )
}

#[cfg(test)]
pub(super) mod tests;
