//! Turns the arms of a study file into arms of the plan.

mod chain;
mod external;

use std::collections::{BTreeMap, BTreeSet};

use hoptax_functions::{Catalogue, Component, Composition, Function, FunctionCall, KnobValue};
use hoptax_host::network::NetworkSpec;
use hoptax_result::ArmKind;
use hoptax_subject::application::Application;

use super::chain::Chain;
use super::hops;
use super::points::{self, Requested, Resolved};
use super::positions::subject_arm;
use super::supported::CONDITIONS;
use super::{Arm, BASELINE, DIRECT, SAME, copies};
use crate::configurations::Configurations;
use crate::file::{
    ArmEntry, ChainEntry, ConditionsSection, ExternalEntry, LoopWord, Observe, Positions, Problem, StudyFile,
    TlsWord,
};

pub use external::External;

/// Plans the arms of `file`, with the place in the file that each comes from. Problems with them are added to `problems`.
pub(super) fn plan(
    file: &StudyFile,
    positions: &Positions,
    catalogue: &Catalogue,
    configurations: &Configurations,
    problems: &mut Vec<Problem>,
) -> (Vec<Arm>, Vec<String>) {
    // In a timeline, no arm is compared with another.
    let is_timeline = file.observe == Observe::Timeline;
    let has_names = !is_timeline && file.arms.iter().any(|entry| !matches!(entry, ArmEntry::Subject(_)));
    // The baseline is required even if it is not named, and comes first so that others can refer to it.
    if has_names && !file.arms.iter().any(|entry| name_of(entry) == BASELINE) {
        let message = format!("`arms` has no `{BASELINE}`, which other arms are compared with: add it");
        problems.push(positions.problem("/arms", message));
    }
    let (arms, named) = (Vec::new(), BTreeMap::new());
    let application = file.application.plan().unwrap_or_else(|message| {
        problems.push(positions.problem("/application", message));
        None
    });
    let mut planned = Planned { file, positions, catalogue, configurations, application, arms, named };
    if has_names {
        for requested in planned.requested(&ConditionsSection::default(), planned.application.as_ref()) {
            match points::plain(BASELINE, &requested) {
                Ok(resolved) => {
                    planned.baseline(&resolved);
                }
                Err(message) => problems.push(positions.problem(CONDITIONS, message)),
            }
        }
    }
    let mut pointers = vec![CONDITIONS.to_owned(); planned.arms.len()];
    for (index, entry) in file.arms.iter().enumerate() {
        let pointer = format!("/arms/{index}");
        let earlier = file.arms.iter().take(index).position(|earlier| earlier == entry);
        let found = match earlier {
            Some(earlier) => {
                let name = name_of(entry);
                placed(&pointer, vec![planned.duplicate(&name, &name, earlier)])
            }
            None => planned.add(index, entry, &pointer),
        };
        problems.extend(found.into_iter().map(|(pointer, message)| positions.problem(&pointer, message)));
        pointers.resize(planned.arms.len(), pointer);
    }
    let mut arms: Vec<(Arm, String)> = planned.arms.into_iter().zip(pointers).collect();
    if is_timeline {
        let is_named = file.arms.iter().any(|entry| name_of(entry) == BASELINE);
        arms.retain(|(arm, _)| is_named || arm.kind != ArmKind::Baseline || !arm.has_proxy());
        for (arm, _) in &mut arms {
            arm.compared_with = None;
        }
    }
    let (mut arms, pointers): (Vec<Arm>, Vec<String>) = arms.into_iter().unzip();
    copies::decide(&mut arms);
    name_folders(&mut arms);
    (arms, pointers)
}

/// Messages with the place in the file that they concern.
fn placed(pointer: &str, messages: Vec<String>) -> Vec<(String, String)> {
    messages.into_iter().map(|message| (pointer.to_owned(), message)).collect()
}

/// The arms planned so far.
struct Planned<'a> {
    file: &'a StudyFile,
    positions: &'a Positions,
    catalogue: &'a Catalogue,
    configurations: &'a Configurations,
    /// The application of arms that name none; none for the origin.
    application: Option<Application>,
    arms: Vec<Arm>,
    /// The entry that named each arm, both by index. Arms that came from the points of a function have none, and neither
    /// have baselines, which several entries may name.
    named: BTreeMap<usize, usize>,
}

