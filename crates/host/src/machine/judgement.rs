//! Conclusions from a probe of the machine: the decision to keep its processors from halting, and the measurements that the machine
//! supports.

use hoptax_result::{MachineProbe, NeverHaltedBy, WakeUps, grouped, percent};

/// Wake-ups above this latency are slow, microseconds (the mean of the medians of all processors and kinds). A request causes
/// several wake-ups, and costs only tens of microseconds itself.
pub const SLOW_WAKE_UP_US: f64 = 15.0;
/// Largest wake-up latency of processors that never halt, as a share of that of halting ones, for which it is worthwhile to keep
/// them from halting. A smaller gain means that wake-ups are slow for another reason, such as expensive interrupts of the
/// hypervisor.
pub const WORTHWHILE_SHARE: f64 = 0.75;
/// Largest use by others of a processor that counts as exclusive, as a share of its time.
pub const EXCLUSIVE_SHARE: f64 = 0.05;
/// Largest steal that counts as low, as a share of the time in which the processors have work. With more, the host is
/// overcommitted, and takes more from processors that never halt.
pub const LOW_STEAL_SHARE: f64 = 0.01;
/// Handovers above this round-trip time are slow, nanoseconds. Processors that share a cache take well below that.
pub const FAR_HANDOVER_NS: f64 = 200.0;
/// Clock readings above this time are slow, nanoseconds: they enter the kernel or the hypervisor.
pub const SLOW_CLOCK_NS: f64 = 200.0;

/// Returns true if the processors should be kept from halting: wake-ups are slow, a latency request makes them faster, and the host does
/// not steal their time. A program must not choose a spinner by itself, because tasks of others may then not run for seconds.
pub fn should_never_halt(probe: &MachineProbe) -> bool {
    is_slow(&probe.halting)
        && is_faster_without_halting(probe)
        && probe.never_halted_by == Some(NeverHaltedBy::LatencyRequest)
        && has_low_steal(probe)
}

/// The distribution of the processors, and the measurements that it excludes, in words; None if their number is unknown.
pub fn supported_measurements(probe: &MachineProbe) -> Option<String> {
    Some(match probe.processors {
        0 => return None,
        1 => "one processor, so only CPU costs can be measured".to_owned(),
        2 => "2 processors, generator and origin share one".to_owned(),
        many => format!("{many} processors, one for the proxy, one for the generator"),
    })
}

/// A line of a note for each condition that the user can change, and for the choice to keep processors from halting, the most important
/// first. Empty if there are none. The result has the whole probe.
pub fn advice(probe: &MachineProbe) -> Vec<String> {
    let kept = slow_wake_ups(probe).filter(|_| should_never_halt(probe));
    [kept, others(probe), steal(probe), clock(probe)].into_iter().flatten().collect()
}

/// The mean of the median wake-up latencies of all processors and kinds, microseconds. A request waits for each of them in turn,
/// and the mean varies less between probes than the maximum. 0 without any.
fn typical_us(wake_ups: &[WakeUps]) -> f64 {
    let all = wake_ups.iter().flat_map(|each| [each.by_another, each.by_timer]).flatten();
    let (sum_us, count) =
        all.fold((0.0, 0), |(sum_us, count), lateness| (sum_us + lateness.p50_us, count + 1));
    if count == 0 { 0.0 } else { sum_us / f64::from(count) }
}

/// Returns true if wake-ups of halted processors are slow.
pub fn wakes_slowly(probe: &MachineProbe) -> bool {
    is_slow(&probe.halting)
}

fn is_slow(wake_ups: &[WakeUps]) -> bool {
    typical_us(wake_ups) > SLOW_WAKE_UP_US
}

fn is_faster_without_halting(probe: &MachineProbe) -> bool {
    let halting_us = typical_us(&probe.halting);
    probe
        .never_halted
        .as_ref()
        .is_some_and(|never_halted| typical_us(never_halted) <= WORTHWHILE_SHARE * halting_us)
}

