//! The document of several results beside each other: their numbers, the differences from the first result with the decision on each, and
//! the other differences between the runs.

mod decided;
mod loads;
mod studies;

use hoptax_result::{Body, Environment, LoadBody, LoadResult, Loosened, StudyBody, StudyResult, Verdict};
use hoptax_text::list::listed;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kind_of_text;
use crate::chart::Tone;
use crate::document::{Document, Judgement, Next, Section};
use crate::environment::differences::{
    Difference, Property, differences, of_envelope, of_limits, of_plan, sentence,
};
use crate::kind::Head;
use crate::numbers::grouped;
use crate::table::{Cell, Column, Row, Table};
use crate::words::capitalised;

/// Maximum number of results beside each other, which is the number of distinguishable colours.
pub const MOST_OVERLAID: usize = TONES.len();

/// The colours of the results, beginning with that of the reference.
const TONES: [Tone; 5] = [Tone::Other, Tone::Own, Tone::Third, Tone::Fourth, Tone::Fifth];
/// Maximum number of sentences about numbers in the answer; the others are notes.
const SENTENCES: usize = 2;

/// A result of the store, shown beside others.
#[derive(Debug)]
pub struct Overlaid {
    run: i64,
    head: Head,
    options: Vec<Property>,
    body: OverlaidBody,
}

#[derive(Debug)]
enum OverlaidBody {
    Load(Box<LoadResult>),
    Study(Box<StudyResult>),
    /// A result of any other kind, represented by its answer.
    Other(Vec<String>),
}

/// A result with its name and its colour.
struct Named<'a, T> {
    name: String,
    tone: Tone,
    result: &'a T,
}

/// The plan of a result of any kind, if it has one.
#[derive(Deserialize)]
struct Planned {
    #[serde(default)]
    plan: Value,
}

impl Overlaid {
    /// Reads the result of a run.
    ///
    /// # Errors
    /// The reason why the text is not a result.
    pub fn read(run: i64, text: &str) -> Result<Self, String> {
        let kind = kind_of_text(text)?;
        let (head, options, body) = if kind.name == LoadResult::KIND {
            let result = LoadBody::from_text(text).map_err(|error| error.to_string())?;
            let rate = result.rate.target.map_or("none".to_owned(), |rate| format!("{}/s", grouped(rate, 0)));
            let mut options = vec![Property::new("rate", rate)];
            options.extend(of_command(&result.plan, &result.loosened)?);
            if result.plan.request_limit.is_some() {
                // It follows from the number of requests and the rate, or is that of a load which never reaches the number.
                options.retain(|option| option.name != "duration_s");
            }
            (Head::from_report(&result), options, OverlaidBody::Load(Box::new(result)))
        } else if kind.name == StudyResult::KIND {
            let result = StudyBody::from_text(text).map_err(|error| error.to_string())?;
            let mut options = vec![Property::new("study", result.name.clone())];
            options.extend(of_command(&result.plan, &result.loosened)?);
            (Head::from_report(&result), options, OverlaidBody::Study(Box::new(result)))
        } else {
            let head = (kind.read)(text).map_err(|error| error.to_string())?;
            let document = (kind.document)(text, &|_| false).map_err(|error| error.to_string())?;
            let mut options = vec![Property::new("subject", head.subject.clone())];
            let planned: Planned = serde_json::from_str(text).map_err(|error| error.to_string())?;
            options.extend(of_plan(&planned.plan));
            (head, options, OverlaidBody::Other(document.answer))
        };
        Ok(Self { run, head, options, body })
    }

    fn name(&self) -> String {
        format!("run {}", self.run)
    }

    /// All properties that it states in addition to its numbers.
    fn properties(&self) -> Vec<Property> {
        let mut all = of_envelope(&self.head.program, self.head.environment.as_ref());
        all.extend(self.options.iter().cloned());
        all
    }

    fn answer(&self) -> Vec<String> {
        match &self.body {
            OverlaidBody::Load(result) => super::load(result).answer,
            OverlaidBody::Study(result) => super::study(result).answer,
            OverlaidBody::Other(answer) => answer.clone(),
        }
    }
}

/// The options in a plan, and the loosened limits of checks.
fn of_command(plan: &impl Serialize, loosened: &[Loosened]) -> Result<Vec<Property>, String> {
    let plan = serde_json::to_value(plan).map_err(|error| error.to_string())?;
    let mut all = of_plan(&plan);
    all.push(of_limits(loosened));
    Ok(all)
}

