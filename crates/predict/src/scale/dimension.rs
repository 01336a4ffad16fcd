//! The size of an arm under a load, and its other properties: arms that differ only in their size form a series.

use std::collections::BTreeSet;

use hoptax_result::{ArmResult, Environment, LoadSpec, PlannedHop, PlannedSubject, ScaleDimension};

/// The properties of an arm under a load that are independent of its size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kind {
    /// Its id, if the size is a condition or belongs to the load. Arms with different proxies may have any names, so their ids do not
    /// count.
    id: Option<String>,
    /// Its conditions.
    conditions: Option<String>,
    /// Its proxies, and the connections between them.
    subject: Option<PlannedSubject>,
    /// Its load.
    load: LoadSpec,
}

/// Numbers of processors on the machine of a study.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processors {
    /// Processors of the proxies.
    pub(crate) of_proxies: u32,
    /// Processors of proxies, generator and origin.
    pub(crate) all: u32,
}

impl Processors {
    pub(crate) fn new(environment: &Environment) -> Self {
        let all: BTreeSet<u32> =
            environment.proxy_cpus.iter().chain(&environment.generator_cpus).copied().collect();
        Self { of_proxies: environment.proxy_cpus.len().max(1) as u32, all: all.len().max(1) as u32 }
    }

    /// Returns the number of processors that a proxy may use.
    pub(crate) fn usable_by(self, hop: &PlannedHop) -> u32 {
        hop.processors.map_or(self.of_proxies, |processors| processors.number(self.all))
    }
}

/// The size of an arm under a closed loop, and its other properties; None if it has no such size.
pub(crate) fn size_and_kind(
    over: ScaleDimension,
    arm: &ArmResult,
    load: &LoadSpec,
    processors: Processors,
) -> Option<(u32, Kind)> {
    let (plain, requested) = without_condition(&arm.id, over.as_str());
    // The other arms of a load do not matter for an arm.
    let (subject, load) = (arm.subject.clone(), LoadSpec { arms: Vec::new(), ..load.clone() });
    let is_named =
        !matches!(over, ScaleDimension::Workers | ScaleDimension::Processors | ScaleDimension::Clones);
    let kind = |subject, load| Kind {
        id: is_named.then(|| plain.clone()),
        conditions: plain.split_once(CONDITIONS).map(|(_, conditions)| conditions.to_owned()),
        subject,
        load,
    };
    match over {
        ScaleDimension::Connections => {
            let size = requested.unwrap_or(load.connections).max(least_connections(arm));
            // The name of a load may contain its number of connections, and a load with many connections may have fewer blocks.
            let load = LoadSpec { name: String::new(), connections: 0, blocks: 0, slice_s: 0.0, ..load };
            Some((size, kind(subject, load)))
        }
        ScaleDimension::Workers => {
            let mut subject = subject?;
            let first = subject.hops.first()?.workers;
            for hop in subject.hops.iter_mut().filter(|hop| hop.workers == first) {
                hop.workers = None;
            }
            Some((first.unwrap_or(processors.of_proxies), kind(Some(subject), load)))
        }
        ScaleDimension::Processors => {
            let mut subject = subject?;
            let first = processors.usable_by(subject.hops.first()?);
            for hop in subject.hops.iter_mut().filter(|hop| processors.usable_by(hop) == first) {
                // One worker per processor is the default.
                hop.workers = hop.workers.filter(|workers| *workers != first);
                hop.processors = None;
            }
            Some((first, kind(Some(subject), load)))
        }
        ScaleDimension::Clones => {
            let mut subject = subject?;
            let clones = clones(&subject.hops)?;
            subject.hops.truncate(subject.hops.len() + 1 - clones);
            subject.tls.truncate(subject.hops.len() + 1);
            // Each clone has a process of the application.
            subject.upstreams = 0;
            Some((clones as u32, kind(Some(subject), load)))
        }
        ScaleDimension::RequestBytes | ScaleDimension::ResponseBytes => {
            // The law starts at a size of 1.
            Some((requested.filter(|size| *size > 0)?, kind(subject, load)))
        }
    }
}

