//! The plan of a study: arms and loads, with all decisions that need no running process.

mod arms;
mod arms_of_loads;
mod capacities;
mod chain;
mod conditions;
mod copies;
mod evidence;
mod given;
mod graph;
mod hops;
mod loads;
mod needs;
mod network;
mod order;
mod outline;
mod points;
mod positions;
mod published;
mod searched;
mod size;
mod smoke;
mod supported;
mod timeline;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::LazyLock;
use std::time::Duration;

use hoptax_bootstrap::request::DerivedRequest;
use hoptax_functions::{Catalogue, Composition, Fragment, KeyExchangeGroup, KnobValue, Tls};
use hoptax_host::link::LinkSpec;
use hoptax_host::network::{Needed, NetworkSpec};
use hoptax_load::Arrivals;
use hoptax_result::{ArmKind, PublishedNumber};
use hoptax_subject::application::Application;
use hoptax_subject::caller::Caller;

use crate::configurations::Configurations;
use crate::file::{Observe, Positions, Problems, ProxyWord, StudyFile};

pub use arms::External;
pub(crate) use arms::number_of_same;
pub use chain::{Chain, Hop, Place};
pub use conditions::{Conditions, DRAIN, USUAL_BYTES};
pub use copies::{Subject, copies_for};
pub use given::GivenConfig;
pub use given::listener_with_request;
pub use graph::{PlannedCall, PlannedProxy, PlannedRequest, PlannedService, ProxiedService, ServiceGraph};
pub use needs::SAMPLING;
pub use order::{Block, Draws, PlannedCourse, blocks, courses, shuffle};
pub use size::Items;
pub use timeline::{Becomes, Change, TimedEvent, Timeline};

/// The id of the reference arm.
pub const BASELINE: &str = "baseline";
/// The id of the second copy of the baseline.
pub const SAME: &str = "same";
/// The id of the arm without a proxy.
pub const DIRECT: &str = "direct";
/// Confidence of all intervals.
pub const CONFIDENCE: f64 = 0.95;
/// Default number of rounds, unless the machine needs more ([`crate::suit`]).
pub const DEFAULT_ROUNDS: u32 = 10;
/// Number of measurements of the capacity of a subject.
const CAPACITY_TURNS: u32 = 3;
/// Length of each of the two loops of such a measurement.
const CAPACITY_LOOP: Duration = Duration::from_millis(75);
/// Time for which each arm gets requests before its first slice of a round.
const WARM_UP: Duration = Duration::from_millis(100);
/// The largest allowance for disturbances by the host. One that becomes worse for good after an hour would otherwise hold one slice for as
/// long as it was undisturbed.
const PATIENCE: Duration = Duration::from_secs(20);
/// Default length of a slice. The speed of a virtual machine varies within tenths of a second, so short slices bring those that are
/// compared close together, and a disturbance costs less. On an Intel Xeon with two virtual processors, the mean CPU time of twelve
/// slices of 50 ms varied half as much between identical processes as that of four slices of 150 ms.
pub const DEFAULT_SLICE: Duration = Duration::from_millis(50);
/// Share of unanswered requests above which an arm's numbers are withheld.
pub const MAX_ERROR_SHARE: f64 = 0.001;

/// Messages with the place in the study file that each concerns.
type Placed = Vec<(String, String)>;

/// A study as it will be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// The question that it answers.
    pub summary: String,
    /// Seed of all random orders.
    pub seed: u64,
    /// Number of rounds; each restarts all processes.
    pub rounds: u32,
    /// True if the file states no number of rounds, so that the number depends on the machine.
    pub rounds_are_open: bool,
    /// The arms, in the order of the file. An arm that a function is compared with precedes it.
    pub arms: Vec<Arm>,
    /// The loads, in the order of the file.
    pub loads: Vec<Load>,
    /// The timeline that it observes; none if it observes costs.
    pub timeline: Option<Timeline>,
    /// The simulated link between callers and everything else, if any.
    pub link: Option<LinkSpec>,
    /// True if the proxies of each arm are profiled in each round.
    pub profile: bool,
    /// The numbers of others, each with its place in the study.
    pub published: Vec<PublishedNumber>,
    /// Number of measurements of the capacity of each subject, if a load needs it; the median is used.
    pub capacity_turns: u32,
    /// Length of each of the two loops of such a measurement.
    pub capacity_loop: Duration,
    /// Time for which each arm gets requests at full speed before its first slice of a round, over all loads together, so that connections
    /// are open and buffers have reached their size.
    pub warm_up: Duration,
    /// The largest time allowance for waits until the host is quiet and for slices that are measured again because it was not.
    pub patience: Duration,
    /// Number of slices without a request that are measured again: none in a study, where a subject that holds all connections for a whole
    /// slice is a result. Another slice in its place would hide it, and the result of a slice never decides about that slice.
    pub empty_repeats: u32,
    /// Headers of every request of every arm: all that any function requires.
    pub headers: BTreeMap<String, String>,
    /// The configurations of the user that proxies run.
    pub configurations: Configurations,
    /// True if trials open connections of their own: those of a search ([`Self::searched`]), or of a graph.
    pub is_searched: bool,
    /// The graph behind its arms, of which one is without proxies: [`Self::of_graph`]. None if its arms are proxies in front of origins.
    pub graph: Option<ServiceGraph>,
}

