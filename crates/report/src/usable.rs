//! The use that a verdict permits: the measures whose numbers are sound, and those that have a warning, only bounds, or no numbers.

use hoptax_result::{
    BillResult, BilledPart, ComparedSubject, ComparisonBody, CostMeasure, Finding, GateResult, Place,
    Severity, Standing, StudyResult, SubjectName, Verdict,
};
use hoptax_text::list::listed;

use crate::numbers::counted;

/// The sentence for a study: `CPU time and p50 are sound; p99 is only bounded`.
pub(crate) fn of_study(result: &StudyResult) -> String {
    let words = in_words(&result.standings()).map(|words| match result.verdict {
        Verdict::Void => words,
        Verdict::Sound | Verdict::Caution => words + about_all(&result.findings),
    });
    words.unwrap_or_else(|| {
        match result.verdict {
            Verdict::Sound => "no check warned or failed",
            Verdict::Caution => "read the findings before you use the numbers",
            Verdict::Void => "no number of the study can be used",
        }
        .to_owned()
    })
}

/// The end of a sentence on measures: that checks warn about the whole study, and so about none of its measures. Without it, a verdict of
/// caution would stand beside numbers that are all sound.
fn about_all(findings: &[Finding]) -> &'static str {
    let is_about_all = |finding: &&Finding| {
        finding.severity > Severity::Info && finding.arm.is_none() && finding.measures.is_empty()
    };
    let mut ids = findings.iter().filter(is_about_all).map(|finding| &finding.id);
    let Some(first) = ids.next() else { return "" };
    if ids.all(|id| id == first) {
        "; the whole study has a warning below"
    } else {
        "; the whole study has warnings below"
    }
}

/// The sentence for comparisons with a reference, from the findings of their study.
pub(crate) fn of_comparisons<'c>(
    verdict: Verdict,
    findings: &[Finding],
    all: &[&'c ComparisonBody],
) -> String {
    let subjects = || all.iter().flat_map(|one| one.subjects.iter().map(|subject| (subject, &one.reference)));
    let numbers = |measure: CostMeasure| -> Vec<Number<'c>> {
        let number = |(subject, reference): (&'c ComparedSubject, &'c SubjectName)| {
            let known = if subject.measures.iter().any(|one| one.measure == measure) {
                Known::Stated
            } else if subject.bounds.iter().any(|one| one.measure == measure) {
                Known::Bounded
            } else {
                Known::Withheld
            };
            Number { place: place(&subject.subject.arm, Some(&reference.arm), measure), known }
        };
        subjects().map(number).collect()
    };
    of_numbers(verdict, "the study is void, so nothing can be decided", findings, numbers)
}

/// The sentence for a gate, from the measures of its limits.
pub(crate) fn of_gate(result: &GateResult) -> String {
    const NOTHING: &str = "nothing can be judged";
    if result.is_unjudged() {
        return NOTHING.to_owned();
    }
    let numbers = |measure: CostMeasure| -> Vec<Number<'_>> {
        let limits = result.limits.iter().filter(|limit| limit.measure == measure);
        let mut numbers: Vec<Number<'_>> = limits
            .map(|limit| Number {
                place: place(&limit.arm, Some(&limit.arm), measure),
                known: if limit.change_share.is_some() { Known::Stated } else { Known::Withheld },
            })
            .collect();
        // Several limits of an arm on one measure are about the same number.
        numbers.dedup_by(|one, other| one.place == other.place);
        numbers
    };
    of_numbers(result.verdict, NOTHING, &result.findings, numbers)
}

/// The sentence for a bill, from the costs of its parts.
pub(crate) fn of_bill<'b>(result: &'b BillResult) -> String {
    let numbers = |measure: CostMeasure| -> Vec<Number<'b>> {
        let number = |part: &'b BilledPart| {
            let known = match (part.cost.number(measure), part.cost.bounds.cost(measure)) {
                (Some(_), _) => Known::Stated,
                (None, Some(_)) => Known::Bounded,
                (None, None) => Known::Withheld,
            };
            Some(Number { place: place(part.arm.as_deref()?, Some(BillResult::WHOLE), measure), known })
        };
        result.parts.iter().filter_map(number).collect()
    };
    let void = "the study is void: its evidence does not support a bill";
    of_numbers(result.verdict, void, &result.findings, numbers)
}

/// The sentence for a result that is judged as a whole. `what` names its numbers.
pub(crate) fn of_whole(what: &str, verdict: Verdict, findings: &[Finding]) -> String {
    let warnings = findings.iter().filter(|finding| finding.severity > Severity::Info).count();
    match verdict {
        Verdict::Void => format!("{what} cannot be used"),
        Verdict::Caution if warnings == 0 => format!("{what} may be used with the limits above"),
        Verdict::Caution => {
            format!(
                "{what} may be used with the {} below",
                if warnings == 1 { "warning" } else { "warnings" }
            )
        }
        Verdict::Sound => format!("{what} are sound"),
    }
}

