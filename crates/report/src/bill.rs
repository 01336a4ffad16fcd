//! The bill of a configuration: the cost of the whole, the most expensive part, a table with a row for each part, and a sentence on how
//! well the parts add up.

mod sums;

use std::collections::BTreeSet;

use hoptax_result::{
    Activity, BillResult, BilledPart, Charge, CostMeasure, Interval, RoundMeasure, Severity, Verdict,
};

use crate::numbers::{
    UNCERTAIN_SIGN, counted, difference, grouped, level, percent, percent_difference, signed,
};
use crate::rows::bounded;
use crate::table::Table;
use crate::words;

/// Returns the subject of the bill, in one line.
pub(crate) fn subject(bill: &BillResult) -> String {
    let version =
        bill.proxy_version.as_ref().map_or_else(String::new, |version| format!(", Envoy {version}"));
    let statuses: Vec<String> = bill.request.statuses.iter().map(u16::to_string).collect();
    let statuses = if statuses.is_empty() { String::new() } else { format!(" -> {}", statuses.join(", ")) };
    format!(
        "{}, listener {}{version}: {} {}{statuses}",
        bill.configuration, bill.listener, bill.request.method, bill.request.url
    )
}

/// The answer: the cost of the whole per request, and the most expensive part.
pub(crate) fn sentences(bill: &BillResult) -> Vec<String> {
    let measured = bill.changes.iter().filter(|change| change.arm.is_some());
    let void = void(bill).into_iter();
    let differing = measured.filter_map(|change| {
        words::other_work(&format!("`{}`", change.change), "the whole", &change.answer_differences)
    });
    let costs = [whole(bill), most_expensive(bill)].into_iter();
    void.chain(differing).chain(costs.filter(|_| bill.verdict != Verdict::Void)).collect()
}

/// Returns the reason why the study supports no bill; none if it supports one.
fn void(bill: &BillResult) -> Option<String> {
    (bill.verdict == Verdict::Void).then(|| {
        let failed = bill.findings.iter().find(|finding| finding.severity == Severity::Fail);
        let why = failed.map_or_else(String::new, |finding| {
            format!(": {}. {}", finding.message, words::capitalised(&finding.advice))
        });
        format!("No bill, because the study is void{why}")
    })
}

fn whole(bill: &BillResult) -> String {
    let Charge { cpu_us_per_request: Some(cpu), cores, money_per_month, .. } = &bill.whole else {
        let bound = bill.whole.bounds.level(CostMeasure::CpuUs);
        let Some(bound) = bound else {
            return "No cost per request: the CPU time of the proxy is withheld, see the findings".to_owned();
        };
        let text = bounded(bound).with_unit();
        return format!(
            "This proxy costs {text} of CPU time per request{}; no interval is supported",
            at(bill)
        );
    };
    let cores = cores.map_or_else(String::new, |cores| format!(": {} cores", precise(&cores, level)));
    let money = money_per_month
        .map_or_else(String::new, |money| format!(", {} a month at your price", precise(&money, level)));
    format!("This proxy costs {} us of CPU time per request{}{cores}{money}", level(cpu), at(bill))
}

/// The load at which all numbers were measured.
fn at(bill: &BillResult) -> String {
    bill.rate.map_or_else(String::new, |rate| format!(" at {} requests/s", grouped(rate, 0)))
}

/// True if a part is shown to cost CPU time: the sign is certain in both units, once all costs of a column are judged together.
fn is_shown_to_cost(part: &BilledPart) -> bool {
    let is_uncertain = |measure: CostMeasure| part.cost.uncertain_signs.contains(&measure);
    part.cost.cpu_us_per_request.is_some_and(|cpu| cpu.low > 0.0)
        && !is_uncertain(CostMeasure::CpuUs)
        && !is_uncertain(CostMeasure::CpuShare)
}

