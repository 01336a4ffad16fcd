//! The speeds of a machine: its time for the elementary operations that make up the cost of a function.
//!
//! The cost of a function on one machine predicts little about another: computation may be a fifth slower there while a system call takes
//! three times as long. Each kind of work is therefore measured by itself, on the processor that a study would give to the proxy.
//!
//! The kinds alternate in bursts of some milliseconds, in random order, so that drift of the machine and disturbances affect all of them
//! alike. The value of a repetition is the median of its bursts, and the interval is Student's over the repetitions, as everywhere in
//! hoptax. It is valid for this run; a virtual machine that is migrated may have another speed an hour later.

mod compute;
mod kernel;
mod wake;
mod wide;
mod work;

use std::any::Any;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use hoptax_host::processors::{self, Placement};
use hoptax_result::{Interval, MachineSpeeds, Speed};
use hoptax_stats::{mean_over_rounds, median};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use super::error::CalibrateError;
use work::Work;

/// Number of repetitions for an interval.
const REPETITIONS: usize = 10;
/// Bursts per repetition, whose median is used.
const BURSTS: f64 = 7.0;
const CONFIDENCE: f64 = 0.95;

/// Keeps these processors awake until the returned value is dropped.
pub type KeepAwake<'a> = &'a (dyn Fn(&[u32]) -> io::Result<Box<dyn Any>> + Sync);

/// Measures the speeds of this machine, in about twelve seconds times `factor`.
///
/// Work runs on the first processor of `placement.proxy`; threads that are woken sleep on the first of
/// `placement.generator`. If the two are the same, wake-ups are not measured. `keep_awake` keeps processors from
/// sleeping; if given, wake-ups are measured a second time under it.
///
/// # Errors
/// When a processor may not be used, when the kernel refuses a socket, a pipe or a timer, and when interrupted.
pub fn speeds(
    placement: &Placement,
    factor: f64,
    seed: u64,
    keep_awake: Option<KeepAwake<'_>>,
    stop: &AtomicBool,
) -> Result<MachineSpeeds, CalibrateError> {
    let (Some(&own), Some(&other)) = (placement.proxy.first(), placement.generator.first()) else {
        return Err(io::Error::other("no processor to measure on").into());
    };
    // On its own thread, which is pinned.
    thread::scope(|scope| {
        let measured = scope.spawn(|| {
            processors::pin(&[own])?;
            measure(own, (own != other).then_some(other), factor, seed, keep_awake, stop)
        });
        measured.join().map_err(|_| io::Error::other("the thread that measures speeds has ended"))?
    })
}

fn measure(
    own: u32,
    other: Option<u32>,
    factor: f64,
    seed: u64,
    keep_awake: Option<KeepAwake<'_>>,
    stop: &AtomicBool,
) -> Result<MachineSpeeds, CalibrateError> {
    let began = Instant::now();
    let bursts = (BURSTS * factor).round().max(1.0) as usize;
    let mut random = SmallRng::seed_from_u64(seed);
    let mut works = compute::works()?;
    works.push(wide::work());
    works.extend(kernel::works(own)?);
    if let Some(other) = other {
        works.extend(wake::works(other)?);
    }
    works.sort_by_key(|work| work.kind);
    works.iter_mut().try_for_each(Work::size)?;
    let usual = alternate(&mut works, bursts, &mut random, stop)?;
    let mut speeds: Vec<Speed> = works
        .iter()
        .zip(usual)
        .map(|(work, ns)| Speed {
            kind: work.kind,
            operation: work.operation.to_owned(),
            side: work.side,
            ns,
            never_halted_ns: None,
        })
        .collect();
    drop(works);
    if let (Some(keep_awake), Some(other)) = (keep_awake, other) {
        let _awake = keep_awake(&[own, other])?;
        let mut works = wake::works(other)?;
        works.iter_mut().try_for_each(Work::size)?;
        let awake = alternate(&mut works, bursts, &mut random, stop)?;
        for (work, ns) in works.iter().zip(awake) {
            if let Some(speed) = speeds.iter_mut().find(|speed| speed.kind == work.kind) {
                speed.never_halted_ns = Some(ns);
            }
        }
    }
    Ok(MachineSpeeds {
        speeds,
        repetitions: REPETITIONS as u32,
        bursts: bursts as u32,
        length_s: began.elapsed().as_secs_f64(),
    })
}

