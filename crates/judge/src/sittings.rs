//! Combines several sittings: results of one study on one machine.

mod borrowed;
mod bounds;
mod numbers;
mod quiet_rule;
mod stated;

use std::fmt::{self, Write as _};
use std::time::Duration;

use hoptax_result::{
    ArmResult, Cost, CostMeasure, Environment, HoldsFor, Interval, SittingArm, SittingCost, SittingEstimate,
    SittingRecord, SittingsBody, SittingsMachine, SittingsResult, StudyResult,
};
use hoptax_stats::{Moderated, Sitting, random_effects, standard_error};

use borrowed::CostKey;
use hoptax_plan::plan::CONFIDENCE;
pub use numbers::as_one;
pub use quiet_rule::with_one_quiet_rule;

/// A sitting to combine: the name of its folder, and its result.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name of its folder.
    pub folder: String,
    /// Its result, without the numbers that checks withheld.
    pub result: StudyResult,
}

/// Reasons why two results are not sittings of one study on one machine; empty if they are.
pub fn differences(one: &StudyResult, other: &StudyResult) -> Vec<String> {
    let mut all = differences_but_for_the_proxy(one, other);
    let version =
        |result: &StudyResult| result.environment.proxy_version.clone().unwrap_or_else(|| "none".to_owned());
    let (a, b) = (version(one), version(other));
    if a != b {
        all.push(format!("Envoy: `{a}` and `{b}`"));
    }
    all
}

/// Like [`differences`], for results that may have different proxies.
pub fn differences_but_for_the_proxy(one: &StudyResult, other: &StudyResult) -> Vec<String> {
    let mut all = named_differences([
        Property::new("study", &one.name, &other.name),
        Property::new("never halted", &one.plan.never_halted, &other.plan.never_halted),
    ]);
    all.extend(machine_differences(&one.environment, &other.environment));
    if one.plan.timeline.is_some() || other.plan.timeline.is_some() {
        all.push("timelines of several sittings are not combined: measure more rounds in one".to_owned());
    }
    if one.plan.loads != other.plan.loads || one.plan.link != other.plan.link {
        all.push("the loads differ".to_owned());
    }
    if one.loosened != other.loosened {
        all.push("other thresholds of checks are loosened".to_owned());
    }
    all
}

/// The differences of two machines, in words; empty if results of both count as those of one machine.
pub fn machine_differences(one: &Environment, other: &Environment) -> Vec<String> {
    named_differences([
        Property::new("processor", &one.cpu_model, &other.cpu_model),
        Property::new("processors", &one.cpus, &other.cpus),
        Property::new("bytes of memory", &one.memory_bytes, &other.memory_bytes),
        Property::new("kernel", &one.kernel, &other.kernel),
    ])
}

/// A property of two results.
struct Property {
    name: &'static str,
    one: String,
    other: String,
}

impl Property {
    fn new(name: &'static str, one: &dyn fmt::Display, other: &dyn fmt::Display) -> Self {
        Self { name, one: one.to_string(), other: other.to_string() }
    }
}

fn named_differences<const N: usize>(properties: [Property; N]) -> Vec<String> {
    let differ = properties.into_iter().filter(|property| property.one != property.other);
    differ.map(|Property { name, one, other }| format!("{name}: `{one}` and `{other}`")).collect()
}

/// The sittings in chronological order.
pub fn in_order(mut parts: Vec<Part>) -> Vec<Part> {
    // All times have the same format, so their chronological order is that of their text.
    parts.sort_by(|a, b| a.result.environment.started_at.cmp(&b.result.environment.started_at));
    parts
}

/// The machine of a result.
fn machine(result: &StudyResult) -> SittingsMachine {
    let environment = &result.environment;
    SittingsMachine {
        cpu_model: environment.cpu_model.clone(),
        cpus: environment.cpus,
        memory_bytes: environment.memory_bytes,
        kernel: environment.kernel.clone(),
        proxy_version: environment.proxy_version.clone(),
        never_halted: result.plan.never_halted,
    }
}

