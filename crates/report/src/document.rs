//! The common model of all reports. Each result becomes a [`Document`] in one file of `documents`. Each output is one renderer of documents
//! in `render`, which does not know the results.
//!
//! The first screen has the answer, one table, the findings that limit the verdict, and the next command. Sections hold the rest.

use std::path::Path;

use hoptax_checks::about::{self, About};
use hoptax_result::{Body, Finding, Program, Report, Severity, Verdict};
use hoptax_text::command_line::path_word;
use schemars::JsonSchema;
use serde::Serialize;

use crate::chart::{Chart, Differences};
use crate::findings::{self, FindingGroup};
use crate::headline::Headline;
pub(crate) use crate::next::Next;
use crate::provenance::Provenance;
use crate::table::Table;
use crate::words::capitalised;

/// A phrase in answers and notes for the place of content that the first screen leaves out. A terminal replaces it with the option or the
/// command that prints this content.
pub(crate) const IN_DETAILS: &str = "in the details";

/// A report, independent of the result that it is made from and of the output that it is rendered to.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Document {
    /// The command and its subject: `study quick`.
    pub(crate) subject: String,
    /// The title of the table, in one sentence.
    pub(crate) title: String,
    /// When, where and by what it was measured; none of a document that is not of one measurement.
    pub(crate) measured: Option<Provenance>,
    /// The answer in one or two sentences, with its interval.
    pub(crate) answer: Vec<String>,
    /// Of two studies, what changed from the first to the second, then what else differs; empty without a number that both have.
    pub(crate) changes: Vec<String>,
    /// The verdict; none for results that no check judges.
    pub(crate) verdict: Option<Judgement>,
    /// The table of the first screen; none if the answer says all.
    pub(crate) table: Option<Table>,
    /// True if a plot has all values of that table, so that a page, whose plots have tables of their own, leaves it out.
    pub(crate) is_table_plotted: bool,
    /// The few numbers that a page shows in a row under the answer, each with its interval or the reason why it is not known.
    pub(crate) headlines: Vec<Headline>,
    /// Notes that a reader of the table must know, a line each.
    pub(crate) notes: Vec<String>,
    /// The next command, with its purpose.
    pub(crate) next: Option<Next>,
    /// Pictures of the answer, above the table where an output can draw.
    pub(crate) plots: Vec<Section>,
    /// The findings, one for each group of findings of one check.
    pub(crate) findings: Vec<FindingText>,
    /// The checks that judged the result and have no finding, some of them for want of evidence; empty if it is not known which ran.
    pub(crate) checks_without_finding: Vec<CheckText>,
    /// The details.
    pub(crate) sections: Vec<Section>,
    /// The page with all details, or the command that writes it; none until one of them can be named.
    pub(crate) page: Option<String>,
    /// The most rows of its table on the first screen on a terminal, the line for the rest among them; none for as many as there is room
    /// for.
    #[serde(skip)]
    pub(crate) most_rows: Option<usize>,
    /// The content of the details, as the first screen on a terminal names it.
    #[serde(skip)]
    pub(crate) only_in_details: Option<&'static str>,
    /// The command that prints it with all details, without measuring again; none until it is in a file.
    #[serde(skip)]
    pub(crate) details: Option<String>,
}

/// The verdict of a result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Judgement {
    /// The verdict.
    pub(crate) verdict: Verdict,
    /// The numbers that may be used: `CPU costs and p50 are sound; p99 is only bounded`.
    pub(crate) usable: String,
}

/// A finding in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FindingText {
    /// Its severity.
    pub(crate) severity: Severity,
    /// The id of its check.
    pub(crate) id: String,
    /// The arms and loads in its scope: ` [lua, rbac under fixed-rate]`; empty for the whole result.
    pub(crate) scope: String,
    /// The observation.
    pub(crate) message: String,
    /// The measured value and its limit, if the message lacks them.
    pub(crate) measured: Option<String>,
    /// The numbers that it withholds or bounds.
    pub(crate) withheld: Option<String>,
    /// The remedy.
    pub(crate) advice: String,
    /// The mistake that its check protects from; none of a check that this version does not have.
    pub(crate) protects_from: Option<&'static str>,
}

/// A check in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct CheckText {
    /// Its id.
    pub(crate) id: &'static str,
    /// The mistake that it protects from.
    pub(crate) protects_from: &'static str,
}

