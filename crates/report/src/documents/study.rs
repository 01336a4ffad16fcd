//! The document of a study.

mod costs_so_far;
mod headlines;
mod mesh;
mod next;
mod sittings;
mod sittings_chart;
mod wake_ups;

use hoptax_result::{
    ArmKind, ArmResult, Bound, CostMeasure, Interval, LoadSpec, Loop, RoundMeasure, StudyBody, StudyResult,
    Verdict,
};
use hoptax_text::list::named;

use crate::chart::Chart;
use crate::costs::costs as all_costs;
use crate::document::{Block, CheckText, Document, FindingText, Judgement, Section};
use crate::in_use::by_load_charts;
use crate::layers::{bars, flame};
use crate::load_rate::{at_load, at_loads};
use crate::numbers::{counted, level, percent_difference};
use crate::quantity::{Basis, Quantity};
use crate::rows::{OF_SLICES, Row, baselines, own_load, rows, to_other};
use crate::side::{levels_by_load, side_tables, work};
use crate::table::{Cell, Column, Row as DocumentRow, Table};
use crate::{by_load, findings, kind, known, levels, load_rate, published, timeline, usable, words};

use next::{Asked, next};

pub use costs_so_far::{TextTable, costs_so_far};
pub use next::GivenStudy;
pub use sittings::sittings;
pub(super) use sittings::stored_sittings;

/// The document of a study with an unknown file and run folder. No next step measures it again.
pub fn study(result: &StudyResult) -> Document {
    named_study(result, false)
}

/// The document of a study with an unknown run folder. The name of a built-in study is enough to measure it again.
pub fn named_study(result: &StudyResult, is_built_in: bool) -> Document {
    document(result, is_built_in.then_some(Asked::BuiltIn))
}

/// The document of the study `source`, a name or a path, in its run folder.
pub fn study_of(result: &StudyResult, source: &str, folder: &str) -> Document {
    let (source, folder) = (source.to_owned(), Some(folder.to_owned()));
    given_study(result, &GivenStudy { source, folder, ..GivenStudy::default() })
}

/// As [`study_of`], with the options that its command line had.
pub fn given_study(result: &StudyResult, given: &GivenStudy) -> Document {
    document(result, Some(Asked::Study(given)))
}

/// The document of a mesh measured with these command-line options.
pub fn mesh_of(result: &StudyResult, options: &str) -> Document {
    document(result, Some(Asked::Mesh { options }))
}

/// The document of a study that is read from its run folder and can be resumed there.
///
/// # Errors
/// The reason why the text is not a result of a study.
pub fn study_in_folder(text: &str, source: &str, folder: &str) -> Result<Document, String> {
    let of = |result: &StudyResult| study_of(result, source, folder);
    kind::document::<StudyBody>(text, of).map_err(|error| error.to_string())
}

fn document(result: &StudyResult, asked: Option<Asked<'_>>) -> Document {
    let rows = rows(result);
    let subject = format!("study {}", result.name);
    let mut document = Document::of(result, subject, &result.summary, answer(result, &rows));
    if let (Some(measured), Some(last)) = (&mut document.measured, result.sittings.last()) {
        measured.last_started_at = Some(last.started_at.clone());
    }
    document.verdict = Some(Judgement { verdict: result.verdict, usable: usable::of_study(result) });
    let mut sides = by_load::cpu(result);
    sides.extend(mesh::max_rates(result));
    sides.extend(side_tables(result));
    // A timeline compares no arms, so its first table is about the phases of each arm.
    document.table = match result.plan.timeline {
        Some(_) if !sides.is_empty() => Some(sides.remove(0)),
        _ => table(result, &rows),
    };
    document.headlines = headlines::headlines(result, &rows);
    document.notes = notes(result, &rows);
    document.notes.extend(document.table.as_ref().and_then(Table::meaning_of_mark));
    document.next = next(result, asked);
    document.findings = FindingText::all(&result.findings);
    let judged_as = if result.plan.timeline.is_some() { "timeline" } else { "study" };
    // In a cluster, most checks have no evidence.
    if result.environment.cluster.is_none() {
        document.checks_without_finding =
            CheckText::without_finding(judged_as, &result.program, &result.findings);
    }
    document.plots = plots(result, &rows);
    document.sections = sections(result, sides);
    document
}