/// A number of a result.
struct Number<'a> {
    place: Place<'a>,
    known: Known,
}

/// How well a number is known.
#[derive(Clone, Copy)]
enum Known {
    Stated,
    Bounded,
    Withheld,
}

fn place<'a>(arm: &'a str, compared_with: Option<&'a str>, measure: CostMeasure) -> Place<'a> {
    Place { arm, compared_with, load: None, measure: measure.measure() }
}

/// The standing of each measure, from its `numbers`. A measure in which no arm has a number or a bound was not requested. A share counts as
/// the same measure in us.
fn of_numbers<'a>(
    verdict: Verdict,
    void: &str,
    findings: &[Finding],
    numbers: impl Fn(CostMeasure) -> Vec<Number<'a>>,
) -> String {
    if verdict == Verdict::Void {
        return void.to_owned();
    }
    let standing = |measure: CostMeasure| {
        let mut standing = Standing { measure, sound: 0, doubted: 0, bounded: 0, withheld: 0 };
        for number in numbers(measure) {
            *match number.known {
                Known::Stated if findings.iter().any(|finding| doubts(finding, &number.place)) => {
                    &mut standing.doubted
                }
                Known::Stated => &mut standing.sound,
                Known::Bounded => &mut standing.bounded,
                Known::Withheld => &mut standing.withheld,
            } += 1;
        }
        standing
    };
    let measures = CostMeasure::all().into_iter().filter(|measure| *measure != CostMeasure::CpuShare);
    let standings: Vec<Standing> =
        measures.map(standing).filter(|standing| standing.arms() > standing.withheld).collect();
    let words = in_words(&standings).map(|words| words + about_all(findings));
    words.unwrap_or_else(|| "no number is known".to_owned())
}

/// Returns true if a finding warns about the number at a place, under any load. A warning about the whole study does not name a measure.
fn doubts(finding: &Finding, place: &Place<'_>) -> bool {
    let anywhere = Place { load: finding.load.as_deref(), ..*place };
    finding.severity > Severity::Info && !finding.measures.is_empty() && finding.concerns(&anywhere)
}

