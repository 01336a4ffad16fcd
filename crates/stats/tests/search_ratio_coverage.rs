//! Coverage of the interval of the ratio of two subjects, over simulated studies: several repetitions of a search on each,
//! side by side.

use std::time::Duration;

use hoptax_stats::search::{Criterion, Limits, Measured, Planned, Repetition, Sample, Share, Step};
use hoptax_stats::{RatioRound, ratio_over_rounds};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Poisson, StandardNormal};

const CONFIDENCE: f64 = 0.95;
const ROUNDS: usize = 6;
const WIDTH: f64 = 0.04;
const WINDOWS: usize = 100;
/// Simulated studies for each share of intervals that contain the truth. If the share is 95 %, fewer than 92 % of 500 contain it with a
/// probability of 0.2 %.
const STUDIES: u64 = 500;

const P99: Criterion = Criterion::Late { permitted: 0.01, limit: Duration::from_millis(5) };

/// Way in which a subject fails.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Everything beyond the capacity is late.
    Sharp,
    /// The share of late requests grows with this power of the load, and they come in groups of ten.
    Gradual(f64),
}

impl Kind {
    /// A trial of a subject whose p99 just holds at a capacity.
    fn trial(self, planned: &Planned, capacity: f64, random: &mut SmallRng) -> Sample {
        const GROUP: f64 = 10.0;
        let planned_in = planned.load * planned.duration.as_secs_f64() / WINDOWS as f64;
        let mut lost = || match self {
            Self::Sharp if planned.load <= capacity => 0.0,
            Self::Sharp => 0.5 * planned_in,
            Self::Gradual(power) => {
                let part = (0.01 * (planned.load / capacity).powf(power)).min(0.9);
                let groups: f64 = Poisson::new(part * planned_in / GROUP).unwrap().sample(random);
                (groups * GROUP).min(planned_in)
            }
        };
        let windows: Vec<Share> = (0..WINDOWS).map(|_| Share { lost: lost(), planned: planned_in }).collect();
        let sum = |of: fn(&Share) -> f64| windows.iter().map(of).sum();
        Sample::Share { all: Share { lost: sum(|one| one.lost), planned: sum(|one| one.planned) }, windows }
    }
}

#[derive(Clone, Copy, Debug)]
struct Study {
    kinds: [Kind; 2],
    /// Standard deviations of the logarithm of the capacity: of each process until it is started again, and of the machine from
    /// round to round.
    level: f64,
    drift: f64,
    /// True if each repetition moves its loads by a random part of the width.
    is_dithered: bool,
}

const STEADY: Study = Study { kinds: [Kind::Sharp; 2], level: 0.0, drift: 0.0, is_dithered: true };
const RESTLESS: Study = Study { level: 0.01, drift: 0.05, ..STEADY };

/// The numbers of the rounds of a study of subjects with these capacities.
fn rounds(study: &Study, capacities: [f64; 2], random: &mut SmallRng) -> Vec<RatioRound> {
    let normal = |random: &mut SmallRng, deviation: f64| -> f64 {
        let drawn: f64 = StandardNormal.sample(random);
        (drawn * deviation).exp()
    };
    let near =
        capacities.map(|capacity| capacity * random.random_range(1.0 - WIDTH / 2.0..1.0 + WIDTH / 2.0));
    let round = |_| {
        let machine = normal(random, study.drift);
        let mut found = [None; 2];
        for (subject, found) in found.iter_mut().enumerate() {
            let capacity = capacities[subject] * machine * normal(random, study.level);
            let part = if study.is_dithered { random.random() } else { 0.5 };
            let limits = Limits { width: WIDTH, ..Limits::new(1.0, 1e9) };
            let mut repetition = Repetition::new(&[P99], near[subject], 1e9, part, limits).unwrap();
            while let Step::Trial(planned) = repetition.next() {
                let samples = Some(vec![study.kinds[subject].trial(&planned, capacity, random)]);
                repetition.record(&planned, Measured { took: planned.duration, samples });
            }
            *found = repetition.load();
        }
        Some(RatioRound { reference: found[0]?, value: found[1]? })
    };
    (0..ROUNDS).filter_map(round).collect()
}

/// The share of the studies whose interval contains the truth, and the median half-width of the intervals, as a share of the ratio.
fn worth(study: &Study) -> (f64, f64) {
    let mut half_widths = Vec::new();
    let mut covered = 0.0;
    for seed in 0..STUDIES {
        let mut random = SmallRng::seed_from_u64(seed);
        let first: f64 = random.random_range(5_000.0..15_000.0);
        let truth: f64 = random.random_range(0.4..2.5);
        let rounds = rounds(study, [first, first * truth], &mut random);
        assert!(rounds.len() + 1 >= ROUNDS, "{study:?}: {rounds:?}");
        let ratio = ratio_over_rounds(&rounds, CONFIDENCE).unwrap();
        covered += f64::from(u8::from(ratio.low <= truth && truth <= ratio.high));
        half_widths.push((ratio.high / ratio.low).ln() / 2.0);
    }
    half_widths.sort_by(f64::total_cmp);
    let found = (covered / STUDIES as f64, half_widths[half_widths.len() / 2]);
    eprintln!("{study:?}: {:.1} %, half-width {:.2} %", 100.0 * found.0, 100.0 * found.1);
    found
}

const PAIRS: [[Kind; 2]; 4] = [
    [Kind::Sharp; 2],
    [Kind::Gradual(16.0); 2],
    [Kind::Sharp, Kind::Gradual(16.0)],
    [Kind::Gradual(5.0), Kind::Gradual(30.0)],
];

#[test]
fn intervals_of_steady_servers_contain_the_ratio_however_they_fail() {
    for kinds in PAIRS {
        let (covered, half_width) = worth(&Study { kinds, ..STEADY });
        assert!(covered >= 0.92 && half_width < 0.03, "{kinds:?}: {covered} {half_width}");
    }
}

#[test]
fn intervals_contain_the_ratio_while_processes_have_levels_and_the_machine_drifts() {
    for kinds in PAIRS {
        let (covered, half_width) = worth(&Study { kinds, ..RESTLESS });
        assert!(covered >= 0.92 && half_width < 0.04, "{kinds:?}: {covered} {half_width}");
    }
}

#[test]
fn without_the_random_part_of_the_width_few_intervals_of_steady_servers_contain_the_ratio() {
    let (covered, _) = worth(&Study { is_dithered: false, ..STEADY });
    assert!(covered < 0.05, "{covered}");
}
