//! Coverage of the p99 cost of quiet slices, in simulated studies of a machine that stalls.
//!
//! Requests arrive in slices. A machine stalls now and then for some milliseconds; whoever wants its processor meanwhile waits, and all
//! requests that are due then are late. How long somebody waited in a slice is known, which responses were late for it is not. Slices are
//! chosen by these waits alone, as `plan::quiet` does.

use hoptax_result::{CountedTime, Interval};
use hoptax_stats::{
    ChosenInRound, ChosenSlices, Ends, RoundTimes, quantile_cost, quantile_cost_ends, share_difference,
    slice_dispersion,
};

use crate::tail_coverage::{Held, Machine, recorded};

/// The limit of the rule: the largest share of a quiet slice that somebody waited.
const MAX_WAIT_SHARE: f64 = 0.01;
/// The limits of the check `quiet-slices`.
const LEAST_SHARE: f64 = 0.5;
const MOST_DIFFERENCE: f64 = 0.1;
/// Typical response time, nanoseconds.
const USUAL_NS: f64 = 190_000.0;
/// Standard deviations of the levels of rounds and of processes, and of the tails of processes, as shares.
const ROUND_LEVEL: f64 = 0.02;
const PROCESS_LEVEL: f64 = 0.015;
const PROCESS_TAIL: f64 = 0.15;

/// How the machine stalls.
#[derive(Clone, Copy, Debug)]
struct Stalls {
    /// Mean number in a slice of the baseline.
    per_slice: f64,
    /// Median length, milliseconds. Lengths are lognormal.
    median_ms: f64,
    /// Standard deviation of the logarithm of lengths.
    spread: f64,
    /// The factor by which they are more frequent in slices of the arm: its own work causes them.
    of_arm: f64,
    /// The share of a stall that counts as waiting: a processor that is taken while nobody wants it delays nobody.
    counted: f64,
    /// Share of each slice that somebody waits in any case, and its standard deviation, for example for the origin.
    always: (f64, f64),
    /// Standard deviation of the logarithm of their rate from round to round, the same for all processes of a round; their mean stays.
    of_rounds: f64,
}

impl Stalls {
    const NONE: Self = Self {
        per_slice: 0.0,
        median_ms: 3.0,
        spread: 0.8,
        of_arm: 1.0,
        counted: 1.0,
        always: (0.002, 0.001),
        of_rounds: 0.0,
    };
    /// As measured: about a quarter of the slices of 50 ms, for milliseconds.
    const ALIKE: Self = Self { per_slice: 0.26, ..Self::NONE };
}

#[derive(Clone, Copy, Debug)]
struct Scenario {
    rounds: usize,
    /// Slices of each process in a round.
    slices: usize,
    /// Responses in a slice, evenly spaced over 50 ms.
    responses: usize,
    /// Copies of the arm compared with.
    copies: usize,
    stalls: Stalls,
    /// The factor by which the arm's own tail is larger.
    tail: f64,
    /// Time that the arm adds to each response, as a share of the usual one.
    shift: f64,
}

impl Scenario {
    /// The quick study.
    const QUICK: Self = Self {
        rounds: 12,
        slices: 12,
        responses: 65,
        copies: 2,
        stalls: Stalls::ALIKE,
        tail: 1.0,
        shift: 0.0,
    };
    /// With enough responses for an interval.
    const LONG: Self = Self { rounds: 14, responses: 100, ..Self::QUICK };
}

const SLICE_NS: f64 = 50e6;

/// Response times of one side in a round.
#[derive(Default)]
struct Side {
    all: Vec<f64>,
    quiet: Vec<f64>,
    /// Without any stall: what the arm itself does.
    unhindered: Vec<f64>,
    /// Response times are chosen by themselves: what the rule must not do.
    fast: Vec<f64>,
    /// Numbers of its slices.
    slices: ChosenSlices,
}

#[derive(Default)]
struct Study {
    arm: Vec<Side>,
    other: Vec<Side>,
}

/// The state that all processes of a round have in common.
#[derive(Clone, Copy)]
struct Common {
    level_ns: f64,
    /// The factor by which the machine stalls more often than usual.
    stalls: f64,
}

