//! Decides which slices are quiet: in which neither generator nor proxies waited long for a processor. The tail of response time is taken
//! from these, since a machine that stalls makes up the tail of all slices.
//!
//! A slice is chosen by what the kernel counts of the waits of threads, never by its response times, and by the same limit for all arms.
//! Where something that an arm itself brings runs on the generator's processors, the generator waits for it, so its waiting is a part of
//! what the arm costs, and choosing slices by it would hide that part. The rule then does not apply to the arm.

use hoptax_result::{Environment, QuietRule};

use crate::plan::{Arm, Load, Plan};
use crate::record::{RoundRecord, SliceRecord};

/// The rule of a study; none if its records do not tell who waited, or if it applies to none of the arms.
pub fn rule(
    plan: &Plan,
    environment: &Environment,
    records: &[RoundRecord],
    max_wait_share: Option<f64>,
) -> Option<QuietRule> {
    let mut slices = records.iter().flat_map(|record| &record.slices);
    // A kernel that does not count waits leaves zeros, which are no evidence.
    let is_known = slices.any(|slice| slice.generator_run_delay_ns > 0);
    let shares = |cpu: &u32| environment.generator_cpus.contains(cpu);
    let is_apart = plan.link.is_none() && !environment.proxy_cpus.iter().any(shares);
    let has_arm = plan
        .loads
        .iter()
        .any(|load| plan.arms.iter().any(|arm| arm.takes_part(load) && applies(arm, load, environment)));
    let is_of_use = is_known && is_apart && has_arm && plan.timeline.is_none();
    max_wait_share.filter(|_| is_of_use).map(|max_wait_share| QuietRule { max_wait_share })
}

/// Returns true if the rule of a study applies to an arm under a load: response times have a schedule, the generator is the only
/// caller, and the arm brings nothing to the generator's processors that the origin does not. It has one proxy with the study's number of
/// workers: a thread that waits for others of its own arm does not count as waiting, so the waits of several proxies or further workers
/// count less. Without a proxy, generator and origin wait for each other in every slice.
pub fn applies(arm: &Arm, load: &Load, environment: &Environment) -> bool {
    let (own, others) = (environment.proxy_cpus.len(), environment.generator_cpus.len());
    let of_proxies = |number: u32| number as usize <= own.max(1);
    let [hop] = arm.chain.hops.as_slice() else { return false };
    let is_apart =
        hop.processors.is_none_or(|processors| of_proxies(processors.number((own + others) as u32)));
    let has_usual_threads = hop.own_workers().is_none();
    let has_own_services =
        arm.asks_companion() || arm.application().is_some() || !arm.application_flags().is_empty();
    load.open.is_some()
        && load.caller.is_none()
        && arm.external.is_none()
        && is_apart
        && has_usual_threads
        && !has_own_services
}

impl SliceRecord {
    /// Returns true if the slice is quiet by a rule.
    pub fn is_quiet(&self, rule: &QuietRule) -> bool {
        let is_short = |waited_ns: u64, of_s: f64| waited_ns as f64 / 1e9 <= rule.max_wait_share * of_s;
        is_short(self.proxy_run_delay_ns, self.wall_s)
            && is_short(self.generator_run_delay_ns, self.recorded_s)
    }
}

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;

    use super::*;

    const RULE: QuietRule = QuietRule { max_wait_share: 0.01 };

    #[test]
    fn a_slice_is_quiet_if_neither_generator_nor_proxies_waited_longer() {
        let quiet = SliceRecord {
            wall_s: 0.1,
            recorded_s: 0.05,
            proxy_run_delay_ns: 1_000_000,
            generator_run_delay_ns: 500_000,
            ..SliceRecord::default()
        };
        assert!(quiet.is_quiet(&RULE));
        assert!(!SliceRecord { proxy_run_delay_ns: 1_000_001, ..quiet.clone() }.is_quiet(&RULE));
        assert!(!SliceRecord { generator_run_delay_ns: 500_001, ..quiet }.is_quiet(&RULE));
    }

    fn plan(text: &str) -> Plan {
        let loads = "loads:\n  - {name: open, loop: open, rate: 100}\n  - {name: closed, loop: closed}\n";
        let text = format!("name: test\n{text}{loads}");
        Plan::read("test.yaml", &text, Catalogue::load().unwrap()).unwrap()
    }

    fn two_processors() -> Environment {
        Environment { proxy_cpus: vec![1], generator_cpus: vec![0], ..Environment::default() }
    }

    /// The arms of a study that the rule applies to under the open loop.
    fn arms(text: &str) -> Vec<String> {
        let plan = plan(text);
        let applying = plan.arms.iter().filter(|arm| applies(arm, &plan.loads[0], &two_processors()));
        applying.map(|arm| arm.id.clone()).collect()
    }

    #[test]
    fn arms_with_services_of_their_own_beside_the_generator_are_left_out() {
        let of_companion = arms("arms: [direct, baseline, lua, ext-authz/http]\n");
        assert_eq!(of_companion, ["baseline", "lua"]);
        assert_eq!(arms("application: go\narms: [baseline, lua]\n"), [""; 0]);
        let shared = "arms:\n  - baseline\n  - {name: wide, hops: [{name: edge, processors: all}]}\n  \
                      - {name: narrow, hops: [{name: edge, processors: 1}]}\n";
        let found = arms(shared);
        assert!(found.iter().any(|id| id.contains("narrow")), "{found:?}");
        assert!(!found.iter().any(|id| id.contains("wide")), "{found:?}");
    }

    #[test]
    fn arms_whose_waits_count_less_are_left_out() {
        let found = arms("arms:\n  - baseline\n  - workers/two\n  - {name: chain, hops: [client, server]}\n");
        assert_eq!(found, ["baseline"]);
    }

    #[test]
    fn only_an_open_loop_of_the_generator_has_quiet_slices() {
        let plan = plan("arms: [baseline, lua]\n");
        let of = |load: &Load| applies(&plan.arms[0], load, &two_processors());
        assert_eq!((of(&plan.loads[0]), of(&plan.loads[1])), (true, false));
    }

    /// A round in which the generator waited for this long.
    fn record(generator_run_delay_ns: u64) -> [RoundRecord; 1] {
        let slice = SliceRecord { generator_run_delay_ns, ..SliceRecord::default() };
        [RoundRecord { slices: vec![slice], ..RoundRecord::default() }]
    }

    #[test]
    fn a_rule_that_applies_to_no_arm_is_none() {
        let of = |plan: &Plan| rule(plan, &two_processors(), &record(5), Some(0.01));
        assert_eq!(of(&plan("arms: [direct, baseline]\n")), Some(RULE));
        assert_eq!(of(&plan("application: go\narms: [baseline, lua]\n")), None);
        let mut closed = plan("arms: [direct, baseline]\n");
        closed.loads.retain(|load| load.open.is_none());
        assert_eq!(of(&closed), None);
    }

    #[test]
    fn without_counted_waits_or_with_shared_processors_there_is_no_rule() {
        let plan = plan("arms: [baseline, lua]\n");
        let of = |environment: &Environment, waited_ns: u64, limit: Option<f64>| {
            rule(&plan, environment, &record(waited_ns), limit)
        };
        assert_eq!(of(&two_processors(), 5, Some(0.01)), Some(RULE));
        assert_eq!(of(&two_processors(), 0, Some(0.01)), None);
        assert_eq!(of(&two_processors(), 5, None), None);
        let one = Environment { generator_cpus: vec![1], ..two_processors() };
        assert_eq!(of(&one, 5, Some(0.01)), None);
    }
}
