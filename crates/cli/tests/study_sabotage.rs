//! Studies that are disturbed on purpose, on real Envoy: each must withhold the affected numbers, and no others.
//!
//! To distinguish withheld numbers from missing ones, the tests recompute all numbers from the evidence in the result. If a check
//! does not fire, nothing is withheld and its test fails.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hoptax_checks::judge_study;
use hoptax_checks::thresholds::{self, Limits};
use hoptax_functions::Catalogue;
use hoptax_host::accounting::{ProcessorReading, processor_ticks};
use hoptax_host::processors::{self, Placement};
use hoptax_judge::summary::{self, Conditions};
use hoptax_plan::file;
use hoptax_plan::plan::Plan;
use hoptax_plan::record::{RoundRecord, SliceRecord};
use hoptax_result::{
    CostMeasure, Disturbance, Environment, Finding, Measure, Place, RoundMeasure, Severity, StudyResult,
    Verdict,
};
use hoptax_run::runner::{self, Control, Earlier, Ending, Setting};
use hoptax_subject::envoy::chosen::Envoys;
use hoptax_subject::envoy::release::Envoy;
use support::study::StudyFolder;
use support::{Guarded, checked, program, wait_until};

/// Few arms and rounds, and enough responses in the open loop for a p99 if its slices last [`LONG`].
const STUDY: &str = "\
name: disturbed
rounds: ROUNDS
arms: [baseline, lua]
loads:
  - {name: saturation, loop: closed, connections: 16, blocks: 4, slice: 70ms}
  - {name: fixed-rate, loop: open, rate: 3000, connections: 64, blocks: 3, slice: SLICE}
";

/// Slices of the open loop with enough responses for a p99 also if the host disturbs two thirds of them; and for a test that reads none.
const LONG: &str = "1200ms";
const SHORT: &str = "150ms";

/// The response time that `control/delay` adds at the median, us, as its known answer states it.
const DELAY_US: [f64; 2] = [900.0, 1_700.0];

/// Rounds of each study. More would narrow intervals, which no test here reads.
const ROUNDS: u32 = 3;

/// Two of these studies at once would disturb each other.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The processors of generator and proxy, as in studies. None if they share one, since they cannot be disturbed separately.
fn placement() -> Option<Placement> {
    let placement = Placement::split(&processors::allowed().unwrap(), 1);
    if !placement.is_apart() {
        eprintln!("one processor: nothing was disturbed");
    }
    placement.is_apart().then_some(placement)
}

fn text(rounds: u32, slice: &str) -> String {
    STUDY.replace("ROUNDS", &rounds.to_string()).replace("SLICE", slice)
}