/// The document of results beside each other. The first is the reference that the others are compared with. Loads have their percentile
/// curves on one chart, studies have their costs, and results of other or different kinds have their answers. At most [`MOST_OVERLAID`]
/// results are shown.
pub fn overlay(runs: &[Overlaid]) -> Document {
    let differing = differences(&runs.iter().map(Overlaid::properties).collect::<Vec<_>>());
    let loads =
        named(runs, |body| if let OverlaidBody::Load(result) = body { Some(&**result) } else { None });
    let studies = || {
        let all =
            named(runs, |body| if let OverlaidBody::Study(result) = body { Some(&**result) } else { None });
        // The studies may have no common cost.
        all.and_then(|studies| studies::overlaid(&studies))
    };
    let compared = loads.map(|loads| loads::overlaid(&loads)).or_else(studies);
    let mut document = compared.unwrap_or_else(|| side_by_side(runs));
    let numbers: Vec<String> = runs.iter().map(|one| one.run.to_string()).collect();
    document.subject = format!("runs compare {}", numbers.join(" "));
    let mut sentences = std::mem::take(&mut document.answer).into_iter();
    document.answer = sentences.by_ref().take(SENTENCES).map(|one| capitalised(&one)).collect();
    let others = capitalised(&sentence(&differing));
    if !document.changes.is_empty() {
        document.changes.push(others.clone());
    }
    document.answer.push(others);
    let mut notes: Vec<String> = sentences.collect();
    notes.append(&mut document.notes);
    document.notes = notes;
    document.sections.insert(0, Section::of_table(environment(runs, &differing)));
    let worst = runs.iter().max_by_key(|one| one.head.verdict);
    document.verdict = worst.map(|worst| Judgement { verdict: worst.head.verdict, usable: usable(runs) });
    document.next = worst.map(|worst| {
        let purpose = format!("prints the findings and all numbers of run {}", worst.run);
        Next::new(format!("hoptax runs show {} --details", worst.run), purpose)
    });
    document
}

/// The results with their names and colours, if all are of one kind.
fn named<'a, T>(
    runs: &'a [Overlaid],
    of: impl Fn(&'a OverlaidBody) -> Option<&'a T>,
) -> Option<Vec<Named<'a, T>>> {
    let named =
        |(one, tone): (&'a Overlaid, Tone)| Some(Named { name: one.name(), tone, result: of(&one.body)? });
    runs.iter().zip(TONES).map(named).collect()
}

/// Results whose numbers are not compared: the subject and the answer of each.
fn side_by_side(runs: &[Overlaid]) -> Document {
    let answers: Vec<(String, Vec<String>)> = runs.iter().map(|one| (one.name(), one.answer())).collect();
    let first = |(name, answer): &(String, Vec<String>)| Some(format!("{name}: {}", answer.first()?));
    let mut document =
        Document::new("", "", answers.iter().filter_map(first).map(|text| capitalised(&text)).collect());
    let row = |one: &Overlaid| {
        let cells = [one.head.kind, one.head.verdict.as_str(), one.head.subject.as_str()];
        Row::new(one.name(), cells.into_iter().map(Cell::words).collect())
    };
    let columns = [Column::text("kind", 2), Column::text("verdict", 1), Column::text("subject", 0)];
    document.table = Some(Table::new("runs beside each other", "run", columns, runs.iter().map(row)));
    for (name, answer) in answers {
        document.sections.extend(Section::of_lines(&capitalised(&name), answer));
    }
    document.notes.push("numbers of these results are not compared with each other".to_owned());
    document
}

/// The start and the load average of each run, and the properties in which the runs differ.
fn environment(runs: &[Overlaid], differing: &[Difference]) -> Table {
    let of_machine = |of: fn(&Environment) -> String| -> Vec<Option<String>> {
        runs.iter().map(|one| one.head.environment.as_ref().map(of)).collect()
    };
    let context = [
        ("began", of_machine(|environment| environment.started_at.clone())),
        ("load average at the start", of_machine(|environment| grouped(environment.load_average, 2))),
    ];
    let row = |name: &str, values: &[Option<String>]| {
        let cell = |value: &Option<String>| value.clone().map_or(Cell::Empty, Cell::Text);
        Row::new(name, values.iter().map(cell).collect())
    };
    let of_context = context.iter().map(|(name, values)| row(name, values));
    let rows = of_context.chain(differing.iter().map(|one| row(&one.name, &one.values)));
    let title = "environment differences";
    Table::new(title, "property", runs.iter().map(|one| Column::text(one.name(), 0)), rows)
}

/// The use that the verdicts of the runs permit, the worst first.
fn usable(runs: &[Overlaid]) -> String {
    let of = |verdict: Verdict, of_one: &str, of_several: &str| {
        let its = runs.iter().filter(|run| run.head.verdict == verdict);
        let numbers: Vec<String> = its.map(|run| run.run.to_string()).collect();
        match numbers.as_slice() {
            [] => None,
            [number] => Some(format!("run {number} {of_one}")),
            _ => Some(format!("runs {} {of_several}", listed(&numbers))),
        }
    };
    let of_each = [
        of(
            Verdict::Void,
            "is void, and its numbers are withheld",
            "are void, and their numbers are withheld",
        ),
        of(
            Verdict::Caution,
            "has findings to read before its numbers are used",
            "have findings to read before their numbers are used",
        ),
        of(Verdict::Sound, "is sound", "are sound"),
    ];
    of_each.into_iter().flatten().collect::<Vec<String>>().join("; ")
}

#[cfg(test)]
mod tests;
