//! `hoptax find`: finds the highest rate at which a server, or each of several arms of a study, holds objectives.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use hoptax_checks::objective::Objective;
use hoptax_checks::thresholds::Limits;
use hoptax_report::documents;
use hoptax_result::{FastestMode, FindArmsResult, FindEnd, FindResult, FindState, FoundArm};
use hoptax_session::find::{
    ArmsOfStudy, Found, Goal, LOWEST_RATE, Options, Server, TrafficOverrides, on_server,
};
use hoptax_session::load::Load;
use hoptax_session::{EnvoyChoice, StudyText, thresholds};

use crate::arguments::{FindArguments, Given};
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

/// Runs the command.
pub(crate) fn run(arguments: &FindArguments) -> Result<Code, Failure> {
    let limits = thresholds::limits(&arguments.checks.thresholds)?;
    match &arguments.arms {
        Some(chosen) => on_arms(arguments, &chosen.0, &options(arguments, &limits)),
        None => search_server(arguments, &options(arguments, &limits)),
    }
}

fn options<'a>(arguments: &'a FindArguments, limits: &'a Limits) -> Options<'a> {
    Options {
        objectives: &arguments.objectives,
        preset: arguments.preset,
        min_rate: arguments.min_rate,
        max_rate: arguments.max_rate,
        budget: arguments.budget,
        limits,
        envoy: EnvoyChoice { named: arguments.envoy.as_deref(), is_offline: arguments.offline.is_set },
        never_halt: arguments.traffic.awake.never_halt,
    }
}

/// Searches on a server.
fn search_server(arguments: &FindArguments, options: &Options<'_>) -> Result<Code, Failure> {
    refuse_study(arguments)?;
    if arguments.objectives.is_empty() && arguments.goal != Goal::FastestMode {
        return Err(Failure::bad_input("name an objective that must hold, as `--slo 'p99<5ms'`"));
    }
    let load = Load::from(&arguments.traffic);
    load.check_account(arguments.objectives.iter().any(Objective::needs_account))?;
    let server = Server {
        spec: load.unscheduled(&print::say)?,
        arrivals: arguments.arrivals.clone(),
        goal: arguments.goal,
        each: arguments.each,
        sweep: arguments.sweep,
    };
    let interrupt = interrupt::listen()?;
    let Found { result, failure } = progress::shown(|say| on_server(server, options, &interrupt, say))?;
    print::document_or_json(arguments.json.file(), &result, || documents::find(&result))?;
    failure.map_or_else(|| Ok(code_of(&result)), Err)
}

/// Searches on the arms with these ids.
fn on_arms(arguments: &FindArguments, ids: &[String], options: &Options<'_>) -> Result<Code, Failure> {
    let given = Given::on_line(env::args_os());
    check_options(arguments, &given)?;
    let source = study(arguments)?;
    let study = StudyText::named(source)?;
    let overrides = TrafficOverrides {
        seed: given.seed.then_some(arguments.traffic.seed),
        arrivals: arguments.arrivals.clone(),
    };
    let arms = ArmsOfStudy::new(study, ids, overrides, &print::say)?;
    if arguments.dry_run {
        print::result(&arms.outline(options))?;
        return Ok(Code::Success);
    }
    let interrupt = interrupt::listen()?;
    let Found { result, failure } = progress::shown(|say| arms.search(options, &interrupt, say))?;
    print::document_or_json(arguments.json.file(), &result, || documents::find_arms_of(&result, source))?;
    failure.map_or_else(|| Ok(code_of_arms(&result)), Err)
}

/// Refuses a study file without `--arms`.
fn refuse_study(arguments: &FindArguments) -> Result<(), Failure> {
    let is_study =
        |url: &&str| matches!(Path::new(url).extension().and_then(OsStr::to_str), Some("yaml" | "yml"));
    let urls = arguments.traffic.urls.iter().map(|url| &**url);
    match urls.filter(|url| !url.contains("://")).find(is_study) {
        Some(study) => Err(Failure::bad_input(format!(
            "`{study}` is a study file: name the arms to search, as `--arms baseline,lua`"
        ))),
        None => Ok(()),
    }
}

/// Refuses options that do not apply to a search on arms.
fn check_options(arguments: &FindArguments, given: &Given) -> Result<(), Failure> {
    if !given.not_with_arms.is_empty() {
        return Err(Failure::bad_input(format!(
            "`{}` cannot be combined with --arms: the study states requests, connections and servers, and all objectives hold together",
            given.not_with_arms.join("`, `")
        )));
    }
    if arguments.min_rate.is_some_and(|rate| rate < LOWEST_RATE) {
        return Err(Failure::bad_input(format!("--min-rate must be at least {LOWEST_RATE}")));
    }
    Ok(())
}

/// The study that is named instead of a URL.
fn study(arguments: &FindArguments) -> Result<&str, Failure> {
    match arguments.traffic.urls.as_slice() {
        [url] if url.contains("://") => Err(Failure::bad_input(format!(
            "--arms are those of a study: give a study file instead of `{}`, or remove --arms",
            &**url
        ))),
        [study] => Ok(study),
        _ => Err(Failure::bad_input("--arms are those of one study: give one study file")),
    }
}

/// The exit code of a result. A fastest mode that the generator hid counts like a rate that the generator could not produce.
fn code_of(result: &FindResult) -> Code {
    let unknown = result.fastest_mode.as_ref().and_then(FastestMode::unknown);
    let states = result.goals.iter().map(|goal| goal.state);
    code(result.ended_by, states.chain(unknown.map(|_| FindState::GeneratorLimited)))
}

/// The exit code of a result of arms. An unknown ratio makes the result void, unless an arm held at the highest rate.
fn code_of_arms(result: &FindArmsResult) -> Code {
    let any = |is: fn(&FoundArm) -> bool| result.arms.iter().any(is);
    let has_no_ratio = |arm: &FoundArm| {
        matches!(arm.found.state, FindState::Found | FindState::Bounded) && arm.no_ratio.is_some()
    };
    let holds_at_maximum = |arm: &FoundArm| arm.found.state == FindState::MaximumHeld;
    match code(result.ended_by, result.arms.iter().map(|arm| arm.found.state)) {
        Code::Success if any(has_no_ratio) && !any(holds_at_maximum) => Code::Void,
        code => code,
    }
}

/// The exit code of a search with these states.
fn code(ended_by: FindEnd, states: impl Iterator<Item = FindState>) -> Code {
    let states: Vec<FindState> = states.collect();
    let any = |state: FindState| states.contains(&state);
    if ended_by == FindEnd::Interrupt {
        Code::Interrupted
    } else if any(FindState::GeneratorLimited) || any(FindState::Unfinished) {
        Code::Void
    } else if any(FindState::MinimumFailed) {
        Code::ConditionFailed
    } else {
        Code::Success
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_state_decides_the_exit_code_and_an_interrupt_comes_first() {
        use FindState::{Bounded, Found, GeneratorLimited, MaximumHeld, MinimumFailed, Unfinished};
        let of = |states: &[FindState]| code(FindEnd::Budget, states.iter().copied());
        assert_eq!(of(&[Found, MaximumHeld, Bounded]), Code::Success);
        assert_eq!(of(&[Found, MinimumFailed]), Code::ConditionFailed);
        assert_eq!(of(&[MinimumFailed, GeneratorLimited]), Code::Void);
        assert_eq!(of(&[Unfinished]), Code::Void);
        assert_eq!(code(FindEnd::Interrupt, [MinimumFailed].into_iter()), Code::Interrupted);
    }
}