/// The id of an arm for a series, without the condition that varies.
pub(crate) fn name(over: ScaleDimension, arm: &ArmResult) -> String {
    without_condition(&arm.id, over.as_str()).0
}

/// Separator between the name of an arm and its conditions, in the id of the arm.
const CONDITIONS: &str = " @ ";

/// The id of an arm without one of its conditions, and the value of that condition.
fn without_condition(id: &str, condition: &str) -> (String, Option<u32>) {
    let Some((name, conditions)) = id.rsplit_once(CONDITIONS) else { return (id.to_owned(), None) };
    let value = |stated: &str| {
        // The id of an arm without its function has a note after the conditions.
        let stated = stated.split(' ').next()?;
        stated.strip_prefix(condition)?.strip_prefix('=')?.parse().ok()
    };
    let number = conditions.split(", ").find_map(value);
    let rest: Vec<&str> = conditions.split(", ").filter(|stated| value(stated).is_none()).collect();
    let id = if rest.is_empty() { name.to_owned() } else { format!("{name}{CONDITIONS}{}", rest.join(", ")) };
    (id, number)
}

/// The minimum number of connections that a function needs, as its baseline states it.
fn least_connections(arm: &ArmResult) -> u32 {
    let stated = |id: &String| {
        let (_, set) = id.strip_prefix("baseline{")?.split_once("connections=")?;
        set.split([',', '}']).next()?.parse().ok()
    };
    [Some(&arm.id), arm.compared_with.as_ref()].into_iter().flatten().find_map(stated).unwrap_or(0)
}

/// Number of clones of the last proxy. Clones are named `NAME`, `NAME-2`, `NAME-3` and so on, and are otherwise the same. None
/// without a proxy.
fn clones(hops: &[PlannedHop]) -> Option<usize> {
    let are_clones = |first: &PlannedHop, others: &[PlannedHop]| {
        others.iter().zip(2..).all(|(other, number)| {
            *other == PlannedHop { name: format!("{}-{number}", first.name), ..first.clone() }
        })
    };
    (0..hops.len()).find_map(|first| {
        let (first, others) = hops.get(first..)?.split_first()?;
        are_clones(first, others).then(|| others.len() + 1)
    })
}

#[cfg(test)]
mod tests {
    use hoptax_result::{HopProcessors, sample};

    use super::*;

    const MACHINE: Processors = Processors { of_proxies: 2, all: 4 };

    fn size(over: ScaleDimension, arm: &ArmResult) -> Option<u32> {
        size_and_kind(over, arm, &sample::closed_loop("full", 64), MACHINE).map(|(size, _)| size)
    }

    /// A front proxy and this many clones of a sidecar.
    fn with_clones(number: usize) -> ArmResult {
        let mut arm = sample::arm(&format!("clones-{number}"));
        let subject = arm.subject.as_mut().unwrap();
        let named = |name: String| PlannedHop { name, ..subject.hops[0].clone() };
        let clones = (2..=number).map(|clone| named(format!("sidecar-{clone}")));
        let hops =
            [named("front".to_owned()), named("sidecar".to_owned())].into_iter().chain(clones).collect();
        subject.hops = hops;
        subject.tls = vec![hoptax_result::ConnectionTls::None; number + 2];
        subject.upstreams = number as u32;
        arm
    }

    #[test]
    fn conditions_are_taken_out_of_an_id() {
        let of = |id: &str| without_condition(id, "connections");
        assert_eq!(of("jwt @ http2, connections=64"), ("jwt @ http2".to_owned(), Some(64)));
        assert_eq!(of("jwt @ connections=64 unloaded"), ("jwt".to_owned(), Some(64)));
        assert_eq!(
            of("connection-limit{connections=5}"),
            ("connection-limit{connections=5}".to_owned(), None)
        );
        assert_eq!(of("jwt @ http2"), ("jwt @ http2".to_owned(), None));
    }