/// None without measures.
fn in_words(standings: &[Standing]) -> Option<String> {
    let named = |is_it: fn(&Standing) -> bool, one: &str, several: &str| {
        let its = standings.iter().filter(|standing| is_it(standing));
        let names: Vec<&str> = its.map(|standing| standing.measure.measure().as_str()).collect();
        let verb = if names.len() == 1 { one } else { several };
        (!names.is_empty()).then(|| format!("{} {verb}", listed(&names)))
    };
    let lacking = |standing: &Standing| standing.bounded + standing.withheld;
    let are_bounded = |standing: &Standing| standing.bounded == standing.arms();
    let are_withheld = |standing: &Standing| standing.withheld == standing.arms();
    let are_mixed =
        |standing: &&Standing| lacking(standing) > 0 && !are_bounded(standing) && !are_withheld(standing);
    // Measures that lack as many numbers in the same way share a sentence.
    let mut of_some: Vec<(String, Vec<&str>)> = Vec::new();
    for standing in standings.iter().filter(are_mixed) {
        let how = match (standing.bounded, standing.withheld) {
            (_, 0) => "only bounded",
            (0, _) => "withheld",
            _ => "bounded or withheld",
        };
        let (lacking, all) = (lacking(standing), counted(standing.arms().into(), "arm"));
        let (what, name) = (format!("{how} for {lacking} of {all}"), standing.measure.measure().as_str());
        match of_some.iter_mut().find(|(other, _)| *other == what) {
            Some((_, names)) => names.push(name),
            None => of_some.push((what, vec![name])),
        }
    }
    let of_some = of_some.into_iter().map(|(what, names)| {
        let verb = if names.len() == 1 { "is" } else { "are each" };
        format!("{} {verb} {what}", listed(&names))
    });
    let of_all = [
        named(|one| one.sound == one.arms(), "is sound", "are sound"),
        named(
            |one| one.doubted > 0 && one.sound + one.doubted == one.arms(),
            "has a warning below",
            "have warnings below",
        ),
    ];
    let of_none = [
        named(are_bounded, "is only bounded", "are only bounded"),
        named(are_withheld, "is withheld", "are withheld"),
    ];
    let parts: Vec<String> =
        of_all.into_iter().flatten().chain(of_some).chain(of_none.into_iter().flatten()).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Bound, BoundOf, Measure, Measured};

    use super::*;
    use crate::fixture;

    fn warning(arm: Option<&str>, measures: Vec<Measure>) -> Finding {
        let finding = Finding::new("x", Severity::Warn, Measured::us(1.0, 0.0), String::new(), "");
        Finding { arm: arm.map(str::to_owned), measures, load: Some("full".to_owned()), ..finding }
    }

    #[test]
    fn the_verdict_of_a_study_says_which_measures_may_be_used() {
        let sound =
            "CPU time, memory and memory per connection are sound; the whole study has a warning below";
        assert_eq!(of_study(&fixture::study()), sound);
        let mut result = fixture::loaded();
        result.findings.clear();
        for arm in &mut result.arms {
            arm.cost.response_us.p99 = None;
            let bound = Bound::new(BoundOf::Cost, CostMeasure::ResponseP99Us, Some(-20.0), Some(300.0));
            arm.bounds.0.extend(bound);
        }
        let words = of_study(&result);
        assert!(words.contains(" are sound; ") && words.contains("p99 is only bounded"), "{words}");
        let compared = result.arms.iter().filter(|arm| arm.compared_with.is_some()).count();
        // One bound does not make a bounded measure of others of which nothing is known.
        for arm in result.arms.iter_mut().filter(|arm| arm.compared_with.is_some()).skip(1) {
            arm.bounds.0.clear();
        }
        let expected = format!("p99 is bounded or withheld for {compared} of {compared} arms");
        let words = of_study(&result);
        assert!(compared > 1 && words.contains(&expected) && !words.contains("only bounded"), "{words}");
        assert!(of_study(&fixture::void()).contains("withheld"), "{}", of_study(&fixture::void()));
    }

    #[test]
    fn the_verdict_of_a_comparison_names_the_measures_that_a_warning_is_about() {
        let result = crate::comparison::fixture::comparison();
        let words = |findings: &[Finding]| of_comparisons(Verdict::Caution, findings, &[&result.body]);
        let lacking = words(&[]);
        assert!(lacking.contains("CPU time is withheld for 1 of "), "{lacking}");
        assert!(lacking.ends_with("p50, maximum rate and memory are each withheld for 3 of 4 arms"));
        let arm = result.subjects[0].subject.arm.clone();
        let mut alone = result.body.clone();
        alone.subjects.truncate(1);
        let words = |findings: &[Finding]| of_comparisons(Verdict::Caution, findings, &[&alone]);
        assert_eq!(words(&[]), "CPU time, p50, maximum rate and memory are sound");
        let doubted = "CPU time, maximum rate and memory are sound; p50 has a warning below";
        assert_eq!(words(&[warning(Some(&arm), vec![Measure::ResponseP50])]), doubted);
        assert_eq!(words(&[warning(Some("another"), vec![Measure::ResponseP50])]), words(&[]));
        let of_all = || warning(None, Vec::new());
        let sound = words(&[]);
        assert_eq!(words(&[of_all(), of_all()]), format!("{sound}; the whole study has a warning below"));
        let other = Finding { id: "y".to_owned(), ..of_all() };
        assert_eq!(words(&[of_all(), other]), format!("{sound}; the whole study has warnings below"));
        let mut bounded = alone.clone();
        let bound = Bound::new(BoundOf::Cost, CostMeasure::ResponseP99Us, Some(-20.0), Some(300.0));
        bounded.subjects[0].bounds.extend(bound);
        let words = of_comparisons(Verdict::Caution, &[], &[&bounded]);
        assert_eq!(words, "CPU time, p50, maximum rate and memory are sound; p99 is only bounded");
        let void = of_comparisons(Verdict::Void, &[], &[&alone]);
        assert_eq!(void, "the study is void, so nothing can be decided");
    }

    #[test]
    fn the_verdict_of_a_gate_counts_arms_whose_limit_is_unknown() {
        let words = of_gate(&crate::gate::fixture::gate());
        assert_eq!(words, "CPU time is sound; p99 is withheld for 1 of 2 arms");
    }

    #[test]
    fn the_verdict_of_a_bill_tells_bounds_from_numbers() {
        let mut result = crate::bill::fixture::bill();
        assert!(of_bill(&result).starts_with("CPU time, p50, "), "{}", of_bill(&result));
        result.parts[0].cost.cpu_us_per_request = None;
        let bound = Bound::new(BoundOf::Cost, CostMeasure::CpuUs, Some(-2.0), Some(30.0));
        result.parts[0].cost.bounds.0.extend(bound);
        assert!(
            of_bill(&result).contains("CPU time is only bounded for 1 of 3 arms"),
            "{}",
            of_bill(&result)
        );
    }
}