fn most_expensive(bill: &BillResult) -> String {
    let known: Vec<(&BilledPart, Interval)> =
        bill.parts.iter().filter_map(|part| Some((part, part.cost.cpu_us_per_request?))).collect();
    let Some((highest, highest_us)) = known.first() else {
        return "None of its parts has a measured cost".to_owned();
    };
    let cost = |part: &BilledPart, cpu: &Interval| {
        let share = part.cost.cpu_share.as_ref().map_or_else(String::new, |share| {
            format!(", {} of the whole", percent_difference(share).trim_start_matches('+'))
        });
        format!("{}: {} us{share}", named(part), difference(cpu))
    };
    let Some((first, cpu)) = known.iter().find(|(part, _)| is_shown_to_cost(part)) else {
        return format!(
            "None of its parts is shown to cost CPU time; the highest estimate is that of {}",
            cost(highest, highest_us)
        );
    };
    let is_rival = |part: &BilledPart, other: &Interval| {
        let may_be_dearer = is_shown_to_cost(part) || other.estimate > cpu.estimate;
        !std::ptr::eq(part, *first) && may_be_dearer && other.high > cpu.low
    };
    let rivals = known.iter().filter(|(part, other)| is_rival(part, other));
    let rivals: Vec<&str> = rivals.map(|(part, _)| part.name.as_str()).collect();
    let rivals = if rivals.is_empty() {
        String::new()
    } else {
        format!("; the intervals of {} overlap with it", rivals.join(", "))
    };
    format!("The most expensive part is {}{rivals}", cost(first, cpu))
}

fn named(part: &BilledPart) -> String {
    format!("{} {}", part.kind, part.name)
}

/// Text of an interval: [`level`] or [`difference`].
type Text = fn(&Interval) -> String;

/// Like `text`, with up to four decimals, because cores and money are often small numbers.
fn precise(interval: &Interval, text: Text) -> String {
    let reach = interval.reach();
    // Wider intervals would be printed as 0.100 with more decimals.
    if reach >= 0.0995 {
        return text(interval);
    }
    let decimals = if reach >= 0.01 { 3 } else { 4 };
    let estimate = if text(interval).starts_with(['+', '-']) {
        signed(interval.estimate, decimals)
    } else {
        grouped(interval.estimate, decimals)
    };
    format!("{estimate} ±{}", grouped(reach, decimals))
}

/// A column of numbers.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    heading: &'static str,
    number: Number,
}

/// The number of a charge that a column shows.
#[derive(Clone, Copy)]
enum Number {
    Of(CostMeasure),
    Cores,
    Money,
}

impl Column {
    /// The cell of a charge; `text` formats its intervals. None if the charge has no number.
    fn cell(&self, charge: &Charge, text: Text) -> Option<String> {
        let (measure, cell) = match self.number {
            Number::Of(measure) => {
                let number = charge.number(measure)?;
                let cell = match measure {
                    CostMeasure::CpuShare => percent_difference(&number),
                    CostMeasure::OfRounds(one) => precise(&number.times(1.0 / one.definition().unit), text),
                    _ => text(&number),
                };
                (measure, cell)
            }
            Number::Cores => (CostMeasure::CpuUs, precise(&charge.cores?, text)),
            Number::Money => (CostMeasure::CpuUs, precise(&charge.money_per_month?, text)),
        };
        Some(cell + if charge.uncertain_signs.contains(&measure) { UNCERTAIN_SIGN } else { "" })
    }
}

/// The columns of CPU time and of response times, the most important first. Tables leave out columns without any value.
pub(crate) fn columns_of_time() -> Vec<Column> {
    [
        ("CPU, us", Number::Of(CostMeasure::CpuUs)),
        ("of the whole", Number::Of(CostMeasure::CpuShare)),
        ("cores", Number::Cores),
        ("a month", Number::Money),
        ("p50, us", Number::Of(CostMeasure::ResponseP50Us)),
        ("p90, us", Number::Of(CostMeasure::ResponseP90Us)),
        ("quiet p99, us", Number::Of(CostMeasure::ResponseQuietP99Us)),
        ("p99, us", Number::Of(CostMeasure::ResponseP99Us)),
    ]
    .map(|(heading, number)| Column { heading, number })
    .to_vec()
}

/// The columns of measures that are taken once per round.
pub(crate) fn columns_of_rounds() -> Vec<Column> {
    let column = |measure: RoundMeasure| Column {
        heading: measure.definition().heading,
        number: Number::Of(CostMeasure::OfRounds(measure)),
    };
    RoundMeasure::ALL.map(column).to_vec()
}

/// All columns, the most important first.
pub(crate) fn all_columns() -> Vec<Column> {
    columns_of_time().into_iter().chain(columns_of_rounds()).collect()
}

/// The columns that hold words.
const WORDS: [&str; 2] = ["kind", "activity"];

/// Returns true if a table has any of these columns.
pub(crate) fn has_value(table: &Table, columns: &[Column]) -> bool {
    columns.iter().any(|column| table.columns.iter().any(|other| other.heading == column.heading))
}

