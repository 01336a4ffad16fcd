//! The next step after a study.

use std::fmt::Display;

use hoptax_checks::remedy::{self, Remedy};
use hoptax_checks::study::REMEDIES;
use hoptax_result::{NeverHaltedBy, StudyResult, Verdict};
use hoptax_text::command_line::path_word;

use crate::next::{Next, after_remedy};
use crate::numbers::{counted, grouped};
use crate::probe::{self, Shortened};

/// Below this number of rounds, the first advice is to measure more.
const FEW_ROUNDS: u32 = 5;

/// A study as a command line named it. Options are words of a command line with a space before each; those of a stored result are unknown.
#[derive(Clone, Debug, Default)]
pub struct GivenStudy {
    /// Its name, or the path of its file.
    pub source: String,
    /// The run folder in which it can continue; none if it can only be measured anew.
    pub folder: Option<String>,
    /// Options that a study which continues may have, too: ` --envoy 1.39.3`.
    pub options: String,
    /// The option for idle processors, ` --never-halt never`, which a study that continues may have, too.
    pub never_halt: String,
    /// Options that only a new study has: ` --seed 7`.
    pub of_new: String,
}

impl GivenStudy {
    /// The command that measures it anew.
    pub fn anew(&self) -> String {
        let Self { source, options, never_halt, of_new, .. } = self;
        format!("hoptax study {}{of_new}{options}{never_halt}", path_word(source.as_ref()))
    }

    /// What the short form of the study showed, instead of its verdict and its numbers, which would read as those of the study.
    pub fn of_short_form(&self, page: impl Display) -> String {
        format!(
            "Every part of the study started. The numbers of this short form mean nothing.\n\n\
             next: {}   measures it\npage: {page}",
            self.anew()
        )
    }
}

