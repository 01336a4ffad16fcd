//! How late tasks wake on processors that were idle: called by a task elsewhere, and by their own timer.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use hoptax_result::{Lateness, WakeUps};
use hoptax_stats::quantile;
use rand::RngExt;

use super::{OwnUse, add, on_each};
use crate::clock::thread_cpu_ns;
use crate::processors::set_min_timer_slack;
use crate::wake::Sleeper;

/// Between two calls, microseconds: long enough for a processor to go idle and be halted. Drawn, so that no period of the machine
/// is hit in step.
const CALLED_AFTER_US: std::ops::Range<u64> = 400..800;
/// How long a timer is set, microseconds: the gaps of requests at some thousands a second.
const TIMER_US: std::ops::Range<u64> = 100..300;
/// What calls get of the time; timers get the rest, for they need less.
const CALLS_SHARE: f64 = 0.7;

/// Measures both on each of `processors`, one after the other so that the others are idle, in `time` altogether. Adds what that
/// used of each processor to `own`. A processor is called from the first other one; where there is none it is not called.
pub(super) fn measure(processors: &[u32], time: Duration, own: &mut OwnUse) -> io::Result<Vec<WakeUps>> {
    let each = time / processors.len().max(1) as u32;
    let mut measured = Vec::new();
    for &processor in processors {
        let by_another = match processors.iter().find(|&&other| other != processor) {
            Some(&other) => called(processor, other, each.mul_f64(CALLS_SHARE), own)?,
            None => Vec::new(),
        };
        let by_timer = timed(processor, each.mul_f64(1.0 - CALLS_SHARE), own)?;
        measured.push(WakeUps {
            processor,
            by_another: lateness(&by_another),
            by_timer: lateness(&by_timer),
        });
    }
    Ok(measured)
}

/// None without samples.
fn lateness(samples_us: &[f64]) -> Option<Lateness> {
    Some(Lateness {
        p50_us: quantile(samples_us, 0.5)?,
        p99_us: quantile(samples_us, 0.99)?,
        samples: samples_us.len() as u64,
    })
}

/// Wake-ups of a thread on `processor` that sleeps until one on `caller` calls it, microseconds from call to running.
fn called(processor: u32, caller: u32, time: Duration, own: &mut OwnUse) -> io::Result<Vec<f64>> {
    let until = Instant::now() + time;
    let done = on_each(&[caller], |_| {
        let mut sleeper = Sleeper::start(processor)?;
        let mut random = rand::rng();
        let mut late_us = Vec::new();
        // Once at least, however late this thread began.
        while late_us.is_empty() || Instant::now() < until {
            thread::sleep(Duration::from_micros(random.random_range(CALLED_AFTER_US)));
            late_us.push(sleeper.wake()?.delay_ns as f64 / 1e3);
        }
        Ok((late_us, [(processor, sleeper.end()), (caller, thread_cpu_ns())]))
    })?;
    add(own, done.iter().flat_map(|(_, (_, used_ns))| *used_ns));
    Ok(done.into_iter().flat_map(|(_, (late_us, _))| late_us).collect())
}

/// Wake-ups of a thread on `processor` by its own timer, with the least slack, microseconds after it fell due.
fn timed(processor: u32, time: Duration, own: &mut OwnUse) -> io::Result<Vec<f64>> {
    let until = Instant::now() + time;
    let done = on_each(&[processor], |_| {
        set_min_timer_slack()?;
        let mut random = rand::rng();
        let mut late_us = Vec::new();
        while Instant::now() < until {
            let length = Duration::from_micros(random.random_range(TIMER_US));
            let due = Instant::now() + length;
            thread::sleep(length);
            late_us.push(Instant::now().saturating_duration_since(due).as_secs_f64() * 1e6);
        }
        Ok((late_us, thread_cpu_ns()))
    })?;
    add(own, done.iter().map(|(running_on, (_, cpu_ns))| (*running_on, *cpu_ns)));
    Ok(done.into_iter().flat_map(|(_, (late_us, _))| late_us).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processors;

    #[test]
    fn without_samples_nothing_is_said() {
        assert_eq!(lateness(&[]), None);
        assert_eq!(lateness(&[3.0]), Some(Lateness { p50_us: 3.0, p99_us: 3.0, samples: 1 }));
    }

    #[test]
    fn a_single_processor_is_not_called_and_its_timers_are_measured() {
        let last = *processors::allowed().unwrap().last().unwrap();
        let mut own = OwnUse::new();
        let measured = measure(&[last], Duration::from_millis(20), &mut own).unwrap();
        assert_eq!((measured.len(), measured[0].processor, measured[0].by_another), (1, last, None));
        assert!(measured[0].by_timer.is_some_and(|lateness| lateness.p50_us > 0.0));
        assert!(own[&last] > 0);
    }

    #[test]
    fn without_processors_there_is_nothing_to_measure() {
        assert_eq!(measure(&[], Duration::from_millis(20), &mut OwnUse::new()).unwrap(), []);
    }
}
