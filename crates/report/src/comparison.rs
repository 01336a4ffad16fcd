//! Comparison of the arms of a study with a reference: one sentence per subject, the differences between configurations, and a table of all
//! measures.

use hoptax_result::{
    Bound, BoundShare, ComparedMeasure, ComparedSubject, ComparisonBody, CostMeasure, Decision, Interval,
    KeyDifference, PartDifference, SubjectName,
};
use hoptax_text::list::named;

use crate::load_rate::at_loads;
use crate::more_rounds;
use crate::numbers::{counted, decimals, difference, grouped, or_dash, percent, percent_difference, short};
use crate::quantity::Quantity;
use crate::rows::bounded;
use crate::sittings::{scaled, unit};
use crate::table::{Cell, Table};
use crate::words;

/// Number of paths listed for a part and for the rest.
const PATHS: usize = 6;

/// First the subjects that do other work than the reference. Then one sentence per subject: which one is cheaper, by how much, and the
/// decision. Different subjects come first, A/A arms last.
pub(crate) fn sentences(results: &[&ComparisonBody]) -> Vec<String> {
    let of = |is_same: bool| {
        let subjects = results.iter().flat_map(|result| result.subjects.iter().map(move |one| (result, one)));
        let mut subjects: Vec<_> = subjects.filter(|(_, subject)| subject.is_same == is_same).collect();
        subjects.sort_by_key(|(_, subject)| order(subject));
        subjects.into_iter().map(|(result, subject)| sentence(result, subject))
    };
    let differing = results.iter().flat_map(|result| {
        let reference = quoted(&result.reference);
        let subjects = result.subjects.iter();
        subjects.filter_map(move |one| {
            words::other_work(&quoted(&one.subject), &reference, &one.answer_differences)
        })
    });
    differing.chain(of(false)).chain(of(true)).collect()
}

/// The name of a subject in a sentence.
fn quoted(subject: &SubjectName) -> String {
    format!("`{}`", subject.name)
}

/// Sort key of a subject's sentence, from its decision.
fn order(subject: &ComparedSubject) -> u8 {
    match subject.measures.iter().find(|one| one.measure == CostMeasure::CpuUs).map(|cpu| cpu.decision) {
        Some(Decision::Different) => 0,
        Some(Decision::Undecided) => 1,
        Some(Decision::Equivalent) => 2,
        None => 3,
    }
}

/// Returns the explanations of short names, one line each, without names that need none.
pub(crate) fn legend(results: &[&ComparisonBody]) -> Vec<String> {
    let of = |result: &&ComparisonBody| -> Vec<SubjectName> {
        let others = result.subjects.iter().filter(|one| !one.is_same).map(|one| &one.subject);
        std::iter::once(&result.reference).chain(others).cloned().collect()
    };
    let says_it = |one: &SubjectName| {
        let rest = one.given.strip_prefix(&one.name);
        matches!(rest, Some("" | ".yaml" | ".yml" | ".json"))
    };
    let all = results.iter().flat_map(of).filter(|one| !says_it(one));
    all.map(|one| format!("{}: {}", one.name, one.given)).collect()
}

/// The measures in which no subject has a number or bounds, as text; none if there are none. CPU time is left out, because it has its own
/// sentences.
pub(crate) fn missing(results: &[&ComparisonBody]) -> Option<String> {
    let has = |measure: CostMeasure| {
        let mut known =
            results.iter().flat_map(|result| &result.subjects).flat_map(ComparedSubject::known_measures);
        known.any(|one| one == measure)
    };
    let is_listed = |measure: &CostMeasure| !matches!(measure, CostMeasure::CpuUs | CostMeasure::CpuShare);
    let missing = CostMeasure::all().into_iter().filter(is_listed).filter(|measure| !has(*measure));
    let missing: Vec<&str> = missing.map(CostMeasure::name).collect();
    let reason = "the study has no such numbers or withholds them, see its findings";
    (!missing.is_empty()).then(|| format!("not compared: {}; {reason}", missing.join(", ")))
}

