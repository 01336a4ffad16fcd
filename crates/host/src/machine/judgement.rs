//! What follows from a probe of the machine: whether to keep its processors from being halted, and what it cannot give.

use hoptax_result::{MachineProbe, WakeUps};

/// A wake-up above this is slow, microseconds (the mean of the medians of all processors and kinds). A request is woken for
/// several times on its way, and costs tens of microseconds by itself.
pub const SLOW_WAKE_UP_US: f64 = 15.0;
/// What never halting may leave of a slow wake-up, as a share. One that is as slow all the same is slow for another reason, such
/// as a host whose interrupts are dear.
pub const WORTHWHILE_SHARE: f64 = 0.75;
/// What others may use of a processor that is ours alone to spend, as a share of its time.
pub const OURS_ALONE_SHARE: f64 = 0.05;
/// What the host may take while the processors have work, as a share of the time. One that takes more has its processors
/// promised to others too, and takes more of those that spin.
pub const CALM_STEAL_SHARE: f64 = 0.01;
/// A cache line that takes longer to another processor and back is said to be far, nanoseconds: processors that share a cache
/// take well below that.
pub const FAR_HANDOVER_NS: f64 = 200.0;
/// A reading of the clock that takes longer is slow, nanoseconds: one that asks the kernel or the host.
pub const SLOW_CLOCK_NS: f64 = 200.0;

/// Whether to keep the processors from being halted: wake-ups are slow, a spinner was seen to help, and nobody else wants the
/// processors or is made to pay for them.
pub fn should_never_halt(probe: &MachineProbe) -> bool {
    is_slow(&probe.halting) && would_help(probe) && is_ours_alone(probe)
}

/// What its number of processors can and cannot give, in a sentence; None where it is not known.
pub fn gives(probe: &MachineProbe) -> Option<String> {
    Some(match probe.processors {
        0 => return None,
        1 => "one processor: proxy, generator and origin take turns on it, so only costs in CPU time can be measured, no \
              latencies and no rates"
            .to_owned(),
        2 => "two processors: the proxy has one, generator and origin share the other, so costs in CPU time are the proxy's, \
              and response times and maximum rates hold what these two wait for each other"
            .to_owned(),
        many => format!(
            "{many} processors: the proxy and the generator have one each and the origin the other {}, so costs, response \
             times and maximum rates are the proxy's; it is not measured how they change with more processors for the proxy",
            many - 2
        ),
    })
}

/// What else stands in the way of a measurement, a sentence each, the weightiest first. Empty where there is nothing to say.
pub fn advice(probe: &MachineProbe) -> Vec<String> {
    [wake_ups(probe), others(probe), steal(probe), far(probe), clock(probe)].into_iter().flatten().collect()
}

/// The mean over all processors and kinds of wake-ups of their medians, microseconds: a request has to wait for each of them in
/// its turn, and a mean of several wanders less from probe to probe than the worst. 0 where there was none.
fn typical_us(wake_ups: &[WakeUps]) -> f64 {
    let all = wake_ups.iter().flat_map(|each| [each.by_another, each.by_timer]).flatten();
    let (sum_us, count) =
        all.fold((0.0, 0), |(sum_us, count), lateness| (sum_us + lateness.p50_us, count + 1));
    if count == 0 { 0.0 } else { sum_us / f64::from(count) }
}

/// Whether wake-ups are slow where processors halt, as this machine has them.
pub fn wakes_slowly(probe: &MachineProbe) -> bool {
    is_slow(&probe.halting)
}

fn is_slow(wake_ups: &[WakeUps]) -> bool {
    typical_us(wake_ups) > SLOW_WAKE_UP_US
}

fn would_help(probe: &MachineProbe) -> bool {
    let halting_us = typical_us(&probe.halting);
    probe
        .never_halted
        .as_ref()
        .is_some_and(|never_halted| typical_us(never_halted) <= WORTHWHILE_SHARE * halting_us)
}

fn is_ours_alone(probe: &MachineProbe) -> bool {
    probe.used_by_others.iter().all(|used| used.share <= OURS_ALONE_SHARE)
        && probe.steal_share <= CALM_STEAL_SHARE
}

fn wake_ups(probe: &MachineProbe) -> Option<String> {
    if !is_slow(&probe.halting) {
        return None;
    }
    let halting_us = typical_us(&probe.halting);
    let costs = format!("a wake-up takes {halting_us:.0} us");
    Some(match (&probe.never_halted, &probe.spinner_refused) {
        (Some(never_halted), _) => {
            let left_us = typical_us(never_halted);
            let consequence = if should_never_halt(probe) {
                "the processors are kept from halting"
            } else if would_help(probe) {
                "the processors are left to halt all the same, since they are not ours alone"
            } else {
                "keeping the processors from halting does not mend that: what is measured here includes it"
            };
            format!("{costs}, and {left_us:.0} us on processors that never halt: {consequence}")
        }
        (None, Some(refused)) => {
            format!("{costs}, and the processors cannot be kept from halting: {refused}")
        }
        (None, None) => format!("{costs}: what is measured here includes it"),
    })
}

fn others(probe: &MachineProbe) -> Option<String> {
    let most = probe.used_by_others.iter().max_by(|one, other| one.share.total_cmp(&other.share))?;
    (most.share > OURS_ALONE_SHARE).then(|| {
        format!(
            "others use {:.0} % of processor {} (a task that always has work waits {:.0} % of its time): end them, or expect \
             slices to be set aside",
            most.share * 100.0,
            most.processor,
            probe.run_delay_share * 100.0
        )
    })
}

