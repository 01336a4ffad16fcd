//! The functions of one proxy: their needs together, and pairs that cannot be combined.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::filter_order::FilterOrder;
use crate::fragment::Fragment;
use crate::function::{Context, Function, Proof, RenderError, Secured, Tls};
use crate::kept::KeptFragment;
use crate::knob::Knobs;

/// A function of a composition.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// The call that named it, for example `rbac{rules=50}`.
    pub name: String,
    /// The function.
    pub function: Function,
    /// The values of all its knobs.
    pub knobs: Knobs,
}

/// The functions of one proxy, in the order in which they are written; empty for a plain proxy.
#[derive(Clone, Default, PartialEq)]
pub struct Composition {
    components: Vec<Component>,
    order: FilterOrder,
    fragment: KeptFragment,
}

/// Without the fragment, which may not be rendered yet: plans are recognized by the hash of this text.
impl fmt::Debug for Composition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { components, order, fragment: _ } = self;
        f.debug_struct("Composition").field("components", components).field("order", order).finish()
    }
}

/// Two functions that cannot be combined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{first}` and `{second}` cannot be combined: {why}")]
pub struct Conflict {
    /// The call of the first.
    pub first: String,
    /// The call of the second.
    pub second: String,
    /// The index of the second in the list.
    pub index: usize,
    /// The reason.
    pub why: String,
}

/// A context for fragments that are compared and never run.
fn nowhere() -> Context<'static> {
    Context { directory: Path::new("/"), companion: None }
}

/// The first part of a query that determines the size of the response.
const SIZE: &str = "size=";

impl Component {
    /// The size of the response that its request asks for, bytes.
    fn response_bytes(&self) -> Option<u64> {
        self.function.request.query.as_ref()?.strip_prefix(SIZE)?.parse().ok()
    }

    /// The query of its request, unless it only determines the size of the response.
    fn query(&self) -> Option<&String> {
        self.function.request.query.as_ref().filter(|_| self.response_bytes().is_none())
    }

    /// The body of its request.
    fn body(&self) -> Option<Vec<u8>> {
        // A test renders all functions of the catalogue.
        self.function.body(&self.knobs).ok().flatten()
    }

    /// Returns true if its request determines a condition of a study.
    fn determines(&self, condition: &str) -> bool {
        match condition {
            "request_bytes" => self.function.request.has_body(),
            "response_bytes" => self.response_bytes().is_some(),
            _ => true,
        }
    }

    /// Its fragment without the addresses and folders of a run. None for one that does not render, which the run reports.
    fn fragment(&self) -> Option<Fragment> {
        self.function.render(&self.knobs, &nowhere()).ok()
    }
}

/// A function that others may have to be combined with. It is rendered once for all pairs that it is part of.
struct Candidate<'a> {
    component: &'a Component,
    fragment: OnceCell<Option<Fragment>>,
}

impl<'a> Candidate<'a> {
    fn new(component: &'a Component) -> Self {
        Self { component, fragment: OnceCell::new() }
    }

    /// See [`Component::fragment`].
    fn fragment(&self) -> Option<&Fragment> {
        self.fragment.get_or_init(|| self.component.fragment()).as_ref()
    }
}

impl Composition {
    /// A single function.
    pub fn one(component: Component) -> Self {
        Self { components: vec![component], ..Self::default() }
    }

    /// Several functions.
    ///
    /// # Errors
    /// Every function that cannot be combined with an earlier one, with the first such function.
    pub fn new(components: Vec<Component>, order: FilterOrder) -> Result<Self, Vec<Conflict>> {
        let conflicts = conflicts(&components);
        if conflicts.is_empty() { Ok(Self { components, order, ..Self::default() }) } else { Err(conflicts) }
    }

