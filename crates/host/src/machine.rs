//! A probe of the machine before a measurement. It takes about three seconds.
//!
//! It measures the properties that can void a study: wake-up latency of idle processors, halted and kept from halting;
//! the handover time between processors; steal, run delay and the use of the processors by others. [`judgement`] draws
//! the conclusions.

pub mod judgement;
mod own_use;
mod wake_ups;

use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use hoptax_result::{MachineProbe, UsedByOthers};
use hoptax_stats::median;

use crate::accounting::{ProcessorReading, TaskUse, ThreadAccount, processor_ticks, ticks_between};
use crate::awake::Awake;
use crate::clock;
use crate::handover::HandoverProbe;
use crate::processors::Placement;
use own_use::{OwnUse, add, on_each};

/// Maximum number of probed processors. With more, each would get too few wake-ups in the available time.
const MAX_PROCESSORS: usize = 8;
/// Time to measure wake-ups, once with halting processors and once without.
const WAKE_UPS_TIME: Duration = Duration::from_millis(1_200);
/// Time during which a thread keeps each processor busy.
const BUSY_TIME: Duration = Duration::from_millis(300);
/// Share of these times in a brief probe.
const BRIEF_SHARE: f64 = 0.2;
/// Readings of the handover; the result is their median.
const HANDOVER_READINGS: usize = 21;

/// Probes the processors of `placement`: at most [`MAX_PROCESSORS`], beginning with the first of the proxy and the first of the
/// generator. Takes about three seconds, during which no part of a study may run. It starts its own threads and does not pin the
/// calling one.
///
/// If the processors cannot be kept from halting, or the kernel does not report a clock source, the result says so. With one processor,
/// values that need two are None.
///
/// # Errors
/// If a processor of the placement is unavailable, a thread cannot be started, or `/proc` is missing.
pub fn probe(placement: &Placement) -> io::Result<MachineProbe> {
    probe_for(placement, 1.0, |processors| Some(Awake::start(processors)))
}

/// The same probe in half a second, for measurements that take only seconds. Medians are reliable; 99th percentiles rest on a few wake-ups,
/// and the use by others is accurate to some percent. Processors that never halt are measured only with a latency request: no measurement
/// chooses a spinner by itself ([`judgement::should_never_halt`]), and a spinner takes all of their time.
///
/// # Errors
/// As [`probe`].
pub fn probe_briefly(placement: &Placement) -> io::Result<MachineProbe> {
    probe_for(placement, BRIEF_SHARE, |_| Awake::by_request().map(Ok))
}

