//! Chooses the number of rounds by the machine if a study file leaves it open, and estimates the precision to expect.
//!
//! An open loop without a rate gets a share of the capacity of the slowest arm ([`crate::plan::Rate::OfSlowest`]), which no probe determines
//! and the runner measures.

use hoptax_host::machine::judgement::{FAR_HANDOVER_NS, wakes_slowly};
use hoptax_result::{Interval, MachineProbe, counted};
use hoptax_stats::standard_error;

use crate::plan::{CONFIDENCE, DEFAULT_ROUNDS, Plan};

/// Range of the number of rounds if the file states none.
const ROUNDS: std::ops::RangeInclusive<u32> = DEFAULT_ROUNDS..=24;
/// Target half-width of nearly all costs, as a share of the CPU time of the arm that they are compared with.
const TARGET_SHARE: f64 = 0.02;

/// Typical variation of costs in CPU time between rounds on a kind of machine.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Typical {
    /// Standard deviation of the cost of one round that nearly all arms stay below, as a share of the baseline's CPU
    /// time.
    spread_share: f64,
    /// The property of the machine that causes it.
    because: &'static str,
}

/// 76 functions of the price list on an AMD EPYC: half of them within 0.008, 95 of 100 within 0.020 (15 rounds).
const QUIET: Typical =
    Typical { spread_share: 0.020, because: "wake-ups are fast and the processors are close together" };
/// The same machine while the host had its processors apart: 1.3 us of 25 us (quick study, 24 rounds).
const FAR: Typical = Typical { spread_share: 0.052, because: "the processors share no cache" };
/// Arms of the quick study (18, in two sittings) and of the null study (20) on an Intel Xeon with wake-ups of 31 us, its processors kept
/// from halting: 95 of 100 within 0.046, half within 0.028 (12 rounds in slices of 50 ms).
const NEVER_HALTED: Typical = Typical {
    spread_share: 0.046,
    because: "wake-ups are slow unless processors are kept from halting, as they are here",
};
/// The same on an AMD EPYC whose wake-ups take 42 to 44 us and whose processors share no cache: 95 of 100 within 0.086 and 0.117
/// (20 arms that repeat the baseline, 5 and 6 rounds), half within 0.033 and 0.064.
const NEVER_HALTED_FAR: Typical = Typical {
    spread_share: 0.10,
    because: "wake-ups are slow unless processors are kept from halting, as they are here, and the processors share no cache",
};
/// 18 functions of the quick study on the Xeon, with halting processors: 95 of 100 within 0.108 and 0.156 (two sittings of 16
/// rounds), half within 0.060 and 0.061. On the EPYC, 0.151 (5 arms, 3 rounds).
const HALTING: Typical = Typical { spread_share: 0.13, because: "wake-ups are slow and the processors halt" };

/// Chooses the number of rounds of `plan` for `machine`. Returns it with the reason as a sentence; none if it is not open.
pub fn suit(plan: &mut Plan, machine: &MachineProbe, never_halted: bool) -> Option<String> {
    if !plan.rounds_are_open {
        return None;
    }
    let typical = typical(machine, never_halted);
    plan.rounds = rounds(typical);
    Some(format!("{}, since {}", counted(plan.rounds.into(), "round"), typical.because))
}

/// The expected half-width of nearly all costs after `rounds` rounds on a machine like this, as a share of the CPU time
/// of the arm that they are compared with.
///
/// **Method.** Student's interval of that many rounds with the spread measured on machines like this. Another machine
/// of the kind may vary twice or half as much; after four rounds a study forecasts from its own costs
/// (`hoptax_judge::precision::forecast`).
///
/// **Degenerate cases.** `None` with fewer than two rounds.
pub fn half_width_share(machine: &MachineProbe, never_halted: bool, rounds: u32) -> Option<f64> {
    half_width_of(typical(machine, never_halted), rounds)
}