/// One configuration of the subject.
#[derive(Clone, Debug)]
pub struct Arm {
    /// Its id in the study.
    pub id: String,
    /// Its role in the study.
    pub kind: ArmKind,
    /// Its proxies.
    pub chain: Chain,
    /// The functions of all its proxies.
    pub functions: Composition,
    /// Its request, if one of its proxies has a given configuration (the one that goes through the first of these), or if it
    /// is a server that already runs. None for the request that all other arms send.
    pub request: Option<DerivedRequest>,
    /// The server that already runs; none if it is brought up.
    pub external: Option<External>,
    /// The network between callers and its proxies; none for the loopback interface, or the link of the study.
    pub network: Option<NetworkSpec>,
    /// The index of the arm that its cost is the difference from.
    pub compared_with: Option<usize>,
    /// The conditions that it shares with that arm.
    pub conditions: Conditions,
    /// Number of origins behind it.
    pub upstreams: usize,
    /// True if its functions are removed again before measuring.
    pub is_unloaded: bool,
    /// A one-line description.
    pub summary: String,
    /// The number of its copies that run in a round; in a timeline, one runs at a time.
    pub copies: u32,
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
    /// Requests after which a connection is closed and reopened.
    pub requests_per_connection: Option<u32>,
    /// True if new TLS connections resume earlier sessions. If not given, see [`Plan::resumes`].
    pub resumption: Option<bool>,
    /// Expected statuses of responses; all below 400 if empty.
    pub expect: Vec<u16>,
    /// The caller; none for hoptax.
    pub caller: Option<Caller>,
    /// The ids of the arms that it is for; none for all.
    pub arms: Option<BTreeSet<String>>,
    /// Slices of each arm per round.
    pub blocks: u32,
    /// Length of a slice.
    pub slice: Duration,
}

/// A load with its index in the plan, by which records name it.
#[derive(Clone, Copy, Debug)]
pub struct NumberedLoad<'a> {
    /// The index.
    pub number: usize,
    /// The load.
    pub load: &'a Load,
}

impl Deref for NumberedLoad<'_> {
    type Target = Load;

    fn deref(&self) -> &Load {
        self.load
    }
}

/// The release times of an open loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Open {
    /// Its rate.
    pub rate: Rate,
    /// The spacing of its requests.
    pub arrivals: Arrivals,
}

/// Requests per second of an open loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// The same for all arms.
    PerSecond(f64),
    /// A share of each arm's own capacity, above 0 and at most 1.
    Utilisation(f64),
    /// The same for all arms under the load: a share of the capacity of the slowest of them, above 0 and at most 1.
    OfSlowest(f64),
}

impl Plan {
    /// Reads the text of a study file and plans its study, as [`Self::new`] does. `name` is the file name in problems.
    ///
    /// # Errors
    /// All problems of the file.
    pub fn read(name: &str, text: &str, catalogue: &Catalogue) -> Result<Self, Problems> {
        let (file, positions) = crate::file::read(name, text)?;
        Self::new(&file, &positions, catalogue)
    }

    /// Plans the study of `file`, whose proxies have no configuration of the user.
    ///
    /// # Errors
    /// Everything in the file that is not possible, each with its position.
    pub fn new(file: &StudyFile, positions: &Positions, catalogue: &Catalogue) -> Result<Self, Problems> {
        Self::with_configurations(file, positions, catalogue, Configurations::default())
    }

