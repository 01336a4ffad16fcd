//! Finds the highest rate at which each of several arms of a study holds objectives, and their ratios.

mod ratio;
mod turns;

use std::path::PathBuf;
use std::time::Duration;

use hoptax_checks::study::proxy_build;
use hoptax_host::awake::Awake;
use hoptax_host::processors::Placement;
use hoptax_load::Arrivals;
use hoptax_load::options::{ABOVE_CLOSED_LOOP, LOWEST_SHARE};
use hoptax_plan::file::ProxyWord;
use hoptax_plan::plan::{Arm, CONFIDENCE, Plan};
use hoptax_result::{Environment, FindArmsBody, FindArmsResult, FindEnd, Finding, Verdict, percent};
use hoptax_run::runner::{self, Setting};
use hoptax_stats::search::{Limits, Repetition, Search, WIDER};
use hoptax_subject::envoy::chosen::Envoys;
use hoptax_subject::envoy::release::{Envoy, EnvoyChoice};

use super::Found;
use super::common::{self, BELOW_CLOSED_LOOP, forecast};
use super::options::{Options, Settings, Time};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::placement::placement;
use crate::study::Study;
use crate::update::{Say, Update};
use crate::words::gigabytes;
use crate::{awake, environment, estimate, library, measure, requirements};
use turns::{Searched, Turns};

/// Number of rounds. The interval of a ratio over six rounds has a critical value of 2.57, over twelve of 2.20.
const ROUNDS: u32 = 6;
/// Requests per second that the expected time is computed for before a closed loop has shown a rate.
const USUAL_RATE: f64 = 20_000.0;
/// Expected time for all processes to end and to start again.
const RESTART: Duration = Duration::from_secs(1);

/// Arms of a study that are searched.
#[derive(Debug)]
pub struct ArmsOfStudy {
    plan: Plan,
    /// The folder of the study file, at which relative paths in it start.
    folder: PathBuf,
}

/// Settings that replace those of a study.
#[derive(Clone, Debug)]
pub struct TrafficOverrides {
    /// Seed of the random numbers; None for that of the study.
    pub seed: Option<u64>,
    /// Arrival process of all loads.
    pub arrivals: Arrivals,
}

impl ArmsOfStudy {
    /// The arms of a study with these ids.
    ///
    /// # Errors
    /// When the study is not valid, or has no such arm.
    pub fn new(
        study: Study,
        ids: &[String],
        overrides: TrafficOverrides,
        say: Say<'_>,
    ) -> Result<Self, Failure> {
        let options = measure::Options { seed: overrides.seed, ..measure::Options::default() };
        let plan = measure::plan(&study, &options, None, say)?;
        let mut plan = plan.searched(ids).map_err(Failure::bad_input)?;
        let open = plan.loads.first_mut().and_then(|load| load.open.as_mut());
        if let Some(open) = open {
            open.arrivals = overrides.arrivals;
        }
        Ok(Self { plan, folder: study.folder })
    }

    /// The plan of the search, as text.
    ///
    /// # Errors
    /// When no search can begin in the range of rates.
    pub fn outline(&self, options: &Options<'_>) -> Result<String, Failure> {
        common::check_range(options)?;
        Ok(outline(&self.plan, options, self.budget(options)))
    }

    /// Checks that a search can begin with these options on this machine.
    ///
    /// # Errors
    /// When it cannot, with advice.
    pub fn check(&self, options: &Options<'_>, say: Say<'_>) -> Result<(), Failure> {
        common::check_range(options)?;
        check_accounts(&self.plan, options)?;
        requirements::check_machine(&self.plan, &self.folder, None, say)
    }

    fn budget(&self, options: &Options<'_>) -> Duration {
        options.budget.unwrap_or(options.settings().budget * self.plan.arms.len() as u32)
    }