    /// The functions of all proxies of an arm, which share their requests and the application. It is for questions about
    /// these; each proxy renders its own functions.
    ///
    /// # Errors
    /// Every function that cannot be in one arm with a function of an earlier proxy, with the first such function. Indexes
    /// count the functions of all proxies.
    pub fn across(proxies: &[&Self]) -> Result<Self, Vec<Conflict>> {
        let components: Vec<(usize, &Component)> = (0..)
            .zip(proxies)
            .flat_map(|(proxy, functions)| functions.components.iter().map(move |own| (proxy, own)))
            .collect();
        let conflict = |(index, (proxy, second)): (usize, &(usize, &Component))| {
            let earlier = components.iter().take(index).filter(|(other, _)| other != proxy);
            earlier.into_iter().find_map(|(_, first)| {
                let why = traffic_obstacle(first, second).or_else(|| shared_obstacle(first, second))?;
                Some(Conflict { first: first.name.clone(), second: second.name.clone(), index, why })
            })
        };
        let conflicts: Vec<Conflict> = components.iter().enumerate().filter_map(conflict).collect();
        let all = || components.iter().map(|(_, component)| (*component).clone()).collect();
        if conflicts.is_empty() { Ok(Self { components: all(), ..Self::default() }) } else { Err(conflicts) }
    }

    /// The functions, in the order in which they are written.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Its function, if it is only one.
    pub fn only(&self) -> Option<&Component> {
        match self.components.as_slice() {
            [component] => Some(component),
            _ => None,
        }
    }

    /// Returns true if it has no function.
    pub fn is_empty(&self) -> bool {
        self.components.is_empty()
    }

