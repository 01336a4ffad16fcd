//! The plan of a study: its arms and loads, with everything decided that can be decided before a process starts.

mod arms;
mod conditions;
mod copies;
mod loads;
mod order;
mod outline;
mod points;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use hoptax_functions::{
    Catalogue, Context, Function, KeyExchangeGroup, KnobValue, Knobs, Proof, Secured, Tls,
};
use hoptax_host::link::LinkSpec;
use hoptax_load::Arrivals;
use hoptax_result::ArmKind;

use crate::file::{Application, Caller, Positions, Problems, StudyFile, SubjectSection, TlsWord};

pub use conditions::{Conditions, USUAL_BYTES};
pub use copies::Subject;
pub use order::{Block, blocks, shuffled};

/// The id of the arm that the others are compared with.
pub const BASELINE: &str = "baseline";
/// The id of the second copy of the baseline.
pub const SAME: &str = "same";
/// The id of the arm without a proxy.
pub const DIRECT: &str = "direct";
/// Confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;
/// Rounds of a study that states none, unless the machine asks for more ([`crate::suit`]).
pub const DEFAULT_ROUNDS: u32 = 10;
/// Length of a slice of a load that states none, unless the machine asks for a shorter one.
pub const DEFAULT_SLICE: Duration = Duration::from_millis(200);
/// Share of requests without an answer above which an arm's numbers are withheld.
pub const MAX_ERROR_SHARE: f64 = 0.001;

/// A study as it will be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// What it asks.
    pub summary: String,
    /// Seed of every random order.
    pub seed: u64,
    /// How often all processes are started afresh.
    pub rounds: u32,
    /// What the file leaves to the machine.
    pub left_open: LeftOpen,
    /// The arms, in the order of the file; one that a function needs to be compared with stands before it.
    pub arms: Vec<Arm>,
    /// What is alive in a round: the copies of the arms.
    pub subjects: Vec<Subject>,
    /// The loads, in the order of the file.
    pub loads: Vec<Load>,
    /// What answers behind the proxies.
    pub application: Application,
    /// The link between callers and the rest, if there is one.
    pub link: Option<LinkSpec>,
    /// The headers of every request, whatever the arm: what any of the functions needs to have work.
    pub headers: BTreeMap<String, String>,
}

/// What a study file does not state, so that it is decided by what the machine is like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOpen {
    /// How many rounds there are.
    pub rounds: bool,
    /// The loads, by their numbers, whose slices are as long as suits.
    pub slices: BTreeSet<usize>,
}

/// One configuration of the subject.
#[derive(Clone, Debug)]
pub struct Arm {
    /// Its id in the study.
    pub id: String,
    /// What it is in the study.
    pub kind: ArmKind,
    /// The function that it turns on, and how.
    pub function: Option<(Function, Knobs)>,
    /// The arm, by its number, that its cost is the difference from.
    pub compared_with: Option<usize>,
    /// What it has in common with that arm.
    pub conditions: Conditions,
    /// Where its proxies stand, and what is spoken.
    pub subject: SubjectSection,
    /// How many origins stand behind it.
    pub upstreams: usize,
    /// Whether its function is taken away again before anything is measured.
    pub is_unloaded: bool,
    /// What it is, in a line.
    pub summary: String,
    /// See [`Arm::folder`].
    folder: String,
}

/// One load.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Its name.
    pub name: String,
    /// Rate and arrivals of an open loop; None in a closed loop.
    pub open: Option<Open>,
    /// Connections to each arm.
    pub connections: usize,
    /// Requests after which a connection is closed and opened anew.
    pub requests_per_connection: Option<u32>,
    /// Whether new connections over TLS take up earlier sessions; as [`Plan::resumes`] says if not given.
    pub resumption: Option<bool>,
    /// The statuses of answers that are expected; all below 400 if there is none.
    pub expect: Vec<u16>,
    /// Who calls.
    pub caller: Caller,
    /// Slices that each arm gets in a round.
    pub blocks: u32,
    /// Length of a slice.
    pub slice: Duration,
}

/// When the requests of an open loop leave.
#[derive(Clone, Debug, PartialEq)]
pub struct Open {
    /// How many in a second.
    pub rate: Rate,
    /// How they are spread.
    pub arrivals: Arrivals,
}

/// Requests per second of an open loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// The same for all arms.
    PerSecond(f64),
    /// As a share of what each arm can take by itself, above 0 and at most 1.
    Utilisation(f64),
    /// The same for all arms: a share of what the slowest of them can take, above 0 and at most 1.
    OfSlowest(f64),
}