fn half_width_of(typical: Typical, rounds: u32) -> Option<f64> {
    let one = Interval::new(0.0, -1.0, 1.0);
    // The standard error of an interval of half-width one is one over Student's t.
    let t = 1.0 / standard_error(&one, f64::from(rounds) - 1.0, CONFIDENCE)?;
    Some(typical.spread_share * t / f64::from(rounds).sqrt())
}

fn typical(machine: &MachineProbe, never_halted: bool) -> Typical {
    let is_far = machine.handover_ns.is_some_and(|handover_ns| handover_ns > FAR_HANDOVER_NS);
    match (wakes_slowly(machine), never_halted, is_far) {
        (true, false, _) => HALTING,
        (true, true, false) => NEVER_HALTED,
        (true, true, true) => NEVER_HALTED_FAR,
        (false, _, true) => FAR,
        (false, _, false) => QUIET,
    }
}

/// The number of rounds at which nearly all costs reach the target, within [`ROUNDS`].
fn rounds(typical: Typical) -> u32 {
    let is_enough = |rounds: &u32| half_width_of(typical, *rounds).is_some_and(|share| share <= TARGET_SHARE);
    ROUNDS.into_iter().find(is_enough).unwrap_or(*ROUNDS.end())
}

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;
    use hoptax_result::{Lateness, WakeUps};

    use super::*;

    fn plan(head: &str) -> Plan {
        let text =
            format!("name: test\n{head}arms: [baseline, same]\nloads:\n  - {{name: a, loop: closed}}\n");
        Plan::read("test.yaml", &text, Catalogue::load().unwrap()).unwrap()
    }

    /// A machine with this number of processors and wake-up time.
    fn machine(processors: u32, wake_up_us: f64) -> MachineProbe {
        let late = Some(Lateness { p50_us: wake_up_us, p99_us: 2.0 * wake_up_us, samples: 500 });
        let wake_ups = WakeUps { processor: 0, by_another: late.filter(|_| processors > 1), by_timer: late };
        MachineProbe {
            processors,
            halting: vec![wake_ups],
            handover_ns: (processors > 1).then_some(60.0),
            ..MachineProbe::default()
        }
    }

    fn suited(mut plan: Plan, machine: &MachineProbe, never_halted: bool) -> (u32, Option<String>) {
        let reason = suit(&mut plan, machine, never_halted);
        (plan.rounds, reason)
    }

    #[test]
    fn values_stated_in_a_file_are_kept() {
        let stated = plan("rounds: 7\n");
        assert_eq!(suited(stated, &machine(2, 40.0), false), (7, None));
    }

    #[test]
    fn a_quiet_machine_gets_the_defaults_with_any_number_of_processors() {
        for processors in [1, 2, 4, 64] {
            let (rounds, reason) = suited(plan(""), &machine(processors, 5.0), false);
            assert_eq!(rounds, 10, "{processors} processors");
            let expected = "10 rounds, since wake-ups are fast and the processors are close together";
            assert_eq!(reason.as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_machine_with_more_spread_gets_more_rounds_up_to_a_limit() {
        let of = |machine: &MachineProbe, never_halted| suited(plan(""), machine, never_halted).0;
        let slow = machine(2, 40.0);
        let far = MachineProbe { handover_ns: Some(500.0), ..machine(2, 5.0) };
        assert_eq!([of(&slow, false), of(&slow, true), of(&far, false)], [24, 23, 24]);
    }

    #[test]
    fn intervals_narrow_with_rounds_and_are_wider_if_processors_halt() {
        let (quick, slow) = (machine(2, 5.0), machine(2, 40.0));
        // R: qt(0.975, 9) / sqrt(10) * 0.02.
        assert!((half_width_share(&quick, false, 10).unwrap() - 0.014_307).abs() < 1e-5);
        assert!(half_width_share(&quick, false, 20) < half_width_share(&quick, false, 10));
        assert!(half_width_share(&slow, true, 10) < half_width_share(&slow, false, 10));
        let far = MachineProbe { handover_ns: Some(500.0), ..slow.clone() };
        assert!(half_width_share(&slow, true, 10) < half_width_share(&far, true, 10));
        assert_eq!(half_width_share(&quick, false, 1), None);
    }
}