/// The arm that only forwards requests.
const PLAIN: &str = "baseline";

/// Maximum number of arms in the line about a study that is still running.
const SO_FAR: usize = 5;

/// The costs so far of a study that still measures, on one line, and the load that they belong to; none without costs in CPU time.
pub fn so_far(result: &StudyResult) -> Option<String> {
    let rows = rows(result);
    let cost = |row: &Row<'_>| {
        let share = row.arm.cost.cpu_share.as_ref().map(percent_difference);
        let us = row.arm.cost.cpu_us_per_request.as_ref();
        let us = us.map(|us| format!("{} us", crate::numbers::difference(us)));
        share.or(us).map(|cost| format!("{} {cost}", row.marked()))
    };
    let costs: Vec<String> = rows
        .iter()
        .filter(|row| row.arm.kind == ArmKind::Function && !row.arm.is_control())
        .filter_map(cost)
        .collect();
    let rounds = counted(result.plan.rounds_completed.into(), "round");
    let load = result.plan.cpu_load().map_or_else(String::new, |load| format!(" {}", at_load(load)));
    let shown = named(&costs, SO_FAR);
    (!costs.is_empty()).then(|| format!("CPU time that arms add{load}, after {rounds}: {shown}"))
}

/// The table of costs of a running study; none without a cost, and for a timeline, which compares no arms.
pub(crate) fn table_so_far(result: &StudyResult) -> Option<Table> {
    let is_timeline = result.plan.timeline.is_some();
    if is_timeline { None } else { table(result, &rows(result)) }
}

/// Returns the cost of plain proxying, and the arm that adds most to it. For a study that is void or incomplete, the reason comes first.
fn answer(result: &StudyResult, rows: &[Row<'_>]) -> Vec<String> {
    let mut answer: Vec<String> = findings::cut(result).into_iter().collect();
    let failed = findings::failed(result);
    answer.extend(failed.iter().take(1).map(|group| {
        let more = if failed.len() > 1 {
            format!(" ({} more checks failed)", failed.len() - 1)
        } else {
            String::new()
        };
        format!("The study is void: {}{more}. {}", group.message(), words::capitalised(&group.finding.advice))
    }));
    if result.verdict != Verdict::Void {
        let is_of_cluster = result.environment.cluster.is_some();
        answer.extend(if is_of_cluster { mesh::answer(result, rows) } else { costs(result, rows) });
    }
    if answer.is_empty() {
        answer.push(result.summary.clone());
    }
    answer
}

/// The rows of arms that were compared for their costs, without copies of the reference and controls.
fn functions<'r, 'a>(rows: &'r [Row<'a>]) -> impl Iterator<Item = &'r Row<'a>> {
    rows.iter().filter(|row| row.arm.kind != ArmKind::Same && !row.arm.is_control())
}

/// The cost of an arm in a measure, if it is above zero.
fn above_zero(row: &Row<'_>, measure: CostMeasure) -> Option<Interval> {
    let cost = measure.interval(&row.arm.cost).filter(|cost| cost.low > 0.0);
    cost.filter(|_| !row.arm.cost.uncertain_signs.contains(&measure))
}

/// Returns true if the cost of an arm in a measure is above zero, even if only its bounds are known.
fn is_above_zero(row: &Row<'_>, measure: CostMeasure) -> bool {
    let is_bounded_above = || {
        let bound = row.arm.bounds.cost(measure).and_then(|bound| bound.low);
        bound.is_some_and(|low| low > 0.0) && row.cost(measure).is_stated()
    };
    above_zero(row, measure).is_some() || is_bounded_above()
}

/// The number of arms with a stated cost in CPU time, and the number of those whose cost is above zero.
fn stated_and_clear(rows: &[Row<'_>]) -> (usize, usize) {
    let is_clear =
        |row: &&Row<'_>| is_above_zero(row, CostMeasure::CpuShare) || is_above_zero(row, CostMeasure::CpuUs);
    let stated = functions(rows).filter(|row| row.cost(CostMeasure::CpuUs).is_stated()).count();
    (stated, functions(rows).filter(is_clear).count())
}

/// The first arm, in the order of the table, whose cost in CPU time is above zero.
fn dearest<'r, 'a>(rows: &'r [Row<'a>]) -> Option<&'r Row<'a>> {
    let has_cost = |row: &&Row<'_>| {
        above_zero(row, CostMeasure::CpuShare).or(above_zero(row, CostMeasure::CpuUs)).is_some()
    };
    functions(rows).find(has_cost)
}

