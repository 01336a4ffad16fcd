//! The CPU time of one proxy of a graph: the cores that it and each of its functions use at a rate.

use std::collections::BTreeSet;

use hoptax_result::{Interval, RoundMeasure, SizeSide};

use crate::size::connections::Connections;
use crate::size::graph::{Called, Service};
use crate::size::learn::{Curve, Plain, Priced};
use crate::size::measured_at::MeasuredAt;
use crate::size::memory::LearnedItems;
use crate::size::sum::Sum;

/// A proxy with the learned costs of its requests.
pub(crate) struct Proxy<'a> {
    pub(crate) service: &'a Service,
    pub(crate) flows: Vec<LearnedFlow<'a>>,
    pub(crate) items: LearnedItems,
}

/// Requests of one kind, with their learned costs.
pub(crate) struct LearnedFlow<'a> {
    pub(crate) side: SizeSide,
    /// Requests for each request to the entry of the graph.
    pub(crate) per_request: f64,
    pub(crate) plain: Plain<'a>,
    pub(crate) functions: Vec<(&'a Called, Priced<'a>)>,
    /// None if its connections are kept.
    pub(crate) connections: Option<Connections<'a>>,
}

/// The function of a proxy for one side.
pub(crate) type FunctionOf<'a> = (SizeSide, &'a Called);

impl<'a> Proxy<'a> {
    /// The memory of a plain proxy, its functions and its items. The correlation between the errors of a study's numbers is unknown, so the
    /// interval is the widest possible.
    pub(crate) fn memory(&self) -> Option<Interval> {
        let plain = self.flows.first()?.plain.arm.hops.first()?.of_rounds.get(RoundMeasure::MEMORY)?;
        let mut numbers = vec![plain];
        for (side, called) in self.functions() {
            numbers.push(self.memory_of((side, called))?);
        }
        numbers.extend(self.items.bytes());
        Interval::sum_of_dependent(&numbers)
    }

    /// The memory that a function adds, bytes.
    pub(crate) fn memory_of(&self, (side, called): FunctionOf<'a>) -> Option<Interval> {
        let flow = self.flows.iter().find(|flow| flow.side == side)?;
        let (_, priced) = flow.functions.iter().find(|(other, _)| *other == called)?;
        priced.arm.cost.of_rounds.get(RoundMeasure::MEMORY)
    }

    /// Requests for each request to the entry of the graph.
    pub(crate) fn per_request(&self) -> f64 {
        self.flows.iter().map(|flow| flow.per_request).sum()
    }

    /// Its functions, each once for each side.
    pub(crate) fn functions(&self) -> Vec<FunctionOf<'a>> {
        let mut functions: Vec<FunctionOf<'a>> = Vec::new();
        for flow in &self.flows {
            for (called, _) in &flow.functions {
                if !functions.contains(&(flow.side, *called)) {
                    functions.push((flow.side, *called));
                }
            }
        }
        functions
    }

    /// The indexes of the results from which its CPU time and its memory were learned. Response times come from the same results.
    pub(crate) fn sources(&self) -> BTreeSet<usize> {
        let mut sources: BTreeSet<usize> = self.items.sources().collect();
        for flow in &self.flows {
            sources.insert(flow.plain.source);
            sources.extend(flow.functions.iter().map(|(_, priced)| priced.source));
            sources.extend(flow.connections.iter().flat_map(Connections::sources));
        }
        sources
    }

    /// The cores that it uses on its own processors, at `rate` requests per second to the entry and at the busy share `busy`, without the
    /// function `without`, if any.
    pub(crate) fn cores_alone(&self, rate: f64, busy: f64, without: Option<FunctionOf<'a>>) -> Sum<'_> {
        let mut cores = Sum::default();
        for flow in &self.flows {
            let is_kept = |called: &Called| {
                without.is_none_or(|(side, left_out)| side != flow.side || left_out != called)
            };
            let functions = flow.functions.iter().filter(|(called, _)| is_kept(called));
            let curves = std::iter::once(&flow.plain.curve).chain(functions.map(|(_, priced)| &priced.curve));
            curves.for_each(|curve| add(&mut cores, rate * flow.per_request, curve, busy));
            if let Some(connections) = &flow.connections {
                connections.add(&mut cores, rate * flow.per_request / 1e6, is_kept);
            }
        }
        cores
    }

    /// The cores that a function adds.
    pub(crate) fn cores_of(&self, rate: f64, busy: f64, (side, called): FunctionOf<'a>) -> Sum<'_> {
        let mut cores = Sum::default();
        for flow in self.flows.iter().filter(|flow| flow.side == side) {
            for (_, priced) in flow.functions.iter().filter(|(other, _)| *other == called) {
                add(&mut cores, rate * flow.per_request, &priced.curve, busy);
            }
            if let Some(connections) = &flow.connections {
                let of_function = connections.functions.iter().filter(|(other, _)| *other == called);
                let new = rate * flow.per_request * connections.per_request;
                of_function.for_each(|(_, one)| one.add(&mut cores, new / 1e6));
            }
        }
        cores
    }

    /// The new connections per second, and the CPU time of one, us, with its functions; none if connections are kept.
    pub(crate) fn new_connections(&self, rate: f64) -> Option<(f64, Sum<'_>)> {
        let mut sum = Sum::default();
        let flow = self.flows.iter().find(|flow| flow.connections.is_some())?;
        let connections = flow.connections.as_ref()?;
        connections.add(&mut sum, 1.0 / connections.per_request, |_| true);
        Some((rate * flow.per_request * connections.per_request, sum))
    }

    /// Requests on one side for each request to the entry of the graph.
    pub(crate) fn per_request_of(&self, side: SizeSide) -> f64 {
        self.flows.iter().filter(|flow| flow.side == side).map(|flow| flow.per_request).sum()
    }

    /// The busy shares at which all its CPU times were measured.
    pub(crate) fn measured_at(&self) -> MeasuredAt {
        let curves = self.flows.iter().flat_map(|flow| {
            let functions = flow.functions.iter().map(|(_, priced)| &priced.curve);
            std::iter::once(&flow.plain.curve).chain(functions)
        });
        MeasuredAt::new(&curves.map(|curve| curve.busy_shares().collect()).collect::<Vec<_>>())
    }
}

/// Adds the cores of `rate` requests per second.
fn add<'a>(cores: &mut Sum<'a>, rate: f64, curve: &'a Curve, busy: f64) {
    cores.add_all(rate / 1e6, &curve.at(busy));
}