    /// Plans the study of `file`. `configurations` are those that it names.
    ///
    /// # Errors
    /// As [`Self::new`], and every problem with a configuration.
    pub fn with_configurations(
        file: &StudyFile,
        positions: &Positions,
        catalogue: &Catalogue,
        configurations: Configurations,
    ) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let (arms, pointers) = arms::plan(file, positions, catalogue, &configurations, &mut problems);
        let mut loads = loads::plan(&file.loads, file.observe, positions, &mut problems);
        arms_of_loads::decide(file, &arms, &mut loads, positions, &mut problems);
        let timeline = timeline::plan(file, &arms, &loads, positions, &mut problems);
        supported::check(file, &arms, &pointers, &loads, positions, &mut problems);
        let link = file.link.as_ref().map(|link| link.plan(file.seed, positions, &mut problems));
        published::check(file, &arms, &loads, positions, &mut problems);
        // One entry may be several arms.
        if problems.is_empty() && arms.len() < 2 {
            let message = "a study compares arms, and this file has one: add another, such as `baseline`";
            problems.push(positions.problem("/arms", message.to_owned()));
        }
        if !problems.is_empty() {
            return Err(positions.problems(problems));
        }
        let headers = arms.iter().flat_map(|arm| arm.functions.headers()).collect();
        Ok(Self {
            name: file.name.clone(),
            summary: file.summary.clone(),
            seed: file.seed,
            rounds: file.rounds.unwrap_or(DEFAULT_ROUNDS),
            capacity_turns: CAPACITY_TURNS,
            capacity_loop: CAPACITY_LOOP,
            warm_up: WARM_UP,
            patience: PATIENCE,
            empty_repeats: 0,
            rounds_are_open: file.rounds.is_none() && file.observe == Observe::Costs,
            arms,
            loads,
            timeline,
            link,
            profile: file.profile,
            published: file.published.clone(),
            headers,
            configurations,
            is_searched: false,
            graph: None,
        })
    }

    /// The loads, with their indexes.
    pub fn numbered_loads(&self) -> impl Iterator<Item = NumberedLoad<'_>> {
        self.loads.iter().enumerate().map(|(number, load)| NumberedLoad { number, load })
    }

    /// The arm that the cost of an arm is the difference from, if there is one.
    pub fn reference(&self, arm: &Arm) -> Option<&Arm> {
        self.arms.get(arm.compared_with?)
    }

    /// The plan of a single arm under a single load.
    #[must_use]
    pub fn alone(&self, arm: &Arm, load: &Load) -> Self {
        Self {
            arms: vec![Arm { compared_with: None, copies: 1, ..arm.clone() }],
            loads: vec![load.clone()],
            ..self.clone()
        }
    }

    /// Number of slices per round.
    pub fn slices_per_round(&self) -> usize {
        let subjects = |load: &Load| self.subjects().filter(|subject| subject.arm.takes_part(load)).count();
        self.loads.iter().map(|load| subjects(load) * load.blocks as usize).sum()
    }

    /// Returns true if new TLS connections resume earlier sessions under `load`.
    pub fn resumes(&self, load: &Load) -> bool {
        // Callers that keep no connections keep no sessions either.
        let keep = || self.loads.iter().all(|load| load.requests_per_connection.is_none());
        load.resumption.unwrap_or_else(keep)
    }

    /// The Envoys that single proxies choose, as in the study file.
    pub fn envoys(&self) -> BTreeSet<&str> {
        self.arms.iter().flat_map(|arm| arm.chain.hops.iter().filter_map(|hop| arm.envoy(hop))).collect()
    }

    /// The applications behind its arms, besides the origin, each once.
    pub fn applications(&self) -> Vec<&Application> {
        let mut all: Vec<&Application> = Vec::new();
        for application in self.arms.iter().filter_map(Arm::application) {
            if !all.contains(&application) {
                all.push(application);
            }
        }
        all
    }

    /// The programs that its networks need.
    pub fn network_needs(&self) -> BTreeSet<Needed> {
        self.arms.iter().flat_map(|arm| arm.network.iter().flat_map(NetworkSpec::needs)).collect()
    }
}

/// Returns the configuration that the functions of a proxy add to it, without the addresses and folders of a run.
fn fragment(hop: &Hop) -> &Fragment {
    static NOTHING: LazyLock<Fragment> = LazyLock::new(Fragment::default);
    // A test renders all functions of the catalogue.
    hop.functions.fragment().unwrap_or(&NOTHING)
}

impl Arm {
    /// An arm whose proxy has no function.
    fn plain(id: String, kind: ArmKind, compared_with: Option<usize>, conditions: &Conditions) -> Self {
        Self {
            id,
            kind,
            functions: Composition::default(),
            request: None,
            external: None,
            network: None,
            compared_with,
            conditions: conditions.clone(),
            chain: Chain::of_functions(Composition::default()),
            upstreams: 1,
            is_unloaded: false,
            summary: String::new(),
            copies: 1,
            folder: String::new(),
        }
    }