/// `awake` keeps processors from halting; None if only halting processors are measured.
fn probe_for(
    placement: &Placement,
    part: f64,
    awake: impl FnOnce(&[u32]) -> Option<io::Result<Awake>>,
) -> io::Result<MachineProbe> {
    let began = Instant::now();
    let probed = probed(placement);
    let first_ticks = processor_ticks()?;
    let clock_read_ns = clock::quality().reading_ns;

    let mut own = OwnUse::new();
    let halting = wake_ups::measure(&probed, WAKE_UPS_TIME.mul_f64(part), &mut own)?;
    let busy_from = processor_ticks()?;
    let (never_halted, never_halted_by, never_halted_refused) = match awake(&probed) {
        Some(Ok(awake)) => {
            let never_halted = wake_ups::measure(&probed, WAKE_UPS_TIME.mul_f64(part), &mut own)?;
            for (processor, used_ns) in awake.cpu_ns()? {
                add(&mut own, processor, used_ns);
            }
            (Some(never_halted), Some(awake.by()), None)
        }
        Some(Err(refused)) => (None, None, Some(refused.to_string())),
        None => (None, None, None),
    };
    let run_delay_share = run_delay_share(&probed, BUSY_TIME.mul_f64(part), &mut own)?;
    // Steal is counted only while a processor has work.
    let busy = ticks_between(&busy_from, &processor_ticks()?, &probed);
    let handover_ns = handover_ns(placement)?;
    let last_ticks = processor_ticks()?;

    Ok(MachineProbe {
        processors: distinct(placement).len() as u32,
        halting,
        never_halted,
        never_halted_by,
        never_halted_refused,
        handover_ns,
        steal_share: if busy.total == 0 { 0.0 } else { busy.steal as f64 / busy.total as f64 },
        run_delay_share,
        clock_source: fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .unwrap_or_default()
            .trim()
            .to_owned(),
        clock_read_ns,
        used_by_others: used_by_others(&first_ticks, &last_ticks, &probed, &own),
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// The processors of a placement without duplicates, those of the proxy first.
fn distinct(placement: &Placement) -> Vec<u32> {
    let mut all = Vec::new();
    for &processor in placement.proxy.iter().chain(&placement.generator) {
        if !all.contains(&processor) {
            all.push(processor);
        }
    }
    all
}

/// The processors to probe: the first of the proxy and the first of the generator, then the others.
fn probed(placement: &Placement) -> Vec<u32> {
    let firsts = Placement {
        proxy: placement.proxy.first().into_iter().chain(placement.generator.first()).copied().collect(),
        generator: distinct(placement),
    };
    let mut probed = distinct(&firsts);
    probed.truncate(MAX_PROCESSORS);
    probed
}

/// The share of each processor that others used between two readings, without the CPU time of the probe. Saturates at 0, as the
/// kernel may sample these counts.
fn used_by_others(
    earlier: &[ProcessorReading],
    later: &[ProcessorReading],
    probed: &[u32],
    own: &OwnUse,
) -> Vec<UsedByOthers> {
    let of = |&processor: &u32| {
        let ticks = ticks_between(earlier, later, &[processor]);
        let own_ns = own.get(&processor).copied().unwrap_or(0);
        let theirs = ticks.with_spinner_as_idle(own_ns).busy_ticks();
        let share = if ticks.total == 0 { 0.0 } else { theirs as f64 / ticks.total as f64 };
        UsedByOthers { processor, share }
    };
    probed.iter().map(of).collect()
}

/// Keeps a thread busy on each processor and returns the largest run delay among them, as a share of its runnable time.
fn run_delay_share(probed: &[u32], time: Duration, own: &mut OwnUse) -> io::Result<f64> {
    let until = Instant::now() + time;
    let used = on_each(probed, |_| {
        let account = ThreadAccount::current()?;
        let before = account.read()?;
        while Instant::now() < until {}
        // A context switch updates the counts.
        thread::sleep(Duration::from_millis(1));
        Ok(account.read()? - before)
    })?;
    for (processor, used) in &used {
        add(own, *processor, used.cpu_ns);
    }
    Ok(used.iter().map(|(_, used)| run_delay_share_of(*used)).fold(0.0, f64::max))
}

fn run_delay_share_of(used: TaskUse) -> f64 {
    let wanted_ns = used.cpu_ns + used.run_delay_ns;
    if wanted_ns == 0 { 0.0 } else { used.run_delay_ns as f64 / wanted_ns as f64 }
}

/// The median handover time between the first processors of generator and proxy; None if both are the same.
fn handover_ns(placement: &Placement) -> io::Result<Option<f64>> {
    let (Some(&generator), Some(&proxy)) = (placement.generator.first(), placement.proxy.first()) else {
        return Ok(None);
    };
    if generator == proxy {
        return Ok(None);
    }
    let read = on_each(&[generator], |_| {
        let mut probe = HandoverProbe::start(proxy)?;
        let readings = (0..HANDOVER_READINGS).map(|_| {
            thread::sleep(Duration::from_millis(1));
            probe.read()
        });
        Ok(readings.collect::<Vec<_>>())
    })?;
    Ok(read.first().and_then(|(_, readings)| median(readings)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::ProcessorTicks;
    use crate::processors;
    use hoptax_result::NeverHaltedBy;

    fn placement(proxy: &[u32], generator: &[u32]) -> Placement {
        Placement { proxy: proxy.to_vec(), generator: generator.to_vec() }
    }

    #[test]
    fn the_first_of_proxy_and_generator_are_probed_before_all_others() {
        assert_eq!(probed(&placement(&[0], &[0])), [0]);
        assert_eq!(probed(&placement(&[1], &[0])), [1, 0]);
        assert_eq!(probed(&placement(&[2, 3], &[0, 1])), [2, 0, 3, 1]);
        let all: Vec<u32> = (0..64).collect();
        let many = Placement::split(&all, 32);
        assert_eq!(probed(&many), [32, 0, 33, 34, 35, 36, 37, 38]);
        assert_eq!(distinct(&many).len(), 64);
        assert!(probed(&placement(&[], &[])).is_empty());
    }

    #[test]
    fn the_use_by_others_is_the_busy_time_without_that_of_the_probe() {
        let reading = |processor, total, idle, steal| ProcessorReading {
            processor,
            ticks: ProcessorTicks { total, idle, steal },
        };
        let earlier = [reading(0, 0, 0, 0), reading(1, 1000, 900, 0)];
        let later = [reading(0, 300, 100, 20), reading(1, 1300, 1170, 0)];
        let own = OwnUse::from([(0, 1_500_000_000), (1, 900_000_000)]);
        let used = used_by_others(&earlier, &later, &[1, 0, 7], &own);
        assert_eq!(used.iter().map(|used| used.processor).collect::<Vec<_>>(), [1, 0, 7]);
        // Processor 1 was busy for 30 ticks and the probe claims 90; processor 0 for 180, of which 150 were the probe's.
        assert_eq!(used.iter().map(|used| used.share).collect::<Vec<_>>(), [0.0, 0.1, 0.0]);
    }

    #[test]
    fn the_run_delay_share_is_zero_without_runnable_time() {
        assert_eq!(run_delay_share_of(TaskUse::default()).total_cmp(&0.0), std::cmp::Ordering::Equal);
        assert_eq!(
            run_delay_share_of(TaskUse { cpu_ns: 30, run_delay_ns: 10 }).total_cmp(&0.25),
            std::cmp::Ordering::Equal
        );
    }

    #[test]
    fn the_local_machine_is_probed() {
        let allowed = processors::allowed().unwrap();
        let placement = Placement::split(&allowed, 1);
        let probe = probe(&placement).unwrap();
        assert_eq!(probe.processors as usize, allowed.len());
        assert_eq!(probe.handover_ns.is_some(), placement.is_apart());
        assert_eq!(probe.never_halted.is_none(), probe.never_halted_refused.is_some());
        assert_eq!(probe.used_by_others.len(), allowed.len().min(MAX_PROCESSORS));
        for wake_ups in probe.halting.iter().chain(probe.never_halted.iter().flatten()) {
            assert_eq!(wake_ups.by_another.is_some(), allowed.len() > 1);
            for lateness in [wake_ups.by_another, wake_ups.by_timer].into_iter().flatten() {
                assert!(lateness.p50_us > 0.0 && lateness.p50_us <= lateness.p99_us, "{lateness:?}");
            }
        }
        for share in [probe.steal_share, probe.run_delay_share] {
            assert!((0.0..=1.0).contains(&share), "{probe:?}");
        }
    }

    #[test]
    fn a_brief_probe_starts_no_spinner() {
        let probe = probe_briefly(&Placement::split(&processors::allowed().unwrap(), 1)).unwrap();
        let by_request = probe.never_halted_by == Some(NeverHaltedBy::LatencyRequest);
        assert_eq!((probe.never_halted.is_some(), probe.never_halted_refused), (by_request, None));
        assert!(!probe.halting.is_empty());
    }

    #[test]
    fn unavailable_processors_are_an_error() {
        assert!(probe(&placement(&[1_000_000], &[1_000_001])).is_err());
    }
}