/// Starts a study that may say more than fits into a pipe.
fn start(study: &StudyFolder) -> Guarded {
    Guarded(study.command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// Waits for the end of a study, and reads its result.
fn end(study: &StudyFolder, mut running: Guarded) -> Disturbed {
    let ended = running.0.wait().unwrap().code();
    let text = fs::read_to_string(study.out().join("result.json")).unwrap();
    checked("study", &text);
    let result: StudyResult = serde_json::from_str(&text).unwrap();
    let expected = match (&result.plan.ended_early, result.verdict) {
        (Some(_), _) => 130,
        (None, Verdict::Void) => 4,
        (None, _) => 0,
    };
    assert_eq!(ended, Some(expected), "{:#?}", result.findings);
    Disturbed::new(result)
}

/// A complete round.
fn round(study: &StudyFolder, number: usize) -> Option<RoundRecord> {
    let text = fs::read_to_string(study.out().join(format!("rounds/{number}.json"))).ok()?;
    let kept: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(serde_json::from_value(kept["record"].clone()).unwrap())
}

/// The place of a number in the result.
#[derive(Clone, Debug, PartialEq)]
struct Spot {
    arm: String,
    load: Option<String>,
    measure: Measure,
    /// The findings that withhold it.
    by: Vec<String>,
}

/// The result of a disturbed study, and the numbers that it withholds.
struct Disturbed {
    result: StudyResult,
    withheld: Vec<Spot>,
}

impl Disturbed {
    fn new(mut result: StudyResult) -> Self {
        let mut evidence = result.clone();
        summary::fill(&mut evidence);
        let mut is_printed = Vec::new();
        result.for_each_number(&mut |_, number| is_printed.push(number.is_some()));
        let (mut withheld, mut printed) = (Vec::new(), is_printed.into_iter());
        evidence.for_each_number(&mut |place, number| {
            let is_printed = printed.next().unwrap();
            if number.is_some() && !is_printed {
                let by = result.findings.iter().filter(|finding| finding.withholds_number(place));
                withheld.push(Spot {
                    arm: place.arm.to_owned(),
                    load: place.load.map(str::to_owned),
                    measure: place.measure,
                    by: by.map(|finding| finding.id.clone()).collect(),
                });
            }
        });
        Self { result, withheld }
    }

    fn findings(&self, id: &str) -> impl Iterator<Item = &Finding> {
        self.result.findings.iter().filter(move |finding| finding.id == id)
    }

    /// The numbers that a check withholds.
    fn withheld_by(&self, id: &str) -> Vec<&Spot> {
        self.withheld.iter().filter(|spot| spot.by.iter().any(|by| by == id)).collect()
    }

    /// Asserts that this check fails the result, and withholds only numbers for which `is_meant` is true.
    #[track_caller]
    fn fails_only(&self, id: &str, is_meant: impl Fn(&Spot) -> bool) {
        let has_failed = self.findings(id).any(|finding| finding.severity == Severity::Fail);
        assert!(has_failed, "{:#?}", self.finding_texts());
        assert!(self.withheld_by(id).into_iter().all(is_meant), "{:#?}", self.withheld);
    }

    /// Asserts that this check withholds a number; on a busy machine, other checks may too.
    #[track_caller]
    fn withholds(&self, id: &str, arm: &str, load: &str, measure: Measure) {
        let place = Place { arm, compared_with: None, load: Some(load), measure };
        let is_taken = self.findings(id).any(|finding| finding.withholds_number(&place));
        assert!(
            is_taken,
            "`{id}` does not take {measure:?} of {arm} under {load}: {:#?}",
            self.finding_texts()
        );
        let mut result = self.result.clone();
        result.for_each_number(&mut |seen, number| {
            assert!(*seen != place || !number.is_some(), "{measure:?} of {arm} under {load} is printed");
        });
    }

    /// Asserts that CPU times keep their intervals, because the disturbance affects only times. This check withholds none of them;
    /// costs are present unless the machine was busy, its processors were moved, or a disturbed generator left the two proxies idle for
    /// different shares of the time.
    #[track_caller]
    fn keeps_cpu_times(&self, id: &str) {
        let spent = [Measure::Cpu, Measure::OtherCpu, Measure::OfRounds(RoundMeasure::MEMORY)];
        let taken: Vec<&Spot> =
            self.withheld_by(id).into_iter().filter(|spot| spent.contains(&spot.measure)).collect();
        assert!(taken.is_empty(), "{taken:#?} {:#?}", self.finding_texts());
        let mut is_there = true;
        for arm in self.result.arms.iter().filter(|arm| arm.compared_with.is_some()) {
            let cost = arm.cost.cpu_us_per_request;
            assert!(cost.is_none_or(|cost| cost.low < cost.high), "{}: {cost:?}", arm.id);
            if cost.is_none() {
                is_there = false;
                let is_idle = self.findings("not-saturated").any(|one| one.arm.as_ref() == Some(&arm.id));
                let is_noise = |by: &String| match by.as_str() {
                    "set-aside" => true,
                    "unequally-busy" => is_idle,
                    _ => false,
                };
                let is_it = |spot: &&Spot| spot.arm == arm.id && spot.measure == Measure::Cpu;
                let by_noise = self.withheld.iter().filter(is_it).any(|spot| spot.by.iter().any(is_noise));
                // This finding replaces the withheld numbers if too few are left.
                let is_noisy = by_noise || self.findings("set-aside").next().is_some();
                assert!(is_noisy, "{} has no cost: {:#?}", arm.id, self.finding_texts());
            }
        }
        assert!(!is_there || self.result.verdict == Verdict::Caution, "{:#?}", self.finding_texts());
        if !is_there {
            eprintln!("the machine was busy besides: {:#?}", self.finding_texts());
        }
    }

    fn finding_texts(&self) -> Vec<(&str, &str)> {
        self.result.findings.iter().map(|one| (one.id.as_str(), one.message.as_str())).collect()
    }
}

/// Threads that use all of a processor, in the session of the test and of the study, until they are dropped.
struct Hog {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Hog {
    /// Starts threads that keep a processor busy: each makes all others on it wait longer.
    fn on(processor: u32, threads: usize) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let spin = |ended: Arc<AtomicBool>| {
            move || {
                processors::pin(&[processor]).unwrap();
                while !ended.load(Ordering::Relaxed) {}
            }
        };
        let threads = (0..threads).map(|_| thread::spawn(spin(Arc::clone(&ended)))).collect();
        Self { ended, threads }
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[test]
fn a_hog_on_the_generators_processor_withholds_tails_but_no_cpu_time() {
    let _alone = alone();
    let Some(placement) = placement() else { return };
    let folder = tempfile::tempdir().unwrap();
    // On a slow machine, the proxy alone takes as long as one thread makes the generator wait.
    let hog = Hog::on(placement.caller()[0], 3);
    let disturbed = Disturbed::new(run_here(folder.path(), &text(ROUNDS, LONG), not_stealing));
    drop(hog);
    disturbed.fails_only("send-lag", |spot| {
        spot.load.as_deref() == Some("fixed-rate") && Measure::RESPONSES.contains(&spot.measure)
    });
    disturbed.withholds("send-lag", "lua", "fixed-rate", Measure::ResponseP99);
    disturbed.keeps_cpu_times("send-lag");
}

#[test]
fn a_hog_on_the_proxys_processor_withholds_rates_and_times_but_no_cpu_time() {
    let _alone = alone();
    let Some(placement) = placement() else { return };
    let study = StudyFolder::new(&text(ROUNDS, SHORT));
    let hog = Hog::on(placement.proxy[0], 1);
    let disturbed = end(&study, start(&study));
    drop(hog);
    disturbed.fails_only("proxy-run-delay", |spot| Measure::TIMED.contains(&spot.measure));
    let delayed: u64 = disturbed.result.arms.iter().map(|arm| arm.slices.delayed).sum();
    assert!(delayed > 0, "slices in which the proxy waited are set aside for times and rates");
    disturbed.keeps_cpu_times("proxy-run-delay");
}

/// CPU account of a machine whose host alternately steals a quarter of each processor for two seconds and nothing for two.
fn stealing() -> io::Result<Vec<ProcessorReading>> {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    let elapsed_ms = BEGAN.get_or_init(Instant::now).elapsed().as_millis() as u64;
    let stolen_ms = elapsed_ms / 4000 * 2000 + (elapsed_ms % 4000).min(2000);
    let mut ticks = processor_ticks()?;
    for reading in &mut ticks {
        reading.ticks.steal += stolen_ms / 40;
    }
    Ok(ticks)
}

/// CPU account of this machine, as if its host stole nothing. Where it steals, slices are set aside for that, and of an arm without any other
/// there is no number that a hog could take.
fn not_stealing() -> io::Result<Vec<ProcessorReading>> {
    let mut ticks = processor_ticks()?;
    for reading in &mut ticks {
        reading.ticks.steal = 0;
    }
    Ok(ticks)
}

/// Runs a study in this process, on a machine with the CPU account `ticks`.
fn run_here(folder: &Path, text: &str, ticks: runner::Ticks) -> StudyResult {
    let (file, positions) = file::read("disturbed", text).unwrap();
    let plan = Plan::new(&file, &positions, Catalogue::load().unwrap()).unwrap();
    let envoys = Envoys::only(Envoy::usual().unwrap());
    let placement = Placement::split(&processors::allowed().unwrap(), 1);
    let setting = Setting {
        program: program(),
        envoys: &envoys,
        directory: folder,
        folder,
        placement: &placement,
        awake: None,
        ticks,
    };
    let stop = AtomicBool::new(false);
    let mut control = Control { stop: &stop, should_continue: &mut |_| true, on_event: &mut |_| {} };
    let outcome = runner::run(&plan, &setting, Earlier::default(), &mut control);
    assert!(matches!(outcome.ending, Ending::Complete), "{:?}", outcome.ending);
    let environment = Environment {
        proxy_cpus: placement.proxy.clone(),
        generator_cpus: placement.generator.clone(),
        ..Environment::default()
    };
    let quiet_wait_share = Some(thresholds::QUIET_WAIT.default);
    let conditions = Conditions { environment, quiet_wait_share, ..Conditions::default() };
    let mut result = summary::summarise(&plan, &outcome.rounds, conditions);
    judge_study(&mut result, &Limits::default());
    result
}

/// Three more disturbances, and the truth of the bounds of a disturbed study: `make test-long`.
///
/// Their guards in `make test`: the checks fire on modified results (`crates/checks/src/study`), the two hogs above, and the simulated
/// coverage of bounds (`crates/stats/tests/bound_coverage.rs`). Of a stopped generator: a load states its lag (`sabotage.rs`), and a round the
/// lag of its slices (`crates/run/src/runner/meter/tests.rs`); such slices are set aside (`crates/plan/src/disturbance.rs`), measured again
/// (`crates/run/src/runner/host_waits.rs`), and count for nothing (`crates/judge/src/summary/tests.rs`).
mod long {
    use super::*;

    #[test]
    #[ignore = "takes minutes: run by `make test-long`"]
    fn a_generator_stopped_for_a_second_loses_only_that_slice() {
        let _alone = alone();
        let study = StudyFolder::new(&text(1000, SHORT));
        let running = start(&study);
        let is_stalled = |slice: &&SliceRecord| slice.latest_own_lag_ns > 500_000_000;
        let stood_still = |record: &RoundRecord| record.slices.iter().filter(is_stalled).count();
        // Once per round, until it hits a slice of either loop.
        let mut rounds: Vec<RoundRecord> = Vec::new();
        while rounds.len() < ROUNDS as usize || rounds.iter().map(stood_still).sum::<usize>() == 0 {
            let began = study.out().join("arms/lua/admin-address");
            wait_until("a round begins", || began.exists());
            thread::sleep(Duration::from_millis(1500));
            running.signal("STOP");
            thread::sleep(Duration::from_secs(1));
            running.signal("CONT");
            let number = rounds.len();
            wait_until("the round ends", || round(&study, number).is_some());
            rounds.extend(round(&study, number));
            assert!(rounds.len() < 30, "it was never stopped while it was to send");
        }
        running.signal("INT");
        let disturbed = end(&study, running);
        let stalled = |by: &Vec<Disturbance>| by.contains(&Disturbance::Stalled);
        let aside = disturbed
            .result
            .rounds
            .iter()
            .flat_map(|round| &round.samples)
            .map(|sample| sample.set_aside.iter().filter(|by| stalled(by)).count());
        assert!(aside.sum::<usize>() >= rounds.iter().map(stood_still).sum());
        // Requests not sent during the stop must not count as refused by an arm. A crowded arm may still have refused some.
        let planned: u64 = rounds
            .iter()
            .flat_map(|round| &round.slices)
            .filter(is_stalled)
            .map(|slice| slice.book.planned)
            .sum();
        let samples = disturbed.result.rounds.iter().flat_map(|round| &round.samples);
        assert!(samples.map(|sample| sample.set_aside_book.planned).sum::<u64>() >= planned);
        if disturbed.findings("proxy-run-delay").next().is_none() {
            assert_eq!(disturbed.findings("offered").count(), 0, "{:#?}", disturbed.finding_texts());
        }
        disturbed.keeps_cpu_times("send-lag");
    }

    #[test]
    #[ignore = "takes minutes: run by `make test-long`"]
    fn timers_that_fire_at_ticks_withhold_times_of_the_open_loop() {
        let _alone = alone();
        let study = StudyFolder::new(&text(ROUNDS, LONG));
        let mut running = start(&study);
        // Simulates a kernel whose timers fire at its tick of 250 Hz: this kernel may be that late with the timers of the
        // generator's thread.
        let threads = format!("/proc/{}/task", running.0.id());
        let mut was_set = false;
        while running.0.try_wait().unwrap().is_none() {
            for thread in fs::read_dir(&threads).into_iter().flatten().flatten() {
                let slack = Path::new("/proc").join(thread.file_name()).join("timerslack_ns");
                let file = fs::OpenOptions::new().write(true).open(slack);
                was_set |= file.and_then(|mut file| file.write_all(b"4000000")).is_ok();
            }
            thread::sleep(Duration::from_millis(20));
        }
        // Setting the timer slack of another process requires the privilege to change its priority.
        if !was_set {
            eprintln!("this user may not change timers: nothing was disturbed");
            return;
        }
        let disturbed = end(&study, running);
        // A closed loop sets no timers.
        disturbed.fails_only("send-lag", |spot| spot.load.as_deref() == Some("fixed-rate"));
        disturbed.withholds("send-lag", "lua", "fixed-rate", Measure::ResponseP99);
        disturbed.keeps_cpu_times("send-lag");
    }

    /// The truth is held out: a second copy of plain proxying costs nothing, and a proxy that waits costs its wait at the median. The hog
    /// takes time from the generator and from the origins of all arms alike.
    #[test]
    #[ignore = "takes minutes: run by `make test-long`"]
    fn bounds_of_a_study_beside_a_hog_hold_known_answers() {
        let _alone = alone();
        let Some(placement) = placement() else { return };
        let study = text(ROUNDS, LONG).replace("[baseline, lua]", "[baseline, same, control/delay]");
        let study = StudyFolder::new(&study);
        let hog = Hog::on(placement.caller()[0], 1);
        let disturbed = end(&study, start(&study));
        drop(hog);
        let [p50, p90, p99, quiet_p99] = [
            CostMeasure::ResponseP50Us,
            CostMeasure::ResponseP90Us,
            CostMeasure::ResponseP99Us,
            CostMeasure::ResponseQuietP99Us,
        ];
        let truths = [
            ("same", p50, [0.0, 0.0]),
            ("same", p90, [0.0, 0.0]),
            ("same", p99, [0.0, 0.0]),
            ("same", quiet_p99, [0.0, 0.0]),
            ("control/delay", p50, DELAY_US),
        ];
        let mut bounded = 0;
        for (name, measure, [least, most]) in truths {
            let arm = disturbed.result.arms.iter().find(|arm| arm.id == name).unwrap();
            let Some(bound) = arm.bounds.cost(measure) else { continue };
            bounded += 1;
            let holds =
                bound.low.is_none_or(|low| low <= most) && bound.high.is_none_or(|high| high >= least);
            assert!(holds, "{name}: {bound:?} {:#?}", disturbed.finding_texts());
        }
        assert!(bounded > 0, "nothing is only bounded: {:#?}", disturbed.finding_texts());
    }

    #[test]
    #[ignore = "takes minutes: run by `make test-long`"]
    fn a_stealing_host_withholds_rates_and_times_and_sets_its_slices_aside() {
        let _alone = alone();
        if placement().is_none() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let disturbed = Disturbed::new(run_here(folder.path(), &text(ROUNDS, SHORT), stealing));
        disturbed.fails_only("steal", |spot| Measure::TIMED.contains(&spot.measure));
        for load in ["saturation", "fixed-rate"] {
            disturbed.withholds("steal", "lua", load, Measure::Rate);
        }
        disturbed.withholds("steal", "lua", "fixed-rate", Measure::ResponseP50);
        let mut stolen = 0;
        for sample in disturbed.result.rounds.iter().flat_map(|round| &round.samples) {
            let slices =
                sample.values["steal_ticks"].iter().zip(&sample.values["wall_s"]).zip(&sample.set_aside);
            for ((ticks, wall_s), by) in slices {
                let is_stolen = ticks.unwrap() * 0.01 > 0.01 * wall_s.unwrap();
                assert_eq!(by.contains(&Disturbance::Steal), is_stolen, "{ticks:?} {wall_s:?}");
                stolen += usize::from(is_stolen);
            }
        }
        assert!(stolen > 0);
        disturbed.keeps_cpu_times("steal");
    }
}
