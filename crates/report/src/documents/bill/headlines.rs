//! The headline numbers of a bill: the cost of the whole in each unit, and its most expensive part.

use hoptax_result::{BillResult, CostMeasure, Interval, Place, Severity};

use super::reason;
use crate::headline::{Headline, unless_void};
use crate::numbers::grouped;
use crate::quantity::Quantity;
use crate::rows::bounded;

/// The headlines.
pub(super) fn headlines(result: &BillResult) -> Vec<Headline> {
    unless_void(result.verdict, of_numbers(result), || {
        let failed = result.findings.iter().find(|finding| finding.severity == Severity::Fail);
        failed.map_or("the study is void", |finding| finding.message.as_str()).to_owned()
    })
}

fn of_numbers(result: &BillResult) -> Vec<Headline> {
    let whole = &result.whole;
    let rate = result.rate.map(|rate| format!("at {} requests/s", grouped(rate, 0)));
    let of = |measure: CostMeasure, number: Option<Interval>, unit: &'static str| {
        number.map_or_else(
            || Quantity::unknown(reason(result, &of_whole(measure)), unit),
            |number| Quantity::level(&number, unit),
        )
    };
    let time = |measure: CostMeasure| match (whole.number(measure), whole.bounds.level(measure)) {
        (None, Some(bound)) => bounded(bound),
        (number, _) => of(measure, number, "us"),
    };
    let (cpu, p50) = (CostMeasure::CpuUs, CostMeasure::ResponseP50Us);
    let mut all = vec![
        Headline::number("CPU time per request", time(cpu), rate.clone()),
        Headline::number("cores", of(cpu, whole.cores, "cores"), rate),
    ];
    if result.price_per_core_hour.is_some() {
        let note = Some("at your price".to_owned());
        all.push(Headline::number("money per month", of(cpu, whole.money_per_month, ""), note));
    }
    all.push(Headline::number("p50 of the response time", time(p50), None));
    all.push(most_expensive(result));
    all
}

/// The place of a number of the whole.
fn of_whole(measure: CostMeasure) -> Place<'static> {
    Place { arm: BillResult::WHOLE, compared_with: None, load: None, measure: measure.measure() }
}

/// The part with the highest cost. Parts with a cost come first, the most expensive of them first.
fn most_expensive(result: &BillResult) -> Headline {
    let name = "most expensive part";
    let first = result.parts.first().and_then(|part| Some((part, part.cost.cpu_us_per_request?)));
    let Some((part, cost)) = first else {
        return Headline::number(name, Quantity::unknown("no part has a cost with an interval", "us"), None);
    };
    let is_uncertain = part.cost.uncertain_signs.contains(&CostMeasure::CpuUs);
    let number = Quantity::difference(&cost, "us").with_sign(is_uncertain);
    Headline::number(name, number, Some(format!("{} `{}`", part.kind, part.name)))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Bound, BoundOf, Bounds, Finding, Measured, Verdict};

    use super::super::bill;
    use super::*;
    use crate::bill::fixture;
    use crate::headline::tests::texts;

    #[test]
    fn a_bill_has_the_whole_in_each_unit_and_its_most_expensive_part() {
        let texts = texts(&bill(&fixture::bill()));
        assert_eq!(
            texts,
            [
                "CPU time per request: 180.0 ±3.1 us (at 3,000 requests/s)",
                "cores: 0.5400 ±0.0093 cores (at 3,000 requests/s)",
                "money per month: 15.77 ±0.27 (at your price)",
                "p50 of the response time: 216.0 ±3.7 us",
                "most expensive part: +31.2 ±1.3 us (HTTP filter `lua`)",
            ]
        );
    }

    #[test]
    fn a_number_of_the_whole_that_is_withheld_is_bounded_or_has_its_reason() {
        let mut result = fixture::bill();
        (result.whole.cpu_us_per_request, result.whole.cores) = (None, None);
        result.whole.response_us.p50 = None;
        let bound = Bound::new(BoundOf::Level, CostMeasure::CpuUs, Some(50.0), None);
        result.whole.bounds = Bounds(bound.into_iter().collect());
        let why = "its processors idled".to_owned();
        let finding = Finding::new("x", Severity::Warn, Measured::us(1.0, 0.0), why, "");
        result.findings = vec![Finding { withholds: true, ..finding }];
        let texts = texts(&bill(&result));
        assert!(texts[0].starts_with("CPU time per request: ≥ 50.0 us"), "{texts:?}");
        assert!(texts[1].starts_with("cores: not known: its processors idled"), "{texts:?}");
        assert_eq!(texts[3], "p50 of the response time: not known: its processors idled");
    }

    #[test]
    fn a_void_bill_has_no_number_though_its_result_has_some() {
        let mut result = fixture::bill();
        result.verdict = Verdict::Void;
        let texts = texts(&bill(&result));
        assert_eq!(texts.len(), 5);
        assert!(texts.iter().all(|text| text.ends_with(": not known: the study is void")), "{texts:?}");
    }

    #[test]
    fn without_a_price_there_is_no_money() {
        let mut result = fixture::bill();
        result.price_per_core_hour = None;
        assert!(texts(&bill(&result)).iter().all(|text| !text.starts_with("money")));
    }
}