    /// Returns true if the arm has at least one proxy.
    pub fn has_proxy(&self) -> bool {
        !self.chain.hops.is_empty()
    }

    /// The knobs of its function, as results show them; empty if it has several.
    pub fn knobs(&self) -> BTreeMap<String, String> {
        let knobs = self.functions.only().into_iter().flat_map(|component| component.knobs.iter());
        knobs.map(|(name, value): (&str, &KnobValue)| (name.to_owned(), value.to_string())).collect()
    }

    /// TLS of each connection, from the generator to the first proxy or the origin, between proxies, and to the origin.
    pub fn tls(&self) -> Vec<Option<Tls>> {
        let mut tls = self.chain.tls();
        if let Some(first) = tls.first_mut() {
            *first = first.or(self.conditions.tls.security());
        }
        tls
    }

    /// Returns true if any connection of the arm uses TLS.
    pub fn is_secured(&self) -> bool {
        self.tls().iter().any(Option::is_some)
    }

    /// The security of the connections that its caller opens; None for plaintext.
    pub fn caller_security(&self) -> Option<Tls> {
        self.tls().first().copied().flatten()
    }

    /// The security of the connections to its origin; None for plaintext.
    pub fn origin_security(&self) -> Option<Tls> {
        self.tls().last().copied().flatten()
    }

    /// The key exchange group of its TLS connections; none if it has none, and if it is not known.
    pub fn key_exchange_group(&self) -> Option<KeyExchangeGroup> {
        let mut groups = self.chain.hops.iter().map(|hop| fragment(hop).key_exchange_group);
        let chosen = groups.find(|group| *group != KeyExchangeGroup::default()).unwrap_or_default();
        // A given configuration chooses groups of its own.
        (self.is_secured() && !self.chain.is_given()).then_some(chosen)
    }

    /// Returns true if the connections of its callers use QUIC, and therefore HTTP/3.
    pub fn has_quic_callers(&self) -> bool {
        self.chain.hops.first().is_some_and(|hop| fragment(hop).quic_downstream)
    }

    /// Returns true if any proxy of the arm has connections over QUIC.
    pub fn uses_quic(&self) -> bool {
        let uses_quic = |fragment: &Fragment| fragment.quic_downstream || fragment.quic_upstream;
        self.chain.hops.iter().any(|hop| uses_quic(fragment(hop)))
    }

    /// Returns true if a function of one of its proxies needs HTTP/2 to the origin.
    pub fn uses_http2_to_origin(&self) -> bool {
        self.chain.hops.iter().any(|hop| fragment(hop).uses_http2_to_origin())
    }

    /// The lowest limit that its functions enforce: requests per second, and the burst size.
    pub fn limit(&self) -> Option<f64> {
        self.functions.limit().filter(|_| !self.is_unloaded)
    }

    /// The application behind it; none for the origin, and if it is a server that already runs.
    pub fn application(&self) -> Option<&Application> {
        self.conditions.application.as_ref().filter(|_| self.external.is_none())
    }

    /// The flags that its functions pass to the application, with their values.
    pub fn application_flags(&self) -> Vec<(String, String)> {
        self.functions.application().into_iter().collect()
    }

    /// Worker threads of one of its proxies, if the proxy, a function or the conditions set them.
    pub fn workers(&self, hop: &Hop) -> Option<usize> {
        hop.own_workers().or(self.conditions.workers).map(|workers| workers as usize)
    }

    /// Envoy of one of its proxies, as in a study file; none for that of the study, and for other proxies.
    pub fn envoy<'a>(&'a self, hop: &'a Hop) -> Option<&'a str> {
        let is_envoy = hop.proxy == ProxyWord::Envoy;
        hop.envoy.as_deref().or(self.conditions.envoy.as_deref()).filter(|_| is_envoy)
    }

    /// Environment variables of one of its proxies, in addition to those of hoptax.
    pub fn environment(&self, hop: &Hop) -> BTreeMap<String, String> {
        let all = self.conditions.environment.iter().chain(&hop.environment);
        all.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Returns true if a function or a given configuration calls the companion.
    pub fn asks_companion(&self) -> bool {
        let asks = |hop: &Hop| hop.given.as_ref().is_some_and(|given| given.asks_companion);
        self.functions.asks_companion() || self.chain.hops.iter().any(asks)
    }

    /// The name of the folder of one of its copies, unique among arms. Copies after the first have their number
    /// appended, counted from 1.
    pub fn folder(&self, copy: u32) -> String {
        let name = &self.folder;
        if copy == 0 { name.clone() } else { format!("{name}-copy-{}", copy + 1) }
    }
}

#[cfg(test)]
mod tests;
