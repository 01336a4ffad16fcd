//! Responses over time as callers see them: tables of phases and intervals, and charts for each arm.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_result::{Interval, Phase, StudyResult, Timeline, TimelinePoint};

use crate::chart::{Axis, Group, Line, Mark, Point, Series, Tone};
use crate::numbers::{grouped, or_dash, percent, short};
use crate::rows::MIB;
use crate::table::Table;

const US_PER_MS: f64 = 1_000.0;
const PERCENT: f64 = 100.0;

/// A column of a phase: its heading and its text; none without a number.
type Column = (&'static str, fn(&Phase) -> Option<String>);

const COLUMNS: [Column; 9] = [
    ("failed per million", |phase| phase.failed_per_million.map(|share| with_ends(&share, 0))),
    ("hurts s", |phase| phase.hurt_s.map(|time| with_ends(&time, 1))),
    ("late per million", |phase| phase.late_per_million.map(|share| with_ends(&share, 0))),
    ("worst p99 ms", |phase| phase.worst_p99_us.map(|time| with_ends(&time.times(1.0 / US_PER_MS), 1))),
    ("imbalance", |phase| phase.imbalance.map(|multiple| with_ends(&multiple, 2))),
    ("uneven s", |phase| phase.uneven_s.map(|time| with_ends(&time, 1))),
    ("restart s", |phase| phase.restart_s.map(|time| with_ends(&time, 2))),
    ("all generations MiB", |phase| {
        phase.generations_bytes.map(|bytes| with_ends(&bytes.times(1.0 / MIB), 1))
    }),
    ("failures", |phase| (!phase.failures.is_empty()).then(|| failures(phase))),
];

/// An estimate with the ends of its interval, which may be asymmetric: `0 (0 to 369)`.
fn with_ends(interval: &Interval, decimals: usize) -> String {
    let text = |value: f64| grouped(value, decimals);
    format!("{} ({} to {})", text(interval.estimate), text(interval.low), text(interval.high))
}

/// The kinds of failures with their numbers, the most frequent first.
fn failures(phase: &Phase) -> String {
    let mut kinds: Vec<(&String, &u64)> = phase.failures.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let words = kinds.into_iter().map(|(kind, count)| format!("{kind} {}", grouped(*count as f64, 0)));
    words.collect::<Vec<_>>().join(", ")
}

/// The numbers of each arm over the whole slice, and by phase if there are several phases.
pub(crate) fn tables(result: &StudyResult) -> Vec<Table> {
    let whole = result.timelines.iter().map(|timeline| PhaseRow {
        arm: name(result, timeline),
        title: String::new(),
        phase: &timeline.whole,
    });
    let all = table("callers over the whole slice".to_owned(), &whole.collect::<Vec<_>>());
    let phases = result.timelines.iter().flat_map(|timeline| {
        let first = move |number: usize| if number == 0 { name(result, timeline) } else { String::new() };
        let phases = timeline.phases.iter().enumerate();
        phases.map(move |(number, phase)| PhaseRow { arm: first(number), title: title(phase), phase })
    });
    let has_phases = result.timelines.iter().any(|timeline| timeline.phases.len() > 1);
    let by_phase = has_phases
        .then(|| table("callers from event to event".to_owned(), &phases.collect::<Vec<_>>()))
        .flatten();
    all.into_iter().chain(connections(result)).chain(workers(result)).chain(by_phase).collect()
}

/// The unluckiest connection of each arm; none if no connection has enough responses.
fn connections(result: &StudyResult) -> Option<Table> {
    let title = "p99 of the connection in the middle and of the unluckiest one";
    of_two(result, title, ["median ms", "worst ms"], |timeline| {
        Some([timeline.connection_p99_us?, timeline.worst_connection_p99_us?])
    })
}

/// The best and the worst worker of each arm; none if no arm has several.
fn workers(result: &StudyResult) -> Option<Table> {
    let title = "p99 of the workers with the lowest and the highest";
    of_two(result, title, ["lowest ms", "highest ms"], |timeline| {
        Some([timeline.best_worker_p99_us?, timeline.worst_worker_p99_us?])
    })
}

/// A row for each timeline with two times, ms; none if there are none.
fn of_two(
    result: &StudyResult,
    title: &str,
    names: [&str; 2],
    of: impl Fn(&Timeline) -> Option<[Interval; 2]>,
) -> Option<Table> {
    let row = |timeline: &Timeline| {
        let cells = of(timeline)?.map(|p99| with_ends(&p99.times(1.0 / US_PER_MS), 2));
        Some((name(result, timeline), cells.to_vec()))
    };
    let rows: Vec<_> = result.timelines.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| Table::of_words(title, std::iter::once("arm").chain(names), rows))
}

