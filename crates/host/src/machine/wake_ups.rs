//! Wake-up latency of idle processors: of a thread woken from another processor, and of a thread woken by its own timer.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use hoptax_result::{Lateness, WakeUps};
use hoptax_stats::quantile;
use rand::RngExt;

use super::own_use::{OwnUse, add, on_each};
use crate::clock::thread_cpu_ns;
use crate::processors::set_min_timer_slack;
use crate::wake::Sleeper;

/// Interval between wake-ups from another processor, microseconds: long enough for the processor to become idle and halt. It is
/// random, to avoid synchronization with periodic activity.
const WAKE_INTERVAL_US: std::ops::Range<u64> = 400..800;
/// Length of a timer, microseconds: the gaps between requests at some thousands per second.
const TIMER_US: std::ops::Range<u64> = 100..300;
/// Share of the time for wake-ups from another processor. Timers get the rest, as they take less time each.
const BY_ANOTHER_SHARE: f64 = 0.7;

/// Measures both kinds on each of `processors`, one after the other so the rest is idle, within `time` in total. Adds the CPU time
/// used on each processor to `own`. The waking thread runs on the first other processor; with one processor, only timers are
/// measured.
pub(super) fn measure(processors: &[u32], time: Duration, own: &mut OwnUse) -> io::Result<Vec<WakeUps>> {
    let each = time / processors.len().max(1) as u32;
    let mut measured = Vec::new();
    for &processor in processors {
        let by_another = match processors.iter().find(|&&other| other != processor) {
            Some(&other) => by_another(processor, other, each.mul_f64(BY_ANOTHER_SHARE), own)?,
            None => Vec::new(),
        };
        let by_timer = by_timer(processor, each.mul_f64(1.0 - BY_ANOTHER_SHARE), own)?;
        measured.push(WakeUps {
            processor,
            by_another: lateness(&by_another),
            by_timer: lateness(&by_timer),
        });
    }
    Ok(measured)
}

/// The quantiles of samples; None without samples.
fn lateness(samples_us: &[f64]) -> Option<Lateness> {
    Some(Lateness {
        p50_us: quantile(samples_us, 0.5)?,
        p99_us: quantile(samples_us, 0.99)?,
        samples: samples_us.len() as u64,
    })
}

/// Wake-up latencies of a thread on `processor` that a thread on `waker` wakes, microseconds from the call to running.
fn by_another(processor: u32, waker: u32, time: Duration, own: &mut OwnUse) -> io::Result<Vec<f64>> {
    let until = Instant::now() + time;
    let done = on_each(&[waker], |_| {
        let mut sleeper = Sleeper::start(processor)?;
        let mut random = rand::rng();
        let mut late_us = Vec::new();
        // At least once, even if this thread started late.
        while late_us.is_empty() || Instant::now() < until {
            thread::sleep(Duration::from_micros(random.random_range(WAKE_INTERVAL_US)));
            late_us.push(sleeper.wake()?.delay_ns as f64 / 1e3);
        }
        Ok((late_us, [(processor, sleeper.end()), (waker, thread_cpu_ns())]))
    })?;
    for (processor, used_ns) in done.iter().flat_map(|(_, (_, used))| *used) {
        add(own, processor, used_ns);
    }
    Ok(done.into_iter().flat_map(|(_, (late_us, _))| late_us).collect())
}

/// Wake-up latencies of a thread on `processor` by its own timer with minimum slack, microseconds after the expiry.
fn by_timer(processor: u32, time: Duration, own: &mut OwnUse) -> io::Result<Vec<f64>> {
    let until = Instant::now() + time;
    let done = on_each(&[processor], |_| {
        set_min_timer_slack()?;
        let mut random = rand::rng();
        let mut late_us = Vec::new();
        // At least once, even if this thread started late.
        while late_us.is_empty() || Instant::now() < until {
            let length = Duration::from_micros(random.random_range(TIMER_US));
            let due = Instant::now() + length;
            thread::sleep(length);
            late_us.push(Instant::now().saturating_duration_since(due).as_secs_f64() * 1e6);
        }
        Ok((late_us, thread_cpu_ns()))
    })?;
    for (running_on, (_, cpu_ns)) in &done {
        add(own, *running_on, *cpu_ns);
    }
    Ok(done.into_iter().flat_map(|(_, (late_us, _))| late_us).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processors;

    #[test]
    fn quantiles_need_samples() {
        assert_eq!(lateness(&[]), None);
        assert_eq!(lateness(&[3.0]), Some(Lateness { p50_us: 3.0, p99_us: 3.0, samples: 1 }));
    }

    #[test]
    fn with_one_processor_only_timers_are_measured() {
        let last = *processors::allowed().unwrap().last().unwrap();
        let mut own = OwnUse::new();
        let measured = measure(&[last], Duration::from_millis(20), &mut own).unwrap();
        assert_eq!((measured.len(), measured[0].processor, measured[0].by_another), (1, last, None));
        assert!(measured[0].by_timer.is_some_and(|lateness| lateness.p50_us > 0.0));
        assert!(own[&last] > 0);
    }

    #[test]
    fn without_processors_the_result_is_empty() {
        assert_eq!(measure(&[], Duration::from_millis(20), &mut OwnUse::new()).unwrap(), []);
    }
}