/// Combines sittings, cost by cost: a combined cost is the mean of the estimates of its sittings. Costs of two to four sittings of similar
/// precision get moderated variances, which borrow from each other ([`hoptax_stats::moderated`]), because Student's `t` is 4.3 with three
/// sittings. The others are combined with [`random_effects`] of their estimates and standard errors. A cost that a sitting lacks, because
/// it was withheld or not measured, is combined from the others. A cost that only one sitting has keeps the interval of that sitting and is
/// marked accordingly; [`withhold`] removes it if another sitting bounds it.
///
/// `parts` are in chronological order: see [`in_order`].
///
/// **Degenerate cases.** `None` without a sitting.
pub fn combine(parts: &[Part]) -> Option<SittingsResult> {
    let first = &parts.first()?.result;
    let borrowing = borrowed::costs(parts);
    let mut ids: Vec<&ArmResult> = Vec::new();
    for arm in parts.iter().flat_map(|part| &part.result.arms) {
        if arm.compared_with.is_some() && !ids.iter().any(|known| known.id == arm.id) {
            ids.push(arm);
        }
    }
    let arms = ids.into_iter().filter_map(|arm| {
        let overall = CostMeasure::all().into_iter().map(|measure| (measure, None));
        let by_load = arm.loads.iter().flat_map(|load| {
            CostMeasure::BY_LOAD.into_iter().map(|measure| (measure, Some(load.load.as_str())))
        });
        let costs = overall.chain(by_load).filter_map(|(measure, load)| {
            let key = CostKey { arm: arm.id.clone(), load: load.map(str::to_owned), measure };
            cost(parts, &arm.id, measure, load, borrowing.get(&key))
        });
        let costs: Vec<SittingCost> = costs.collect();
        Some(SittingArm { id: arm.id.clone(), compared_with: arm.compared_with.clone()?, costs })
    });
    let arms: Vec<SittingArm> = arms.filter(|arm| !arm.costs.is_empty()).collect();
    let is_of_machine = |cost: &SittingCost| cost.holds_for == HoldsFor::Machine;
    let holds_for = if arms.iter().flat_map(|arm| &arm.costs).any(is_of_machine) {
        HoldsFor::Machine
    } else {
        HoldsFor::Sitting
    };
    let body = SittingsBody {
        study: first.name.clone(),
        machine: machine(first),
        holds_for,
        confidence: CONFIDENCE,
        sittings: parts.iter().map(record).collect(),
        arms,
    };
    Some(SittingsResult::new((), body))
}

/// Copies the judgement of `judged`, the sittings as one result, and withholds the combined costs that are missing from it.
pub fn withhold(result: &mut SittingsResult, judged: &StudyResult) {
    (result.verdict, result.findings) = (judged.verdict, judged.findings.clone());
    for arm in &mut result.arms {
        for cost in &mut arm.costs {
            let of_arm = judged.arm(&arm.id);
            let judged = of_arm.and_then(|of_arm| of_arm.cost_under(cost.load.as_deref()));
            cost.combined = cost
                .combined
                .filter(|_| judged.is_some_and(|judged| cost.measure.interval(judged).is_some()));
        }
    }
}

fn record(part: &Part) -> SittingRecord {
    SittingRecord {
        started_at: part.result.environment.started_at.clone(),
        ended_at: end(&part.result),
        folder: part.folder.clone(),
        rounds: part.result.plan.rounds_completed,
        verdict: part.result.verdict,
        program: part.result.program.clone(),
    }
}

/// The end of the last round of a sitting; without its rounds, its begin plus its duration. None if these are not known.
fn end(result: &StudyResult) -> Option<String> {
    let of_round = result.rounds.last().map(|round| round.ended_at.clone()).filter(|time| !time.is_empty());
    of_round.or_else(|| {
        let began = humantime::parse_rfc3339(&result.environment.started_at).ok()?;
        let ended = began.checked_add(Duration::try_from_secs_f64(result.plan.wall_seconds).ok()?)?;
        let mut text = String::new();
        // The format has no years above 9999.
        write!(text, "{}", humantime::format_rfc3339_seconds(ended)).ok()?;
        Some(text)
    })
}