impl Common {
    fn new(machine: &mut Machine, scenario: &Scenario) -> Self {
        let level_ns = USUAL_NS * machine.factor(ROUND_LEVEL);
        let spread = scenario.stalls.of_rounds;
        let stalls = if spread > 0.0 { machine.factor(spread) / (spread.powi(2) / 2.0).exp() } else { 1.0 };
        Self { level_ns, stalls }
    }
}

/// Adds the slices of one process.
fn add(machine: &mut Machine, scenario: &Scenario, common: Common, is_arm: bool, side: &mut Side) {
    let Stalls { per_slice, median_ms, spread, of_arm, counted, always, .. } = scenario.stalls;
    let per_slice = per_slice * common.stalls;
    let (factor, tail, shift) =
        if is_arm { (of_arm, scenario.tail, scenario.shift) } else { (1.0, 1.0, 0.0) };
    let level_ns = common.level_ns * machine.factor(PROCESS_LEVEL);
    let tail = tail * machine.factor(PROCESS_TAIL);
    let mut neighbour = machine.normal();
    for _ in 0..scenario.slices {
        let mut waited = (always.0 + always.1 * machine.normal()).max(0.0);
        let mut stalls = Vec::new();
        let mut at = if per_slice > 0.0 { machine.exponential() / (per_slice * factor) } else { 1.0 };
        while at < 1.0 {
            let length_ns = 1e6 * median_ms * machine.factor(spread);
            stalls.push((at * SLICE_NS, at * SLICE_NS + length_ns));
            waited += counted * length_ns.min(SLICE_NS * (1.0 - at)) / SLICE_NS;
            at += machine.exponential() / (per_slice * factor);
        }
        let (mut slice, mut own) = (Vec::new(), Vec::new());
        for number in 0..scenario.responses {
            neighbour = 0.5 * neighbour + 0.75_f64.sqrt() * machine.normal();
            let extra = 0.25 * tail * (1.1 * neighbour).exp();
            let unhindered = level_ns * (0.8 + shift + extra);
            let now_ns = number as f64 / scenario.responses as f64 * SLICE_NS;
            let is_in = |(from, until): &&(f64, f64)| (*from..*until).contains(&now_ns);
            let late_ns = stalls.iter().filter(is_in).map(|(_, until)| until - now_ns).fold(0.0, f64::max);
            own.push(unhindered);
            slice.push(unhindered + late_ns);
        }
        side.slices.all += 1;
        if waited <= MAX_WAIT_SHARE {
            side.slices.chosen += 1;
            side.quiet.extend(&slice);
        }
        if slice.iter().fold(0.0, |most: f64, one| most.max(*one)) < 10.0 * USUAL_NS {
            side.fast.extend(&slice);
        }
        side.all.extend(slice);
        side.unhindered.extend(own);
    }
}

fn study(machine: &mut Machine, scenario: &Scenario) -> Study {
    let mut study = Study::default();
    for _ in 0..scenario.rounds {
        let common = Common::new(machine, scenario);
        let (mut arm, mut other) = (Side::default(), Side::default());
        add(machine, scenario, common, true, &mut arm);
        (0..scenario.copies).for_each(|_| add(machine, scenario, common, false, &mut other));
        study.arm.push(arm);
        study.other.push(other);
    }
    study
}

type Times = Vec<Vec<CountedTime>>;

fn times(sides: &[Side], of: fn(&Side) -> &Vec<f64>) -> Times {
    sides.iter().map(|side| recorded(of(side))).collect()
}

fn quiet_share(sides: &[Side]) -> f64 {
    let sum = |of: fn(&Side) -> usize| sides.iter().map(of).sum::<usize>() as f64;
    sum(|side| side.quiet.len()) / sum(|side| side.all.len())
}

/// Returns true if the check `quiet-slices` accepts the study.
fn is_accepted(study: &Study) -> bool {
    let [arm, other] = [&study.arm, &study.other].map(|sides| quiet_share(sides));
    let sides = study.arm.iter().zip(&study.other);
    let rounds: Vec<ChosenInRound> =
        sides.map(|(arm, other)| ChosenInRound { arm: arm.slices, other: other.slices }).collect();
    let dispersion = slice_dispersion(std::slice::from_ref(&rounds));
    let may_be = share_difference(&rounds, dispersion).unwrap().may_be();
    arm.min(other) >= LEAST_SHARE && (arm - other).abs() <= MOST_DIFFERENCE && may_be <= 2.0 * MOST_DIFFERENCE
}