/// A table with the given columns: the parts, the most expensive first, then the rest and the whole.
pub(crate) fn table(bill: &BillResult, columns: &[Column]) -> Table {
    let parts = bill.parts.iter().filter(|part| part.arm.is_some());
    let mut charges: Vec<(String, [String; 2], &Charge, Text)> = parts
        .map(|part| {
            (part.name.clone(), [part.kind.clone(), activity(&part.activity)], &part.cost, difference as Text)
        })
        .collect();
    let without_kind = || [String::new(), String::new()];
    charges.extend(bill.rest.as_ref().map(|rest| ("rest".to_owned(), without_kind(), rest, level as Text)));
    charges.push(("whole".to_owned(), without_kind(), &bill.whole, level));
    let all: Vec<&Charge> = charges.iter().map(|(_, _, charge, _)| *charge).collect();
    let columns = columns_with_values(columns, &all);
    let row = |(name, [kind, activity], charge, text): &(String, [String; 2], &Charge, Text)| {
        let numbers = columns.iter().map(|column| column.cell(charge, *text).unwrap_or_default());
        let cells = std::iter::once(kind.clone()).chain(numbers).chain([activity.clone()]);
        (name.clone(), cells.collect())
    };
    let headings =
        ["part", "kind"].into_iter().chain(columns.iter().map(|column| column.heading)).chain(["activity"]);
    Table::of_words("cost of each part per request", headings, charges.iter().map(row)).with_words(&WORDS)
}

/// The columns in which any charge has a value.
fn columns_with_values<'c>(columns: &'c [Column], charges: &[&Charge]) -> Vec<&'c Column> {
    let has_value = |column: &&Column| charges.iter().any(|charge| column.cell(charge, level).is_some());
    columns.iter().filter(has_value).collect()
}

/// A table of the measured changes with the given columns; none if there are none.
pub(crate) fn changes(bill: &BillResult, columns: &[Column]) -> Option<Table> {
    let measured: Vec<_> = bill.changes.iter().filter(|change| change.arm.is_some()).collect();
    if measured.is_empty() {
        return None;
    }
    let differences: Vec<&Charge> = measured.iter().map(|change| &change.difference).collect();
    let columns = columns_with_values(columns, &differences);
    let headings =
        ["what if"].into_iter().chain(columns.iter().map(|column| column.heading)).chain(["activity"]);
    let rows = measured.iter().map(|change| {
        let cell = |column: &&Column| column.cell(&change.difference, difference).unwrap_or_default();
        let numbers = columns.iter().map(cell);
        (change.change.clone(), numbers.chain([activity(&change.activity)]).collect())
    });
    let title = "what if: the changed proxy less the whole, per request";
    Some(Table::of_words(title, headings, rows).with_words(&WORDS))
}

/// The activity of a part in words.
pub(crate) fn activity(activity: &Activity) -> String {
    match activity {
        Activity::Exercised { .. } => "exercised",
        Activity::NotExercised { .. } => "not exercised",
        Activity::Unknown { .. } => "no statistic",
    }
    .to_owned()
}

/// Returns notes on the sum of the parts, the A/A arm, parts and changes without an effect or without proof of an effect, and those that
/// were not measured.
pub(crate) fn notes(bill: &BillResult) -> Vec<String> {
    let idle = idle(bill).into_iter().map(|line| format!("not exercised: {line}"));
    let without_statistic = without_statistic(bill).into_iter().map(|line| format!("no statistic: {line}"));
    let not_measured = not_measured(bill).into_iter().map(|line| format!("not measured: {line}"));
    adds_up(bill).into_iter().chain(idle).chain(without_statistic).chain(not_measured).collect()
}

/// Returns sentences on the sum of the parts, on parts that interact, and on the A/A arm.
pub(crate) fn adds_up(bill: &BillResult) -> Vec<String> {
    let measured: Vec<&BilledPart> = bill.parts.iter().filter(|part| part.arm.is_some()).collect();
    let whose = match measured.as_slice() {
        [one, other] => format!("{} and {}", named(one), named(other)),
        _ => "the parts".to_owned(),
    };
    let mut lines: Vec<String> =
        bill.sum.as_ref().map(|one| sums::sum(&whose, one, bill.rounds)).into_iter().collect();
    lines.extend(bill.second_study.iter().flat_map(|found| sums::second_study(found, bill.sum.as_ref())));
    lines.extend(bill.same_us.as_ref().map(same));
    lines
}