/// The arm of a timeline, with its load if the study has several loads.
fn name(result: &StudyResult, timeline: &Timeline) -> String {
    if result.plan.loads.len() > 1 {
        format!("{}, {}", timeline.arm, timeline.load)
    } else {
        timeline.arm.clone()
    }
}

/// The time of a phase and the event that begins it.
fn title(phase: &Phase) -> String {
    let from = format!("{} to {} s", short(phase.from_s), short(phase.to_s));
    if phase.events.is_empty() { from } else { format!("{from}: {}", phase.events.join("; ")) }
}

/// A row of a table of phases.
struct PhaseRow<'a> {
    /// Empty in all rows of an arm except the first.
    arm: String,
    /// Empty if the phase is the whole slice.
    title: String,
    phase: &'a Phase,
}

/// A table of phases with the columns that have a number; none if there are no columns.
fn table(title: String, rows: &[PhaseRow<'_>]) -> Option<Table> {
    let columns: Vec<&Column> =
        COLUMNS.iter().filter(|column| rows.iter().any(|row| column.1(row.phase).is_some())).collect();
    let has_phases = rows.iter().any(|row| !row.title.is_empty());
    let headings = std::iter::once("arm").chain(has_phases.then_some("phase"));
    let headings = headings.chain(columns.iter().map(|column| column.0));
    let cells = |row: &PhaseRow<'_>| {
        let numbers = columns.iter().map(|column| or_dash(column.1(row.phase)));
        has_phases.then(|| row.title.clone()).into_iter().chain(numbers).collect()
    };
    let rows = rows.iter().map(|row| (row.arm.clone(), cells(row)));
    (!columns.is_empty()).then(|| Table::of_words(title, headings, rows))
}

/// The intervals of each arm.
pub(crate) fn courses(result: &StudyResult) -> Vec<Table> {
    let ms = |us: Option<f64>| or_dash(us.map(|us| grouped(us / US_PER_MS, 1)));
    let has_spread =
        result.timelines.iter().flat_map(|one| &one.points).any(|point| point.imbalance.is_some());
    let row = |point: &TimelinePoint, shared: &BTreeSet<&String>| {
        let imbalance = or_dash(point.imbalance.map(|multiple| grouped(multiple, 2)));
        let rates = [point.answered_per_second, point.late_per_second, point.failed_per_second];
        let rates = rates.map(|rate| grouped(rate, 1)).into_iter();
        let share = |one: &&String| {
            let share = point.shares.get(*one).copied().flatten();
            or_dash(share.map(|share| grouped(share * PERCENT, 1)))
        };
        (
            short(point.to_s),
            rates
                .chain([ms(point.response_p50_us), ms(point.response_p99_us)])
                .chain(has_spread.then_some(imbalance))
                .chain(shared.iter().map(share))
                .collect(),
        )
    };
    let of = |timeline: &Timeline| {
        let shared = shared(timeline);
        let title = format!(
            "{} by interval, means over rounds, and medians over rounds of p50 and p99",
            name(result, timeline)
        );
        let headings = ["until s", "answered/s", "late/s", "failed/s", "p50 ms", "p99 ms"]
            .into_iter()
            .chain(has_spread.then_some("imbalance"))
            .map(str::to_owned)
            .chain(shared.iter().map(|one| format!("{one} %")));
        Table::of_words(title, headings, timeline.points.iter().map(|point| row(point, &shared)))
    };
    result.timelines.iter().map(of).collect()
}