fn steal(probe: &MachineProbe) -> Option<String> {
    (probe.steal_share > CALM_STEAL_SHARE).then(|| {
        format!(
            "the host takes {:.1} % of the processors' time: latencies above the median are the host's, and CPU times wander",
            probe.steal_share * 100.0
        )
    })
}

fn far(probe: &MachineProbe) -> Option<String> {
    let handover_ns = probe.handover_ns.filter(|&handover_ns| handover_ns > FAR_HANDOVER_NS)?;
    Some(format!(
        "a cache line takes {handover_ns:.0} ns between the processors of generator and proxy: they share no cache, and a \
         request costs more than where they do"
    ))
}

fn clock(probe: &MachineProbe) -> Option<String> {
    (probe.clock_read_ns > SLOW_CLOCK_NS).then(|| {
        format!(
            "reading the clock takes {:.0} ns (clock source `{}`), and every request needs several readings: boot with a \
             clock source that can be read without the kernel, such as `tsc`",
            probe.clock_read_ns, probe.clock_source
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

    /// Two processors that wake in 40 us on the mean, and in 6 us when they never halt.
    fn slow() -> MachineProbe {
        MachineProbe {
            processors: 2,
            halting: wakes(40.0),
            never_halted: Some(wakes(6.0)),
            handover_ns: Some(60.0),
            clock_read_ns: 25.0,
            used_by_others: vec![UsedByOthers { processor: 1, share: 0.01 }],
            ..MachineProbe::default()
        }
    }

    #[test]
    fn slow_wake_ups_on_processors_of_our_own_are_mended() {
        assert!(should_never_halt(&slow()));
        assert_eq!(
            advice(&slow()),
            ["a wake-up takes 40 us, and 6 us on processors that never halt: the processors are kept from \
                 halting"]
        );
    }

    #[test]
    fn quick_wake_ups_are_left_alone() {
        let quick = MachineProbe { halting: wakes(SLOW_WAKE_UP_US), ..slow() };
        assert!(!should_never_halt(&quick));
        assert!(advice(&quick).is_empty());
    }

    #[test]
    fn processors_that_others_want_may_halt() {
        let used_by_others = vec![UsedByOthers { processor: 0, share: 0.3 }];
        let wanted = MachineProbe { used_by_others, run_delay_share: 0.4, ..slow() };
        assert!(!should_never_halt(&wanted));
        let [wake_up, others] = &advice(&wanted)[..] else { panic!("{:?}", advice(&wanted)) };
        assert!(wake_up.contains("not ours alone"), "{wake_up}");
        assert!(others.starts_with("others use 30 % of processor 0"), "{others}");
        let stolen = MachineProbe { steal_share: 0.02, ..slow() };
        assert!(!should_never_halt(&stolen));
        assert!(advice(&stolen)[1].contains("takes 2.0 %"), "{:?}", advice(&stolen));
    }

    #[test]
    fn a_spinner_that_does_not_help_or_is_refused_is_not_used() {
        let in_vain = MachineProbe { never_halted: Some(wakes(31.0)), ..slow() };
        assert!(!should_never_halt(&in_vain));
        assert!(advice(&in_vain)[0].contains("does not mend"), "{:?}", advice(&in_vain));
        let refused = MachineProbe {
            never_halted: None,
            spinner_refused: Some("the kernel says no".to_owned()),
            ..slow()
        };
        assert!(!should_never_halt(&refused));
        assert!(advice(&refused)[0].ends_with("the kernel says no"), "{:?}", advice(&refused));
    }

    #[test]
    fn one_processor_gives_only_cpu_costs() {
        let timer = Some(Lateness { p50_us: 5.0, p99_us: 9.0, samples: 800 });
        let one = MachineProbe {
            processors: 1,
            halting: vec![WakeUps { processor: 0, by_another: None, by_timer: timer }],
            handover_ns: None,
            ..slow()
        };
        assert!(!should_never_halt(&one));
        assert!(gives(&one).unwrap().contains("only costs in CPU time"), "{:?}", gives(&one));
    }

    #[test]
    fn a_number_of_processors_says_what_it_gives() {
        let with = |processors| gives(&MachineProbe { processors, ..slow() });
        assert_eq!(with(0), None);
        assert!(with(1).unwrap().contains("no latencies and no rates"));
        assert!(with(2).unwrap().contains("generator and origin share"));
        assert!(with(4).unwrap().contains("the origin the other 2,"));
        assert!(with(64).unwrap().contains("the origin the other 62,"));
    }

    #[test]
    fn far_processors_and_a_slow_clock_are_told() {
        let poor = MachineProbe {
            halting: wakes(5.0),
            handover_ns: Some(500.0),
            clock_read_ns: 900.0,
            clock_source: "hpet".to_owned(),
            ..slow()
        };
        let [far, clock] = &advice(&poor)[..] else { panic!("{:?}", advice(&poor)) };
        assert!(far.contains("500 ns") && clock.contains("`hpet`"), "{far} {clock}");
    }

    #[test]
    fn a_probe_that_saw_nothing_decides_and_says_nothing() {
        assert!(!should_never_halt(&MachineProbe::default()));
        assert!(advice(&MachineProbe::default()).is_empty());
    }
}