/// Alternates between all works, and returns the time of one operation of each, nanoseconds.
fn alternate(
    works: &mut [Work],
    bursts: usize,
    random: &mut SmallRng,
    stop: &AtomicBool,
) -> Result<Vec<Interval>, CalibrateError> {
    let mut order: Vec<usize> = (0..works.len()).collect();
    let mut repetitions = vec![Vec::new(); works.len()];
    for _ in 0..REPETITIONS {
        let mut found = vec![Vec::new(); works.len()];
        for _ in 0..bursts {
            order.shuffle(random);
            for &index in &order {
                if stop.load(Ordering::Relaxed) {
                    return Err(CalibrateError::Interrupted);
                }
                found[index].push(works[index].burst_ns()?);
            }
        }
        for (repetitions, bursts) in repetitions.iter_mut().zip(&found) {
            repetitions.extend(median(bursts));
        }
    }
    let interval = |repetitions: &Vec<f64>| {
        mean_over_rounds(repetitions, CONFIDENCE)
            .ok_or_else(|| io::Error::other("the measured times give no interval").into())
    };
    repetitions.iter().map(interval).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hoptax_result::SpeedKind;
    use hoptax_result::SpeedSide;
    use std::sync::LazyLock;
    use std::time::Duration;

    fn here() -> Placement {
        Placement::split(&processors::allowed().unwrap(), 1)
    }

    /// Measured once for two tests: each kind takes as long again.
    static FOUND: LazyLock<MachineSpeeds> = LazyLock::new(|| {
        let keep_awake = |processors: &[u32]| -> io::Result<Box<dyn Any>> {
            assert_eq!(processors.len(), 2);
            Ok(Box::new(()))
        };
        speeds(&here(), 0.1, 1, Some(&keep_awake), &AtomicBool::new(false)).unwrap()
    });

    fn fixed(ns: impl Fn(u64) -> f64 + Send + 'static) -> Work {
        let mut number = 0;
        Work::new(SpeedKind::Match, SpeedSide::User, "", move |count| {
            number += 1;
            Ok(Duration::from_nanos((ns(number) * count as f64) as u64))
        })
    }

    #[test]
    fn a_disturbed_burst_does_not_change_the_result() {
        let disturbed = |number: u64| if number.is_multiple_of(5) { 9_000.0 } else { 100.0 };
        let mut works = [fixed(disturbed), fixed(|_| 250.0)];
        let mut random = SmallRng::seed_from_u64(1);
        let found = alternate(&mut works, 7, &mut random, &AtomicBool::new(false)).unwrap();
        let expected = [100.0, 250.0].map(|ns| Interval::new(ns, ns, ns));
        assert_eq!(found, expected);
    }

    #[test]
    fn every_kind_is_measured() {
        assert!(FOUND.speeds.iter().all(|speed| speed.ns.estimate > 0.0), "{:#?}", *FOUND);
    }

    #[test]
    fn larger_operations_take_longer() {
        let mut works = compute::works().unwrap();
        works.extend(kernel::works(processors::allowed().unwrap()[0]).unwrap());
        works.iter_mut().try_for_each(Work::size).unwrap();
        let pairs = [
            [SpeedKind::SystemCall, SpeedKind::Pipe],
            [SpeedKind::Pipe, SpeedKind::Switch],
            [SpeedKind::NearLoad, SpeedKind::FarLoad],
            [SpeedKind::Digest, SpeedKind::Signature],
        ];
        for pair in pairs {
            // Other tests take the caches, so the burst of each that was disturbed least is compared.
            let mut least_ns = [f64::MAX; 2];
            for _ in 0..40 {
                for (least_ns, kind) in least_ns.iter_mut().zip(pair) {
                    let work = works.iter_mut().find(|work| work.kind == kind).unwrap();
                    *least_ns = least_ns.min(work.burst_ns().unwrap());
                }
            }
            assert!(least_ns[0] < least_ns[1], "{pair:?}: {least_ns:?}");
        }
    }

    #[test]
    fn wake_ups_are_also_measured_with_processors_kept_awake() {
        let awake: Vec<SpeedKind> = FOUND
            .speeds
            .iter()
            .filter(|speed| speed.never_halted_ns.is_some())
            .map(|speed| speed.kind)
            .collect();
        let expected: &[SpeedKind] =
            if here().is_apart() { &[SpeedKind::Wake, SpeedKind::WakeDelay] } else { &[] };
        assert_eq!(awake, expected);
    }

    #[test]
    fn wake_ups_are_not_measured_on_a_single_processor() {
        let own = *processors::allowed().unwrap().last().unwrap();
        let alone = Placement { proxy: vec![own], generator: vec![own] };
        let found = speeds(&alone, 0.1, 1, None, &AtomicBool::new(false)).unwrap();
        let has = |kind| found.speeds.iter().any(|speed| speed.kind == kind);
        assert!(!has(SpeedKind::Wake) && has(SpeedKind::Switch));
    }

    #[test]
    fn the_stop_flag_interrupts_the_measurement() {
        let found = speeds(&here(), 1.0, 1, None, &AtomicBool::new(true));
        assert!(matches!(found, Err(CalibrateError::Interrupted)));
    }
}