    /// Returns true if the other one makes the same proxy: calls may differ in that they state a default, and in their order where it does
    /// not matter.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_same = |own: &Component, other: &Component| {
            own.function.id == other.function.id && own.knobs == other.knobs
        };
        let contains = |own: &Component| other.components.iter().any(|other| is_same(own, other));
        // A composition has each function once.
        self.components.len() == other.components.len()
            && self.components.iter().all(contains)
            && (self.components.len() < 2 || self.fragment().is_some_and(|own| other.fragment() == Some(own)))
    }

    /// The fragment that enables all functions, without the addresses and folders of a run: for questions about the proxy. It is rendered
    /// for the first of them, and kept for the others, and for those of copies that are made from then on. None for one that does not
    /// render, which the run reports.
    pub fn fragment(&self) -> Option<&Fragment> {
        self.fragment.get_or_init(|| self.render(&nowhere()).ok())
    }

    /// The fragment that enables all functions.
    ///
    /// # Errors
    /// A fragment does not render.
    pub fn render(&self, context: &Context<'_>) -> Result<Fragment, RenderError> {
        let mut all = Fragment::default();
        for component in &self.components {
            let own = component.function.render(&component.knobs, context)?;
            let id = &component.function.id;
            all = all.combine(own).map_err(|why| {
                RenderError(format!("function `{id}` cannot be combined with the functions before it: {why}"))
            })?;
        }
        self.order.arrange(&mut all.http_filters);
        Ok(all)
    }

    /// The proofs of all functions, each with the function that it belongs to.
    pub fn proofs(&self) -> Vec<(&Component, Proof)> {
        let of = |component: &Component| {
            // A test renders all functions of the catalogue.
            component.function.proofs(&component.knobs).unwrap_or_default()
        };
        self.components
            .iter()
            .flat_map(|component| of(component).into_iter().map(move |proof| (component, proof)))
            .collect()
    }

    /// Returns the targets that file descriptors of the proxy's process must link to, each with the function that it belongs to.
    pub fn opens(&self) -> impl Iterator<Item = (&Component, &str)> {
        self.components
            .iter()
            .flat_map(|component| component.function.opens.iter().map(move |link| (component, link.as_str())))
    }

    /// TLS on the connections on both sides.
    pub fn secured(&self) -> Secured {
        let first =
            |side: fn(&Secured) -> Option<Tls>| self.functions().find_map(|function| side(&function.secured));
        Secured {
            downstream: first(|secured| secured.downstream),
            upstream: first(|secured| secured.upstream),
        }
    }

    /// Headers that every arm of a study sends, by name.
    pub fn headers(&self) -> BTreeMap<String, String> {
        self.functions().flat_map(|function| function.request.headers.clone()).collect()
    }

    /// Headers of the requests of its own arm, by name.
    pub fn own_headers(&self) -> BTreeMap<String, String> {
        self.functions().flat_map(|function| function.request.own_headers.clone()).collect()
    }

    /// The query of its requests, without the size of the response.
    pub fn query(&self) -> Option<String> {
        self.components.iter().find_map(Component::query).cloned()
    }

    /// The size of the responses, bytes.
    pub fn response_bytes(&self) -> Option<u64> {
        self.components.iter().find_map(Component::response_bytes)
    }

    /// The body of its requests.
    pub fn body(&self) -> Option<Vec<u8>> {
        self.components.iter().find_map(Component::body)
    }

    /// Environment variables of the proxy's process.
    pub fn environment(&self) -> BTreeMap<String, String> {
        self.functions().flat_map(|function| function.environment.clone()).collect()
    }

    /// The least number of connections of a closed loop that keep the proxy busy, if a function needs many.
    pub fn connections(&self) -> Option<u32> {
        self.functions().filter_map(|function| function.connections).max()
    }

    /// Worker threads of the proxy, if a function sets them.
    pub fn workers(&self) -> Option<u32> {
        self.functions().find_map(|function| function.workers)
    }

    /// Number of origins behind the proxy.
    pub fn upstreams(&self) -> u16 {
        self.functions().map(|function| function.upstreams).max().unwrap_or(1)
    }

    /// Returns true if a function calls the companion.
    pub fn asks_companion(&self) -> bool {
        self.functions().any(|function| function.asks_companion)
    }

    /// Returns true if a function uses the path of requests: see [`Function::looks_at_path`].
    pub fn looks_at_path(&self) -> bool {
        self.functions().any(Function::looks_at_path)
    }

    /// The lowest limit that a function enforces: see [`Function::limit`].
    pub fn limit(&self) -> Option<f64> {
        // A test renders all functions of the catalogue.
        let limit = |component: &Component| component.function.limit(&component.knobs).ok().flatten();
        self.components.iter().filter_map(limit).min_by(f64::total_cmp)
    }

    /// Flags of the application, with their values.
    pub fn application(&self) -> BTreeMap<String, String> {
        let flags =
            |component: &Component| component.function.application(&component.knobs).unwrap_or_default();
        self.components.iter().flat_map(flags).collect()
    }

    /// Returns true if the arm may set this condition to another value than its functions: the files of all functions that determine it
    /// list points of it.
    pub fn permits(&self, condition: &str) -> bool {
        let mut determining =
            self.components.iter().filter(|component| component.determines(condition)).peekable();
        determining.peek().is_some()
            && determining.all(|component| component.function.points.contains_key(condition))
    }

    fn functions(&self) -> impl Iterator<Item = &Function> {
        self.components.iter().map(|component| &component.function)
    }
}

/// Every function that cannot be combined with an earlier one, with the first such function.
fn conflicts(components: &[Component]) -> Vec<Conflict> {
    let candidates: Vec<Candidate<'_>> = components.iter().map(Candidate::new).collect();
    let conflict = |(index, second): (usize, &Candidate<'_>)| {
        candidates.iter().take(index).find_map(|first| {
            let why = obstacle(first, second)?;
            let [first, second] = [first, second].map(|one| one.component.name.clone());
            Some(Conflict { first, second, index, why })
        })
    };
    candidates.iter().enumerate().filter_map(conflict).collect()
}

/// Returns the reason why two functions cannot be combined; None if they can.
fn obstacle(first: &Candidate<'_>, second: &Candidate<'_>) -> Option<String> {
    let (one, other) = (first.component, second.component);
    if one.function.id == other.function.id {
        return Some(format!("a proxy can have the function `{}` only once", one.function.id));
    }
    traffic_obstacle(one, other)
        .or_else(|| process_obstacle(first, second))
        .or_else(|| shared_obstacle(one, other))
        .or_else(|| first.fragment()?.clone().combine(second.fragment()?.clone()).err())
        .or_else(|| proof_obstacle(one, other))
}