/// The slices of both sides that a cost is taken from.
#[derive(Clone, Copy)]
struct Choice {
    arm: fn(&Side) -> &Vec<f64>,
    other: fn(&Side) -> &Vec<f64>,
}

const QUIET: Choice = Choice { arm: |side| &side.quiet, other: |side| &side.quiet };
const ALL: Choice = Choice { arm: |side| &side.all, other: |side| &side.all };
const UNHINDERED: Choice = Choice { arm: |side| &side.unhindered, other: |side| &side.unhindered };
/// Forbidden rules: slices chosen by their response times, or on one side only.
const FAST: Choice = Choice { arm: |side| &side.fast, other: |side| &side.fast };
const ONE_SIDE: Choice = Choice { arm: |side| &side.all, other: |side| &side.quiet };

/// The times of both sides by round.
struct Both {
    arm: Times,
    other: Times,
}

impl Both {
    fn new(study: &Study, choice: Choice) -> Self {
        Self { arm: times(&study.arm, choice.arm), other: times(&study.other, choice.other) }
    }

    fn rounds(&self) -> Vec<RoundTimes<'_>> {
        self.arm.iter().zip(&self.other).map(|(arm, other)| RoundTimes { arm, other }).collect()
    }

    fn cost(&self) -> Option<Interval> {
        quantile_cost(&self.rounds(), 0.99, 0.95)
    }

    fn ends(&self) -> Ends {
        quantile_cost_ends(&self.rounds(), 0.99, 0.95)
    }
}

/// The p99 of very many rounds with equal weights, as the interval has it, nanoseconds.
fn p99(sides: &[Side], of: fn(&Side) -> &Vec<f64>) -> f64 {
    let of_side = |side| {
        let times = of(side);
        let weight = 1.0 / times.len() as f64;
        times.iter().map(move |time_ns| (*time_ns, weight))
    };
    let mut all: Vec<(f64, f64)> = sides.iter().flat_map(of_side).collect();
    // Far more than the slowest hundredth.
    let slow = (0.9 * all.len() as f64) as usize;
    let (_, _, slowest) = all.select_nth_unstable_by(slow, |one, other| one.0.total_cmp(&other.0));
    slowest.sort_unstable_by(|one, other| other.0.total_cmp(&one.0));
    let beyond = 0.01 * sides.iter().filter(|side| !of(side).is_empty()).count() as f64;
    let mut sum = 0.0;
    let is_reached = |(_, weight): &&(f64, f64)| {
        sum += weight;
        sum >= beyond
    };
    slowest.iter().find(is_reached).unwrap().0
}

/// The costs of very many rounds, nanoseconds.
fn truths<const N: usize>(scenario: &Scenario, choices: [Choice; N]) -> [f64; N] {
    let long = study(&mut Machine::new(31), &Scenario { rounds: 2_000, copies: 1, ..*scenario });
    choices.map(|choice| p99(&long.arm, choice.arm) - p99(&long.other, choice.other))
}

fn holds(ends: Ends, truth: f64) -> bool {
    ends.low.is_none_or(|low| low <= truth) && ends.high.is_none_or(|high| truth <= high)
}

/// Results of the simulated studies of a scenario.
#[derive(Debug, Default)]
struct Found {
    /// Studies whose quiet slices the check accepts, of all.
    accepted: Held,
    /// Of these, whose interval of the quiet p99 cost holds what it is an estimate of.
    quiet: Held,
    /// Of these, whose interval holds the cost without any stall.
    unhindered: Held,
    /// Of these, whose bounds by order statistics of quiet slices hold what they bound.
    ends: Held,
    /// Of the refused ones, whose bounds by quiet and by all slices together hold the quiet p99 cost, and that of all slices.
    refused: Held,
    /// Half-widths of accepted quiet p99 costs, and of p99 costs in the same studies, us.
    half_widths_us: [Vec<f64>; 2],
}

fn median(values: &[f64]) -> f64 {
    hoptax_stats::median(values).unwrap_or(f64::NAN)
}