/// A titled part of the details.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Section {
    /// Its title.
    pub(crate) title: String,
    /// True if a page shows it only when its title is selected.
    pub(crate) folded: bool,
    /// Its parts, in their order.
    pub(crate) blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Block {
    /// A sentence about the next block.
    Note(String),
    /// Sentences, one a line.
    Lines(Vec<String>),
    /// A table.
    Table(Table),
    /// A chart, where an output can draw.
    Chart(Box<Chart>),
    /// A part for outputs of text alone: a page says the same in its head or by a chart.
    TextOnly(Box<Block>),
}

impl Document {
    /// A document with only an answer.
    pub(crate) fn new(subject: impl Into<String>, title: impl Into<String>, answer: Vec<String>) -> Self {
        Self { subject: subject.into(), title: title.into(), answer, ..Self::default() }
    }

    /// A document with only the answer of a measured result, and its provenance.
    pub(crate) fn of<T: Body>(
        report: &Report<T>,
        subject: impl Into<String>,
        title: impl Into<String>,
        answer: Vec<String>,
    ) -> Self {
        Self { measured: Provenance::of(report), ..Self::new(subject, title, answer) }
    }

    /// Adds the page that shows all details.
    #[must_use]
    pub fn with_page(mut self, page: impl Into<String>) -> Self {
        self.page = Some(page.into());
        self
    }

    /// Adds the path or the run of the store that `hoptax runs show` prints the document from.
    #[must_use]
    pub fn shown_by(mut self, run: impl std::fmt::Display) -> Self {
        self.details = Some(format!("hoptax runs show {} --details", path_word(run.to_string().as_ref())));
        self
    }

    /// Adds a command that can be pasted as the next step, unless the document has its own.
    #[must_use]
    pub fn or_next(mut self, command: &str, purpose: &str) -> Self {
        self.next.get_or_insert_with(|| Next::new(command, purpose));
        self
    }

    /// Adds the file of the result. The commands for the details and for the page read it, unless the document has its own.
    #[must_use]
    pub fn written_to(self, file: &Path) -> Self {
        let document = if self.details.is_some() { self } else { self.shown_by(file.display()) };
        if document.page.is_some() {
            return document;
        }
        let page = match file.with_extension("html") {
            // A shell empties the page before the result is read.
            page if page == file => file.with_extension("html.html"),
            page => page,
        };
        let (result, page) = (path_word(file), path_word(&page));
        document.with_page(format!("hoptax convert export {result} --to html > {page}"))
    }

    /// Makes the commands about runs read the store in this file, if the command line names one.
    #[must_use]
    pub fn in_store(mut self, file: Option<&Path>) -> Self {
        let Some(file) = file else { return self };
        let file = path_word(file);
        let next = self.next.iter_mut().map(|next| &mut next.command);
        for command in next.chain(&mut self.details) {
            if command.starts_with("hoptax runs ") {
                *command += &format!(" --store {file}");
            } else if command.ends_with(" --store") {
                *command += &format!("={file}");
            }
        }
        self
    }

    /// Adds the run folder of the document, with the name of its page.
    #[must_use]
    pub fn in_folder(self, folder: &Path, page: &str) -> Self {
        self.with_page(folder.join(page).display().to_string()).shown_by(folder.display())
    }

    /// Links each row of its table to a page: `base` followed by the name of the row.
    #[must_use]
    pub fn with_pages_of_rows(mut self, base: &str) -> Self {
        for row in self.table.iter_mut().flat_map(|table| &mut table.rows) {
            row.page = Some(format!("{base}{}", row.name));
        }
        self
    }

    /// Returns the option that prints the details.
    pub(crate) fn details(&self) -> &str {
        self.details.as_deref().unwrap_or("--details")
    }

    /// All tables, each with the title of its section. The table of the first screen comes first.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Table> {
        let in_sections = self.sections.iter().flat_map(|section| &section.blocks);
        let in_sections = in_sections.filter_map(Block::table);
        self.table.iter().chain(in_sections)
    }
}

impl Block {
    /// A chart.
    pub(crate) fn chart(chart: Chart) -> Self {
        Self::Chart(Box::new(chart))
    }

    /// Marks the part as text-only, if a page `has` the same content in another form.
    #[must_use]
    pub(crate) fn unless_page(self, has: bool) -> Self {
        if has { Self::TextOnly(Box::new(self)) } else { self }
    }