/// The proxies or workers over which statistics should be spread evenly.
fn shared(timeline: &Timeline) -> BTreeSet<&String> {
    timeline.points.iter().flat_map(|point| point.shares.keys()).collect()
}

/// Returns explanations of the numbers of a timeline, a sentence each; none if the study observed costs.
pub(crate) fn sentences(result: &StudyResult) -> Option<Vec<String>> {
    let timeline = result.plan.timeline.as_ref()?;
    let late = timeline.objective_us.map_or_else(String::new, |objective_us| {
        format!(", and late if it is answered after more than {} ms", grouped(objective_us / US_PER_MS, 1))
    });
    let mut sentences = vec![
        format!(
            "each arm runs alone in one slice per round and load, observed in intervals of {} s; in brackets the {} interval \
             over rounds",
            short(timeline.interval_s),
            percent(result.plan.confidence, 0)
        ),
        format!(
            "a request has failed if it was not sent or not answered as expected{late}; it counts in the interval in which it ends"
        ),
        "an interval hurts if more than one request in a hundred failed or was late, or if fewer than half of the planned requests \
         ended in it"
            .to_owned(),
    ];
    if let Some(spread) = &timeline.spread {
        sentences.push(format!(
            "the imbalance is the largest of `{spread}` as a multiple of their mean; above 1.2 they are uneven, and a phase that is \
             uneven to its end has its whole length"
        ));
    }
    Some(sentences)
}

/// The value of a line at a point; none where the line has a gap.
type Value = dyn Fn(&TimelinePoint) -> Option<f64>;

/// A line of a chart.
struct Drawn {
    tone: Tone,
    name: String,
    value: Box<Value>,
}

impl Drawn {
    fn new(tone: Tone, name: &str, value: impl Fn(&TimelinePoint) -> Option<f64> + 'static) -> Self {
        Self { tone, name: name.to_owned(), value: Box::new(value) }
    }
}

/// The title of a chart, its unit, and its lines.
type Chart = (&'static str, &'static str, Vec<Drawn>);

/// The charts of a timeline.
fn charts_of(timeline: &Timeline) -> Vec<Chart> {
    let rates = vec![
        Drawn::new(Tone::Own, "answered in time", |point| {
            Some(point.answered_per_second - point.late_per_second)
        }),
        Drawn::new(Tone::Other, "late", |point| Some(point.late_per_second)),
        Drawn::new(Tone::Failed, "failed", |point| Some(point.failed_per_second)),
    ];
    let times = vec![
        Drawn::new(Tone::Other, "p50", |point| Some(point.response_p50_us? / US_PER_MS)),
        Drawn::new(Tone::Own, "p99", |point| Some(point.response_p99_us? / US_PER_MS)),
    ];
    let share = |(number, one): (usize, &String)| {
        let (tone, key) = (if number == 0 { Tone::Own } else { Tone::Other }, one.clone());
        Drawn::new(tone, one, move |point| Some((*point.shares.get(&key)?)? * PERCENT))
    };
    let shares: Vec<Drawn> = shared(timeline).into_iter().enumerate().map(share).collect();
    let usual = vec![("requests per second", "requests/s", rates), ("response time", "ms", times)];
    usual.into_iter().chain((!shares.is_empty()).then_some(("share of each", "%", shares))).collect()
}

/// Charts of each arm: its requests per second by outcome, its response times, and, if the study has a `spread`, shares. All arms have the
/// same axes.
pub(crate) fn charts(result: &StudyResult) -> Vec<Group> {
    let all: Vec<_> = result.timelines.iter().map(|timeline| (timeline, charts_of(timeline))).collect();
    let mut highest: BTreeMap<&str, f64> = BTreeMap::new();
    for (timeline, charts) in &all {
        for (title, _, drawn) in charts {
            let values = drawn.iter().flat_map(|line| timeline.points.iter().filter_map(&line.value));
            let largest = highest.entry(*title).or_default();
            *largest = values.fold(*largest, f64::max);
        }
    }
    let group = |(timeline, charts): &(&Timeline, Vec<Chart>)| Group {
        name: name(result, timeline),
        charts: charts.iter().map(|chart| series(timeline, chart, highest[chart.0])).collect(),
    };
    all.iter().map(group).collect()
}