/// Returns the differences between the reference and each subject, first in the keys of study files and then in their configurations: a
/// heading, and a line for each difference.
pub(crate) fn differences(result: &ComparisonBody) -> Vec<(String, Vec<String>)> {
    let reference = &quoted(&result.reference);
    let of = |subject: &ComparedSubject| {
        let name = &quoted(&subject.subject);
        let mut lines: Vec<String> =
            subject.keys.iter().map(|key| key_in_words(key, reference, name)).collect();
        let what = if lines.is_empty() { "the configurations of " } else { "" };
        match &subject.differences {
            None if lines.is_empty() => return None,
            None => {}
            Some(found) => {
                lines.extend(found.parts.iter().map(|part| part_in_words(part, reference, name)));
                if found.is_order_different {
                    lines.push("a request meets them in another order".to_owned());
                }
                if !found.rest.is_empty() {
                    lines.push(format!("elsewhere: {}", named(&found.rest, PATHS)));
                }
            }
        }
        let heading = if lines.is_empty() {
            format!("the configurations of {reference} and {name} do not differ")
        } else {
            format!("{what}{reference} and {name} differ:")
        };
        Some((heading, lines))
    };
    result.subjects.iter().filter_map(of).collect()
}

fn key_in_words(found: &KeyDifference, reference: &str, name: &str) -> String {
    let key = &found.key;
    match (&found.reference, &found.value) {
        (Some(one), Some(other)) => format!("`{key}`: `{one}` in {reference}, `{other}` in {name}"),
        (Some(one), None) => format!("`{key}`: `{one}` only in {reference}"),
        (None, Some(other)) => format!("`{key}`: `{other}` only in {name}"),
        (None, None) => format!("`{key}`"),
    }
}

fn part_in_words(part: &PartDifference, reference: &str, name: &str) -> String {
    let PartDifference { kind, name: part_name, .. } = part;
    match (&part.reference_place, &part.place) {
        (Some(first), Some(second)) => {
            format!("{kind} `{part_name}`: {} ({first}, {second})", named(&part.fields, PATHS))
        }
        (Some(place), None) => format!("{kind} `{part_name}`: only in {reference} ({place})"),
        (None, Some(place)) => format!("{kind} `{part_name}`: only in {name} ({place})"),
        (None, None) => format!("{kind} `{part_name}`"),
    }
}

fn sentence(result: &ComparisonBody, subject: &ComparedSubject) -> String {
    let (name, reference) = (&quoted(&subject.subject), &quoted(&result.reference));
    let Some(cpu) = subject.measures.iter().find(|one| one.measure == CostMeasure::CpuUs) else {
        let bound = subject.bounds.iter().find(|one| one.measure == CostMeasure::CpuUs);
        return match bound.map(|bound| bounded(bound).with_unit()) {
            Some(bound) => format!(
                "{name}: undecided whether it costs as much as {reference}: only bounds of the difference are known, {bound} of CPU \
                 time per request"
            ),
            None => format!("{name}: CPU time is not available, see the findings of the study"),
        };
    };
    let share = percent_difference(&cpu.difference_share);
    let margin = margin(result);
    if subject.is_same {
        let found = match cpu.decision {
            Decision::Equivalent => format!("equivalent within {margin}, as it should be"),
            Decision::Undecided => {
                format!("the interval contains zero, as it should, but is not yet within {margin}")
            }
            Decision::Different => {
                "different by chance, as one in twenty is, or by a fault of the setup: repeat the comparison"
                    .to_owned()
            }
        };
        return format!("A/A arm ({name}, identical to {reference}): {share} CPU time per request; {found}");
    }
    match cpu.decision {
        Decision::Equivalent if cpu.difference.low > 0.0 || cpu.difference.high < 0.0 => format!(
            "{name} takes {} CPU time per request than {reference}, less than the margin of {margin}: they are equivalent",
            less_or_more(cpu)
        ),
        Decision::Equivalent => format!(
            "{name} costs as much as {reference}: CPU time per request is equivalent within {margin} ({share}{})",
            narrower(cpu, result)
        ),
        Decision::Different => different(cpu, name, reference),
        Decision::Undecided => format!(
            "{name}: undecided whether it costs as much as {reference} within {margin} ({share} CPU time per request); {}",
            remedy(cpu, result)
        ),
    }
}