/// One cost of an arm in all sittings, under a load or of the arm itself, with the moderated variance `borrows` if there is one. None if no
/// sitting has the cost.
fn cost(
    parts: &[Part],
    arm: &str,
    measure: CostMeasure,
    load: Option<&str>,
    borrows: Option<&Moderated>,
) -> Option<SittingCost> {
    let of_part = |part: &Part| estimate(&part.result, arm, measure, load, |cost| measure.interval(cost));
    let estimates: Vec<Option<SittingEstimate>> = parts.iter().map(of_part).collect();
    let stated: Vec<SittingEstimate> = estimates.iter().copied().flatten().collect();
    let sittings: Vec<Sitting> = stated.iter().map(sitting).collect();
    let of_machine = |combined: Interval, between_sittings: f64, another_sitting: Interval| SittingCost {
        measure,
        load: load.map(str::to_owned),
        estimates: estimates.clone(),
        holds_for: HoldsFor::Machine,
        combined: Some(combined),
        between_sittings: Some(between_sittings),
        another_sitting: Some(another_sitting),
    };
    if let Some((found, combined)) = borrows.and_then(|found| Some((found, found.interval(CONFIDENCE)?))) {
        let own = sittings.iter().map(|one| one.standard_error.powi(2)).sum::<f64>() / sittings.len() as f64;
        let count = found.replicates as f64;
        let between_sittings = (found.variance().value - own).max(0.0).sqrt();
        // The variance of another sitting plus that of the mean, which is smaller by the number of sittings.
        let another_half_width = combined.half_width() * (count + 1.0).sqrt();
        let another_sitting = Interval::around(combined.estimate, another_half_width);
        return Some(of_machine(combined, between_sittings, another_sitting));
    }
    if let Some(found) = random_effects(&sittings, CONFIDENCE) {
        return Some(of_machine(found.cost, found.between_sittings, found.another_sitting));
    }
    let only = stated.first().filter(|_| stated.len() == 1)?;
    Some(SittingCost {
        measure,
        load: load.map(str::to_owned),
        holds_for: HoldsFor::Sitting,
        combined: Some(only.interval),
        between_sittings: None,
        another_sitting: None,
        estimates,
    })
}

/// The estimate of a sitting in the form that `hoptax_stats` combines.
fn sitting(one: &SittingEstimate) -> Sitting {
    Sitting { estimate: one.interval.estimate, standard_error: one.standard_error }
}

/// The number that `of` takes from the costs of an arm in a sitting.
fn estimate(
    result: &StudyResult,
    arm: &str,
    measure: CostMeasure,
    load: Option<&str>,
    of: impl Fn(&Cost) -> Option<Interval>,
) -> Option<SittingEstimate> {
    let arm = result.arm(arm)?;
    let interval = of(arm.cost_under(load)?)?;
    let freedom = result.degrees_of_freedom(&interval, arm.contrast(), measure, load);
    let standard_error = error_over_rounds(&interval, freedom, result.plan.quantile_confidence())?;
    Some(SittingEstimate { interval, standard_error })
}

