//! Measures the cost of a given Envoy configuration per request, and the cost that each of its parts adds.
//!
//! [`Configuration::price`] is the way of every bill: a [`Laboratory`] tries the whole and the whole without each part, and one study
//! measures the arms that give the same answers. If the parts do not add up, a second study measures them again, and pairs of them.
//! `hoptax_bootstrap` changes the configuration, `hoptax_subject` reads the user's files and runs Envoy, and `hoptax_judge::bill` computes
//! the bill from the result of a study.

mod activity;
mod arm;
mod budget;
mod change;
mod given_file;
mod laboratory;
mod named;
mod order;
mod passed;
mod second_study;
mod study_file;
#[cfg(test)]
mod tests;
mod text;
mod tries;
mod try_out;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hoptax_functions::Catalogue;
use hoptax_judge::bill::bill;
use hoptax_judge::bill::second_study::is_in_doubt;
use hoptax_plan::file::StudyFile;
use hoptax_report::documents;
use hoptax_report::render::{html, markdown};
use hoptax_result::{BillResult, StudyResult};
use hoptax_subject::envoy::given::{Given, GivenError};
use hoptax_text::secrets::without_signatures;

use self::budget::{Next, Pace};
use self::laboratory::{Laboratory, adapt};
use self::second_study::First;
use self::study_file::{FEWEST_BLOCKS, MOST_BLOCKS, NAME, Source, StudyOfBill, configuration_of, study_file};
use self::text::{measuring, outcomes, outline};
use self::tries::Tries;
use crate::continuation::continued_by;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::length::RequestedLength;
use crate::measure::{Options, Place, complete};
use crate::run_folder::Held;
use crate::study::Study;
use crate::update::{Say, Update};
use crate::{library, outputs, run_folder};

pub use self::budget::Budget;
pub use self::change::Change;
pub use self::given_file::{GivenFile, PodOfBill};
pub use self::passed::Listed;
pub use hoptax_bootstrap::request::RequestLine;

/// Default number of rounds.
const ROUNDS: u32 = 12;
/// The files of a bill in its run folder.
const BILL: &str = "bill.json";
const MARKDOWN: &str = "bill.md";
const PAGE: &str = "bill.html";

/// The configuration to price, its listener and its request.
#[derive(Clone, Copy, Debug)]
pub struct PriceSettings<'a> {
    /// The file with the configuration.
    pub configuration: &'a Path,
    /// The listener, by its name or a unique prefix; none for the first that forwards a request.
    pub listener: Option<&'a str>,
    /// The request; none to derive it from the routes.
    pub request: Option<&'a RequestLine>,
    /// The user's headers of the request, names and values.
    pub headers: &'a [(String, String)],
    /// The names of the parts to measure; empty for all.
    pub without: &'a [String],
    /// Changes to measure in addition.
    pub what_if: &'a [Change],
    /// Requests per second to the proxy; none for a share of the capacity of the slowest arm.
    pub rate: Option<f64>,
    /// Price of a processor core for an hour.
    pub price_per_core_hour: Option<f64>,
}

/// A given configuration to price.
pub struct Configuration<'a> {
    settings: PriceSettings<'a>,
    given: Given,
    catalogue: &'static Catalogue,
}

/// Settings of the studies of a bill.
#[derive(Clone, Copy)]
pub struct Studies<'a> {
    /// The run folder.
    pub folder: &'a Path,
    /// True to continue the bill in the folder.
    pub is_resumed: bool,
    /// The time limit of the bill, which its studies share; none to measure the default number of rounds.
    pub budget: Option<Budget>,
    /// The time after which no further arm is tried; none without a limit.
    pub tries_within: Option<Duration>,
    /// The command that continues the bill after an interrupt, without its run folder; none if no command does.
    pub again: Option<&'a str>,
    /// Options of the studies. Without a number of rounds, they have the default of bills.
    pub options: Options<'a>,
}