fn has_low_steal(probe: &MachineProbe) -> bool {
    probe.steal_share <= LOW_STEAL_SHARE
}

/// Slow wake-ups, with their latency and what is done about them; None if they are quick.
pub fn slow_wake_ups(probe: &MachineProbe) -> Option<String> {
    if !is_slow(&probe.halting) {
        return None;
    }
    let halting_us = typical_us(&probe.halting);
    let latency = format!("a wake-up takes {halting_us} us", halting_us = grouped(halting_us, 0));
    Some(match (&probe.never_halted, &probe.never_halted_refused) {
        (Some(never_halted), _) => {
            let spinning_us = typical_us(never_halted);
            let consequence = if should_never_halt(probe) {
                "they are kept from halting"
            } else if !is_faster_without_halting(probe) {
                "no gain, so they may halt"
            } else if has_low_steal(probe) {
                "they may halt, since this user may not write to `/dev/cpu_dma_latency`, or no driver supports it (`--never-halt always` \
                 spins)"
            } else {
                "they may halt, since the host takes time from them"
            };
            format!(
                "{latency}, {spinning_us} us if processors never halt: {consequence}",
                spinning_us = grouped(spinning_us, 0)
            )
        }
        (None, Some(refused)) => {
            format!("{latency}, and processors cannot be kept from halting: {refused}")
        }
        (None, None) => latency,
    })
}

/// The processor that others use most, with its share; None if all count as exclusive.
pub fn others(probe: &MachineProbe) -> Option<String> {
    let most = probe.used_by_others.iter().max_by(|one, other| one.share.total_cmp(&other.share))?;
    (most.share > EXCLUSIVE_SHARE).then(|| {
        format!("other processes use {} of processor {}: stop them", percent(most.share, 0), most.processor)
    })
}

/// The time that the host takes from the processors; None if it is low.
pub fn steal(probe: &MachineProbe) -> Option<String> {
    (probe.steal_share > LOW_STEAL_SHARE)
        .then(|| format!("the host takes {} of the processors' time (steal)", percent(probe.steal_share, 1)))
}