    /// Its table, if it is one.
    fn table(&self) -> Option<&Table> {
        match self {
            Self::Table(table) => Some(table),
            Self::TextOnly(block) => block.table(),
            Self::Note(_) | Self::Lines(_) | Self::Chart(_) => None,
        }
    }
}

impl Section {
    /// A section that is always shown.
    pub(crate) fn new(title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self { title: title.into(), folded: false, blocks }
    }

    /// A section of charts below a note on how to read them; none without a chart.
    pub(crate) fn of_charts(
        title: &str,
        note: &str,
        charts: impl IntoIterator<Item = Chart>,
    ) -> Option<Self> {
        let mut blocks = vec![Block::Note(note.to_owned())];
        blocks.extend(charts.into_iter().map(Block::chart));
        (blocks.len() > 1).then(|| Self::new(title, blocks))
    }

    /// A section of one chart of differences; none without a difference.
    pub(crate) fn of_differences(title: &str, chart: Differences) -> Option<Self> {
        (!chart.rows.is_empty()).then(|| Self::new(title, vec![Block::chart(Chart::Differences(chart))]))
    }

    /// A section of sentences; none without any.
    pub(crate) fn of_lines(title: &str, lines: Vec<String>) -> Option<Self> {
        (!lines.is_empty()).then(|| Self::new(title, vec![Block::Lines(lines)]))
    }

    /// Like [`Self::of_lines`], but capitalises the sentences, which must not begin with a name.
    pub(crate) fn of_sentences(title: &str, lines: &[String]) -> Option<Self> {
        Self::of_lines(title, lines.iter().map(|line| capitalised(line)).collect())
    }

    /// A section of one table, with its title, and with the meaning of the mark of its numbers if any has one.
    pub(crate) fn of_table(table: Table) -> Self {
        let title = capitalised(&table.title);
        let meaning = table.meaning_of_mark().map(|meaning| Block::Lines(vec![meaning]));
        Self::new(title, std::iter::once(Block::Table(table)).chain(meaning).collect())
    }

    /// Like [`Self::of_table`], collapsed until a reader opens it.
    pub(crate) fn folded(table: Table) -> Self {
        Self::of_table(table).fold()
    }

    /// The section, collapsed until a reader opens it.
    #[must_use]
    pub(crate) fn fold(self) -> Self {
        Self { folded: true, ..self }
    }
}

impl CheckText {
    /// The checks of this kind of result that found nothing. A check also finds nothing if its evidence is missing. Empty if another
    /// version of the program judged the result, because it may have had other checks.
    pub(crate) fn without_finding(
        judges: &'static str,
        program: &Program,
        findings: &[Finding],
    ) -> Vec<Self> {
        if *program != Program::this() {
            return Vec::new();
        }
        let is_without = |about: &About| {
            about.judges.contains(&judges) && findings.iter().all(|finding| finding.id != about.id)
        };
        let text = |about: About| Self { id: about.id, protects_from: about.protects_from };
        about::all().into_iter().filter(is_without).map(text).collect()
    }
}

impl FindingText {
    /// The findings of a result, one per group.
    pub(crate) fn all(findings: &[Finding]) -> Vec<Self> {
        findings::groups(findings).iter().map(Self::new).collect()
    }

    /// The same, with arms under the names that the tables of their document have; `name` has none for other arms, which keep their id.
    pub(crate) fn all_named(findings: &[Finding], name: impl Fn(&str) -> Option<String>) -> Vec<Self> {
        let named = findings.iter().cloned().map(|finding| {
            let arm = finding.arm.map(|arm| name(&arm).unwrap_or(arm));
            Finding { arm, ..finding }
        });
        Self::all(&named.collect::<Vec<Finding>>())
    }

    pub(crate) fn new(group: &FindingGroup<'_>) -> Self {
        Self {
            severity: group.finding.severity,
            id: group.finding.id.clone(),
            scope: group.scope(),
            message: group.message(),
            measured: group.measured(),
            withheld: group.withheld(),
            advice: group.finding.advice.clone(),
            protects_from: Self::protects_from(&group.finding.id),
        }
    }