impl Plan {
    /// Plans what `file` asks for.
    ///
    /// # Errors
    /// Everything that the file asks for and that cannot be, each at its place.
    pub fn new(file: &StudyFile, positions: &Positions, catalogue: &Catalogue) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let arms = arms::plan(file, positions, catalogue, &mut problems);
        let loads = loads::plan(&file.loads, positions, &mut problems);
        let link = file.link.as_ref().map(|link| link.plan(file.seed, positions, &mut problems));
        if !problems.is_empty() {
            return Err(positions.problems(problems));
        }
        let headers = arms
            .iter()
            .filter_map(|arm| arm.function.as_ref())
            .flat_map(|(function, _)| function.request.headers.clone())
            .collect();
        Ok(Self {
            name: file.name.clone(),
            summary: file.summary.clone(),
            seed: file.seed,
            rounds: file.rounds.unwrap_or(DEFAULT_ROUNDS),
            left_open: LeftOpen {
                rounds: file.rounds.is_none(),
                slices: (0..)
                    .zip(&file.loads)
                    .filter(|(_, load)| load.slice.is_none())
                    .map(|(number, _)| number)
                    .collect(),
            },
            subjects: copies::subjects(&arms),
            arms,
            loads,
            application: file.application,
            link,
            headers,
        })
    }

    /// The load, by its number, that costs in CPU time are taken from where none is named: the closed loop, or the first load
    /// where there is none.
    pub fn cpu_load(&self) -> Option<usize> {
        let closed = self.loads.iter().position(|load| load.open.is_none());
        closed.or((!self.loads.is_empty()).then_some(0))
    }

    /// Whether what the arms can take must be known.
    pub fn needs_capacities(&self) -> bool {
        let is_known =
            |load: &Load| load.open.as_ref().is_none_or(|open| matches!(open.rate, Rate::PerSecond(_)));
        !self.loads.iter().all(is_known)
    }

    /// The slices of one round.
    pub fn slices_per_round(&self) -> usize {
        self.loads.iter().map(|load| self.subjects_under(load).count() * load.blocks as usize).sum()
    }

    /// The subjects that are measured under `load`, by their numbers.
    fn subjects_under(&self, load: &Load) -> impl Iterator<Item = usize> {
        let takes_part =
            |subject: &Subject| self.arms.get(subject.arm).is_some_and(|arm| arm.takes_part(load));
        let all = self.subjects.iter().enumerate();
        all.filter(move |(_, subject)| takes_part(subject)).map(|(index, _)| index)
    }

    /// Whether new connections over TLS take up earlier sessions under `load`.
    pub fn resumes(&self, load: &Load) -> bool {
        // Callers that keep no connection keep no session either.
        let keep = || self.loads.iter().all(|load| load.requests_per_connection.is_none());
        load.resumption.unwrap_or_else(keep)
    }

    /// The arm of a subject, by the number of the subject.
    pub fn arm_of(&self, subject: usize) -> Option<&Arm> {
        self.arms.get(self.subjects.get(subject)?.arm)
    }
}

impl Arm {
    /// Whether it is measured under `load`. Without a proxy there is no CPU time to find and no proxy whose rate
    /// could be, so the arm without one is left out of the closed loop.
    pub fn takes_part(&self, load: &Load) -> bool {
        self.kind != ArmKind::Direct || load.open.is_some()
    }

    /// Whether proxies are part of it.
    pub fn has_proxy(&self) -> bool {
        !self.subject.position.hops().is_empty()
    }

    /// The knobs of its function, as results show them.
    pub fn knobs(&self) -> BTreeMap<String, String> {
        let knobs = self.function.iter().flat_map(|(_, knobs)| knobs.iter());
        knobs.map(|(name, value): (&str, &KnobValue)| (name.to_owned(), value.to_string())).collect()
    }

    /// How connections to and from its proxy are secured, by its function or its conditions.
    pub fn secured(&self) -> Secured {
        let of_function = self.function.as_ref().map(|(function, _)| function.secured).unwrap_or_default();
        let by_condition = match self.conditions.tls {
            TlsWord::None => None,
            TlsWord::Tls => Some(Tls::Tls),
            TlsWord::Mtls => Some(Tls::Mtls),
        };
        Secured { downstream: of_function.downstream.or(by_condition), upstream: of_function.upstream }
    }

    /// The group that keys are exchanged on, on all of its connections that are secured; none where there are none.
    pub fn key_exchange_group(&self) -> Option<KeyExchangeGroup> {
        let is_secured = self.subject.is_secure() || self.secured() != Secured::default();
        let context = Context { directory: Path::new("."), companion: None };
        let fragment = self.function.as_ref().filter(|_| is_secured).and_then(|(function, knobs)| {
            // Those of the catalogue were rendered when it was read.
            function.render(knobs, &context).ok()
        });
        is_secured.then(|| fragment.map(|fragment| fragment.key_exchange_group).unwrap_or_default())
    }

    /// Requests per second that its function lets pass, and as many at once.
    pub fn limit(&self) -> Option<f64> {
        let (function, knobs) = self.function.as_ref().filter(|_| !self.is_unloaded)?;
        // Those of the catalogue were rendered when it was read.
        function.limit(knobs).ok().flatten()
    }

    /// What its function tells the application, by flag.
    pub fn application(&self) -> Vec<(String, String)> {
        let told = self.function.as_ref().and_then(|(function, knobs)| function.application(knobs).ok());
        told.unwrap_or_default()
    }

    /// Worker threads of its proxy, where its function or its conditions say.
    pub fn workers(&self) -> Option<usize> {
        let of_function = self.function.as_ref().and_then(|(function, _)| function.workers).map(u64::from);
        of_function.or(self.conditions.workers).map(|workers| workers as usize)
    }

    /// Whether its function asks a companion.
    pub fn asks_companion(&self) -> bool {
        self.function.as_ref().is_some_and(|(function, _)| function.asks_companion)
    }

    /// What shows that its function was at work.
    pub fn proofs(&self) -> Vec<Proof> {
        // Those of the catalogue were rendered when it was read.
        self.function.as_ref().and_then(|(function, knobs)| function.proofs(knobs).ok()).unwrap_or_default()
    }

    /// The name of the folder of its first copy, which no other arm has; other copies have their number behind it, counted from 1.
    pub fn folder(&self, copy: u32) -> String {
        let name = &self.folder;
        if copy == 0 { name.clone() } else { format!("{name}-copy-{}", copy + 1) }
    }
}

#[cfg(test)]
mod tests;