/// The interval that decided, if it differs from the printed one.
fn narrower(cpu: &ComparedMeasure, result: &ComparisonBody) -> String {
    let Interval { low, high, .. } = cpu.difference_share;
    if low >= -result.margin_share && high <= result.margin_share {
        return String::new();
    }
    format!("; its {} interval is within", percent(2.0 * result.confidence - 1.0, 0))
}

/// The size of a difference as text: `7.10 ±0.90 % less`.
fn less_or_more(cpu: &ComparedMeasure) -> String {
    let share = cpu.difference_share;
    let size = percent_difference(&share.times(1.0_f64.copysign(share.estimate)));
    let word = if share.estimate < 0.0 { "less" } else { "more" };
    format!("{} {word}", size.trim_start_matches('+'))
}

/// Returns a sentence that names the cheaper of two subjects with different CPU time.
fn different(cpu: &ComparedMeasure, name: &str, reference: &str) -> String {
    let word = if cpu.difference.estimate < 0.0 { "is cheaper than" } else { "costs more than" };
    let decimals = decimals(cpu.difference.half_width());
    let level = |us: f64| grouped(us, decimals);
    format!(
        "{name} {word} {reference}: {} CPU time per request, {} instead of {} us (the interval excludes zero)",
        less_or_more(cpu),
        level(cpu.reference + cpu.difference.estimate),
        level(cpu.reference)
    )
}

/// Returns the remedy for an undecided measure.
fn remedy(measure: &ComparedMeasure, result: &ComparisonBody) -> String {
    match more_rounds::within_reach(measure.rounds_until_decided) {
        Some(rounds) => format!(
            "about {} decide it, {} are measured: {} more",
            counted(rounds.into(), "round"),
            result.rounds,
            more_rounds::time(rounds, result.rounds, result.wall_seconds)
        ),
        None => "more rounds are out of reach: use a quieter machine or a wider margin".to_owned(),
    }
}

/// The margin as a percentage.
fn margin(result: &ComparisonBody) -> String {
    format!("{} %", short(100.0 * result.margin_share))
}

/// The margin that decisions are made by, as a part of a title.
fn of_margin(result: Option<&ComparisonBody>) -> String {
    result.map_or_else(String::new, |result| format!(" (equivalent: within {})", margin(result)))
}

/// All measures of all subjects.
pub(crate) fn table(results: &[&ComparisonBody]) -> Table {
    let mut subjects: Vec<&ComparedSubject> = results.iter().flat_map(|result| &result.subjects).collect();
    // A/A arms come last, in the same order as the sentences.
    subjects.sort_by_key(|subject| subject.is_same);
    let rows = subjects.into_iter().flat_map(|subject| {
        let bounds = subject.bounds.iter().map(|bound| of_bound(bound, subject.bound_share(bound.measure)));
        let cells = subject.measures.iter().map(of_measure).chain(bounds);
        cells.map(|cells| (subject.subject.name.clone(), cells))
    });
    let reference = match results {
        [one] => &one.reference.name,
        _ => "reference",
    };
    let headings =
        ["subject", "measure", reference, "difference", "relative", "decision", "rounds until decided"];
    let title = match results {
        [one] => format!("differences from {}", quoted(&one.reference)),
        _ => "differences from the reference".to_owned(),
    };
    // The sentences state shares, so a narrow output drops the levels first, then the differences in units.
    Table::of_cells(title + &of_margin(results.first().copied()) + &loads(results), headings, rows)
        .with_words(&["measure", "decision"])
        .with_priority(reference, 4)
        .with_priority("difference", 3)
        .with_priority("relative", 1)
}