/// Parts and changes that had no effect.
pub(crate) fn idle(bill: &BillResult) -> Vec<String> {
    let parts = bill
        .parts
        .iter()
        .filter_map(|part| not_exercised(&format!("{} ({})", named(part), part.place), &part.activity));
    let changes = bill.changes.iter().filter_map(|change| not_exercised(&change.change, &change.activity));
    parts.chain(changes).collect()
}

/// Parts for which no statistic proves that they acted, with the requests that would exercise them.
pub(crate) fn without_statistic(bill: &BillResult) -> Vec<String> {
    let told = bill.parts.iter().filter_map(|part| {
        let Activity::Unknown { exercised_by: Some(by) } = &part.activity else { return None };
        Some(format!("{} ({}): exercised by {by}", named(part), part.place))
    });
    told.collect()
}

/// Parts, changes and extensions that were not measured, with the reason.
pub(crate) fn not_measured(bill: &BillResult) -> Vec<String> {
    let parts = bill.parts.iter().filter_map(|part| {
        let reason = part.not_measured.as_ref()?;
        Some(format!("{} ({}): without it, {reason}", named(part), part.place))
    });
    let changes = bill.changes.iter().filter_map(|change| {
        let reason = change.not_measured.as_ref()?;
        Some(format!("{}: {reason}", change.change))
    });
    let lacking = bill.lacking.iter().map(|what| {
        format!("{what}: this Envoy lacks the extension, so no number includes it; `--envoy PATH` measures with one that has it")
    });
    let left_out = bill.replacements.iter().filter(|replacement| replacement.is_left_out);
    // Several listeners of a dump may lack the same extension.
    let left_out: BTreeSet<String> = left_out
        .map(|replacement| format!("{}: no number includes it; {}", replacement.node, replacement.with))
        .collect();
    parts.chain(changes).chain(lacking).chain(left_out).collect()
}

fn same(same: &Interval) -> String {
    let verdict = if same.contains(0.0) {
        "the interval contains zero, as expected"
    } else {
        "the interval excludes zero, although the true difference is zero"
    };
    format!("A/A arm (a second copy of the whole): {} us; {verdict}", difference(same))
}

fn not_exercised(what: &str, activity: &Activity) -> Option<String> {
    let Activity::NotExercised { statistics, exercised_by } = activity else { return None };
    let by = exercised_by.as_ref().map_or_else(String::new, |by| format!("; it is used by {by}"));
    Some(format!(
        "{what}: no request used it ({} did not change), so its cost is that of an idle part{by}",
        statistics.join(", ")
    ))
}

/// The definitions of the numbers and what they are valid for.
pub(crate) fn method(bill: &BillResult) -> Vec<String> {
    let mut lines = vec![format!(
        "a part costs what the whole uses more than the whole without it; rest: what remains without all measured parts; ± is \
         half of the {} interval over {} and holds for this sitting; CPU time is that of the proxy's process, all numbers hold{}{}",
        percent(bill.confidence, 0),
        counted(bill.rounds.into(), "round"),
        at(bill),
        bill.arrivals.as_ref().map_or_else(String::new, |arrivals| format!(", {arrivals} arrivals"))
    )];
    if has(bill, has_bytes) {
        lines.push(BYTES.to_owned());
    }
    if let Some(rate) = bill.rate {
        let money = bill.price_per_core_hour.map_or_else(String::new, |price| {
            format!(
                "; a month: cores times {price} per core and hour times {} hours",
                grouped(bill.hours_per_month, 0)
            )
        });
        lines.push(format!(
            "cores: CPU time per request times {} requests/s to this one proxy, on processors as fast as these{money}",
            grouped(rate, 0)
        ));
    }
    lines
}

/// Explanation of the columns of bytes.
const BYTES: &str = "received, sent: bytes per request on connections with callers and with the servers that Envoy calls, by \
    its own statistics; without the records of TLS, and without files such as access logs";

/// Returns true if any charge of a bill has a number.
fn has(bill: &BillResult, number: fn(&Charge) -> bool) -> bool {
    let parts = bill.parts.iter().map(|part| &part.cost);
    let changes = bill.changes.iter().map(|change| &change.difference);
    let mut charges = parts.chain(changes).chain(&bill.rest).chain([&bill.whole]);
    charges.any(number)
}

fn has_bytes(charge: &Charge) -> bool {
    let has = |measure| charge.of_rounds.get(measure).is_some();
    has(RoundMeasure::RECEIVED_BYTES) || has(RoundMeasure::SENT_BYTES)
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