    /// The mistake that the check with this id prevents; none if there is no such check.
    fn protects_from(id: &str) -> Option<&'static str> {
        about::all().into_iter().find(|about| about.id == id).map(|about| about.protects_from)
    }

    /// The finding without its id and advice: ` of 3 arms: 4,320 responses are too few (limit 10,000 requests); withheld: p99`.
    pub(crate) fn after_id(&self) -> String {
        let measured = self.measured.as_ref().map_or_else(String::new, |measured| format!(" ({measured})"));
        let withheld = self.withheld.as_ref().map_or_else(String::new, |withheld| format!("; {withheld}"));
        format!("{}: {}{measured}{withheld}", self.scope, self.message)
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{LoadResult, Merged, StudyResult};

    use super::*;
    use crate::documents::{load, named_study, study};
    use crate::fixture;

    #[test]
    fn a_command_is_the_next_step_of_a_document_without_one() {
        let command = "hoptax runs merge 'two words'";
        let next = |document: Document| document.or_next(command, "keeps it").next.unwrap().command;
        assert_eq!(next(Document::new("x", "", Vec::new())), command);
        assert!(next(named_study(&fixture::study(), true)).starts_with("hoptax study "));
    }

    /// The ids of the checks without a finding.
    fn ids(document: &Document) -> Vec<&'static str> {
        document.checks_without_finding.iter().map(|check| check.id).collect()
    }

    fn of_this(program: Program, result: LoadResult) -> Vec<&'static str> {
        ids(&load(&LoadResult { program, ..result }))
    }

    #[test]
    fn commands_about_runs_name_the_store_of_the_command_line_and_the_file_of_the_result() {
        let next = |command: &str| Document {
            next: Some(Next::new(command, "")),
            ..Document::default().written_to("two words.json".as_ref())
        };
        let command = |document: Document| document.next.map(|next| next.command).unwrap();
        let shown = next("hoptax runs show 3").in_store(Some("s.db".as_ref()));
        assert_eq!(
            shown.details.as_deref(),
            Some("hoptax runs show 'two words.json' --details --store s.db")
        );
        assert_eq!(command(shown), "hoptax runs show 3 --store s.db");
        let measured = next("hoptax study quick --store").in_store(Some("s.db".as_ref()));
        assert_eq!(command(measured), "hoptax study quick --store=s.db");
        assert_eq!(command(next("hoptax runs list").in_store(None)), "hoptax runs list");
        let stored = Document::default().shown_by(3).written_to("result.json".as_ref());
        assert_eq!(stored.details(), "hoptax runs show 3 --details");
        let page = |document: Document, file: &str| document.written_to(file.as_ref()).page.unwrap();
        let command = "hoptax convert export 'runs/a load.json' --to html > 'runs/a load.html'";
        assert_eq!(page(Document::default(), "runs/a load.json"), command);
        let over_itself = page(Document::default(), "load.html");
        assert_eq!(over_itself, "hoptax convert export load.html --to html > load.html.html");
        assert_eq!(page(Document::default().with_page("report.html"), "load.json"), "report.html");
    }

    #[test]
    fn a_check_is_either_a_finding_or_without_one() {
        let clear = of_this(Program::this(), fixture::load());
        assert!(clear.contains(&"book") && clear.contains(&"send-lag"), "{clear:?}");
        assert!(!clear.contains(&"steal"), "it has a finding: {clear:?}");
        let of_loads = about::all().into_iter().filter(|about| about.judges.contains(&"load"));
        assert_eq!(clear.len() + 1, of_loads.count());
        let document = load(&LoadResult { program: Program::this(), ..fixture::load() });
        assert!(document.checks_without_finding.iter().all(|check| !check.protects_from.is_empty()));
    }

    #[test]
    fn no_check_is_said_to_have_found_nothing_if_it_may_not_have_run() {
        let other = Program { version: "0.0.1".to_owned(), commit: None };
        assert!(of_this(other, fixture::load()).is_empty(), "another program judged it");
        let commit = Some("0123456789".to_owned());
        assert!(of_this(Program { commit, ..Program::this() }, fixture::load()).is_empty());
        let mut merged = fixture::load();
        merged.merged = Some(Merged::default());
        assert!(of_this(Program::this(), merged).is_empty(), "each file was judged by its program");
    }

    #[test]
    fn the_checks_of_a_timeline_are_others_than_those_of_a_study() {
        let of = |result: StudyResult| ids(&study(&StudyResult { program: Program::this(), ..result }));
        let (costs, timeline) = (of(fixture::study()), of(fixture::timeline()));
        assert!(costs.contains(&"vague-level") && !timeline.contains(&"vague-level"), "{timeline:?}");
        assert!(timeline.contains(&"late-event") && !costs.contains(&"late-event"), "{timeline:?}");
    }
}