fn series(timeline: &Timeline, (title, unit, drawn): &Chart, highest: f64) -> Series {
    let line = |Drawn { tone, name, value }: &Drawn| {
        let points = timeline.points.iter().map(|point| Point::at(point.to_s, value(point)));
        Line::joined(name, *tone, points.collect())
    };
    let begun = timeline.phases.iter().filter(|phase| !phase.events.is_empty());
    let x = Axis::linear("time since the start of the slice, s", "s");
    let y = Axis { highest: Some(highest), ..Axis::linear(format!("{title}, {unit}"), unit) };
    let marks = begun.map(|phase| Mark { x: phase.from_s, text: title_of(phase) }).collect();
    Series { marks, ..Series::new(*title, x, y, drawn.iter().map(line).collect()) }
}

fn title_of(phase: &Phase) -> String {
    format!("{} s: {}", short(phase.from_s), phase.events.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents;
    use crate::fixture::{self, STYLE};
    use crate::render::{markdown, terminal};

    #[test]
    fn a_timeline_in_a_terminal() {
        insta::assert_snapshot!(terminal::screen(
            &documents::study_of(&fixture::timeline(), "quick", "runs/quick"),
            STYLE
        ));
    }

    #[test]
    fn a_timeline_as_markdown() {
        insta::assert_snapshot!(markdown::text(&documents::study_of(
            &fixture::timeline(),
            "quick",
            "runs/quick"
        )));
    }

    #[test]
    fn a_timeline_has_charts_of_each_arm_on_the_same_axes() {
        let result = fixture::timeline();
        let groups = charts(&result);
        assert_eq!(groups.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["plain", "ejecting"]);
        assert_eq!(groups[0].charts[0].y.highest, groups[1].charts[0].y.highest);
        assert_eq!(groups.iter().map(|one| one.charts.len()).sum::<usize>(), 4);
        assert!(groups[0].charts[0].marks.iter().any(|mark| mark.text == "10 s: origin 2 silent"));
        assert!(
            documents::study(&result).sections.iter().any(|section| section.title == "Callers over time")
        );
    }

    #[test]
    fn shares_are_columns_and_a_chart() {
        let mut result = fixture::timeline();
        for (number, point) in result.timelines[1].points.iter_mut().enumerate() {
            let share = if number == 3 { None } else { Some(0.375) };
            point.shares = [("proxy".to_owned(), share), ("proxy-2".to_owned(), Some(0.625))].into();
        }
        let [without, with] = &courses(&result)[..] else { panic!("two arms") };
        assert_eq!((without.headings().len(), &with.headings()[6..]), (6, &["proxy %", "proxy-2 %"][..]));
        assert_eq!(with.texts(2)[5..], ["37.5", "62.5"]);
        assert_eq!(with.texts(3)[5], "-");
        let groups = charts(&result);
        assert_eq!(groups.iter().map(|one| one.charts.len()).collect::<Vec<_>>(), [2, 3]);
        let lines = &groups[1].charts[2].lines;
        let known = |line: &Line| line.points.iter().filter(|point| point.y.is_some()).count();
        assert_eq!(lines.iter().map(known).collect::<Vec<_>>(), [19, 20]);
    }

    #[test]
    fn withheld_numbers_are_not_shown() {
        let mut result = fixture::timeline();
        result.for_each_number(&mut |_, number| number.clear());
        for timeline in &mut result.timelines {
            for phase in timeline.phases.iter_mut().chain([&mut timeline.whole]) {
                phase.failures.clear();
            }
        }
        assert!(tables(&result).is_empty());
    }

    #[test]
    fn an_interval_that_is_cut_at_zero_shows_its_ends() {
        let interval = Interval::new(0.0, 0.0, 368.9);
        assert_eq!(with_ends(&interval, 0), "0 (0 to 369)");
    }
}
