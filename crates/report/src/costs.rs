//! The costs of a study as a chart: every measure under every load, and the slices behind them.

use hoptax_result::{
    ArmKind, ArmResult, CostMeasure, Disturbance, Finding, Interval, LoadSpec, Loop, Measure, Place,
    RoundMeasure, Sample, StudyResult,
};

use crate::by_load;
use crate::chart::{ArmSlices, CostArm, CostView, Costs, Slice, Slices, drawn};
use crate::findings::checks;
use crate::quantity::{Basis, Quantity};
use crate::rows::{OF_SLICES, Row, reference_level};
use crate::table::Cell;

/// A measure of slices that is drawn slice by slice.
struct Drawn {
    /// Its name in samples of slices.
    id: &'static str,
    /// Its name with its unit, as the label of an axis.
    axis: &'static str,
    unit: &'static str,
    /// The headings of the costs that are computed from it.
    headings: &'static [&'static str],
    /// The measure of the first of these headings.
    measure: Measure,
    /// The kind of loads under which arms are compared in this measure; none for all.
    loop_: Option<Loop>,
    /// True if arms without a proxy have a value, too.
    is_of_callers: bool,
    /// True if only disturbances that change CPU time set a slice aside: a proxy that waits for its processor accrues no CPU time.
    is_cpu_time: bool,
}

const CPU: Drawn = Drawn {
    id: "cpu_us_per_request",
    axis: "CPU time per request, us",
    unit: "us",
    headings: &["CPU %", "CPU us"],
    measure: Measure::Cpu,
    loop_: None,
    is_of_callers: false,
    is_cpu_time: true,
};
const P50: Drawn = Drawn {
    id: "response_p50_us",
    axis: "p50 of response time, us",
    unit: "us",
    headings: &["p50 us", "p50 %", "p90 us", "quiet p99 us", "p99 us", "p99 %"],
    measure: Measure::ResponseP50,
    loop_: Some(Loop::Open),
    is_of_callers: true,
    is_cpu_time: false,
};
const RATE: Drawn = Drawn {
    id: "rate",
    axis: "rate, requests/s",
    unit: "requests/s",
    headings: &["max rate/s", "max rate %"],
    measure: Measure::MaxRate,
    loop_: Some(Loop::Closed),
    is_of_callers: false,
    is_cpu_time: false,
};

/// Maximum number of slices on a page, at about 40 bytes each. Slices behind the main table are always included.
const MOST_SLICES: usize = 40_000;

/// The measures whose costs are also drawn as shares of the reference arm, with the headings and the texts of these views. CPU time is not
/// in the list, because its share is measured directly.
const SHARES: [(CostMeasure, &str, &str); 4] = [
    (CostMeasure::ResponseP50Us, "p50 %", "p50 of response time"),
    (CostMeasure::ResponseP99Us, "p99 %", "p99 of response time"),
    (CostMeasure::MaxRate, "max rate %", "max rate"),
    (CostMeasure::OfRounds(RoundMeasure::MEMORY), "memory %", "memory"),
];

/// The costs of all arms; none without a number.
pub(crate) fn costs(result: &StudyResult, rows: &[Row<'_>]) -> Option<Costs> {
    let arm = |row: &Row<'_>| CostArm {
        id: row.arm.id.clone(),
        name: row.marked(),
        family: family(row.arm),
        summary: row.arm.summary.clone(),
        compared_with: row.arm.compared_with.clone(),
        kind: row.arm.kind,
        is_control: row.arm.is_control(),
    };
    let views = views(result, rows);
    let slices = if views.is_empty() { Vec::new() } else { slices(result) };
    (!views.is_empty()).then(|| Costs { arms: rows.iter().map(arm).collect(), views, slices })
}

/// The family of the arm's function: the first part of its id.
fn family(arm: &ArmResult) -> String {
    let id = arm.function.as_ref().unwrap_or(&arm.id);
    id.split(['/', '{']).next().unwrap_or_default().to_owned()
}

