//! Remainder of a number that a finding withholds: a bound that holds it, where the evidence allows one.

use hoptax_result::{
    ArmKind, ArmResult, Bound, BoundOf, Bounds, CostMeasure, Finding, Interval, Place, StudyResult,
};
use hoptax_stats::null_reach;

use super::{arms, generator, host, known, missing, quiet, same, samples, throttled};

/// Remainder of a number after a finding.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Remainder {
    /// Nothing: the number is that of other work, or of an instrument that is wrong by an unknown amount.
    Nothing,
    /// Its interval, which is only too wide to be used.
    Interval,
    /// The bounds from the evidence of the study: see `hoptax_judge::summary`.
    Evidence,
    /// An upper bound of times: the fault can only have made them longer.
    Shorter,
    /// A lower bound: the measured value.
    AtLeast,
    /// An upper bound: the measured value.
    AtMost,
    /// Its interval, wider by this on both sides.
    Within(f64),
    /// Of the quantile of quiet slices, what the evidence of all slices bounds theirs by as well.
    OfAllSlices,
}

/// A number of a result: of an arm, under one load, or under the usual load of its measure. Checks remove neither arms nor loads, so its
/// indexes hold until the bounds are set.
#[derive(Clone, Copy, Debug)]
struct Slot {
    arm: usize,
    load: Option<usize>,
    of: BoundOf,
    measure: CostMeasure,
}

/// The numbers of a result with their bounds before anything is withheld.
pub(crate) struct Before {
    numbers: Vec<(Slot, Option<Interval>)>,
    /// Bounds by arm: those under the usual loads, and those of each load.
    bounds: Vec<(Bounds, Vec<Bounds>)>,
}

impl Before {
    pub(crate) fn new(result: &StudyResult) -> Self {
        let mut numbers = Vec::new();
        for (index, arm) in result.arms.iter().enumerate() {
            let loads = std::iter::once(None).chain((0..arm.loads.len()).map(Some));
            let slots = loads.flat_map(|load| {
                BoundOf::numbers().map(move |(of, measure)| Slot { arm: index, load, of, measure })
            });
            numbers.extend(slots.map(|slot| (slot, slot.stated(result))));
        }
        let of_arm = |arm: &ArmResult| {
            (arm.bounds.clone(), arm.loads.iter().map(|load| load.bounds.clone()).collect())
        };
        Self { numbers, bounds: result.arms.iter().map(of_arm).collect() }
    }

    /// Sets the bounds of the numbers that `findings` withheld from the result, and of those that have too few responses.
    pub(crate) fn set_bounds(&self, result: &mut StudyResult, findings: &[Finding]) {
        let mut found: Vec<(Slot, Bound)> = Vec::new();
        for (slot, before) in &self.numbers {
            if slot.stated(result).is_none() {
                found.extend(self.bound(result, slot, *before, findings).map(|bound| (*slot, bound)));
            }
        }
        for arm in &mut result.arms {
            arm.bounds = Bounds::default();
            arm.loads.iter_mut().for_each(|load| load.bounds = Bounds::default());
        }
        for (slot, bound) in found {
            let arm = &mut result.arms[slot.arm];
            let bounds = match slot.load {
                None => &mut arm.bounds,
                Some(load) => &mut arm.loads[load].bounds,
            };
            bounds.0.push(bound);
        }
    }