    /// Searches on the arms.
    ///
    /// # Errors
    /// When the search cannot begin, and when it fails or is interrupted before anything is known.
    pub fn search(
        &self,
        options: &Options<'_>,
        interrupt: &Interrupt,
        say: Say<'_>,
    ) -> Result<Found<FindArmsResult>, Failure> {
        let Self { plan, folder: of_study } = self;
        let time = Time::begin(self.budget(options));
        self.check(options, say)?;
        let envoys = envoys(plan, options.envoy, interrupt, say)?;
        let placement = placement()?;
        let awake = awake::on(&placement, options.never_halt, say)?;
        let environment = environment(plan, envoys.usual(), &placement, awake.as_ref());
        let program = library::program()?;
        let folder = interrupt.temporary_folder("find")?;
        interrupt.check()?;
        let setting = Setting {
            program: &program,
            envoys: &envoys,
            directory: folder.path(),
            folder: of_study,
            placement: &placement,
            awake: awake.as_ref(),
            ticks: runner::KERNEL_TICKS,
        };
        let expected = expected(plan, options, time.budget);
        say(Update::Note(&format!(
            "search on {} arms of the study `{}`: {}",
            plan.arms.len(),
            plan.name,
            forecast(expected, time.budget)
        )));
        let mut turns = Turns::new(plan, options, &environment, (time, expected), interrupt, say);
        let searched = match runner::with_live(plan, &setting, |live| turns.run(live)) {
            Ok(searched) => searched,
            Err(error) => Err(Failure::environment(error)),
        };
        let (searched, failure) = match searched {
            // An error after an interrupt is a consequence of it.
            _ if interrupt.is_requested() => (turns.finish(FindEnd::Interrupt), None),
            Ok(ended_by) => (turns.finish(ended_by), None),
            // A proxy may end under overload. The trials before that are the result.
            Err(failure) => (turns.finish(FindEnd::Failure), Some(failure.with_logs(folder))),
        };
        drop(awake);
        let Some(searched) = searched else { return Err(failure.unwrap_or_else(Failure::interrupted)) };
        let found = result(plan, options, searched, time, environment);
        Ok(Found { result: with_builds(found, proxy_builds(plan, &envoys)), failure })
    }
}

/// Refuses objectives on CPU time and memory for arms without processes to account for.
fn check_accounts(plan: &Plan, options: &Options<'_>) -> Result<(), Failure> {
    let has_none = |arm: &&Arm| match &arm.external {
        Some(server) => server.account.is_none(),
        None => arm.chain.hops.is_empty(),
    };
    match plan.arms.iter().find(has_none).filter(|_| common::limits_processes(options.objectives)) {
        Some(arm) => Err(Failure::bad_input(format!(
            "arm `{}` has neither a proxy nor an `account` of a server, which an objective on CPU time or memory needs; remove the arm or \
             the objective",
            arm.id
        ))),
        None => Ok(()),
    }
}

/// The Envoys of the arms. Arms without one need none.
fn envoys(
    plan: &Plan,
    envoy: EnvoyChoice<'_>,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<Envoys, Failure> {
    if !plan.runs_envoy() {
        return Ok(Envoys::only(Envoy { program: "envoy".into(), version: String::new(), build: None }));
    }
    let mut note = |text: &str| say(Update::Note(text));
    Envoys::find(envoy, plan.envoys(), interrupt.flag(), &mut note).map_err(Failure::from)
}

fn environment(plan: &Plan, envoy: &Envoy, placement: &Placement, awake: Option<&Awake>) -> Environment {
    let environment = environment::of_study(envoy, placement, awake.is_some());
    if plan.runs_envoy() {
        return environment;
    }
    Environment { proxy_version: None, proxy_build: None, ..environment }
}

/// The finding about the builds of the Envoys of the arms.
fn proxy_builds(plan: &Plan, envoys: &Envoys) -> Option<Finding> {
    let hops = plan.arms.iter().flat_map(|arm| arm.chain.hops.iter().map(move |hop| (arm, hop)));
    let of_envoy = hops.filter(|(_, hop)| hop.proxy == ProxyWord::Envoy);
    let used = of_envoy.filter_map(|(arm, hop)| envoys.get(arm.envoy(hop)));
    proxy_build::finding(used.filter_map(|envoy| Some((envoy.version.as_str(), envoy.build.as_deref()?))))
}

/// The result with the finding, if there is one, which is a reason for caution.
fn with_builds(result: FindArmsResult, found: Option<Finding>) -> FindArmsResult {
    let Some(found) = found else { return result };
    let verdict = result.verdict.max(Verdict::Caution);
    result.judged(verdict, vec![found])
}

/// The arrival process of all trials.
fn arrivals(plan: &Plan) -> Arrivals {
    let open = plan.loads.first().and_then(|load| load.open.as_ref());
    open.map_or(Arrivals::Uniform, |open| open.arrivals.clone())
}

