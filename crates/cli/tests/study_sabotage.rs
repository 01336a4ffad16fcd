//! Studies that are spoilt on purpose, on real Envoy: each loses the numbers that the sabotage spoils, and no other.
//!
//! What is withheld is told from what never was by computing all numbers again from the evidence in the result. So a check that
//! does not fire leaves nothing withheld, and its test fails.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hoptax_checks::judge_study;
use hoptax_functions::Catalogue;
use hoptax_host::accounting::{ProcessorTicks, processor_ticks};
use hoptax_host::processors::{self, Placement};
use hoptax_result::{Disturbance, Environment, Finding, Measure, Place, Severity, StudyResult, Verdict};
use hoptax_study::file;
use hoptax_study::plan::Plan;
use hoptax_study::record::{RoundRecord, SliceRecord};
use hoptax_study::runner::{self, Control, Earlier, Ending, Setting};
use hoptax_study::summary::{self, Conditions};
use hoptax_subject::envoy::release::Envoy;
use support::{Guarded, checked, hoptax, program, wait_until};

/// Few arms and rounds, and as many answers under the open loop as p99 needs.
const STUDY: &str = "\
name: spoilt
rounds: ROUNDS
arms: [baseline, same, lua]
loads:
  - {name: saturation, loop: closed, connections: 16, blocks: 4, slice: 70ms}
  - {name: fixed-rate, loop: open, rate: 3000, connections: 64, blocks: 3, slice: 400ms}
";

/// The fewest rounds of which intervals are stated as they are of more.
const ROUNDS: u32 = 3;

/// Two of these studies at once would spoil each other.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The processors of the generator and of the proxy, as studies take them. None where they share one, and there is nothing to
/// spoil apart.
fn placement() -> Option<Placement> {
    let placement = Placement::split(&processors::allowed().unwrap(), 1);
    if !placement.is_apart() {
        eprintln!("one processor: nothing was spoilt");
    }
    placement.is_apart().then_some(placement)
}

/// A study in a folder of its own.
struct Study {
    folder: tempfile::TempDir,
}