impl<'a> Configuration<'a> {
    /// Reads the configuration.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a configuration.
    pub fn read(settings: PriceSettings<'a>) -> Result<Self, Failure> {
        let shown = settings.configuration.display().to_string();
        if shown.contains("://") {
            return Err(Failure::bad_input(format!(
                "`{shown}` is an address, but `hoptax price` reads a file: save the configuration of the proxy first, from its admin port, \
                 with `curl -s http://127.0.0.1:9901/config_dump > config.json`"
            )));
        }
        let given = Given::read(settings.configuration).map_err(|error| match error {
            GivenError::File { .. } | GivenError::Content(_) => Failure::bad_input(error),
        })?;
        Ok(Self { settings, given, catalogue: library::catalogue()? })
    }

    /// Reads a configuration from somebody who must not read files of this machine or run programs on it. Call [`Self::listed`] before
    /// anything else: it makes checks that this function cannot make.
    ///
    /// # Errors
    /// When the file cannot be read, is not a configuration, or names another file.
    pub fn read_alone(settings: PriceSettings<'a>) -> Result<Self, Failure> {
        let given = Given::read_alone(settings.configuration).map_err(Failure::bad_input)?;
        Ok(Self { settings, given, catalogue: library::catalogue()? })
    }

    /// Its listeners, without starting any process.
    ///
    /// # Errors
    /// When the configuration cannot be adapted to this machine, or has no such listener or part.
    pub fn listed(&self) -> Result<Listed, Failure> {
        passed::listed(adapt(&self.given, Path::new("FOLDER"))?, &self.settings, self.catalogue)
    }

    /// Starts nothing. `tell` gets the listeners with their parts and all replacements, and then the command that measures them.
    ///
    /// # Errors
    /// As of [`Self::listed`], when a file that the configuration names is missing, when no listener can be priced, and when `tell` fails.
    pub fn dry_run(&self, tell: &dyn Fn(&str) -> Result<(), Failure>) -> Result<(), Failure> {
        let listed = self.listed()?;
        tell(&self.outline(&listed))?;
        self.given.check_files(&listed.adapted).map_err(Failure::bad_input)?;
        let next = measuring(&listed).ok_or_else(|| {
            Failure::bad_input("no listener can be priced: state another request with --request")
        });
        tell(&next?)
    }

    fn outline(&self, listed: &Listed) -> String {
        // A dump is more than the configuration.
        outline(self.given.described(), listed)
    }

    /// Creates the run folder of the bill; `folder` is none for one that is named after the time.
    ///
    /// # Errors
    /// When it cannot be created, or its name is not UTF-8.
    pub fn create_run_folder(folder: Option<&Path>) -> Result<PathBuf, Failure> {
        run_folder::make_folder(&run_folder::path_of(folder, NAME))
    }

    /// Checks that a run folder holds a bill of this configuration, before its arms are tried there.
    ///
    /// # Errors
    /// When it holds none.
    pub fn check_resumed(&self, folder: &Path) -> Result<(), Failure> {
        let begun = run_folder::study(folder)?.0.file;
        let is_of_this = configuration_of(&begun) == Some(self.absolute_path()?.as_path());
        if is_of_this { Ok(()) } else { Err(of_another_bill(folder)) }
    }

    /// The absolute path of its file.
    fn absolute_path(&self) -> Result<PathBuf, Failure> {
        let path = self.settings.configuration;
        path.canonicalize()
            .map_err(|error| Failure::environment(format!("cannot find `{}`: {error}", path.display())))
    }

    /// Tries the arms and measures nothing. `tell` gets the listeners with their parts and all replacements, and then the outcomes.
    ///
    /// # Errors
    /// When a requirement is missing, no arm can be tried, `tell` fails, and after an interrupt.
    pub fn tries(
        &self,
        studies: &Studies<'_>,
        tell: &dyn Fn(&str) -> Result<(), Failure>,
        interrupt: &Interrupt,
        say: Say<'_>,
    ) -> Result<(), Failure> {
        let tried = self.try_arms(studies, tell, interrupt, say);
        tried.map(drop).map_err(|failure| studies.ended_by(failure, interrupt))
    }