/// Estimates the time of a search on the arms of a plan, if its trials agree and it covers the range without `--min-rate` and `--max-rate`.
fn expected(plan: &Plan, options: &Options<'_>, budget: Duration) -> Duration {
    let (settings, arms) = (options.settings(), plan.arms.len() as u32);
    let (min, max) = match (options.min_rate, options.max_rate) {
        (Some(min), Some(max)) if min < max => (min, max),
        _ => (USUAL_RATE * LOWEST_SHARE, USUAL_RATE),
    };
    let Settings { width, warmup, .. } = settings;
    let start = max * BELOW_CLOSED_LOOP / ABOVE_CLOSED_LOOP;
    let limits = Limits { start, width, warmup, budget, ..Limits::new(min, max) };
    let criteria = common::criteria(options.objectives);
    let goals = common::goals(criteria.len(), false);
    let search = Search::new(&criteria, &goals, limits).map(|search| search.expected_duration());
    let round = Repetition::new(&criteria, start, max, 0.5, limits).map(|one| one.expected_duration());
    let of_arms = search.unwrap_or_default() + round.unwrap_or_default() * ROUNDS;
    (of_arms * arms + RESTART * (ROUNDS + 1)).min(budget)
}

/// The plan of the search, as text.
fn outline(plan: &Plan, options: &Options<'_>, budget: Duration) -> String {
    let settings = options.settings();
    let arms: Vec<&str> = plan.arms.iter().map(|arm| arm.id.as_str()).collect();
    let load = plan.loads.first();
    let objectives: Vec<String> = options.objectives.iter().map(ToString::to_string).collect();
    let interval = |width: f64| format!("until the interval of the rate is {} wide", percent(width, 0));
    let needs = gigabytes(estimate::Estimate::from_plan(plan).memory_bytes);
    format!(
        "search on arms of the study `{}`\n\n\
         arms        {}; ratios to the first\n\
         objectives  {}\n\
         requests    those of the load `{}`, on {} connections, {} arrivals\n\
         search      trials of the arms in turn, {}\n\
         rounds      {ROUNDS}, each with all processes started again: {}\n\n\
         {}, and {needs} of memory\n",
        plan.name,
        arms.join(", "),
        objectives.join(" and "),
        load.map_or("", |load| load.name.as_str()),
        load.map_or(0, |load| load.connections),
        arrivals(plan),
        interval(settings.width),
        interval(settings.width * WIDER),
        forecast(expected(plan, options, budget), budget)
    )
}

fn result(
    plan: &Plan,
    options: &Options<'_>,
    searched: Searched,
    time: Time,
    environment: Environment,
) -> FindArmsResult {
    let load = plan.loads.first();
    let Settings { width, .. } = options.settings();
    let body = FindArmsBody {
        ended_by: searched.ended_by,
        study: plan.name.clone(),
        load: load.map(|load| load.name.clone()).unwrap_or_default(),
        connections: load.map_or(0, |load| load.connections as u32),
        arrivals: arrivals(plan).to_string(),
        objectives: options.objectives.iter().map(ToString::to_string).collect(),
        rounds: searched.arms.first().map_or(0, |arm| arm.round_rates.len() as u32),
        arms: ratio::with_ratios(searched.arms, CONFIDENCE),
        evidence: common::evidence(options.preset, width),
        round_evidence: common::evidence(options.preset, width * WIDER),
        rounds_planned: ROUNDS,
        confidence: CONFIDENCE,
        seed: plan.seed,
        budget_s: time.budget.as_secs_f64(),
        took_s: time.elapsed().as_secs_f64(),
        trials: searched.trials,
    };
    FindArmsResult::new(environment, body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::tests::plan_of;

    #[test]
    fn a_build_is_warned_of_if_an_arm_runs_it() {
        let found = |arms: &str, build: &str| {
            let plan = plan_of(&format!("name: x\narms: [{arms}]\nloads: [{{name: all, loop: closed}}]\n"));
            let build = Some(build.to_owned());
            let usual = Envoy { program: "envoy".into(), version: "1.38.3".to_owned(), build };
            proxy_builds(&plan, &Envoys::only(usual)).map(|finding| finding.id)
        };
        let of_envoy = "baseline, lua";
        assert_eq!(found(of_envoy, "Modified/RELEASE").as_deref(), Some("proxy-build"));
        assert_eq!(found(of_envoy, "Clean/RELEASE"), None);
        let at = |place: &str| format!("{{subject: {{position: {place}}}}}");
        let others = ["direct", "gateway, proxy: nginx", "gateway, proxy: haproxy"].map(at).join(", ");
        assert_eq!(found(&others, "Modified/RELEASE"), None);
    }
}