/// How a result was requested.
#[derive(Clone, Copy)]
pub(super) enum Asked<'a> {
    /// As a study.
    Study(&'a GivenStudy),
    /// As a built-in study, by its name. The run folder is not known.
    BuiltIn,
    /// As the measurement of a mesh, with these command-line options.
    Mesh { options: &'a str },
}

/// The next step; none if it is not known how the result was requested. A stored result does not record that: the command of a built-in
/// study has its name, and measures it anew instead of resuming it.
pub(super) fn next(result: &StudyResult, asked: Option<Asked<'_>>) -> Option<Next> {
    if result.environment.cluster.is_some() {
        // A stored result does not record the image of hoptax, which every measurement of a mesh needs.
        let options = match asked {
            Some(Asked::Mesh { options }) => options,
            _ => "--image IMAGE",
        };
        let planned = result.plan.rounds_planned;
        let (rounds, purpose) = match remedied(result) {
            Some(purpose) => (planned, purpose),
            None => (2 * planned, "measures with more rounds, which narrow the intervals".to_owned()),
        };
        return Some(Next::new(format!("hoptax mesh {options} --rounds {rounds}"), purpose));
    }
    let by_name = GivenStudy { source: result.name.clone(), ..GivenStudy::default() };
    Some(match asked? {
        Asked::Study(given) => of_study(result, given),
        Asked::BuiltIn | Asked::Mesh { .. } => of_study(result, &by_name),
    })
}

/// The purpose of the same study again, if the finding that limits it most asks for another remedy than more rounds.
fn remedied(result: &StudyResult) -> Option<String> {
    if result.verdict == Verdict::Sound {
        return None;
    }
    let limiting = remedy::limiting(&result.findings, REMEDIES);
    let (remedy, most) = limiting.first()?;
    (*remedy != Remedy::Longer).then(|| after_remedy(Some(*most)))
}

/// The next step after a study.
fn of_study(result: &StudyResult, given: &GivenStudy) -> Next {
    let GivenStudy { folder, options, never_halt, .. } = given;
    let plan = &result.plan;
    let anew = given.anew();
    let resumed = folder
        .as_ref()
        .map(|at| format!("hoptax study --resume {}{options}{never_halt}", path_word(at.as_ref())));
    if result.sittings.len() > 1 {
        return Next::sitting(&result.name, "measures another sitting, some hours later, and combines all");
    }
    let missing = plan.rounds_planned.saturating_sub(plan.rounds_completed);
    if plan.ended_early.is_some() && (plan.is_open_ended() || missing > 0) {
        let Some(resumed) = resumed else {
            return Next::new(anew, "measures it to its end");
        };
        let purpose = if plan.is_open_ended() {
            "continues the study".to_owned()
        } else {
            format!("measures the missing {}", counted(missing.into(), "round"))
        };
        return Next::new(resumed, purpose);
    }
    let is_void = result.verdict == Verdict::Void;
    let helped = result.machine.as_ref().and_then(probe::slow_wake_ups_shortened);
    if let Some(Shortened { halting_us, never_halted_us }) = helped.filter(|_| is_void && !plan.never_halted)
    {
        let by = result.machine.as_ref().and_then(|machine| machine.never_halted_by);
        let purpose = format!(
            "a wake-up takes {halting_us} us here, and {never_halted_us} us if processors do not halt",
            halting_us = grouped(halting_us, 0),
            never_halted_us = grouped(never_halted_us, 0)
        );
        // Instead of the option for idle processors that was given.
        let study = GivenStudy { never_halt: String::new(), ..given.clone() }.anew();
        return match by {
            Some(NeverHaltedBy::Spinner) => Next::new(format!("sudo {study}"), purpose),
            _ => Next::new(format!("{study} --never-halt always"), purpose),
        };
    }
    let with_rounds = |rounds: u32| match &resumed {
        Some(resumed) => {
            Next::new(format!("{resumed} --rounds {rounds}"), "adds rounds, which narrow the intervals")
        }
        None => {
            Next::new(format!("{anew} --rounds {rounds}"), "measures more rounds, which narrow the intervals")
        }
    };
    if let Some(purpose) = remedied(result) {
        return Next::new(anew, purpose);
    }
    if plan.rounds_completed < FEW_ROUNDS {
        return with_rounds(2 * FEW_ROUNDS);
    }
    match result.verdict {
        Verdict::Void => Next::new(anew, after_remedy(None)),
        Verdict::Caution => with_rounds(2 * plan.rounds_completed),
        Verdict::Sound => Next::new(format!("{anew} --again"), "measures another sitting and combines both"),
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ClusterEnvironment, Finding, Program, SittingRecord};

    use super::*;
    use crate::fixture;

    fn given(source: &str, folder: &str) -> GivenStudy {
        GivenStudy { source: source.to_owned(), folder: Some(folder.to_owned()), ..GivenStudy::default() }
    }

    #[test]
    fn a_short_form_proposes_the_study_anew_and_has_no_number_of_its_own() {
        let text = GivenStudy { of_new: " --seed 7".to_owned(), ..given("my edge.yaml", "runs/a") };
        let text = text.of_short_form("runs/a/report.html");
        let next = "next: hoptax study 'my edge.yaml' --seed 7   measures it\npage: runs/a/report.html";
        assert!(text.starts_with("Every part of the study started.") && text.ends_with(next), "{text}");
    }

    fn of(result: &StudyResult, source: &str) -> Next {
        of_given(result, &given(source, "runs/1"))
    }

    fn of_given(result: &StudyResult, given: &GivenStudy) -> Next {
        next(result, Some(Asked::Study(given))).unwrap()
    }

    #[test]
    fn a_file_and_a_folder_of_any_name_are_one_word_each() {
        let mut result = fixture::void();
        assert_eq!(of(&result, "my edge.yaml").command, "hoptax study 'my edge.yaml'");
        assert_eq!(of(&result, "-edge.yaml").command, "hoptax study ./-edge.yaml");
        result.findings.clear();
        result.plan.rounds_completed = 2;
        let asked = |folder: &str| of_given(&result, &given("quick", folder)).command;
        assert_eq!(asked("my runs/1"), "hoptax study --resume 'my runs/1' --rounds 10");
        assert_eq!(asked("-lead"), "hoptax study --resume ./-lead --rounds 10");
        assert_eq!(asked("it's $(reboot)"), r"hoptax study --resume 'it'\''s $(reboot)' --rounds 10");
    }

    #[test]
    fn a_command_has_the_options_that_were_given_and_one_that_continues_has_no_seed() {
        let given = GivenStudy {
            options: " --envoy ./envoy --store=a".to_owned(),
            never_halt: " --never-halt never".to_owned(),
            of_new: " --seed 7".to_owned(),
            ..given("edge.yaml", "runs/1")
        };
        let mut void = fixture::void();
        let anew = "hoptax study edge.yaml --seed 7 --envoy ./envoy --store=a";
        assert_eq!(of_given(&void, &given).command, format!("{anew} --never-halt never"));
        void.machine = Some(fixture::machine(42.0, 5.0));
        assert_eq!(of_given(&void, &given).command, format!("{anew} --never-halt always"), "one of the two");
        void.machine = None;
        void.findings.clear();
        void.plan.rounds_completed = 2;
        let resumed = "hoptax study --resume runs/1 --envoy ./envoy --store=a --never-halt never --rounds 10";
        assert_eq!(of_given(&void, &given).command, resumed);
        // A short form cannot continue.
        let short_form = GivenStudy { folder: None, ..given };
        assert_eq!(of_given(&void, &short_form).command, format!("{anew} --never-halt never --rounds 10"));
    }

    #[test]
    fn a_void_study_is_measured_again_and_one_of_few_rounds_has_more() {
        let mut result = fixture::void();
        assert_eq!(of(&result, "quick").command, "hoptax study quick");
        assert_eq!(of(&result, "mine.yaml").command, "hoptax study mine.yaml");
        result.plan.rounds_completed = 2;
        assert_eq!(of(&result, "quick").command, "hoptax study quick", "more rounds have as much steal");
        result.findings.clear();
        assert_eq!(of(&result, "quick").command, "hoptax study --resume runs/1 --rounds 10");
    }

    #[test]
    fn a_study_has_more_rounds_if_they_help_against_what_limits_it_most() {
        let of_findings = |ids: &[&str]| {
            let mut result = fixture::study();
            let first = result.findings[0].clone();
            let finding = |id: &&str| {
                let (id, advice) = ((*id).to_owned(), format!("mend {id}"));
                Finding { id, advice, ..first.clone() }
            };
            result.findings = ids.iter().map(finding).collect();
            let found = of(&result, "quick");
            (found.command, found.purpose)
        };
        let more = "hoptax study --resume runs/1 --rounds 20";
        for ids in [
            &["too-few-samples", "drift"][..],
            &["vague-cost"][..],
            &["same-differs"][..],
            &["set-aside"][..],
            &["too-few-rounds"][..],
            &[][..],
        ] {
            assert_eq!(of_findings(ids).0, more, "{ids:?}");
        }
        for (ids, most) in [
            (&["too-few-samples", "steal"][..], "steal"),
            (&["proxy-run-delay"][..], "proxy-run-delay"),
            (&["too-few-samples", "generator-saturated"][..], "generator-saturated"),
            (&["errors", "throttled"][..], "throttled"),
        ] {
            let purpose = format!("measures again, after the remedy: mend {most}");
            assert_eq!(of_findings(ids), ("hoptax study quick".to_owned(), purpose), "{ids:?}");
        }
        let mut sound = fixture::study();
        sound.verdict = Verdict::Sound;
        assert!(of(&sound, "quick").command.ends_with(" --again"));
    }

    #[test]
    fn a_study_that_was_cut_short_is_to_be_resumed() {
        let mut result = fixture::cut();
        let found = of(&result, "quick");
        assert_eq!(found.command, "hoptax study --resume runs/1");
        assert!(found.purpose.ends_with("the missing 6 rounds"), "{}", found.purpose);
        // The number of missing rounds is unknown for a study that ends with its time budget.
        result.plan.budget_s = Some(600.0);
        assert!(of(&result, "quick").purpose.starts_with("continues the study"));
    }

    #[test]
    fn slow_wake_ups_that_can_be_shortened_are_the_first_remedy() {
        let mut void = fixture::void();
        void.machine = Some(fixture::machine(42.0, 5.0));
        assert!(of(&void, "quick").command.contains("--never-halt always"));
        void.machine.as_mut().unwrap().never_halted_by = Some(NeverHaltedBy::Spinner);
        assert_eq!(of(&void, "quick").command, "sudo hoptax study quick");
        void.plan.never_halted = true;
        assert!(!of(&void, "quick").purpose.contains("a wake-up takes"));
    }

    #[test]
    fn a_mesh_is_measured_again_with_its_options_or_with_an_image_that_is_to_be_named() {
        let mut result = fixture::study();
        result.environment.cluster = Some(ClusterEnvironment::default());
        result.plan.rounds_planned = 6;
        let same = next(&result, None).unwrap();
        assert_eq!(same.command, "hoptax mesh --image IMAGE --rounds 6", "more rounds have as much steal");
        assert!(same.purpose.starts_with("measures again, after the remedy: "), "{}", same.purpose);
        result.findings.clear();
        assert_eq!(next(&result, None).unwrap().command, "hoptax mesh --image IMAGE --rounds 12");
        let options = "--image example/hoptax:1 --mesh istio";
        let again = next(&result, Some(Asked::Mesh { options })).unwrap().command;
        assert_eq!(again, "hoptax mesh --image example/hoptax:1 --mesh istio --rounds 12");
    }

    #[test]
    fn a_stored_study_is_named_by_its_name_and_measured_anew_if_it_is_built_in() {
        let command = |result: &StudyResult| next(result, Some(Asked::BuiltIn)).unwrap().command;
        let mut result = fixture::cut();
        assert_eq!(next(&result, None), None);
        assert_eq!(command(&result), "hoptax study quick");
        result.plan.ended_early = None;
        result.findings.clear();
        result.plan.rounds_completed = 2;
        assert_eq!(command(&result), "hoptax study quick --rounds 10");
        result.name = "a;reboot".to_owned();
        assert_eq!(command(&result), "hoptax study 'a;reboot' --rounds 10");
        let sitting = SittingRecord {
            started_at: String::new(),
            ended_at: None,
            folder: String::new(),
            rounds: 5,
            verdict: Verdict::Sound,
            program: Program::this(),
        };
        result.sittings = vec![sitting; 2];
        assert_eq!(command(&result), "hoptax study 'a;reboot' --again");
    }
}