/// The naming of an arm.
#[derive(Clone, Copy, Debug)]
struct Named<'a> {
    /// The index of the entry; none if it comes from the points of a function.
    entry: Option<usize>,
    is_unloaded: bool,
    /// The name of the arm that it is compared with, instead of a plain proxy.
    compared_with: Option<&'a str>,
    /// The network between callers and proxies; none for the loopback interface.
    network: Option<NetworkSpec>,
}

fn cannot_be_unloaded(function: &str, reason: &str) -> String {
    format!("`{function}` cannot be unloaded: {reason}")
}

/// The name in an entry.
pub(super) fn name_of(entry: &ArmEntry) -> String {
    match entry {
        ArmEntry::Name(name) => name.clone(),
        ArmEntry::Subject(entry) => entry.subject.to_string(),
        ArmEntry::Unloaded(entry) => entry.unloaded.clone(),
        ArmEntry::Function(entry) => entry.function.clone(),
        ArmEntry::Chain(entry) => entry.name.clone(),
        ArmEntry::External(entry) => entry.name.clone(),
    }
}

impl Planned<'_> {
    /// The conditions requested for an arm with its own `at`, in front of this application; none for the origin.
    fn requested(&self, at: &ConditionsSection, application: Option<&Application>) -> Vec<Requested> {
        let closed = self.file.loads.iter().find(|load| load.loop_ == LoopWord::Closed);
        let usual_connections = closed.map(|load| u64::from(load.connections));
        let all = Requested::all(&self.file.conditions, at, usual_connections).into_iter();
        all.map(|one| one.with_application(application, self.application.as_ref())).collect()
    }

    /// The possible ones of [`Self::requested`]: impossible conditions of the study are reported once, where it states them.
    fn possible(&self, at: &ConditionsSection, application: Option<&Application>) -> Vec<Requested> {
        let is_reported = |one: &Requested| one.is_of_study() && points::plain(BASELINE, one).is_err();
        self.requested(at, application).into_iter().filter(|one| !is_reported(one)).collect()
    }

    /// Adds the arms of an entry at `pointer` of the file, and those that they are compared with. Returns its problems with their places.
    fn add(&mut self, index: usize, entry: &ArmEntry, pointer: &str) -> Vec<(String, String)> {
        let (name, at) = match entry {
            ArmEntry::Subject(_) if !self.file.conditions.is_empty() => {
                let message = "`subject` cannot be combined with `conditions`, since it sets its own protocol: write two studies";
                return placed(pointer, vec![message.to_owned()]);
            }
            ArmEntry::Subject(entry) => {
                let application = self.application.as_ref();
                return match subject_arm(entry.subject, application, &self.file.arms, &mut self.arms) {
                    Ok(arm) => {
                        self.arms.extend(arm);
                        Vec::new()
                    }
                    Err(message) => placed(pointer, vec![message]),
                };
            }
            ArmEntry::Chain(entry) => return self.chain(index, entry, pointer),
            ArmEntry::External(entry) => return self.external(index, entry, pointer),
            ArmEntry::Name(name) => (name, ConditionsSection::default()),
            ArmEntry::Unloaded(entry) => (&entry.unloaded, ConditionsSection::default()),
            ArmEntry::Function(entry) => match entry.at.with_protocol(entry.protocol) {
                Ok(at) => (&entry.function, at),
                Err(message) => return placed(&format!("{pointer}/protocol"), vec![message]),
            },
        };
        let is_unloaded = matches!(entry, ArmEntry::Unloaded(_));
        let has_points = match entry {
            ArmEntry::Function(entry) => entry.points.unwrap_or(self.file.points),
            ArmEntry::Name(_) => self.file.points,
            _ => false,
        };
        let mut messages = Vec::new();
        for requested in self.possible(&at, self.application.as_ref()) {
            let added = match name.as_str() {
                BASELINE => {
                    points::plain(BASELINE, &requested).map_err(|message| vec![message]).map(|resolved| {
                        self.baseline(&resolved);
                    })
                }
                DIRECT => self.direct(DIRECT, hops::NO_PROXY.to_owned(), &requested, index),
                same if number_of_same(same).is_some() => self.same(same, &requested, index),
                call => self.functions(call, &requested, index, is_unloaded, has_points),
            };
            messages.extend(added.err().into_iter().flatten());
        }
        placed(pointer, messages)
    }

    /// The baseline under these conditions, added if it does not exist yet.
    fn baseline(&mut self, resolved: &Resolved) -> usize {
        let conditions = &resolved.conditions;
        let is_it =
            |arm: &Arm| arm.kind == ArmKind::Baseline && arm.has_proxy() && arm.conditions == *conditions;
        if let Some(place) = self.arms.iter().position(is_it) {
            return place;
        }
        let required = resolved.required();
        let plain =
            if required.is_empty() { BASELINE.to_owned() } else { format!("{BASELINE}{{{required}}}") };
        let id = resolved.named(&plain);
        let summary = match id.strip_prefix(BASELINE) {
            None | Some("") => "A plain proxy".to_owned(),
            Some(_) if resolved.named("").is_empty() => {
                format!("A plain proxy with `{required}`, like the arms compared with it")
            }
            Some(rest) => format!("A plain proxy `{}`, like the arms compared with it", rest.trim_start()),
        };
        let id = self.unique(&id);
        self.arms.push(Arm { summary, ..Arm::plain(id, ArmKind::Baseline, None, conditions) });
        self.arms.len() - 1
    }

    /// An unused arm id derived from `id`.
    fn unique(&self, id: &str) -> String {
        let has = |id: &str| self.arms.iter().any(|arm| arm.id == id);
        let mut unique = id.to_owned();
        let mut number = 2;
        while has(&unique) {
            unique = format!("{id}#{number}");
            number += 1;
        }
        unique
    }

    /// Returns the message that an arm, as its entry spells it, equals the arm `id` of an earlier entry.
    fn duplicate(&self, spelling: &str, id: &str, earlier: usize) -> String {
        let line = self.positions.line(&format!("/arms/{earlier}"));
        let place = line.map_or_else(|| "an earlier entry".to_owned(), |line| format!("line {line}"));
        let spelt = if spelling == id { String::new() } else { format!(" as `{id}`") };
        format!("duplicate arm `{spelling}`: {place} already names it{spelt}; remove one of them")
    }

    /// Records that the entry `index` names an arm that exists. An error if another entry named it; not if the arm came
    /// from the points of a function (then `index` or the earlier entry is None).
    fn name_again(&mut self, arm: usize, spelling: &str, index: Option<usize>) -> Result<(), Vec<String>> {
        let Some(index) = index else { return Ok(()) };
        let earlier = *self.named.entry(arm).or_insert(index);
        let id = self.arms.get(arm).map(|arm| arm.id.as_str()).unwrap_or_default();
        if earlier == index { Ok(()) } else { Err(vec![self.duplicate(spelling, id, earlier)]) }
    }

    /// Adds an arm that the entry `index` names.
    fn push(&mut self, arm: Arm, index: Option<usize>) {
        self.named.extend(index.map(|index| (self.arms.len(), index)));
        self.arms.push(arm);
    }

    fn direct(
        &mut self,
        name: &str,
        summary: String,
        requested: &Requested,
        index: usize,
    ) -> Result<(), Vec<String>> {
        let resolved = points::without_proxy(name, requested).map_err(|message| vec![message])?;
        let id = resolved.named(name);
        if let Some(place) = self.arms.iter().position(|arm| arm.id == id) {
            return self.name_again(place, &id, Some(index));
        }
        let baseline = self.baseline(&resolved);
        let arm = Arm::plain(id, ArmKind::Direct, Some(baseline), &resolved.conditions);
        self.push(Arm { chain: Chain::none(), summary, ..arm }, Some(index));
        Ok(())
    }

    /// Adds an A/A arm: a further copy of the baseline, called `same` or `same#2`.
    fn same(&mut self, spelling: &str, requested: &Requested, index: usize) -> Result<(), Vec<String>> {
        let name = match number_of_same(spelling) {
            Some(number) if number > 1 => format!("{SAME}#{number}"),
            _ => SAME.to_owned(),
        };
        let resolved = points::plain(&name, requested).map_err(|message| vec![message])?;
        let baseline = self.baseline(&resolved);
        let id = resolved.named(&name);
        if let Some(place) = self.arms.iter().position(|arm| arm.id == id) {
            return self.name_again(place, &resolved.named(spelling), Some(index));
        }
        let summary = "A copy of the baseline, whose true cost is zero".to_owned();
        let arm = Arm::plain(id, ArmKind::Same, Some(baseline), &resolved.conditions);
        self.push(Arm { summary, ..arm }, Some(index));
        Ok(())
    }

    /// Adds a function as called, and at its points.
    fn functions(
        &mut self,
        name: &str,
        requested: &Requested,
        index: usize,
        is_unloaded: bool,
        has_points: bool,
    ) -> Result<(), Vec<String>> {
        let call = FunctionCall::parse(name).map_err(|error| vec![error.to_string()])?;
        let catalogue = self.catalogue;
        let (function, _) = catalogue
            .resolve_beside(&call, &[BASELINE, DIRECT, SAME])
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        self.function(&call, function, requested, Some(index), is_unloaded)?;
        for (name, values) in function.points.iter().filter(|_| has_points) {
            for value in values {
                if let Some((call, requested)) = at_point(&call, function, requested, name, value) {
                    self.function(&call, function, &requested, None, false)?;
                }
            }
        }
        Ok(())
    }

    /// Adds one arm of a function; `index` is that of the entry that names it.
    fn function(
        &mut self,
        call: &FunctionCall,
        function: &Function,
        requested: &Requested,
        index: Option<usize>,
        is_unloaded: bool,
    ) -> Result<(), Vec<String>> {
        let knobs = function
            .knobs_of(call)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        let called = call.to_string();
        // Functions of the catalogue were rendered when it was loaded.
        let obstacle = || function.obstacle_to_unloading(&knobs).ok().flatten();
        if let Some(reason) = is_unloaded.then(obstacle).flatten() {
            return Err(vec![cannot_be_unloaded(&called, &reason)]);
        }
        let component = Component { name: called.clone(), function: function.clone(), knobs };
        let functions = Composition::one(component);
        let resolved =
            hops::Resolved { chain: Chain::of_functions(functions.clone()), functions, request: None };
        let named = Named { entry: index, is_unloaded, compared_with: None, network: None };
        self.with_functions(&called, function.summary.clone(), resolved, requested, named)
    }

    /// Returns the message that an earlier entry has the name, if one has.
    fn taken(&self, index: usize, name: &str) -> Option<String> {
        let earlier = self.file.arms.iter().take(index).position(|other| name_of(other) == name)?;
        Some(self.duplicate(name, name, earlier))
    }

    /// The arm of the entry `name` under the same conditions.
    fn reference(&self, name: &str, resolved: &Resolved) -> Result<usize, Vec<String>> {
        let is_entry = |entry: &ArmEntry| match entry {
            ArmEntry::Chain(ChainEntry { name: own, .. })
            | ArmEntry::External(ExternalEntry { name: own, .. }) => own == name,
            _ => false,
        };
        let of_entry =
            self.named.iter().filter(|(_, entry)| self.file.arms.get(**entry).is_some_and(is_entry));
        let mut candidates = of_entry.map(|(arm, _)| *arm);
        let has_conditions = |arm: &usize| {
            let matches = |arm: &Arm| {
                (arm.has_proxy() || arm.external.is_some()) && arm.conditions == resolved.conditions
            };
            self.arms.get(*arm).is_some_and(matches)
        };
        candidates.find(has_conditions).ok_or_else(|| {
            vec![format!(
                "`compared_with: {name}`: no earlier arm of that `name` has proxies under the same conditions"
            )]
        })
    }

    /// Adds an arm with these proxies and their functions, called by a name, described by a line, and named by an entry.
    fn with_functions(
        &mut self,
        name: &str,
        mut summary: String,
        hops::Resolved { chain, functions, request }: hops::Resolved,
        requested: &Requested,
        Named { entry: index, is_unloaded, compared_with, network }: Named<'_>,
    ) -> Result<(), Vec<String>> {
        let resolved = points::of_chain(name, &chain, &functions, request.as_ref(), requested)
            .map_err(|message| vec![message])?;
        let mut id = resolved.named(name);
        // The requests before the removal go to each proxy with the TLS of the generator's own connections.
        let has_tls = resolved.conditions.tls != TlsWord::None || chain.tls().iter().any(Option::is_some);
        if is_unloaded && has_tls && chain.hops.len() > 1 {
            return Err(vec![format!(
                "`{name}`: functions of several proxies can be removed in plaintext only"
            )]);
        }
        if is_unloaded {
            id = format!("{id} unloaded");
            summary = format!("A plain proxy after a function was removed: {summary}");
        }
        // Compared by their content: a knob may be stated at its default, so equal arms may differ in their ids.
        let is_equal = |arm: &Arm| {
            arm.kind == ArmKind::Function
                && arm.chain.is_same(&chain)
                && arm.is_unloaded == is_unloaded
                && arm.request == request
                && arm.network == network
                && arm.conditions == resolved.conditions
        };
        let reference = compared_with.map(|name| self.reference(name, &resolved)).transpose()?;
        let same = self.arms.iter().position(&is_equal);
        // An arm that is compared with a named one may equal further arms: those of other comparisons.
        if let Some(place) = same.filter(|_| reference.is_none()) {
            return self.name_again(place, &id, index);
        }
        let is_same = reference.and_then(|place| self.arms.get(place)).is_some_and(is_equal);
        let kind = if is_same { ArmKind::Same } else { ArmKind::Function };
        let compared_with = reference.unwrap_or_else(|| self.baseline(&resolved));
        let arm = Arm {
            upstreams: usize::from(functions.upstreams()).max(chain.stages().last().map_or(1, Vec::len)),
            chain,
            functions,
            request,
            network,
            is_unloaded,
            summary,
            ..Arm::plain(id, kind, Some(compared_with), &resolved.conditions)
        };
        // Functions that the application performs need an application that supports them.
        let flags: Vec<String> = arm.application_flags().into_iter().map(|(flag, _)| flag).collect();
        let is_missing = arm.application().is_none() && !flags.is_empty();
        let name = Application::with_flags(&flags).map_or_else(String::new, |application| application.name());
        let message = format!("`{}` runs in the application: add `application: {name}` to the study", arm.id);
        self.push(arm, index);
        if is_missing { Err(vec![message]) } else { Ok(()) }
    }
}