fn views(result: &StudyResult, rows: &[Row<'_>]) -> Vec<CostView> {
    let mut views = Vec::new();
    for (measure, heading, _) in OF_SLICES {
        let usual = result.plan.usual_load(measure.measure());
        let of_usual = rows.iter().map(|row| row.cost(measure).clone()).collect();
        views.extend(numbered(view(result, measure, heading, usual, of_usual)));
        views.extend(shares(result, rows, measure));
        let others = result.plan.loads.iter().filter(|load| {
            CostMeasure::BY_LOAD.contains(&measure) && Some(&load.name) != usual.map(|usual| &usual.name)
        });
        for load in others {
            let of_load = rows.iter().map(|row| by_load::cost(result, row.arm, load, measure)).collect();
            views.extend(numbered(view(result, measure, heading, Some(load), of_load)));
        }
    }
    for measure in RoundMeasure::compared() {
        let heading = measure.definition().short_heading;
        let measure = CostMeasure::OfRounds(measure);
        let cells = rows.iter().map(|row| row.cost(measure).clone()).collect();
        views.extend(numbered(view(result, measure, heading, None, cells)));
        views.extend(shares(result, rows, measure));
    }
    views
}

/// The costs in a measure as shares. None if the measure has no such view, or if it would contain neither a share nor a reason why one is
/// missing.
fn shares(result: &StudyResult, rows: &[Row<'_>], measure: CostMeasure) -> Option<CostView> {
    let (_, heading, words) = SHARES.into_iter().find(|(one, ..)| *one == measure)?;
    let cells: Vec<Cell> = rows.iter().map(|row| share(result, row, measure)).collect();
    // If the level is missing for all shares, the view has only the reason.
    let says = |(row, cell): (&Row<'_>, &Cell)| has_interval(row.cost(measure)) && *cell != Cell::Empty;
    if !rows.iter().zip(&cells).any(says) {
        return None;
    }
    let axis = format!("difference from the arm compared with: {words}, % of that arm");
    let load = result.plan.usual_load(measure.measure());
    Some(CostView { axis, ..view(result, measure, heading, load, cells) })
}

/// The cost of an arm as a share of the level of its reference arm, formed within rounds. Results without such a share, as of earlier
/// versions, have that of the cost and of the level with the errors of both ([`Interval::share_of`]): if the cost or the level is withheld,
/// it is unknown for the same reason. Empty if only bounds of the cost are known, or if the level was not measured.
fn share(result: &StudyResult, row: &Row<'_>, measure: CostMeasure) -> Cell {
    let Cell::Quantity(cost) = row.cost(measure) else { return Cell::Empty };
    if matches!(cost.basis, Basis::Unknown(_)) {
        return Cell::Quantity(Quantity { unit: "%", ..cost.clone() });
    }
    let (Some(estimate), Some(low), Some(high)) = (cost.estimate, cost.low, cost.high) else {
        return Cell::Empty;
    };
    let known = |share: &Interval| {
        let share = Quantity::difference(&share.times(100.0), "%");
        Cell::Quantity(share.with_sign(cost.has_uncertain_sign))
    };
    if let Some(share) = row.arm.cost.share(measure) {
        return known(&share);
    }
    let Some(level) = reference_level(result, row.arm, measure) else {
        return why_withheld(result, row.arm, measure).map(|why| Quantity::unknown(why, "%")).into();
    };
    match Interval::new(estimate, low, high).share_of(&level) {
        Some(share) => known(&share),
        None => Cell::Quantity(Quantity::unknown("the level that it is a share of, which may be zero", "%")),
    }
}

/// The reason why the level of the reference arm is withheld; none if it was not measured.
fn why_withheld(result: &StudyResult, arm: &ArmResult, measure: CostMeasure) -> Option<String> {
    let other = result.reference_of(arm)?;
    let bound = other.bounds_under(result.load_beside(arm, other, measure))?.level(measure);
    let load = result.plan.usual_load_name(&arm.id, measure);
    let place = Place { arm: &other.id, compared_with: None, load, measure: measure.measure() };
    let is_withholding = |finding: &&Finding| finding.withholds_number_or_vague_level(&place);
    let withholding = result.findings.iter().filter(is_withholding).map(|finding| &finding.id);
    let bounding = bound.iter().flat_map(|bound| &bound.by);
    let bounded = "the level that it is a share of, of which only bounds are known";
    checks(withholding.chain(bounding).map(String::as_str)).or(bound.map(|_| bounded.to_owned()))
}

/// The view if any arm has a number in it.
fn numbered(view: CostView) -> Option<CostView> {
    view.cells.iter().any(has_interval).then_some(view)
}

/// Returns true if a cell has both ends of an interval.
fn has_interval(cell: &Cell) -> bool {
    matches!(cell, Cell::Quantity(quantity) if quantity.low.is_some() && quantity.high.is_some())
}

/// The view of a measure under a load.
fn view(
    result: &StudyResult,
    measure: CostMeasure,
    heading: &str,
    load: Option<&LoadSpec>,
    cells: Vec<Cell>,
) -> CostView {
    CostView {
        heading: heading.to_owned(),
        axis: format!("difference from the arm compared with: {}", measure.words()),
        load: load.map(|load| load.name.clone()),
        load_words: load.map(|load| by_load::heading(result, load)),
        cells,
    }
}

/// The slices behind the main table, then those of the maximum rate and of other loads, up to the maximum number.
fn slices(result: &StudyResult) -> Vec<Slices> {
    let is_usual = |drawn: &Drawn, load: &LoadSpec| {
        let usual = |arm: &ArmResult| result.plan.usual_load_of(&arm.id, drawn.measure) == Some(load);
        result.arms.iter().any(usual)
    };
    // Arms may have their own load.
    let of = |drawn: &Drawn, usual: bool| -> Vec<Slices> {
        let loads = result.plan.loads.iter().filter(|load| is_usual(drawn, load) == usual);
        loads.filter_map(|load| of_load(result, drawn, load)).collect()
    };
    let mut slices = [of(&CPU, true), of(&P50, true)].concat();
    let count = |slices: &Slices| slices.arms.iter().map(|arm| arm.slices.len()).sum::<usize>();
    let mut all: usize = slices.iter().map(count).sum();
    for more in [of(&RATE, true), of(&CPU, false), of(&P50, false), of(&RATE, false)].concat() {
        let with_more = all + count(&more);
        if with_more <= MOST_SLICES {
            all = with_more;
            slices.push(more);
        }
    }
    slices
}

/// The slices of all arms in a measure under a load; none if there are none.
fn of_load(result: &StudyResult, drawn: &Drawn, load: &LoadSpec) -> Option<Slices> {
    if drawn.loop_.is_some_and(|loop_| loop_ != load.loop_) {
        return None;
    }
    // Without a proxy, the rate is that of the generator, and there is no CPU time of a proxy.
    let has_value = |arm: &&ArmResult| arm.kind != ArmKind::Direct || drawn.is_of_callers;
    let arms = result
        .arms
        .iter()
        .filter(has_value)
        .map(|arm| ArmSlices { arm: arm.id.clone(), slices: of_arm(result, &arm.id, &load.name, drawn) });
    let arms: Vec<ArmSlices> = arms.filter(|arm| !arm.slices.is_empty()).collect();
    (!arms.is_empty()).then(|| Slices {
        axis: drawn.axis.to_owned(),
        unit: drawn.unit,
        headings: drawn.headings.iter().map(|heading| (*heading).to_owned()).collect(),
        load: load.name.clone(),
        arms,
    })
}

fn of_arm(result: &StudyResult, arm: &str, load: &str, of: &Drawn) -> Vec<Slice> {
    let mut slices = Vec::new();
    for round in &result.rounds {
        let is_own = |sample: &&Sample| sample.arm == arm && sample.load == load;
        for sample in round.samples.iter().filter(is_own) {
            let values = sample.values.get(of.id).into_iter().flatten();
            let slice = |((value, s), aside): ((&Option<f64>, &f64), &Vec<_>)| {
                let counts_against = |one: &&Disturbance| !of.is_cpu_time || one.invalidates_cpu_time();
                let causes: Vec<&str> =
                    aside.iter().filter(counts_against).map(|one: &Disturbance| one.as_str()).collect();
                Some(Slice {
                    round: round.round + 1,
                    s: drawn(*s),
                    value: drawn((*value)?),
                    aside: (!causes.is_empty()).then(|| causes.join(", ")),
                })
            };
            slices.extend(values.zip(&sample.began_s).zip(&sample.set_aside).filter_map(slice));
        }
    }
    slices
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Bound, BoundOf, Measured, Severity, StudyRound};

    use super::*;
    use crate::fixture;
    use crate::rows::rows;

    fn of(result: &StudyResult) -> Costs {
        costs(result, &rows(result)).unwrap()
    }

    #[test]
    fn a_view_has_a_cell_for_each_arm_and_the_first_is_that_of_the_main_table() {
        let result = fixture::loaded();
        let costs = of(&result);
        assert!(costs.views.iter().all(|view| view.cells.len() == costs.arms.len()));
        let first = &costs.views[0];
        let lua = costs.arms.iter().position(|arm| arm.name == "lua").unwrap();
        assert_eq!((first.heading.as_str(), first.cells[lua].text().as_str()), ("CPU %", "+10.76 ±0.91"));
        let loads: Vec<Option<&str>> = costs
            .views
            .iter()
            .filter(|view| view.heading == "CPU us")
            .map(|view| view.load.as_deref())
            .collect();
        assert_eq!(loads.len(), 3, "{loads:?}");
        assert!(costs.views.iter().any(|view| view.heading == "memory MiB" && view.load.is_none()));
        assert!(costs.arms.iter().any(|arm| arm.family == "stats"), "{:?}", costs.arms);
    }

    /// A study whose baseline has this maximum rate, of which `lua` costs 1,000.
    fn with_max_rate(level: Interval) -> StudyResult {
        let mut result = fixture::study();
        for arm in &mut result.arms {
            match arm.id.as_str() {
                "baseline" => arm.max_rate = Some(level),
                "lua" => arm.cost.max_rate = Some(Interval::around(-1_000.0, 300.0)),
                _ => {}
            }
        }
        result
    }

    #[test]
    fn response_times_rates_and_memory_are_shares_too() {
        let costs = of(&with_max_rate(Interval::around(20_000.0, 0.0)));
        let lua = costs.arms.iter().position(|arm| arm.id == "lua").unwrap();
        let view = |heading: &str| costs.views.iter().find(|view| view.heading == heading).unwrap();
        assert_eq!(view("max rate %").cells[lua].text(), "-5.0 ±1.5");
        for heading in ["p50 %", "p99 %", "memory %"] {
            let Cell::Quantity(share) = &view(heading).cells[lua] else { panic!("{heading}") };
            assert_eq!((share.unit, share.low.is_some()), ("%", true), "{heading}");
        }
        let delay = costs.arms.iter().position(|arm| arm.id == "control/delay").unwrap();
        let Cell::Quantity(withheld) = &view("max rate %").cells[delay] else { panic!("a reason") };
        assert_eq!(withheld.basis, Basis::Unknown("not-saturated".to_owned()));
    }

    /// The share of `lua` in a view, if there is the view.
    fn share_of_lua(result: &StudyResult, heading: &str) -> Option<Cell> {
        let costs = of(result);
        let lua = costs.arms.iter().position(|arm| arm.id == "lua").unwrap();
        Some(costs.views.iter().find(|view| view.heading == heading)?.cells[lua].clone())
    }

    fn unknown(why: &str) -> Cell {
        Cell::Quantity(Quantity::unknown(why, "%"))
    }

    #[test]
    fn a_share_of_a_level_that_is_withheld_is_unknown_by_the_checks_that_withheld_it() {
        let mut result = fixture::study();
        let p99 = |result: &StudyResult| share_of_lua(result, "p99 %");
        for arm in result.arms.iter_mut().filter(|arm| arm.kind == ArmKind::Baseline) {
            arm.response_us.p99 = None;
        }
        let vague = |arm: &str| Finding {
            arm: Some(arm.to_owned()),
            load: Some("fixed-rate".to_owned()),
            measures: vec![Measure::ResponseP99],
            ..Finding::new(
                Finding::VAGUE_LEVEL,
                Severity::Info,
                Measured::percent(0.6, 0.5),
                String::new(),
                "add rounds",
            )
        };
        result.findings.push(vague("lua"));
        assert_eq!(p99(&result), None, "nothing says that the level of a baseline was withheld");
        result.findings.push(vague("baseline"));
        assert_eq!(p99(&result), Some(unknown("vague-level")), "in a view of reasons alone");
        let bound = |by: &[&str]| {
            let bound = Bound::new(BoundOf::Level, CostMeasure::ResponseP99Us, Some(200.0), None).unwrap();
            Bound { by: by.iter().map(ToString::to_string).collect(), ..bound }
        };
        let bounded = |result: &mut StudyResult, by: &[&str]| {
            let baseline = result.arms.iter_mut().find(|arm| arm.id == "baseline").unwrap();
            baseline.bounds.0 = vec![bound(by)];
        };
        bounded(&mut result, &["too-few-samples", "vague-level"]);
        assert_eq!(p99(&result), Some(unknown("too-few-samples and vague-level")));
        result.findings.clear();
        bounded(&mut result, &[]);
        assert_eq!(
            p99(&result),
            Some(unknown("the level that it is a share of, of which only bounds are known"))
        );
    }

    #[test]
    fn a_share_of_a_level_that_may_be_zero_is_unknown() {
        let result = with_max_rate(Interval::around(20_000.0, 20_000.0));
        let why = "the level that it is a share of, which may be zero";
        assert_eq!(share_of_lua(&result, "max rate %"), Some(unknown(why)));
    }

    #[test]
    fn a_share_is_that_of_the_rounds_if_the_result_has_it() {
        let mut result = with_max_rate(Interval::around(20_000.0, 2_000.0));
        assert_eq!(share_of_lua(&result, "max rate %").unwrap().text(), "-5.0 ±2.2");
        for arm in result.arms.iter_mut().filter(|arm| arm.id == "lua") {
            let share = Interval::around(-0.052, 0.016);
            arm.cost.shares.set(CostMeasure::MaxRate, Some(share));
        }
        assert_eq!(share_of_lua(&result, "max rate %").unwrap().text(), "-5.2 ±1.6");
    }

    #[test]
    fn a_void_study_has_no_costs_to_draw() {
        let result = fixture::void();
        assert!(costs(&result, &rows(&result)).is_none());
    }

    #[test]
    fn a_control_is_told_from_the_functions_whose_costs_are_asked_for() {
        let costs = of(&fixture::study());
        let controls: Vec<&str> =
            costs.arms.iter().filter(|arm| arm.is_control).map(|arm| arm.name.as_str()).collect();
        assert!(
            !controls.is_empty() && controls.iter().all(|name| name.starts_with("control/")),
            "{controls:?}"
        );
    }

    #[test]
    fn the_slices_of_an_arm_say_what_was_set_aside_and_why() {
        let mut result = fixture::study();
        let load = result.plan.cpu_load().unwrap().name.clone();
        let sample = Sample {
            arm: "lua".to_owned(),
            load: load.clone(),
            began_s: vec![1.0, 2.0, 3.0, 4.0],
            block: vec![0, 1, 2, 3],
            copy: vec![0; 4],
            set_aside: vec![
                Vec::new(),
                vec![Disturbance::Steal, Disturbance::Handover],
                Vec::new(),
                vec![Disturbance::RunDelay],
            ],
            slowdown: vec![None; 4],
            values: [("cpu_us_per_request".to_owned(), vec![Some(50.123_456), Some(99.0), None, Some(51.0)])]
                .into(),
            ..Sample::default()
        };
        result.rounds = vec![StudyRound { round: 2, samples: vec![sample], ..StudyRound::default() }];
        let costs = of(&result);
        let [cpu] = costs.slices.as_slice() else { panic!("{costs:?}") };
        assert_eq!((cpu.load.as_str(), cpu.arms.len(), cpu.arms[0].arm.as_str()), (load.as_str(), 1, "lua"));
        let slices: Vec<_> = cpu.arms[0]
            .slices
            .iter()
            .map(|slice| (slice.round, slice.s, slice.value, slice.aside.as_deref()))
            .collect();
        assert_eq!(
            slices,
            [(3, 1.0, 50.123, None), (3, 2.0, 99.0, Some("steal, handover")), (3, 4.0, 51.0, None)]
        );
    }
    /// A round of one arm under each load, with this number of slices of each measure.
    fn round(result: &StudyResult, slices: usize) -> StudyRound {
        let values = [CPU.id, P50.id, RATE.id].map(|id| (id.to_owned(), vec![Some(50.0); slices]));
        let sample = |load: &LoadSpec| Sample {
            arm: "lua".to_owned(),
            load: load.name.clone(),
            began_s: vec![1.0; slices],
            set_aside: vec![Vec::new(); slices],
            values: values.iter().cloned().collect(),
            ..Sample::default()
        };
        StudyRound { samples: result.plan.loads.iter().map(sample).collect(), ..StudyRound::default() }
    }

    #[test]
    fn slices_under_other_loads_follow_those_behind_the_main_table_as_long_as_there_is_room() {
        let mut result = fixture::loaded();
        let names = |result: &StudyResult| -> Vec<(String, String)> {
            of(result).slices.iter().map(|one| (one.headings[0].clone(), one.load.clone())).collect()
        };
        result.rounds = vec![round(&result, 1)];
        let all = names(&result);
        let usual = |measure| result.plan.usual_load(measure).unwrap().name.clone();
        let first = [("CPU %", usual(Measure::Cpu)), ("p50 us", usual(Measure::ResponseP50))];
        let first = first.map(|(heading, load)| (heading.to_owned(), load));
        assert_eq!(all[..2], first);
        let count = |heading: &str| all.iter().filter(|one| one.0 == heading).count();
        let closed = result.plan.loads.iter().filter(|load| load.loop_ == Loop::Closed).count();
        let loads = result.plan.loads.len();
        assert!(loads > 2 && closed > 0, "{:?}", result.plan.loads);
        assert_eq!([count("CPU %"), count("p50 us"), count("max rate/s")], [loads, loads - closed, closed]);
        // Two measures of so many slices leave no room.
        result.rounds = vec![round(&result, MOST_SLICES / 2)];
        assert_eq!(names(&result), first);
    }
}