impl Study {
    fn new(rounds: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = STUDY.replace("ROUNDS", &rounds.to_string());
        fs::write(folder.path().join("study.yaml"), text).unwrap();
        Self { folder }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn start(&self) -> Guarded {
        let mut command = hoptax();
        command.arg("study").arg(self.folder.path().join("study.yaml")).arg("--out").arg(self.out());
        Guarded(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Waits for the end of a study, and takes its result.
    fn end(&self, mut running: Guarded) -> Spoilt {
        let ended = running.0.wait().unwrap().code();
        let text = fs::read_to_string(self.out().join("result.json")).unwrap();
        checked("study", &text);
        let result: StudyResult = serde_json::from_str(&text).unwrap();
        let expected = match (&result.plan.ended_early, result.verdict) {
            (Some(_), _) => 130,
            (None, Verdict::Void) => 4,
            (None, _) => 0,
        };
        assert_eq!(ended, Some(expected), "{:#?}", result.findings);
        Spoilt::new(result)
    }

    /// A round that is complete.
    fn round(&self, number: usize) -> Option<RoundRecord> {
        let text = fs::read_to_string(self.out().join(format!("rounds/{number}.json"))).ok()?;
        let kept: serde_json::Value = serde_json::from_str(&text).ok()?;
        Some(serde_json::from_value(kept["record"].clone()).unwrap())
    }
}

/// Where a number stands.
#[derive(Clone, Debug, PartialEq)]
struct Spot {
    arm: String,
    load: Option<String>,
    measure: Measure,
    /// The findings that take it away.
    by: Vec<String>,
}

/// The result of a spoilt study, and the numbers that it withholds.
struct Spoilt {
    result: StudyResult,
    withheld: Vec<Spot>,
}

impl Spoilt {
    fn new(mut result: StudyResult) -> Self {
        let mut evidence = result.clone();
        summary::fill(&mut evidence);
        let mut is_printed = Vec::new();
        result.for_each_number(&mut |_, number| is_printed.push(number.is_some()));
        let (mut withheld, mut printed) = (Vec::new(), is_printed.into_iter());
        evidence.for_each_number(&mut |place, number| {
            let is_printed = printed.next().unwrap();
            if number.is_some() && !is_printed {
                let by = result.findings.iter().filter(|finding| finding.takes_away(place));
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

    /// What a check takes away.
    fn withheld_by(&self, id: &str) -> Vec<&Spot> {
        self.withheld.iter().filter(|spot| spot.by.iter().any(|by| by == id)).collect()
    }

    /// A number is not printed, and this check takes it away, whatever else does on a busy machine.
    #[track_caller]
    fn withholds(&self, id: &str, arm: &str, load: &str, measure: Measure) {
        let place = Place { arm, compared_with: None, load: Some(load), measure };
        let is_taken = self.findings(id).any(|finding| finding.takes_away(&place));
        assert!(is_taken, "`{id}` does not take {measure:?} of {arm} under {load}: {:#?}", self.told());
        let mut result = self.result.clone();
        result.for_each_number(&mut |seen, number| {
            assert!(*seen != place || !number.is_some(), "{measure:?} of {arm} under {load} is printed");
        });
    }

    /// What was spent stands, with its interval: the sabotage spoils what depends on time alone. Nothing of it is taken by this
    /// check, and the costs are there but for what a machine takes that is busy or was moved besides.
    #[track_caller]
    fn keeps_what_was_spent(&self, id: &str) {
        let spent = [Measure::Cpu, Measure::OtherCpu, Measure::Memory];
        let taken: Vec<&Spot> =
            self.withheld_by(id).into_iter().filter(|spot| spent.contains(&spot.measure)).collect();
        assert!(taken.is_empty(), "{taken:#?} {:#?}", self.told());
        let mut is_there = true;
        for arm in self.result.arms.iter().filter(|arm| arm.compared_with.is_some()) {
            let cost = arm.cost.cpu_us_per_request;
            assert!(cost.is_none_or(|cost| cost.low < cost.high), "{}: {cost:?}", arm.id);
            if cost.is_none() {
                is_there = false;
                let is_noise =
                    |by: &String| ["set-aside", "same-differs", "vague-cost"].contains(&by.as_str());
                let is_it = |spot: &&Spot| spot.arm == arm.id && spot.measure == Measure::Cpu;
                let by_noise = self.withheld.iter().filter(is_it).any(|spot| spot.by.iter().any(is_noise));
                // Where so little is left that there is nothing to withhold, this finding says so.
                let is_noisy = by_noise || self.findings("set-aside").next().is_some();
                assert!(is_noisy, "{} has no cost: {:#?}", arm.id, self.told());
            }
        }
        assert!(!is_there || self.result.verdict == Verdict::Caution, "{:#?}", self.told());
        if !is_there {
            eprintln!("the machine was busy besides: {:#?}", self.told());
        }
    }

    fn told(&self) -> Vec<(&str, &str)> {
        self.result.findings.iter().map(|one| (one.id.as_str(), one.message.as_str())).collect()
    }
}

/// A thread that wants all of a processor, in the session of the test and of the study, until it is dropped.
struct Hog {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Hog {
    fn on(processor: u32) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let ended = Arc::clone(&ended);
            move || {
                processors::pin(&[processor]).unwrap();
                while !ended.load(Ordering::Relaxed) {}
            }
        });
        Self { ended, thread: Some(thread) }
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[test]
fn a_hog_on_the_generators_processor_takes_the_tails_and_no_cpu_time() {
    let _alone = alone();
    let Some(placement) = placement() else { return };
    let study = Study::new(ROUNDS);
    let hog = Hog::on(placement.caller()[0]);
    let spoilt = study.end(study.start());
    drop(hog);
    assert!(spoilt.findings("send-lag").any(|finding| finding.severity == Severity::Fail));
    spoilt.withholds("send-lag", "lua", "fixed-rate", Measure::ResponseP99);
    let others = |spot: &&Spot| {
        spot.load.as_deref() != Some("fixed-rate") || !Measure::RESPONSES.contains(&spot.measure)
    };
    assert!(!spoilt.withheld_by("send-lag").iter().any(others));
    spoilt.keeps_what_was_spent("send-lag");
}

#[test]
fn a_hog_on_the_proxys_processor_takes_rates_and_times_and_no_cpu_time() {
    let _alone = alone();
    let Some(placement) = placement() else { return };
    let study = Study::new(ROUNDS);
    let hog = Hog::on(placement.proxy[0]);
    let spoilt = study.end(study.start());
    drop(hog);
    assert!(spoilt.findings("proxy-run-delay").any(|finding| finding.severity == Severity::Fail));
    let delayed: u64 = spoilt.result.arms.iter().map(|arm| arm.slices.delayed).sum();
    assert!(delayed > 0, "slices in which the proxy waited are set aside for times and rates");
    assert!(
        spoilt.withheld_by("proxy-run-delay").iter().all(|spot| Measure::TIMED.contains(&spot.measure)),
        "{:#?}",
        spoilt.withheld
    );
    spoilt.keeps_what_was_spent("proxy-run-delay");
}

#[test]
fn a_generator_that_is_stopped_for_a_second_loses_the_slice_that_it_was_stopped_in() {
    let _alone = alone();
    let study = Study::new(1000);
    let running = study.start();
    let is_stalled = |slice: &&SliceRecord| slice.latest_own_lag_ns > 500_000_000;
    let stood_still = |record: &RoundRecord| record.slices.iter().filter(is_stalled).count();
    // Once in a round, until it fell into a slice of the open loop.
    let mut rounds: Vec<RoundRecord> = Vec::new();
    while rounds.len() < 5 || rounds.iter().map(stood_still).sum::<usize>() == 0 {
        let began = study.out().join("arms/same/admin-address");
        wait_until("a round begins", || began.exists());
        thread::sleep(Duration::from_millis(1500));
        running.signal("STOP");
        thread::sleep(Duration::from_secs(1));
        running.signal("CONT");
        let number = rounds.len();
        wait_until("the round ends", || study.round(number).is_some());
        rounds.extend(study.round(number));
        assert!(rounds.len() < 30, "it was never stopped while it was to send");
    }
    running.signal("INT");
    let spoilt = study.end(running);
    let stalled = |by: &Vec<Disturbance>| by.contains(&Disturbance::Stalled);
    let aside = spoilt.result.rounds.iter().flat_map(|round| &round.samples).map(|sample| {
        let count = sample.set_aside.iter().filter(|by| stalled(by)).count();
        assert!(count == 0 || sample.load == "fixed-rate", "a closed loop is late with nothing");
        count
    });
    assert!(aside.sum::<usize>() > 0);
    // What it did not send while it stood still is nobody's fault: no arm is said to have refused it. One that was crowded may.
    let planned: u64 = rounds
        .iter()
        .flat_map(|round| &round.slices)
        .filter(is_stalled)
        .map(|slice| slice.book.planned)
        .sum();
    let samples = spoilt.result.rounds.iter().flat_map(|round| &round.samples);
    assert!(samples.map(|sample| sample.set_aside_book.planned).sum::<u64>() >= planned);
    if spoilt.findings("proxy-run-delay").next().is_none() {
        assert_eq!(spoilt.findings("offered").count(), 0, "{:#?}", spoilt.told());
    }
    spoilt.keeps_what_was_spent("send-lag");
}

#[test]
fn timers_that_fire_at_ticks_take_the_times_of_the_open_loop() {
    let _alone = alone();
    let study = Study::new(ROUNDS);
    let mut running = study.start();
    // Stands in for a kernel whose timers fire at its tick, of which there are 250 in a second: this one may be so late with
    // those of the generator's thread.
    let slack = format!("/proc/{}/timerslack_ns", running.0.id());
    let mut was_set = false;
    while running.0.try_wait().unwrap().is_none() {
        let file = fs::OpenOptions::new().write(true).open(&slack);
        was_set |= file.and_then(|mut file| file.write_all(b"4000000")).is_ok();
        thread::sleep(Duration::from_millis(20));
    }
    // Another process's timers are for those who may change its priority.
    if !was_set {
        eprintln!("this user may not change timers: nothing was spoilt");
        return;
    }
    let spoilt = study.end(running);
    assert!(spoilt.findings("send-lag").any(|finding| finding.severity == Severity::Fail));
    spoilt.withholds("send-lag", "lua", "fixed-rate", Measure::ResponseP99);
    assert!(
        spoilt.withheld_by("send-lag").iter().all(|spot| spot.load.as_deref() == Some("fixed-rate")),
        "a closed loop sets no timers: {:#?}",
        spoilt.withheld
    );
    spoilt.keeps_what_was_spent("send-lag");
}

/// The kernel's account of a machine whose host takes a quarter of each processor for two seconds, and then nothing for two.
fn stealing() -> io::Result<Vec<(u32, ProcessorTicks)>> {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    let elapsed_ms = BEGAN.get_or_init(Instant::now).elapsed().as_millis() as u64;
    let stolen_ms = elapsed_ms / 4000 * 2000 + (elapsed_ms % 4000).min(2000);
    let mut ticks = processor_ticks()?;
    for (_, ticks) in &mut ticks {
        ticks.steal += stolen_ms / 40;
    }
    Ok(ticks)
}

/// Runs a study in this process, on a machine whose host takes what `ticks` says.
fn run_here(folder: &Path, ticks: runner::Ticks) -> StudyResult {
    let (file, positions) = file::read("spoilt", &STUDY.replace("ROUNDS", &ROUNDS.to_string())).unwrap();
    let plan = Plan::new(&file, &positions, &Catalogue::load().unwrap()).unwrap();
    let envoy = Envoy::find(None, &mut |_| {}).unwrap();
    let placement = Placement::split(&processors::allowed().unwrap(), 1);
    let setting = Setting {
        program: program(),
        envoy: &envoy,
        directory: folder,
        placement: &placement,
        spinner: None,
        ticks,
    };
    let stop = AtomicBool::new(false);
    let mut control = Control { stop: &stop, goes_on: &mut |_| true, on_event: &mut |_| {} };
    let outcome = runner::run(&plan, &setting, Earlier::default(), &mut control);
    assert!(matches!(outcome.ending, Ending::Complete), "{:?}", outcome.ending);
    let environment = Environment {
        proxy_cpus: placement.proxy.clone(),
        generator_cpus: placement.generator.clone(),
        ..Environment::default()
    };
    let conditions = Conditions { environment, ..Conditions::default() };
    let mut result = summary::summarise(&plan, &outcome.rounds, conditions);
    judge_study(&mut result);
    result
}

#[test]
fn a_host_that_steals_takes_rates_and_times_and_the_slices_that_it_stole_from() {
    let _alone = alone();
    if placement().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let spoilt = Spoilt::new(run_here(folder.path(), stealing));
    assert!(spoilt.findings("steal").any(|finding| finding.severity == Severity::Fail));
    for load in ["saturation", "fixed-rate"] {
        spoilt.withholds("steal", "lua", load, Measure::Rate);
    }
    spoilt.withholds("steal", "lua", "fixed-rate", Measure::ResponseP50);
    assert!(
        spoilt.withheld_by("steal").iter().all(|spot| Measure::TIMED.contains(&spot.measure)),
        "{:#?}",
        spoilt.withheld
    );
    let mut stolen = 0;
    for sample in spoilt.result.rounds.iter().flat_map(|round| &round.samples) {
        let slices = sample.values["steal_ticks"].iter().zip(&sample.values["wall_s"]).zip(&sample.set_aside);
        for ((ticks, wall_s), by) in slices {
            let is_stolen = ticks.unwrap() * 0.01 > 0.01 * wall_s.unwrap();
            assert_eq!(by.contains(&Disturbance::Steal), is_stolen, "{ticks:?} {wall_s:?}");
            stolen += usize::from(is_stolen);
        }
    }
    assert!(stolen > 0);
    spoilt.keeps_what_was_spent("steal");
}