/// The cells of a difference with its interval and its decision.
fn of_measure(one: &ComparedMeasure) -> Vec<Cell> {
    let in_unit = scaled(one.difference, one.measure);
    let reference = one.reference * unit(one.measure);
    let rounds = match (one.rounds_until_decided, one.decision) {
        (Some(rounds), _) => grouped(f64::from(rounds), 0),
        (None, Decision::Undecided) => "out of reach".to_owned(),
        (None, Decision::Different | Decision::Equivalent) => String::new(),
    };
    [
        one.measure.words().to_owned(),
        grouped(reference, decimals(in_unit.half_width())),
        difference(&in_unit),
        percent_difference(&one.difference_share),
        one.decision.as_str().to_owned(),
        rounds,
    ]
    .map(Cell::from)
    .into()
}

/// The cells of a difference that only bounds hold, with its share of the reference, if that is known.
fn of_bound(bound: &Bound, share: Option<&BoundShare>) -> Vec<Cell> {
    let decision = Cell::words(Decision::Undecided.as_str());
    let measure = Cell::words(bound.measure.words());
    let percent = |share: &BoundShare| Quantity::bounded_percent(share.low, share.high).with_unit();
    let relative = Cell::from(share.map(percent));
    vec![measure, Cell::Empty, Cell::Quantity(bounded(bound)), relative, decision, Cell::words("")]
}

/// The loads that differences in the measures of these comparisons hold for, as the end of a title. All are of one study.
fn loads(results: &[&ComparisonBody]) -> String {
    let subjects = results.iter().flat_map(|result| &result.subjects);
    let measures: Vec<CostMeasure> = subjects.flat_map(ComparedSubject::known_measures).collect();
    results.first().map_or_else(String::new, |first| at_loads(&first.loads, &measures))
}

/// The decisions of several comparisons of one study: a row for each arm, and a column for each measure of any comparison.
pub(crate) fn decisions(comparisons: &[ComparisonBody]) -> Table {
    let subjects = || {
        comparisons.iter().flat_map(|one| one.subjects.iter().map(move |subject| (&one.reference, subject)))
    };
    let mut measures: Vec<CostMeasure> = Vec::new();
    for (_, subject) in subjects() {
        measures.extend(subject.known_measures());
    }
    measures.sort();
    measures.dedup();
    let cell = |one: &ComparedMeasure| {
        format!("{} {}", percent_difference(&one.difference_share), one.decision.as_str())
    };
    let of_ends = |one: &Bound| format!("{} {}", bounded(one).with_unit(), Decision::Undecided.as_str());
    let row = |(reference, subject): (&SubjectName, &ComparedSubject)| {
        let of = |measure: &CostMeasure| {
            let bound = || subject.bounds.iter().find(|one| one.measure == *measure).map(of_ends);
            subject.measures.iter().find(|one| one.measure == *measure).map(cell).or_else(bound)
        };
        let cells = measures.iter().map(|measure| or_dash(of(measure)));
        (subject.subject.name.clone(), std::iter::once(reference.name.clone()).chain(cells).collect())
    };
    // Do not show the unit: it is that of the level, and differences are shares. Bounds have their own.
    let headings = ["arm", "compared with"].into_iter().chain(measures.iter().map(|one| one.name()));
    let title = format!("decisions{}", of_margin(comparisons.first()));
    Table::of_words(title, headings, subjects().map(row)).with_words(&["compared with"])
}

/// How decisions are made, and what they are valid for.
pub(crate) fn method(result: &ComparisonBody) -> String {
    let confidence = 100.0 * result.confidence;
    format!(
        "equivalent: the difference is within the margin of {} of the reference (two one-sided tests at {} %); otherwise \
         different: the {confidence} % interval excludes zero; undecided: neither. {} of {} s; decisions hold for this sitting",
        margin(result),
        grouped(100.0 - confidence, 0),
        counted(result.rounds.into(), "round"),
        grouped(result.wall_seconds / f64::from(result.rounds.max(1)), 0),
        confidence = grouped(confidence, 0)
    )
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