    /// Tries the arms, with the outcomes as notes, and measures the bill in the run folder.
    ///
    /// # Errors
    /// When a requirement is missing, no arm can be tried, and when a study cannot begin, fails or is interrupted.
    pub fn price(
        &self,
        studies: &Studies<'_>,
        interrupt: &Interrupt,
        say: Say<'_>,
    ) -> Result<BillResult, Failure> {
        let note = |text: &str| {
            say(Update::Note(text));
            Ok(())
        };
        let tried = self.try_arms(studies, &note, interrupt, say);
        let priced = tried.and_then(|tries| self.measure(&tries, studies, interrupt, say));
        priced.map_err(|failure| studies.ended_by(failure, interrupt))
    }

    fn try_arms(
        &self,
        studies: &Studies<'_>,
        tell: &dyn Fn(&str) -> Result<(), Failure>,
        interrupt: &Interrupt,
        say: Say<'_>,
    ) -> Result<Tries, Failure> {
        let laboratory = Laboratory::set_up(self, studies.options.envoy, studies.folder, interrupt, say)?;
        tell(&self.outline(&laboratory.listed))?;
        let tries = laboratory.try_arms(studies.tries_within)?;
        tell(&outcomes(&tries))?;
        Ok(tries)
    }

    /// Measures the arms that give the same answers as the whole, and writes the bill to the run folder.
    fn measure(
        &self,
        tries: &Tries,
        studies: &Studies<'_>,
        interrupt: &Interrupt,
        say: Say<'_>,
    ) -> Result<BillResult, Failure> {
        let (settings, folder) = (&self.settings, studies.folder);
        let parts = order::order(settings, tries).parts;
        // The user knows the parts, but not the arms that are measured.
        let say_of_parts = |update: Update<'_>| match update {
            Update::SoFar { result, is_worth_a_line } => {
                let result = &hoptax_judge::bill::so_far(result, &parts);
                say(Update::SoFar { result, is_worth_a_line });
            }
            other => say(other),
        };
        let say: Say<'_> = &say_of_parts;
        let configuration = self.absolute_path()?;
        let statuses: Vec<u16> = tries.answers.answer.statuses.keys().copied().collect();
        let began = Instant::now();
        let budget = studies.budget.map(|budget| budget.of_first(began, tries.all_off.is_some()));
        let measured = tries.measured();
        // Include the second copy of the whole.
        let subjects = budget::subjects(measured.len() + 1);
        let mut source = Source {
            configuration: &configuration,
            listener: &tries.passed.listener.name,
            lacking: &tries.lacking,
            statuses: &statuses,
            blocks: budget.map_or(MOST_BLOCKS, |budget| budget::blocks(budget, subjects)),
        };
        let file_of =
            |source| study_file(source, StudyOfBill::First, &tries.whole.arm, &measured, settings.rate);
        if studies.is_resumed {
            let begun = run_folder::study(folder)?.0.file;
            // The number of slices depends on the time that the tries left.
            let blocks = (FEWEST_BLOCKS..=MOST_BLOCKS)
                .find(|blocks| is_same_measurement(&begun, &file_of(Source { blocks: *blocks, ..source })));
            source.blocks = blocks.ok_or_else(|| of_another_bill(folder))?;
        }
        let result =
            studies.run(file_of(source), Length { rounds: ROUNDS, budget }, folder, interrupt, say)?;
        let mut bill = bill(&result, order::order(settings, tries));
        // Write the bill now, so that the first study is kept if a second one fails or is interrupted.
        write(folder, &bill)?;
        let pace = Pace::measured(&result, began.elapsed(), tries.of_each);
        let second = is_in_doubt(&bill).then(|| second_study::size(&bill));
        let next = match studies.budget {
            Some(budget) => budget.next(Instant::now(), &pace, second),
            None => second.map_or(Next::Nothing, |_| Next::Second),
        };
        match next {
            Next::Second => {
                let first = First { bill: &bill, pace };
                let second = second_study::measure(self, tries, source, &first, studies, interrupt, say);
                if second.is_err() {
                    say(Update::Note(&format!("the bill of the first study is in `{}`", folder.display())));
                }
                bill.second_study = Some(second?);
                write(folder, &bill)?;
            }
            Next::More => {
                let length = RequestedLength { budget: studies.left(&pace), ..RequestedLength::default() };
                let options = Options { length, ..studies.options };
                let measured = complete(&Place::Resumed(folder), &options, interrupt, say);
                if measured.is_err() {
                    // Each further round has removed the bill of the first ones.
                    write(folder, &bill)?;
                }
                let result = measured?;
                bill = hoptax_judge::bill::bill(&result, order::order(settings, tries));
                write(folder, &bill)?;
            }
            Next::Nothing => {}
        }
        if is_in_doubt(&bill) && bill.second_study.is_none() {
            say(Update::Note(
                "--budget leaves no time for a second study, which could decide whether the parts add up",
            ));
        }
        Ok(bill)
    }
}