fn simulate(words: &str, scenario: &Scenario, studies: u32) -> Found {
    let [truth_of_quiet, truth_of_all, unhindered] = truths(scenario, [QUIET, ALL, UNHINDERED]);
    let mut machine = Machine::new(32);
    let mut found = Found::default();
    for _ in 0..studies {
        let study = study(&mut machine, scenario);
        let is_accepted = is_accepted(&study);
        found.accepted.add(is_accepted);
        let [of_quiet, of_all] = [QUIET, ALL].map(|choice| Both::new(&study, choice));
        let quiet = of_quiet.ends();
        if !is_accepted {
            let all = of_all.ends();
            let both = Ends {
                low: quiet.low.zip(all.low).map(|(one, other)| one.min(other)),
                high: quiet.high.zip(all.high).map(|(one, other)| one.max(other)),
            };
            found.refused.add(holds(both, truth_of_quiet) && holds(both, truth_of_all));
            continue;
        }
        found.ends.add(holds(quiet, truth_of_quiet));
        if let Some(cost) = of_quiet.cost() {
            found.quiet.add(cost.contains(truth_of_quiet));
            found.unhindered.add(cost.contains(unhindered));
            found.half_widths_us[0].push(cost.half_width() / 1e3);
            found.half_widths_us[1].extend(of_all.cost().map(|cost| cost.half_width() / 1e3));
        }
    }
    let [quiet, all] = found.half_widths_us.each_ref().map(|widths| median(widths));
    eprintln!(
        "{words}: accepted {:.0} %; quiet p99 cost {:.1} us, covered {:.1} % of {}; without stalls {:.1} us, covered {:.1} %; p99 cost \
         {:.0} us; half-widths {quiet:.1} and of all slices {all:.0} us; ends covered {:.1} % of {}; refused ones bounded {:.1} % of {}",
        found.accepted.coverage(),
        truth_of_quiet / 1e3,
        found.quiet.coverage(),
        found.quiet.studies,
        unhindered / 1e3,
        found.unhindered.coverage(),
        truth_of_all / 1e3,
        found.ends.coverage(),
        found.ends.studies,
        found.refused.coverage(),
        found.refused.studies
    );
    found
}

const STUDIES: u32 = 300;

/// Scenarios whose quiet p99 is stated, by name.
fn stated() -> Vec<(&'static str, Scenario)> {
    let with = |stalls: Stalls| Scenario { stalls, ..Scenario::LONG };
    let alike = Stalls::ALIKE;
    vec![
        ("no stalls", with(Stalls::NONE)),
        ("stalls alike, no cost", Scenario::LONG),
        ("stalls alike, a cost", Scenario { tail: 1.5, shift: 0.2, ..Scenario::LONG }),
        ("one process each", Scenario { copies: 1, tail: 1.5, ..Scenario::LONG }),
        ("the arm causes 1.3 times the stalls", with(Stalls { of_arm: 1.3, ..alike })),
        ("the same with a cost", Scenario { tail: 1.5, shift: 0.2, ..with(Stalls { of_arm: 1.3, ..alike }) }),
        ("waits show a third of a stall", with(Stalls { counted: 0.33, of_arm: 1.3, ..alike })),
        ("few long stalls", with(Stalls { per_slice: 0.03, median_ms: 12.0, ..alike })),
        ("few long stalls, three times for the arm", {
            with(Stalls { per_slice: 0.03, median_ms: 12.0, of_arm: 3.0, ..alike })
        }),
        ("stall rates vary from round to round", with(Stalls { of_rounds: 0.8, ..alike })),
        ("most stalls in a few rounds, 1.3 times for the arm, a cost", {
            let stalls = Stalls { of_rounds: 1.5, of_arm: 1.3, ..alike };
            Scenario { tail: 1.5, shift: 0.2, ..with(stalls) }
        }),
        ("waits near the limit", with(Stalls { always: (0.008, 0.002), ..alike })),
        ("many short stalls near the limit", {
            with(Stalls { per_slice: 3.0, median_ms: 0.12, spread: 0.4, always: (0.0, 0.0), ..alike })
        }),
        ("many short stalls near the limit, a tenth more for the arm", {
            with(Stalls {
                per_slice: 3.0,
                median_ms: 0.12,
                spread: 0.4,
                of_arm: 1.1,
                always: (0.0, 0.0),
                ..alike
            })
        }),
    ]
}