/// A call at one point of its function. None if the call or its conditions set the same quantity, or if the point
/// equals the default.
fn at_point(
    call: &FunctionCall,
    function: &Function,
    requested: &Requested,
    name: &str,
    value: &KnobValue,
) -> Option<(FunctionCall, Requested)> {
    let Some(knob) = function.knobs.get(name) else {
        return Some((call.clone(), requested.clone().at(name, value)?));
    };
    if call.knobs.contains_key(name) || knob.default == *value {
        return None;
    }
    let mut call = call.clone();
    call.knobs.insert(name.to_owned(), value.clone());
    Some((call, requested.clone()))
}

/// Gives each copy of each arm a folder of its own: the id of the arm in characters that every file system accepts, with a number
/// appended on collision.
fn name_folders(arms: &mut [Arm]) {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for arm in arms {
        let name: String = arm.id.replace(" @ ", "-at-").replace(", ", "-").chars().map(keep).collect();
        let name = name.trim_end_matches('-').to_owned();
        let numbered = (2_u32..).map(|number| format!("{name}-{number}"));
        for candidate in std::iter::once(name.clone()).chain(numbered) {
            arm.folder = candidate;
            let folders: Vec<String> = (0..arm.copies).map(|copy| arm.folder(copy)).collect();
            if folders.iter().all(|folder| !taken.contains(folder)) {
                taken.extend(folders);
                break;
            }
        }
    }
}

/// The number of an A/A arm: 1 for `same`, 2 for `same#2` and so on if a study has several. None for other names.
pub(crate) fn number_of_same(name: &str) -> Option<u32> {
    match name.strip_prefix(SAME)? {
        "" => Some(1),
        rest => rest.strip_prefix('#')?.parse().ok().filter(|number| *number > 1),
    }
}