/// Returns why two functions cannot share requests: each needs another value of the same part; None if they can.
fn traffic_obstacle(first: &Component, second: &Component) -> Option<String> {
    let differ = |what: &str| Some(format!("their requests need different {what}"));
    let (one, other) = (&first.function.request, &second.function.request);
    if both_differ(first.body(), second.body()) {
        return differ("bodies");
    }
    if both_differ(first.response_bytes(), second.response_bytes()) {
        return differ("sizes of the response");
    }
    if both_differ(first.query(), second.query()) {
        return differ("queries");
    }
    // Headers of one name with different values are refused when the catalogue is loaded.
    let name = differing_key(&one.own_headers, &other.own_headers)
        .or_else(|| differing_key(&one.own_headers, &other.headers))
        .or_else(|| differing_key(&one.headers, &other.own_headers))?;
    differ(&format!("values of the header `{name}`"))
}

/// Returns why two functions cannot share a process, in terms of settings that a process or its connections have only once; None if they
/// can.
fn process_obstacle(first: &Candidate<'_>, second: &Candidate<'_>) -> Option<String> {
    let (one, other) = (&first.component.function, &second.component.function);
    let group = |candidate: &Candidate<'_>| candidate.fragment().map(|fragment| fragment.key_exchange_group);
    if one.secured.downstream.and(other.secured.downstream).is_some() {
        return Some("both set up TLS of the downstream connections".to_owned());
    }
    if one.secured.upstream.and(other.secured.upstream).is_some() {
        return Some("both set up TLS of the upstream connections".to_owned());
    }
    let are_secured = [one, other].iter().all(|function| function.secured != Secured::default());
    if are_secured && group(first) != group(second) {
        return Some("a proxy uses one key exchange group, but they choose different ones".to_owned());
    }
    if both_differ(one.workers, other.workers) {
        return Some("both set the number of workers".to_owned());
    }
    let several = |function: &Function| Some(function.upstreams).filter(|number| *number > 1);
    if both_differ(several(one), several(other)) {
        return Some("they need different numbers of origins".to_owned());
    }
    None
}

/// Returns why two functions cannot be in one arm, in terms of settings that all its proxies share: environment variables, and flags of the
/// application; None if they can.
fn shared_obstacle(first: &Component, second: &Component) -> Option<String> {
    let (one, other) = (&first.function, &second.function);
    if let Some(name) = differing_key(&one.environment, &other.environment) {
        return Some(format!("they set the environment variable `{name}` to different values"));
    }
    let flags = |component: &Component| {
        component
            .function
            .application(&component.knobs)
            .unwrap_or_default()
            .into_iter()
            .collect::<BTreeMap<_, _>>()
    };
    let name = differing_key(&flags(first), &flags(second))?.clone();
    Some(format!("they set the flag `{name}` of the application to different values"))
}

/// A statistic that both functions change proves neither of them.
fn proof_obstacle(first: &Component, second: &Component) -> Option<String> {
    let proofs = |component: &Component| component.function.proofs(&component.knobs).unwrap_or_default();
    let of_second = proofs(second);
    let is_shared = |proof: &Proof| {
        !proof.is_of_every_request() && of_second.iter().any(|other| other.name == proof.name)
    };
    let shared = proofs(first).into_iter().find(is_shared)?;
    Some(format!("the statistic `{}` proves both, so it cannot distinguish them", shared.name))
}

fn both_differ<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one != other)
}

/// A key that both maps have with different values.
fn differing_key<'a>(
    one: &'a BTreeMap<String, String>,
    other: &BTreeMap<String, String>,
) -> Option<&'a String> {
    one.iter()
        .find(|(name, value)| other.get(*name).is_some_and(|other| other != *value))
        .map(|(name, _)| name)
}

#[cfg(test)]
mod tests;