    #[test]
    fn connections_are_those_of_the_load_unless_the_arm_has_its_own() {
        let of = |id: &str| size(ScaleDimension::Connections, &sample::arm(id));
        assert_eq!(of("lua"), Some(64));
        assert_eq!(of("lua @ connections=16"), Some(16));
        let delayed = |least: u32| ArmResult {
            compared_with: Some(format!("baseline{{connections={least},PRECISE=1}}")),
            ..sample::arm("control/delay")
        };
        assert_eq!(
            [16, 100].map(|least| size(ScaleDimension::Connections, &delayed(least))),
            [Some(64), Some(100)]
        );
    }

    #[test]
    fn clones_are_counted_by_their_names_and_must_be_alike() {
        assert_eq!(
            [1, 2, 10].map(|number| size(ScaleDimension::Clones, &with_clones(number))),
            [1, 2, 10].map(Some)
        );
        let mut unlike = with_clones(3);
        unlike.subject.as_mut().unwrap().hops[3].workers = Some(2);
        assert_eq!(size(ScaleDimension::Clones, &unlike), Some(1));
        let kinds = [1, 5].map(|number| {
            size_and_kind(
                ScaleDimension::Clones,
                &with_clones(number),
                &sample::closed_loop("full", 64),
                MACHINE,
            )
            .unwrap()
            .1
        });
        assert_eq!(kinds[0], kinds[1]);
        let mut none = sample::arm("direct");
        none.subject.as_mut().unwrap().hops.clear();
        assert_eq!(size(ScaleDimension::Clones, &none), None);
    }

    #[test]
    fn workers_are_those_of_the_first_proxy() {
        let with = |workers: &[Option<u32>]| {
            let mut arm = sample::arm("workers");
            let subject = arm.subject.as_mut().unwrap();
            let hop = subject.hops[0].clone();
            subject.hops =
                workers.iter().map(|workers| PlannedHop { workers: *workers, ..hop.clone() }).collect();
            size_and_kind(ScaleDimension::Workers, &arm, &sample::closed_loop("full", 64), MACHINE).unwrap()
        };
        assert_eq!([with(&[None]).0, with(&[Some(4)]).0], [2, 4]);
        assert_eq!(with(&[Some(4), Some(4)]).1, with(&[Some(8), Some(8)]).1);
        assert_eq!(with(&[Some(4), Some(1)]).1, with(&[Some(8), Some(1)]).1);
        assert_ne!(with(&[Some(4), Some(2)]).1, with(&[Some(8), Some(1)]).1);
    }

    #[test]
    fn processors_are_those_of_the_first_proxy_and_have_a_worker_each() {
        let with = |hops: &[(Option<HopProcessors>, Option<u32>)]| {
            let mut arm = sample::arm("processors");
            let subject = arm.subject.as_mut().unwrap();
            let hop = subject.hops[0].clone();
            let one = |(processors, workers): &(_, _)| PlannedHop {
                processors: *processors,
                workers: *workers,
                ..hop.clone()
            };
            subject.hops = hops.iter().map(one).collect();
            size_and_kind(ScaleDimension::Processors, &arm, &sample::closed_loop("full", 64), MACHINE)
                .unwrap()
        };
        let number = |number| Some(HopProcessors::Number(number));
        let sizes = [None, number(1), Some(HopProcessors::ALL)].map(|one| with(&[(one, None)]).0);
        assert_eq!(sizes, [2, 1, 4]);
        assert_eq!(with(&[(number(1), None)]).1, with(&[(number(3), Some(3))]).1);
        assert_ne!(with(&[(number(1), Some(2))]).1, with(&[(number(3), Some(3))]).1, "two workers on one");
        assert_eq!(
            with(&[(number(3), None), (number(3), None)]).1,
            with(&[(None, None), (number(2), None)]).1
        );
        assert_ne!(
            with(&[(number(3), None), (number(1), None)]).1,
            with(&[(number(4), None), (None, None)]).1
        );
    }

    #[test]
    fn bodies_have_a_size_where_the_arm_states_one() {
        let of = |id: &str| size(ScaleDimension::ResponseBytes, &sample::arm(id));
        assert_eq!(of("baseline @ http2, response_bytes=16384"), Some(16_384));
        assert_eq!([of("baseline"), of("baseline @ response_bytes=0")], [None, None]);
    }
}