/// The standard error over rounds of a number with this interval: [`standard_error`], or zero if the interval has zero width. None without
/// degrees of freedom.
pub(crate) fn error_over_rounds(interval: &Interval, freedom: f64, confidence: f64) -> Option<f64> {
    if interval.high > interval.low { standard_error(interval, freedom, confidence) } else { Some(0.0) }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ArmLoad, Finding, Loosened, Measure, Measured, Severity, StudyRound, Verdict};

    use super::*;
    use crate::fixture;

    /// A sitting with the given cost of `lua` and a standard error of 0.2 us over 10 rounds.
    fn part(started_at: &str, lua_us: Option<f64>) -> Part {
        let mut result = fixture::study();
        result.environment.started_at = started_at.to_owned();
        let lua = fixture::arm(&mut result, "lua");
        // R: qt(0.975, 9) = 2.262157.
        let measured = |us: f64| Interval::around(us, 0.2 * 2.262_157);
        lua.cost.cpu_us_per_request = lua_us.map(measured);
        let cost = Cost { cpu_us_per_request: lua_us.map(|us| measured(2.0 * us)), ..Cost::default() };
        lua.loads = vec![ArmLoad { load: "saturation".to_owned(), cost, ..ArmLoad::default() }];
        Part { folder: started_at.to_owned(), result }
    }

    fn lua(result: &SittingsResult) -> &SittingCost {
        let arm = result.arms.iter().find(|arm| arm.id == "lua").unwrap();
        arm.costs.iter().find(|cost| cost.measure == CostMeasure::CpuUs).unwrap()
    }

    #[test]
    fn three_sittings_are_combined_as_computed_by_hand() {
        // The numbers of the test of `random_effects`.
        let parts = vec![
            part("2026-01-03T00:00:00Z", Some(21.2)),
            part("2026-01-01T00:00:00Z", Some(19.4)),
            part("2026-01-02T00:00:00Z", Some(20.2)),
        ];
        let result = combine(&in_order(parts)).unwrap();
        let folders: Vec<&str> = result.sittings.iter().map(|one| one.folder.as_str()).collect();
        assert_eq!(folders, ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"]);
        let cost = lua(&result);
        assert_eq!((result.holds_for, cost.holds_for), (HoldsFor::Machine, HoldsFor::Machine));
        assert!((cost.estimates[0].unwrap().standard_error - 0.2).abs() < 1e-6, "{cost:?}");
        assert!((cost.combined.unwrap().estimate - 20.266_667).abs() < 1e-5, "{cost:?}");
        assert!((cost.combined.unwrap().half_width() - 2.240_32).abs() < 1e-4, "{cost:?}");
        assert!((cost.another_sitting.unwrap().half_width() - 4.480_63).abs() < 1e-4, "{cost:?}");
    }

    #[test]
    fn costs_under_each_load_are_combined_as_well() {
        let result =
            combine(&[part("2026-01-01T00:00:00Z", Some(19.4)), part("2026-01-02T00:00:00Z", Some(20.2))])
                .unwrap();
        let arm = result.arms.iter().find(|arm| arm.id == "lua").unwrap();
        let under: Vec<_> =
            arm.costs.iter().filter(|cost| cost.load.as_deref() == Some("saturation")).collect();
        let [under] = under.as_slice() else { panic!("{under:?}") };
        assert!(
            (under.combined.unwrap().estimate - 2.0 * lua(&result).combined.unwrap().estimate).abs() < 1e-6,
            "{under:?}"
        );
    }

    #[test]
    fn one_sitting_holds_only_for_itself() {
        let result = combine(&[part("2026-01-01T00:00:00Z", Some(20.0))]).unwrap();
        let cost = lua(&result);
        assert_eq!((result.holds_for, cost.holds_for), (HoldsFor::Sitting, HoldsFor::Sitting));
        assert_eq!((cost.between_sittings, cost.another_sitting), (None, None));
        assert_eq!(cost.combined, cost.estimates[0].map(|one| one.interval));
        assert_eq!(combine(&[]), None);
    }

    #[test]
    fn a_sitting_ends_with_its_last_round_or_else_after_its_duration() {
        let mut one = part("2026-01-01T23:00:00Z", Some(20.0));
        let end = |part: &Part| combine(std::slice::from_ref(part)).unwrap().sittings[0].ended_at.clone();
        one.result.plan.wall_seconds = 5_400.0;
        assert_eq!(end(&one).as_deref(), Some("2026-01-02T00:30:00Z"));
        let round = |ended_at: &str| StudyRound { ended_at: ended_at.to_owned(), ..StudyRound::default() };
        // A study that was resumed later has rounds beyond the duration of one session.
        one.result.rounds = vec![round("2026-01-01T23:20:00Z"), round("2026-01-03T08:00:00Z")];
        assert_eq!(end(&one).as_deref(), Some("2026-01-03T08:00:00Z"));
        one.result.rounds.clear();
        for unknown in ["", "9999-12-31T23:59:59Z"] {
            one.result.environment.started_at = unknown.to_owned();
            assert_eq!(end(&one), None, "{unknown}");
        }
    }

    #[test]
    fn every_sitting_weighs_the_same_also_one_whose_rounds_all_agree() {
        let mut parts = [19.4, 20.2, 21.2].map(|us| part("2026-01-01T00:00:00Z", Some(us)));
        let lua_of = |parts: &[Part]| lua(&combine(parts).unwrap()).clone();
        let before = lua_of(&parts);
        for half_width_us in [1e-6, 0.0] {
            let lua = fixture::arm(&mut parts[0].result, "lua");
            lua.cost.cpu_us_per_request = Some(Interval::around(19.4, half_width_us));
            let now = lua_of(&parts);
            assert!(now.estimates.iter().all(Option::is_some), "{now:?}");
            assert_eq!(now.combined, before.combined, "{half_width_us}");
        }
    }

    #[test]
    fn a_cost_withheld_in_one_of_two_sittings_is_that_of_the_other() {
        let parts = vec![part("2026-01-01T00:00:00Z", None), part("2026-01-02T00:00:00Z", Some(20.0))];
        let result = combine(&in_order(parts)).unwrap();
        let cost = lua(&result);
        assert_eq!((result.holds_for, cost.holds_for), (HoldsFor::Sitting, HoldsFor::Sitting));
        assert_eq!((result.states(0), result.states(1)), (false, true));
        assert!(cost.estimates[0].is_none() && cost.estimates[1].is_some());
    }

    #[test]
    fn a_study_that_looked_has_standard_errors_by_the_quantile_of_its_looks() {
        let mut looked = part("2026-01-01T00:00:00Z", Some(20.0));
        let fixed = lua(&combine(&[looked.clone()]).unwrap()).estimates[0].unwrap();
        looked.result.plan.sequential = Some(hoptax_result::SequentialPlan {
            target_share: 0.01,
            of_cost_share: 0.0,
            reached: true,
            looks: vec![8, 10],
            quantile_confidence: 0.96,
        });
        let sequential = lua(&combine(&[looked]).unwrap()).estimates[0].unwrap();
        // R: qt(0.975, 9) / qt(0.98, 9).
        let ratio = sequential.standard_error / fixed.standard_error;
        assert!((ratio - 2.262_157 / 2.398_441).abs() < 1e-6, "{ratio}");
    }

    #[test]
    fn every_number_is_combined_and_missing_numbers_keep_their_reasons() {
        let withheld = |result: &mut StudyResult, arm: &str, measure: Measure| {
            let nothing = Measured::count(0.0, 0.0, "");
            result.findings.push(Finding {
                arm: Some(arm.to_owned()),
                load: Some("saturation".to_owned()),
                measures: vec![measure],
                withholds: true,
                costs_alone: true,
                ..Finding::new("unequally-busy", Severity::Info, nothing, String::new(), "")
            });
        };
        let mut parts = vec![
            part("2026-01-01T00:00:00Z", Some(19.4)),
            part("2026-01-02T00:00:00Z", Some(20.2)),
            part("2026-01-03T00:00:00Z", None),
        ];
        for part in &mut parts[..2] {
            let lua = part.result.arms.last_mut().unwrap();
            lua.cost.cpu_share = Some(Interval::around(0.2, 0.01));
            lua.loads[0].cost.cpu_share = lua.cost.cpu_share;
        }
        withheld(&mut parts[2].result, "lua", Measure::Cpu);
        withheld(&mut parts[2].result, "same", Measure::Cpu);
        for (part, busy) in parts.iter_mut().zip([0.4, 0.5, 0.6]) {
            part.result.arms.last_mut().unwrap().loads[0].proxy_core_share = Some(busy);
        }
        let one = as_one(&parts).unwrap();
        let lua = one.arms.iter().find(|arm| arm.id == "lua").unwrap();
        let expected = combine(&parts).unwrap();
        assert_eq!(lua.cost.cpu_us_per_request, self::lua(&expected).combined);
        let twice = lua.loads[0].cost.cpu_us_per_request.unwrap().estimate;
        assert!((twice - 2.0 * self::lua(&expected).combined.unwrap().estimate).abs() < 1e-9);
        assert!((lua.loads[0].proxy_core_share.unwrap() - 0.5).abs() < 1e-12);
        assert_eq!((one.plan.rounds_completed, one.sittings.len(), one.rounds.len()), (30, 3, 0));
        // Two sittings have the cost of `lua`, none has that of `same`.
        let found: Vec<(Option<&str>, Option<u32>)> =
            one.findings.iter().map(|finding| (finding.arm.as_deref(), finding.sitting)).collect();
        assert_eq!(found, [(Some("same"), Some(3))]);
        assert_eq!(as_one(&[]), None);
    }

    #[test]
    fn a_cost_that_is_withheld_from_all_sittings_as_one_is_not_combined_either() {
        let parts = [part("2026-01-01T00:00:00Z", Some(19.4)), part("2026-01-02T00:00:00Z", Some(20.2))];
        let mut result = combine(&parts).unwrap();
        let mut one = as_one(&parts).unwrap();
        one.verdict = Verdict::Caution;
        withhold(&mut result, &one);
        assert_eq!(result.body, combine(&parts).unwrap().body);
        assert_eq!((result.verdict, &result.findings), (Verdict::Caution, &one.findings));
        fixture::arm(&mut one, "lua").cost.cpu_us_per_request = None;
        withhold(&mut result, &one);
        assert_eq!((lua(&result).combined, lua(&result).estimates.iter().flatten().count()), (None, 2));
        let of_loads = result.arms.iter().flat_map(|arm| &arm.costs).filter(|cost| cost.load.is_some());
        assert!(of_loads.clone().count() > 0 && of_loads.into_iter().all(|cost| cost.combined.is_some()));
    }

    #[test]
    fn another_machine_or_study_is_reported() {
        let one = part("2026-01-01T00:00:00Z", Some(20.0)).result;
        let mut other = part("2026-01-02T00:00:00Z", Some(20.0)).result;
        assert_eq!(differences(&one, &other), [""; 0]);
        other.environment.kernel = "another".to_owned();
        other.plan.never_halted = true;
        assert_eq!(
            differences(&one, &other),
            ["never halted: `false` and `true`", "kernel: `` and `another`"]
        );
    }

    #[test]
    fn sittings_judged_by_other_thresholds_are_reported() {
        let one = part("2026-01-01T00:00:00Z", Some(20.0)).result;
        let mut other = one.clone();
        other.loosened = vec![Loosened { name: "steal".to_owned(), default: 0.005, value: 0.5 }];
        assert_eq!(differences(&one, &other), ["other thresholds of checks are loosened"]);
        assert_eq!(differences(&other, &other), [""; 0]);
    }
}