    fn bound(
        &self,
        result: &StudyResult,
        slot: &Slot,
        before: Option<Interval>,
        findings: &[Finding],
    ) -> Option<Bound> {
        let place = slot.place(result)?;
        let evidence = self.evidence(slot, slot.of);
        let is_withholding = |one: &&Finding| one.withholds_number_or_vague_level(&place);
        let withholding: Vec<&Finding> = findings.iter().filter(is_withholding).collect();
        if withholding.is_empty() {
            // The number was never stated. Only a quantile can be missing for lack of responses alone; of other numbers, checks of all
            // sittings left a bound.
            return evidence.filter(|bound| slot.measure.is_quantile() || !bound.by.is_empty()).cloned();
        }
        let remainders: Vec<Remainder> =
            withholding.iter().map(|one| self.remainder(result, one, slot)).collect();
        let is_from_evidence = remainders.iter().any(|one| match one {
            Remainder::Evidence | Remainder::Shorter | Remainder::OfAllSlices => true,
            Remainder::AtLeast | Remainder::AtMost => slot.measure.is_quantile(),
            Remainder::Nothing | Remainder::Interval | Remainder::Within(_) => false,
        });
        let of_interval = before.filter(|_| !is_from_evidence);
        let mut bound = match of_interval {
            Some(stated) => Bound::new(slot.of, slot.measure, Some(stated.low), Some(stated.high))?,
            None => evidence.cloned()?,
        };
        for one in remainders {
            match one {
                Remainder::Nothing => return None,
                Remainder::Interval | Remainder::Evidence => {}
                Remainder::Shorter => {
                    let longest = |of: &Slot| self.evidence(of, BoundOf::Level)?.high;
                    let least = match slot.of {
                        BoundOf::Level => Some(0.0),
                        BoundOf::Cost => {
                            slot.reference(result).and_then(|other| longest(&other)).map(|high| -high)
                        }
                    };
                    (bound.low, bound.high) = (least, longest(slot));
                }
                Remainder::AtLeast => bound.high = None,
                Remainder::AtMost => bound.low = None,
                Remainder::Within(reach) => {
                    bound.low = bound.low.map(|low| low - reach);
                    bound.high = bound.high.map(|high| high + reach);
                }
                Remainder::OfAllSlices => {
                    let of_all = Slot { measure: CostMeasure::ResponseP99Us, ..*slot };
                    let all = self.evidence(&of_all, slot.of)?;
                    bound.low = bound.low.zip(all.low).map(|(low, of_all)| low.min(of_all));
                    bound.high = bound.high.zip(all.high).map(|(high, of_all)| high.max(of_all));
                }
            }
        }
        let mut by: Vec<String> = withholding.iter().map(|one| one.id.clone()).collect();
        by.sort_unstable();
        by.dedup();
        Some(Bound { by, ..Bound::new(slot.of, slot.measure, bound.low, bound.high)? })
    }

    /// Returns the bound of the number from the evidence.
    fn evidence(&self, slot: &Slot, of: BoundOf) -> Option<&Bound> {
        let (usual, of_loads) = &self.bounds[slot.arm];
        slot.load.map_or(usual, |load| &of_loads[load]).get(of, slot.measure)
    }

    /// Returns the remainder of a number in the scope of a finding.
    fn remainder(&self, result: &StudyResult, finding: &Finding, slot: &Slot) -> Remainder {
        let other = slot.reference(result).map(|other| other.arm(result));
        let is_cost = slot.of == BoundOf::Cost;
        // A difference is at least its number if its arm is, and at most if the arm that it is compared with is at least.
        let if_higher = || match &finding.arm {
            _ if !is_cost => Remainder::AtLeast,
            None => Remainder::Nothing,
            Some(id) if other.is_some_and(|other| other.id == *id) => Remainder::AtMost,
            Some(_) => Remainder::AtLeast,
        };
        let is_median = slot.measure == CostMeasure::ResponseP50Us;
        let of_rounds = matches!(slot.measure, CostMeasure::OfRounds(_));
        let id = finding.id.as_str();
        if id == samples::VAGUE.id || id == samples::VAGUE_LEVEL.id {
            Remainder::Interval
        } else if [samples::TOO_FEW.id, missing::MISSING.id, generator::SEND_LAG.id].contains(&id) {
            Remainder::Evidence
        } else if [generator::SATURATED.id, host::SHARED_PROCESSOR.id, throttled::THROTTLED.id].contains(&id)
        {
            if slot.measure.is_quantile() { Remainder::Shorter } else { if_higher() }
        } else if id == quiet::QUIET.id {
            Remainder::OfAllSlices
        } else if [host::STEAL.id, host::PROXY_RUN_DELAY.id, host::SET_ASIDE.id].contains(&id) {
            match slot.measure {
                // Measured once in each round, whatever happens to slices.
                _ if of_rounds => Remainder::Interval,
                _ if is_median || !slot.measure.is_quantile() => Remainder::Evidence,
                _ if id == host::STEAL.id => Remainder::Shorter,
                _ => Remainder::Nothing,
            }
        } else if id == arms::NOT_SATURATED.id || (id == arms::OFFERED.id && slot.measure.is_quantile()) {
            if_higher()
        } else if id == same::SAME.id {
            self.null_reach(result, slot).map_or(Remainder::Nothing, Remainder::Within)
        } else if id == known::RESPONSE_TIME.id && self.explains_known_times(result) {
            Remainder::Evidence
        } else {
            // For example, arms that were not equally busy: idling makes a request dearer and slower where wake-ups are slow, but the
            // same cause may make it cheaper, so the truth may lie on either side of the number.
            Remainder::Nothing
        }
    }