fn clock(probe: &MachineProbe) -> Option<String> {
    (probe.clock_read_ns > SLOW_CLOCK_NS).then(|| {
        format!(
            "reading the clock takes {} ns (clock source `{}`): boot with `tsc`",
            grouped(probe.clock_read_ns, 0),
            probe.clock_source
        )
    })
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Lateness, UsedByOthers};

    use super::*;

    fn wakes(p50_us: f64) -> Vec<WakeUps> {
        let lateness = |p50_us| Some(Lateness { p50_us, p99_us: 3.0 * p50_us, samples: 500 });
        vec![
            WakeUps { processor: 0, by_another: lateness(p50_us * 0.5), by_timer: lateness(p50_us) },
            WakeUps { processor: 1, by_another: lateness(p50_us * 1.5), by_timer: lateness(p50_us) },
        ]
    }

    /// Two processors with a mean wake-up latency of 40 us, and of 6 us with a latency request.
    fn slow() -> MachineProbe {
        MachineProbe {
            processors: 2,
            halting: wakes(40.0),
            never_halted: Some(wakes(6.0)),
            never_halted_by: Some(NeverHaltedBy::LatencyRequest),
            handover_ns: Some(60.0),
            clock_read_ns: 25.0,
            used_by_others: vec![UsedByOthers { processor: 1, share: 0.01 }],
            ..MachineProbe::default()
        }
    }

    #[test]
    fn slow_wake_ups_are_shortened_by_a_latency_request() {
        assert!(should_never_halt(&slow()));
        assert_eq!(
            advice(&slow()),
            ["a wake-up takes 40 us, 6 us if processors never halt: they are kept from halting"]
        );
    }

    #[test]
    fn processors_with_fast_wake_ups_may_halt() {
        let quick = MachineProbe { halting: wakes(SLOW_WAKE_UP_US), ..slow() };
        assert!(!should_never_halt(&quick));
        assert!(advice(&quick).is_empty());
    }

    #[test]
    fn stolen_processors_and_those_that_only_a_spinner_keeps_awake_may_halt() {
        let used_by_others = vec![UsedByOthers { processor: 0, share: 0.3 }];
        let wanted = MachineProbe { used_by_others, run_delay_share: 0.4, ..slow() };
        assert!(should_never_halt(&wanted));
        let [_, others] = &advice(&wanted)[..] else { panic!("{:?}", advice(&wanted)) };
        assert_eq!(others, "other processes use 30 % of processor 0: stop them");
        let stolen = MachineProbe { steal_share: 0.02, ..slow() };
        assert!(!should_never_halt(&stolen));
        assert!(slow_wake_ups(&stolen).unwrap().ends_with("the host takes time from them"));
        assert!(advice(&stolen)[0].contains("takes 2.0 %"), "{:?}", advice(&stolen));
        let spinning = MachineProbe { never_halted_by: Some(NeverHaltedBy::Spinner), ..slow() };
        assert!(!should_never_halt(&spinning));
        assert!(slow_wake_ups(&spinning).unwrap().contains("/dev/cpu_dma_latency"));
    }

    #[test]
    fn a_useless_or_refused_means_is_not_used() {
        let in_vain = MachineProbe { never_halted: Some(wakes(31.0)), ..slow() };
        assert!(!should_never_halt(&in_vain));
        assert!(slow_wake_ups(&in_vain).unwrap().contains("no gain"));
        assert!(advice(&in_vain).is_empty(), "{:?}", advice(&in_vain));
        let refused = MachineProbe {
            never_halted: None,
            never_halted_refused: Some("not permitted".to_owned()),
            ..slow()
        };
        assert!(!should_never_halt(&refused));
        assert!(slow_wake_ups(&refused).unwrap().ends_with("not permitted"));
    }

    #[test]
    fn one_processor_supports_only_cpu_costs() {
        let timer = Some(Lateness { p50_us: 5.0, p99_us: 9.0, samples: 800 });
        let one = MachineProbe {
            processors: 1,
            halting: vec![WakeUps { processor: 0, by_another: None, by_timer: timer }],
            handover_ns: None,
            ..slow()
        };
        assert!(!should_never_halt(&one));
        assert!(
            supported_measurements(&one).unwrap().contains("only CPU costs"),
            "{:?}",
            supported_measurements(&one)
        );
    }

    #[test]
    fn supported_measurements_depend_on_the_number_of_processors() {
        let with = |processors| supported_measurements(&MachineProbe { processors, ..slow() });
        assert_eq!(with(0), None);
        assert!(with(1).unwrap().contains("only CPU costs"));
        assert!(with(2).unwrap().contains("generator and origin share"));
        assert_eq!(with(64).unwrap(), "64 processors, one for the proxy, one for the generator");
    }

    #[test]
    fn a_line_of_advice_is_short_and_says_what_to_do() {
        let poor = MachineProbe {
            halting: wakes(400.0),
            handover_ns: Some(500.0),
            clock_read_ns: 900.0,
            clock_source: "hpet".to_owned(),
            used_by_others: vec![UsedByOthers { processor: 1, share: 0.92 }],
            ..slow()
        };
        let advice = advice(&poor);
        let [kept, others, clock] = &advice[..] else { panic!("{advice:?}") };
        assert!(kept.ends_with("they are kept from halting"), "{kept}");
        assert_eq!(others, "other processes use 92 % of processor 1: stop them");
        assert!(clock.contains("`hpet`): boot with `tsc`"), "{clock}");
        // Each follows `this machine: ` in a line of 100 columns.
        assert!(advice.iter().all(|line| line.chars().count() <= 86), "{advice:?}");
    }

    #[test]
    fn an_empty_probe_gives_no_advice() {
        assert!(!should_never_halt(&MachineProbe::default()));
        assert!(advice(&MachineProbe::default()).is_empty());
    }
}