/// The length of a study of a bill.
#[derive(Clone, Copy)]
struct Length {
    /// Number of rounds if the user states none.
    rounds: u32,
    /// Its share of the time limit of the bill, instead of a number of rounds.
    budget: Option<Duration>,
}

impl Studies<'_> {
    /// How a bill ended that failed. An error after an interrupt is a consequence of it.
    fn ended_by(&self, failure: Failure, interrupt: &Interrupt) -> Failure {
        let interrupted = match failure {
            failure if failure.is_interrupt() => failure,
            _ if interrupt.is_requested() => Failure::interrupted(),
            failure => return failure,
        };
        match self.again {
            Some(command) => continued_by(interrupted, command, self.folder),
            None => interrupted,
        }
    }

    /// The time for rounds of the last study, if it runs at the pace of the first; none without a budget.
    fn left(&self, pace: &Pace) -> Option<Duration> {
        self.budget.map(|budget| budget.of_last(Instant::now(), pace))
    }

    /// Measures a study in `folder`. A resumed bill continues the study that the folder holds if it asks for the same
    /// measurement, and replaces any other.
    fn run(
        &self,
        file: StudyFile,
        length: Length,
        folder: &Path,
        interrupt: &Interrupt,
        say: Say<'_>,
    ) -> Result<StudyResult, Failure> {
        let stored =
            Some(folder).filter(|_| self.is_resumed).and_then(|folder| run_folder::study(folder).ok());
        let is_continued =
            stored.as_ref().is_some_and(|(earlier, _)| is_same_measurement(&earlier.file, &file));
        let place = if is_continued {
            Place::Resumed(folder)
        } else {
            let study = Study::made(file, NAME, folder.to_owned())?;
            let held = if stored.is_some() { Held::Replaced } else { Held::Refused };
            Place::New { study: Box::new(study), folder: Some(folder), held }
        };
        let of_bill = (!is_continued && length.budget.is_none()).then_some(length.rounds);
        let length = RequestedLength {
            rounds: self.options.length.rounds.or(of_bill),
            budget: length.budget,
            ..self.options.length
        };
        complete(&place, &Options { length, ..self.options }, interrupt, say)
    }
}

/// The failure of a bill that cannot continue the study in a folder.
fn of_another_bill(folder: &Path) -> Failure {
    Failure::bad_input(format!(
        "`{}` holds the study of another bill (study.yaml): --resume needs the same configuration and options as at its start; --out \
         starts another bill",
        folder.display()
    ))
}

/// True if two studies ask for the same measurement. Ignores signatures of the lab's token, because each run signs it anew.
fn is_same_measurement(earlier: &StudyFile, current: &StudyFile) -> bool {
    let unsigned = |file: &StudyFile| without_signatures(&format!("{file:?}"));
    unsigned(earlier) == unsigned(current)
}

/// The page of the bill in a run folder.
pub fn page(folder: &Path) -> String {
    folder.join(PAGE).display().to_string()
}

/// The text of the bill in a run folder, even if its second study did not end; none if its first study did not end.
pub fn written(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join(BILL)).ok()
}

/// Writes the bill to the run folder.
fn write(folder: &Path, bill: &BillResult) -> Result<(), Failure> {
    let document = documents::bill(bill);
    outputs::write_json(&folder.join(BILL), bill)?;
    outputs::write(&folder.join(MARKDOWN), &markdown::text(&document))?;
    outputs::write(&folder.join(PAGE), &html::page(&document).map_err(Failure::environment)?)
}
