//! What the probe of the machine saw, in words.

use hoptax_result::{MachineProbe, WakeUps};

/// The slowest median of all processors and kinds of wake-ups, microseconds; none where none was seen.
fn slowest_us(wake_ups: &[WakeUps]) -> Option<f64> {
    let all = wake_ups.iter().flat_map(|each| [each.by_another, each.by_timer]).flatten();
    all.map(|lateness| lateness.p50_us).reduce(f64::max)
}

/// A median wake-up above this is worth a word, microseconds: as slow as a request costs CPU time.
const SLOW_US: f64 = 15.0;

/// How long a wake-up takes as the machine is and on processors that never halt, where that at least halves slow ones.
pub(crate) fn slow_wake_ups_mended(machine: &MachineProbe) -> Option<(f64, f64)> {
    let halting_us = slowest_us(&machine.halting)?;
    let never_halted_us = slowest_us(machine.never_halted.as_ref()?)?;
    (halting_us > SLOW_US && 2.0 * never_halted_us <= halting_us).then_some((halting_us, never_halted_us))
}

/// What the probe said, and whether the processors were kept from being halted; none where there is nothing to say.
pub(crate) fn machine(probe: Option<&MachineProbe>, never_halted: bool) -> Option<String> {
    let kept = if never_halted { "processors kept from being halted" } else { "processors halted when idle" };
    let Some(probe) = probe else {
        // Results without a probe do not say how they were measured, unless they do.
        return never_halted.then(|| kept.to_owned());
    };
    let mut parts = Vec::new();
    let never = probe.never_halted.as_deref().and_then(slowest_us);
    match (slowest_us(&probe.halting), never) {
        (Some(halting_us), Some(never_us)) => parts.push(format!(
            "a wake-up takes {halting_us:.1} us at the median, {never_us:.1} us where processors never halt"
        )),
        (Some(halting_us), None) => parts.push(format!("a wake-up takes {halting_us:.1} us at the median")),
        (None, _) => {}
    }
    if let Some(refused) = &probe.spinner_refused {
        parts.push(format!("they cannot be kept from halting: {refused}"));
    }
    parts.push(format!("the host took {:.2} % of busy processors", probe.steal_share * 100.0));
    if let Some(most) = probe.used_by_others.iter().max_by(|one, other| one.share.total_cmp(&other.share)) {
        parts.push(format!("others used up to {:.0} % of a processor", most.share * 100.0));
    }
    parts.push(format!("{:.0} ns to read the clock", probe.clock_read_ns));
    Some(format!("{kept}; probed before the first round: {}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_machine_is_told_as_it_was_probed() {
        assert_eq!(
            machine(Some(&fixture::machine(42.0, 5.25)), true).unwrap(),
            "processors kept from being halted; probed before the first round: a wake-up takes 42.0 us at the median, 5.2 us \
             where processors never halt, the host took 0.10 % of busy processors, others used up to 3 % of a processor, 25 ns \
             to read the clock"
        );
        assert_eq!(machine(None, false), None);
        let refused = MachineProbe { never_halted: None, ..fixture::machine(42.0, 5.0) };
        let refused = MachineProbe { spinner_refused: Some("no".to_owned()), ..refused };
        assert!(machine(Some(&refused), false).unwrap().contains("cannot be kept from halting: no"));
    }

    #[test]
    fn quick_wake_ups_need_no_mending() {
        assert_eq!(slow_wake_ups_mended(&fixture::machine(42.0, 5.0)), Some((42.0, 5.0)));
        assert_eq!(slow_wake_ups_mended(&fixture::machine(10.0, 2.0)), None);
        assert_eq!(slow_wake_ups_mended(&fixture::machine(42.0, 30.0)), None);
    }
}
