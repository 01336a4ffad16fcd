//! Probes the machine before a study begins, and keeps its processors from halting.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;

use hoptax_host::awake::Awake;
use hoptax_host::child;
use hoptax_host::limits;
use hoptax_host::machine::judgement::{advice, should_never_halt, supported_measurements};
use hoptax_host::processors::Placement;
use hoptax_origin::OriginError;
use hoptax_plan::plan::Plan;
use hoptax_plan::suit;
use hoptax_result::{MachineProbe, MachineSpeeds, counted, grouped};

use crate::awake::{self, NeverHalt};
use crate::failure::Failure;
use crate::manifest::Manifest;
use crate::probe::probe;
use crate::update::{Say, Update};

pub use hoptax_host::child::ChildLimits;

/// Duration of the speed measurement for a smoke run of a study, as a share of the normal duration.
const SMOKE_FACTOR: f64 = 0.1;

/// Raises the limit on open files for this number of connections.
///
/// # Errors
/// When it cannot be raised to this number.
pub fn allow_connections(connections: usize) -> Result<(), Failure> {
    limits::allow_files(connections as u64).map_err(|limit| {
        Failure::environment(format!(
            "cannot open {}: the limit on open files is {limit}; {}, or lower --connections",
            counted(connections as u64, "connection"),
            limits::raising_for_files(connections as u64)
        ))
    })
}

/// Raises the limit on open files for this number of connections, or as far as possible. Returns how many connections, at most `wanted`,
/// the limit then allows.
pub fn most_connections(wanted: usize) -> usize {
    limits::most_connections(wanted as u64) as usize
}

/// Listens on an address without accepting connections, and returns it with the port that the system may have chosen.
///
/// # Errors
/// When it cannot be listened on, with what to do.
pub fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let listening = || -> io::Result<(TcpListener, SocketAddr)> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let bound = listener.local_addr()?;
        Ok((listener, bound))
    };
    listening().map_err(|source| Failure::environment(OriginError::Listen { address, source }))
}

/// Limits each process that measurements start from now on, and prevents core files. A program that measures inputs of strangers calls
/// this. A second call has no effect.
pub fn limit_processes(limits: ChildLimits) {
    child::limit_children(limits);
}

/// Raises the limit on open files for a study or a graph; `instead` is what its user can do to need fewer. If it cannot be raised as far as
/// the proxies may need, a note says so: a proxy without free files fails requests, and the check of errors then withholds numbers.
///
/// # Errors
/// When it cannot be raised to the number that the generator itself needs.
pub(crate) fn allow_files_of_plan(plan: &Plan, instead: &str, say: Say<'_>) -> Result<(), Failure> {
    let files = plan.most_open_files();
    limits::allow_files(files as u64).map_err(|limit| {
        Failure::environment(format!(
            "`{}` needs {} open files, nearly all of them connections and handles of proxies, and the limit is {limit}; {}, or \
             {instead}",
            plan.name,
            grouped(files as f64, 0),
            limits::raising_for_files(files as u64)
        ))
    })?;
    let connections = plan.most_of_a_proxy();
    if let Err(limit) = limits::allow_files(connections as u64) {
        say(Update::Problem(&format!(
            "a proxy may have {connections} connections open, and the limit on open files is {limit}: requests may fail, and \
             results under the loads with most connections may be withheld; {}",
            limits::raising_for_files(connections as u64)
        )));
    }
    Ok(())
}

/// Measures the machine's speeds while processors may halt; briefly for a smoke run.
pub(crate) fn speeds(
    placement: &Placement,
    seed: Option<u64>,
    is_smoke: bool,
    say: Say<'_>,
) -> Result<MachineSpeeds, Failure> {
    say(Update::Note("measuring the speeds of this machine"));
    // No child process runs yet, so an interrupt may simply end this process.
    let never = AtomicBool::new(false);
    let factor = if is_smoke { SMOKE_FACTOR } else { 1.0 };
    hoptax_tools::calibrate::speeds(placement, factor, seed.unwrap_or(1), Some(&awake::keep_awake), &never)
        .map_err(|error| Failure::environment(format!("cannot measure the machine's speeds: {error}")))
}

/// True if a new study should keep its processors from halting.
pub(crate) fn is_wanted(machine: &MachineProbe, never_halt: NeverHalt) -> bool {
    if never_halt == NeverHalt::Auto { should_never_halt(machine) } else { never_halt == NeverHalt::Always }
}

/// Chooses the number of rounds if the study leaves it to the machine, and reports it with the reason.
pub(crate) fn adapt(plan: &mut Plan, machine: &MachineProbe, never_halted: bool, say: Say<'_>) {
    if let Some(chosen) = suit::suit(plan, machine, never_halted) {
        say(Update::Note(&format!("chosen for this machine: {chosen}")));
    }
}

/// The machine of a study.
pub(crate) struct Machine {
    /// Result of the probe.
    pub(crate) probe: MachineProbe,
    /// Keeps the processors from halting until it is dropped; None if they may halt.
    pub(crate) awake: Option<Awake>,
}

/// Probes the machine, and keeps its processors from halting if wanted. A resumed study keeps the probe and the choice of its first
/// session, which are in its manifest.
pub(crate) fn examine(
    stored: Option<&Manifest>,
    placement: &Placement,
    never_halt: NeverHalt,
    is_short: bool,
    say: Say<'_>,
) -> Result<Machine, Failure> {
    let probe = match stored {
        Some(stored) => stored.machine.clone(),
        None => probe(placement, is_short)?,
    };
    let wanted = stored.map_or_else(|| is_wanted(&probe, never_halt), |stored| stored.never_halted);
    awake::say_of_machine(supported_measurements(&probe).into_iter().chain(advice(&probe)), say);
    if wanted != should_never_halt(&probe) {
        let kept = if wanted { "kept" } else { "not kept" };
        say(Update::Note(&format!("as requested, the processors are {kept} from halting")));
    }
    Ok(Machine { probe, awake: wanted.then(|| awake::start(placement)).transpose()? })
}