fn costs(result: &StudyResult, rows: &[Row<'_>]) -> Vec<String> {
    let share = |row: &Row<'_>| above_zero(row, CostMeasure::CpuShare);
    let us = |row: &Row<'_>| above_zero(row, CostMeasure::CpuUs);
    let dearest = dearest(rows);
    let plain = baselines(result).first().and_then(|arm| plain(result, arm));
    let mut all = functions(rows);
    if let Some(row) = all.next().filter(|_| all.next().is_none()) {
        return only(row).into_iter().chain(plain).collect();
    }
    let most = dearest.map(|row| {
        let cost = match (share(row), us(row)) {
            (Some(share), Some(us)) => {
                format!("{} ({} us)", percent_difference(&share), crate::numbers::difference(&us))
            }
            (Some(share), None) => percent_difference(&share),
            (None, us) => us.map_or_else(String::new, |us| format!("{} us", crate::numbers::difference(&us))),
        };
        let most_us = row.arm.cost.cpu_us_per_request.map_or(f64::INFINITY, |us| us.estimate);
        let bounded = functions(rows).filter(|row| may_add_more(row.arm, most_us)).count();
        if bounded > 0 {
            let arms = counted(bounded as u64, "arm");
            format!(
                "`{}` adds most CPU time of those with an interval: {cost}; {arms} may add more",
                row.marked()
            )
        } else {
            format!("`{}` adds most CPU time{}: {cost}", row.marked(), to_other(result, row.arm))
        }
    });
    let (measured, clear) = stated_and_clear(rows);
    let clear = (measured > 1)
        .then(|| format!("{clear} of {measured} costs {} above zero", if clear == 1 { "is" } else { "are" }));
    [plain, [most, clear].into_iter().flatten().reduce(|one, other| format!("{one}; {other}"))]
        .into_iter()
        .flatten()
        .collect()
}

/// The cost in CPU time of the only arm that is compared, and whether it is shown to be one; none if it was not measured.
fn only(row: &Row<'_>) -> Option<String> {
    let (share, us) = (row.cost(CostMeasure::CpuShare), row.cost(CostMeasure::CpuUs));
    let (first, second) = if share.is_stated() { (share, us) } else { (us, &Cell::Empty) };
    let Cell::Quantity(quantity) = first else { return None };
    let name = row.marked();
    if let Basis::Unknown(checks) = &quantity.basis {
        return Some(format!("`{name}`: its cost in CPU time is withheld by {checks}"));
    }
    // The sentence says it in words.
    let text = |one: &Quantity| format!("{} {}", one.clone().with_sign(false).text(), one.unit);
    let second = match second {
        Cell::Quantity(one) if second.is_stated() => format!(" ({})", text(one)),
        _ => String::new(),
    };
    let is_certain = !quantity.has_uncertain_sign;
    let found = match (quantity.low, quantity.high) {
        (Some(low), _) if is_certain && low > 0.0 => format!("`{name}` adds CPU time"),
        (_, Some(high)) if is_certain && high < 0.0 => format!("`{name}` takes less CPU time"),
        _ => format!("`{name}`: no cost in CPU time is shown"),
    };
    Some(format!("{found}: {}{second}", text(quantity)))
}

/// Returns true if an arm may add more CPU time than `us`, because its cost has no interval.
fn may_add_more(arm: &ArmResult, us: f64) -> bool {
    let is_bounded_below = |bound: &Bound| bound.high.is_some_and(|high| high <= us);
    arm.kind == ArmKind::Function
        && arm.cost.cpu_us_per_request.is_none()
        && !arm.bounds.cost(CostMeasure::CpuUs).is_some_and(is_bounded_below)
}

fn plain(result: &StudyResult, arm: &ArmResult) -> Option<String> {
    let cpu = arm.cpu_us_per_request.map(|cpu| format!("{} us of CPU time per request", level(&cpu)));
    let p50 = arm.response_us.p50.map(|p50| format!("a p50 of {} us", level(&p50)));
    let of_load =
        |text: Option<String>, load: Option<&LoadSpec>| Some(format!("{} {}", text?, at_load(load?)));
    let (cpu_load, response_load) = (result.plan.cpu_load_of(&arm.id), result.plan.response_load_of(&arm.id));
    let cpu = if cpu_load == response_load && p50.is_some() { cpu } else { of_load(cpu, cpu_load) };
    let parts: Vec<String> = [cpu, of_load(p50, response_load)].into_iter().flatten().collect();
    // In a study file, no other arm can have this name.
    let name = if arm.id == PLAIN { format!("Plain proxying (`{PLAIN}`)") } else { format!("`{}`", arm.id) };
    (!parts.is_empty()).then(|| format!("{name} takes {}", parts.join(" and ")))
}

/// True if some arm has a quiet p99.
fn has_quiet(rows: &[Row<'_>]) -> bool {
    rows.iter().any(|row| row.cost(CostMeasure::ResponseQuietP99Us).is_stated())
}

fn table(result: &StudyResult, rows: &[Row<'_>]) -> Option<Table> {
    let mut columns: Vec<Column> =
        OF_SLICES.iter().map(|(_, heading, priority)| Column::new(*heading, *priority)).collect();
    // A narrow output keeps one of the two columns.
    if has_quiet(rows) {
        columns.iter_mut().filter(|column| column.heading == "p99 us").for_each(|column| column.priority = 7);
    }
    columns.extend(
        RoundMeasure::compared()
            .zip(5..)
            .map(|(measure, priority)| Column::new(measure.definition().short_heading, priority)),
    );
    let row = |row: &Row<'_>| DocumentRow {
        name: row.marked(),
        summary: summary(result, row),
        page: None,
        cells: row.costs.iter().map(|(_, cell)| cell.clone()).collect(),
    };
    let title = match &others(rows)[..] {
        [other] => format!("cost of each arm per request, its difference from `{other}`"),
        _ => "cost of each arm per request, its difference from the arm it is compared with".to_owned(),
    };
    let mut table = Table::new(title, "arm", columns, rows.iter().map(row)).without_empty_columns();
    let has = |heading: &str| table.columns.iter().any(|column| column.heading == heading);
    let shown = OF_SLICES.into_iter().filter(|(_, heading, _)| has(heading));
    let measures: Vec<CostMeasure> = shown.map(|(measure, ..)| measure).collect();
    table.title += &at_loads(&result.plan.loads, &measures);
    (!table.columns.is_empty()).then_some(table)
}

/// The reference arms, each once.
fn others<'r>(rows: &'r [Row<'_>]) -> Vec<&'r str> {
    let mut all: Vec<&str> = rows.iter().filter_map(|row| row.arm.compared_with.as_deref()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The name of an arm, with its reference arm if that is not the main baseline.
fn summary(result: &StudyResult, row: &Row<'_>) -> String {
    let other = row.arm.compared_with.as_ref().filter(|other| **other != result.plan.baseline);
    let parts = [Some(row.arm.summary.clone()), other.map(|other| format!("compared with {other}"))];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

/// Explanations of the mark of arms with their own load, one sentence for each such load.
fn own_loads(result: &StudyResult, rows: &[Row<'_>]) -> Vec<String> {
    let is_marked = |load: &&LoadSpec| rows.iter().any(|row| own_load(result, row.arm) == Some(*load));
    let sentence = |load: &LoadSpec| {
        let mark = load_rate::rate(result, load);
        format!("({mark}): measured {}, like what the arm is compared with", at_load(load))
    };
    result.plan.loads.iter().filter(is_marked).map(sentence).collect()
}

/// States that no load of the study has proxies in use at one rate, so that CPU time is that of saturated ones; none without CPU time.
/// Over a link, its delay limits a closed loop before the proxies do.
fn saturated(result: &StudyResult, rows: &[Row<'_>]) -> Option<String> {
    let is_saturated = |load: &&LoadSpec| load.loop_ == Loop::Closed && result.plan.link.is_none();
    let closed = result.plan.cpu_load().filter(is_saturated)?;
    let of_cpu = [CostMeasure::CpuShare, CostMeasure::CpuUs];
    let has_cpu = of_cpu.iter().any(|measure| rows.iter().any(|row| row.cost(*measure).is_stated()));
    has_cpu.then(|| {
        format!(
            "CPU time is that of saturated proxies (`{}`), which hides a part of most costs: add a load `{{name: in-use, loop: open}}` \
             for costs in use",
            closed.name
        )
    })
}

/// The columns that the table lacks because no arm has a number in them, loosened thresholds, and how loads limit the numbers.
fn notes(result: &StudyResult, rows: &[Row<'_>]) -> Vec<String> {
    let mut notes = words::loosened(&result.loosened);
    notes.extend(saturated(result, rows));
    notes.extend(own_loads(result, rows));
    notes.extend(wake_ups::note(result, dearest(rows)));
    if has_quiet(rows) {
        notes.extend(words::quiet(result));
    }
    let lacking = OF_SLICES.iter().filter(|(measure, ..)| {
        let mut cells = rows.iter().map(|row| row.cost(*measure));
        cells.clone().any(Cell::is_faint) && cells.all(|cell| !cell.is_stated())
    });
    let lacking: Vec<&str> = lacking.map(|(_, heading, _)| *heading).collect();
    if !lacking.is_empty() {
        notes.push(format!("withheld for all arms: {}", lacking.join(", ")));
    }
    notes
}

/// The costs of all arms, in every measure and under every load, below the meaning of their intervals; none without a number.
fn plots(result: &StudyResult, rows: &[Row<'_>]) -> Vec<Section> {
    let meaning = words::half_width(result).map(Block::Note);
    let section = |costs| {
        let chart = Block::chart(Chart::Costs(costs));
        Section::new("Cost of each arm per request", meaning.into_iter().chain([chart]).collect())
    };
    all_costs(result, rows).map(section).into_iter().collect()
}

fn sections(result: &StudyResult, sides: Vec<Table>) -> Vec<Section> {
    let mut sections: Vec<Section> = published::section(result).into_iter().collect();
    if let Some(table) = levels::levels(result) {
        let mut section = Section::of_table(table);
        section
            .blocks
            .extend(Some(levels::notes(result)).filter(|notes| !notes.is_empty()).map(Block::Lines));
        sections.push(section);
    }
    sections.extend(pictures(result));
    sections.extend(sides.into_iter().map(Section::of_table));
    let details = levels_by_load(result).into_iter().chain(work(result));
    sections.extend(details.map(Section::folded));
    sections.extend(Section::of_lines("Known answers", known::sentences(result)));
    let mut lines = vec![words::method(result)];
    if result.plan.timeline.is_none() {
        lines.extend(words::intervals(result));
    }
    lines.extend(words::same(result));
    lines.extend(words::slices(result));
    lines.push(words::machine(result));
    sections.extend(Section::of_sentences("Method", &lines));
    sections
}

fn pictures(result: &StudyResult) -> Vec<Section> {
    let mut sections = Vec::new();
    let several = by_load_charts(result);
    if let Some(first) = several.first() {
        let busy = first.charts.first().is_some_and(|chart| chart.x.unit == "%");
        let busy = if busy {
            " Horizontal: how busy the proxy was, as measured, which is more than the share of its capacity at low rates."
        } else {
            ""
        };
        let note = format!(
            "Each function under each open loop, with its interval: the CPU time that it adds, as a share of that of the arm \
             compared with under the same load, and its CPU and response times; grey: that arm; ?: may be zero, or of the other sign.{busy}"
        );
        sections.extend(Section::of_charts("Costs by load", &note, [Chart::Groups(several)]));
    }
    let note = "Requests per second by outcome, response times, and, where the study observes how evenly load is spread, the \
                share of each proxy or worker. Vertical lines are events. All arms have the same axes.";
    sections.extend(Section::of_charts("Callers over time", note, Chart::groups(timeline::charts(result))));
    let note = "CPU time per request of each arm, us, without the profiler. The pieces of a bar are its layers, which add up to it.";
    sections.extend(Section::of_charts("CPU time by layer", note, bars(result).map(Chart::Bars)));
    let note = "CPU time per request, us, without the profiler. A frame is a function in the code of a proxy, a library or the \
                kernel. It is below the frame that calls it, and as wide as its time with all that it calls. Colour: the difference \
                from the same frame in the arm that it is compared with.";
    sections.extend(Section::of_charts("CPU time by frame", note, flame(result).map(Chart::Flame)));
    sections
}

#[cfg(test)]
mod tests;