#[test]
fn the_quiet_p99_cost_covers_what_it_states_also_for_the_arm_that_is_hit_most() {
    let mut all = Vec::new();
    for (words, scenario) in stated() {
        let found = simulate(words, &scenario, STUDIES);
        assert!(found.quiet.studies > STUDIES / 4, "{words}: {found:?}");
        assert!((90.5..=99.5).contains(&found.quiet.coverage()), "{words}: {:?}", found.quiet);
        all.push(found.quiet.coverage());
        if scenario.stalls.counted >= 1.0 && scenario.stalls.per_slice < 1.0 {
            assert!(found.unhindered.coverage() >= 90.5, "{words}: {:?}", found.unhindered);
        }
        let is_stalled = scenario.stalls.per_slice > 0.1 && scenario.stalls.median_ms > 1.0;
        let [quiet, of_all] = found.half_widths_us.each_ref().map(|widths| median(widths));
        assert!(!is_stalled || 10.0 * quiet < of_all, "{words}: {quiet} {of_all}");
    }
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    assert!((93.0..=97.0).contains(&mean), "{mean}: {all:?}");
}

#[test]
fn bounds_from_the_quiet_slices_of_a_quick_study_hold_what_they_bound() {
    for (words, scenario) in stated() {
        let quick =
            Scenario { rounds: Scenario::QUICK.rounds, responses: Scenario::QUICK.responses, ..scenario };
        let found = simulate(&format!("quick, {words}"), &quick, STUDIES / 2);
        assert!(found.ends.coverage() >= 95.0, "{words}: {:?}", found.ends);
    }
}

#[test]
fn where_the_arm_decides_which_slices_are_quiet_the_cost_is_bounded_instead() {
    let with = |stalls: Stalls| Scenario { stalls, ..Scenario::LONG };
    let alike = Stalls::ALIKE;
    for (words, scenario) in [
        ("the arm causes twice the stalls", with(Stalls { of_arm: 2.0, ..alike })),
        ("the arm causes four times the stalls", with(Stalls { of_arm: 4.0, ..alike })),
        ("most slices hold a stall", with(Stalls { per_slice: 1.5, ..alike })),
        ("short stalls near the limit, twice for the arm", {
            with(Stalls {
                per_slice: 3.0,
                median_ms: 0.12,
                spread: 0.4,
                of_arm: 2.0,
                always: (0.0, 0.0),
                ..alike
            })
        }),
    ] {
        let found = simulate(words, &scenario, STUDIES / 2);
        assert!(found.accepted.coverage() <= 30.0, "{words}: {:?}", found.accepted);
        assert!(found.refused.coverage() >= 93.0, "{words}: {:?}", found.refused);
    }
}

#[test]
fn the_check_refuses_hardly_any_arm_that_the_machine_hits_alike() {
    for copies in [1, 2] {
        let scenario = Scenario { copies, ..Scenario::QUICK };
        let found = simulate(&format!("quick, {copies} copies"), &scenario, 2 * STUDIES);
        assert!(found.accepted.coverage() >= 95.0, "{copies}: {:?}", found.accepted);
    }
}

/// How often the interval of the cost of such slices holds the cost without stalls, percent.
fn coverage_of(choice: Choice, scenario: &Scenario) -> f64 {
    let [truth] = truths(scenario, [UNHINDERED]);
    let (mut machine, mut held) = (Machine::new(33), Held::default());
    for _ in 0..STUDIES / 4 {
        let study = study(&mut machine, scenario);
        if let Some(cost) = Both::new(&study, choice).cost() {
            held.add(cost.contains(truth));
        }
    }
    assert!(held.studies > 0, "too few responses");
    held.coverage()
}

#[test]
fn a_rule_by_response_times_or_for_one_side_loses_the_truth() {
    let scenario = Scenario { tail: 2.5, rounds: 30, ..Scenario::LONG };
    let [quiet, fast, one_side] = [QUIET, FAST, ONE_SIDE].map(|choice| coverage_of(choice, &scenario));
    eprintln!("quiet {quiet:.0} %, by response times {fast:.0} %, one side {one_side:.0} %");
    assert!(quiet >= 90.0, "{quiet}");
    assert!(fast <= 60.0 && one_side <= 60.0, "{fast} {one_side}");
}