    /// Returns the distance by which a number may be off, as identical arms show it.
    fn null_reach(&self, result: &StudyResult, slot: &Slot) -> Option<f64> {
        let usual = |slot: &Slot| result.plan.usual_load_name(&slot.arm(result).id, slot.measure);
        let load = |slot: &Slot| slot.load_name(result).or_else(|| usual(slot));
        // A number of an arm itself has those of A/A arms themselves, unless it is taken from another load than theirs.
        let is_alike = |one: &Slot| {
            load(one) == load(slot)
                && one.load.is_some() == (slot.load.is_some() || usual(one) != usual(slot))
        };
        let is_null = |one: &Slot| {
            one.arm(result).kind == ArmKind::Same
                && one.of == BoundOf::Cost
                && one.measure == slot.measure
                && is_alike(one)
        };
        let nulls = self.numbers.iter().filter(|(one, _)| is_null(one));
        let nulls: Vec<f64> = nulls.filter_map(|(_, number)| Some((*number)?.estimate)).collect();
        null_reach(&nulls, result.plan.confidence)
    }

    /// Returns true if known faults of the generator explain why known response times were not measured: all lie within their bounds.
    fn explains_known_times(&self, result: &StudyResult) -> bool {
        let mut known = result.arms.iter().zip(&self.bounds).filter_map(|(arm, (bounds, _))| {
            let low = arm.known_answer?.response_p50_low_us?;
            let high = arm.known_answer?.response_p50_high_us.unwrap_or(f64::INFINITY);
            let bound = bounds.cost(CostMeasure::ResponseP50Us);
            Some(bound.is_some_and(|bound| {
                bound.low.is_none_or(|least| least <= high) && bound.high.is_none_or(|most| most >= low)
            }))
        });
        known.all(|is_within| is_within)
    }
}

impl Slot {
    /// Its arm.
    fn arm<'r>(&self, result: &'r StudyResult) -> &'r ArmResult {
        &result.arms[self.arm]
    }

    /// The name of its load; none for the usual load of its measure.
    fn load_name<'r>(&self, result: &'r StudyResult) -> Option<&'r str> {
        self.load.map(|index| self.arm(result).loads[index].load.as_str())
    }

    /// The number, if stated.
    fn stated(&self, result: &StudyResult) -> Option<Interval> {
        self.arm(result).stated(self.of, self.load_name(result), self.measure)
    }

    /// The address of the number.
    fn place<'r>(&self, result: &'r StudyResult) -> Option<Place<'r>> {
        let arm = self.arm(result);
        let usual = || result.plan.usual_load_name(&arm.id, self.measure);
        let load = self.load_name(result).or_else(usual);
        let compared_with = arm.compared_with.as_deref().filter(|_| self.of == BoundOf::Cost);
        let is_there = self.of == BoundOf::Level || compared_with.is_some();
        is_there.then_some(Place { arm: &arm.id, compared_with, load, measure: self.measure.measure() })
    }

    /// The same number of the arm that its arm is compared with.
    fn reference(&self, result: &StudyResult) -> Option<Self> {
        let arm = self.arm(result);
        let id = arm.compared_with.as_ref()?;
        let (other, other_arm) = result.arms.iter().enumerate().find(|(_, other)| other.id == *id)?;
        let beside = || result.load_beside(arm, other_arm, self.measure);
        let name = self.load_name(result).or_else(beside);
        let load = match name {
            None => None,
            Some(name) => Some(other_arm.loads.iter().position(|load| load.load == name)?),
        };
        Some(Self { arm: other, load, ..*self })
    }
}

#[cfg(test)]
mod tests;
