//! The probe of the machine as text.

use hoptax_result::{MachineProbe, WakeUps};

use crate::numbers::{grouped, percent};

/// The slowest median over all processors and kinds of wake-ups, us; none without wake-ups.
fn slowest_us(wake_ups: &[WakeUps]) -> Option<f64> {
    let all = wake_ups.iter().flat_map(|each| [each.by_another, each.by_timer]).flatten();
    all.map(|lateness| lateness.p50_us).reduce(f64::max)
}

/// Median wake-up time above which wake-ups are mentioned, us. It is about the CPU time of a request.
const SLOW_US: f64 = 15.0;

/// The slowest median wake-up times with and without halting, us.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shortened {
    pub(crate) halting_us: f64,
    pub(crate) never_halted_us: f64,
}

/// Wake-up times with and without halting, if they are slow with halting and at most half as long without.
pub(crate) fn slow_wake_ups_shortened(machine: &MachineProbe) -> Option<Shortened> {
    let halting_us = slowest_us(&machine.halting)?;
    let never_halted_us = slowest_us(machine.never_halted.as_ref()?)?;
    (halting_us > SLOW_US && 2.0 * never_halted_us <= halting_us)
        .then_some(Shortened { halting_us, never_halted_us })
}

/// The result of the probe, and a note if the processors were kept from halting; none if there is nothing to report.
pub(crate) fn machine(probe: Option<&MachineProbe>, never_halted: bool) -> Option<String> {
    let kept = if never_halted { "processors kept from halting" } else { "processors halt when idle" };
    let Some(probe) = probe else {
        // Without a probe, only report if the processors were kept from halting.
        return never_halted.then(|| kept.to_owned());
    };
    let mut parts = Vec::new();
    let never = probe.never_halted.as_deref().and_then(slowest_us);
    match (slowest_us(&probe.halting), never) {
        (Some(halting_us), Some(never_us)) => {
            parts.push(format!(
                "wake-up p50 {halting_us} us ({never_us} us without halting)",
                halting_us = grouped(halting_us, 1),
                never_us = grouped(never_us, 1)
            ));
        }
        (Some(halting_us), None) => {
            parts.push(format!("wake-up p50 {halting_us} us", halting_us = grouped(halting_us, 1)));
        }
        (None, _) => {}
    }
    if let Some(refused) = &probe.never_halted_refused {
        parts.push(format!("processors cannot be kept from halting: {refused}"));
    }
    parts.push(format!("steal {}", percent(probe.steal_share, 2)));
    if let Some(most) = probe.used_by_others.iter().max_by(|one, other| one.share.total_cmp(&other.share)) {
        parts.push(format!("other tasks up to {} of a processor", percent(most.share, 0)));
    }
    parts.push(format!("clock read {} ns", grouped(probe.clock_read_ns, 0)));
    Some(format!("{kept}; probe before the first round: {}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_probe_is_reported() {
        assert_eq!(
            machine(Some(&fixture::machine(42.0, 5.25)), true).unwrap(),
            "processors kept from halting; probe before the first round: wake-up p50 42.0 us (5.2 us without halting), steal \
             0.10 %, other tasks up to 3 % of a processor, clock read 25 ns"
        );
        assert_eq!(machine(None, false), None);
        let refused = MachineProbe { never_halted: None, ..fixture::machine(42.0, 5.0) };
        let refused = MachineProbe { never_halted_refused: Some("no".to_owned()), ..refused };
        assert!(machine(Some(&refused), false).unwrap().contains("cannot be kept from halting: no"));
    }

    #[test]
    fn short_wake_ups_need_no_spinner() {
        let shortened = Shortened { halting_us: 42.0, never_halted_us: 5.0 };
        assert_eq!(slow_wake_ups_shortened(&fixture::machine(42.0, 5.0)), Some(shortened));
        assert_eq!(slow_wake_ups_shortened(&fixture::machine(10.0, 2.0)), None);
        assert_eq!(slow_wake_ups_shortened(&fixture::machine(42.0, 30.0)), None);
    }
}
