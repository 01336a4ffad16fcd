//! Makes the study of a bill: its arms, each compared with the whole.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use hoptax_bootstrap::request::DerivedRequest;
use hoptax_plan::file::{
    ArmEntry, ChainEntry, HopEntry, HopSection, LoadSection, LoopWord, RequestSection, StudyFile,
};
use hoptax_plan::plan::BASELINE;
use hoptax_result::BillResult;

use crate::price::arm::Arm;

/// Name of the study, and of the command that creates it.
pub(crate) const NAME: &str = "price";
/// Limits of the number of slices of each arm per round. A budget gets as many as leave time for enough rounds; without a budget, the
/// maximum.
pub(crate) const FEWEST_BLOCKS: u32 = 4;
pub(crate) const MOST_BLOCKS: u32 = 12;
/// The length of a slice of an open loop if the study file states none.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

/// The configuration of a study of a bill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    /// The user's file, as an absolute path.
    pub(crate) configuration: &'a Path,
    /// The listener.
    pub(crate) listener: &'a str,
    /// Pointers of the extensions that Envoy lacks and no arm has.
    pub(crate) lacking: &'a [String],
    /// Statuses of the responses to the whole.
    pub(crate) statuses: &'a [u16],
    /// Slices of each arm per round.
    pub(crate) blocks: u32,
}

/// A study of a bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StudyOfBill {
    /// The cost of the whole, and the cost that each part adds.
    First,
    /// The sum of the parts compared with the whole, and pairs of parts that may interact, in CPU time only.
    Second,
}

/// The study. Its load is an open loop at `rate` requests per second, or, without a rate, at a share of the capacity of the slowest arm.
pub(crate) fn study_file(
    source: Source<'_>,
    which: StudyOfBill,
    whole: &Arm,
    others: &[Arm],
    rate: Option<f64>,
) -> StudyFile {
    let configuration = source.configuration.display();
    let summary = match which {
        StudyOfBill::First => format!("What does {configuration} cost, and what does each of its parts add?"),
        StudyOfBill::Second => {
            format!(
                "Do parts of {configuration} cost less or more together than apart, and which two of them?"
            )
        }
    };
    let same = Arm { id: BillResult::SAME.to_owned(), ..whole.clone() };
    let mut arms = vec![ArmEntry::Name(BASELINE.to_owned()), arm(source, whole, None)];
    arms.extend(
        std::iter::once(&same).chain(others).map(|other| arm(source, other, Some(BillResult::WHOLE))),
    );
    StudyFile { summary, ..StudyFile::new(NAME, arms, vec![in_use(source, rate)]) }
}

/// The configuration that a study of a bill is about; none for other studies.
pub(crate) fn configuration_of(study: &StudyFile) -> Option<&Path> {
    study.arms.iter().find_map(|arm| match arm {
        ArmEntry::Chain(ChainEntry { name, hops: Some(hops), .. }) if name == BillResult::WHOLE => {
            let [HopEntry::Hop(hop)] = hops.as_slice() else { return None };
            hop.config.as_deref().map(Path::new)
        }
        _ => None,
    })
}

/// The response statuses that loads must state. By default, a study accepts any single status below 500. The plain proxy responds with 200.
fn expect(statuses: &[u16]) -> BTreeSet<u16> {
    let is_usual = matches!(statuses, [status] if *status < 500);
    if is_usual { BTreeSet::new() } else { statuses.iter().copied().chain([200]).collect() }
}

fn arm(source: Source<'_>, arm: &Arm, compared_with: Option<&str>) -> ArmEntry {
    let hop = HopSection {
        config: Some(source.configuration.display().to_string()),
        listener: Some(source.listener.to_owned()),
        without: source.lacking.iter().chain(&arm.removed).cloned().collect(),
        replace: arm.replaced.clone(),
        envoy: arm.envoy.clone(),
        ..HopSection::default()
    };
    ArmEntry::Chain(ChainEntry {
        name: arm.id.clone(),
        hops: Some(vec![HopEntry::Hop(Box::new(hop))]),
        compared_with: compared_with.map(str::to_owned),
        request: Some(request(&arm.request)),
        ..ChainEntry::default()
    })
}

fn request(request: &DerivedRequest) -> RequestSection {
    RequestSection {
        method: Some(request.method.clone()),
        host: Some(request.host.clone()),
        path: Some(request.path.clone()),
        headers: request.headers.iter().cloned().collect(),
    }
}

/// The load that the proxy has in use.
fn in_use(source: Source<'_>, rate: Option<f64>) -> LoadSection {
    LoadSection {
        rate,
        arrivals: Some("uniform".to_owned()),
        connections: 32,
        expect: expect(source.statuses).into_iter().collect(),
        blocks: Some(source.blocks),
        ..LoadSection::new("in-use", LoopWord::Open)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;
    use crate::study::Study;

    #[test]
    fn the_study_has_every_arm_and_a_second_copy_of_the_whole() {
        let request = DerivedRequest {
            method: "GET".to_owned(),
            host: "shop.example".to_owned(),
            path: "/cart?q=\"1\"".to_owned(),
            headers: vec![("origin".to_owned(), "https://shop.example".to_owned())],
            ..DerivedRequest::default()
        };
        let part = Arm {
            id: "no-cors".to_owned(),
            removed: vec!["/static_resources/listeners/0/a".to_owned()],
            ..Arm::whole(&request)
        };
        let changed = Arm {
            id: "what-if-1".to_owned(),
            replaced: [("/static_resources/listeners/0/a".to_owned(), json!({"name": "lua"}))].into(),
            envoy: Some("1.39.3".to_owned()),
            ..Arm::whole(&request)
        };
        let source = Source {
            configuration: Path::new("/etc/envoy.yaml"),
            listener: "edge",
            lacking: &["/static_resources/b".to_owned()],
            statuses: &[200],
            blocks: MOST_BLOCKS,
        };
        let whole = Arm::whole(&request);
        let others = [part, changed];
        let file = study_file(source, StudyOfBill::First, &whole, &others, None);
        let text = Study::made(file, NAME, PathBuf::new()).unwrap().text;
        insta::assert_snapshot!(text);
        let at_rate = study_file(source, StudyOfBill::First, &whole, &others, Some(500.0));
        assert_eq!((at_rate.loads[0].rate, at_rate.loads[0].blocks), (Some(500.0), Some(MOST_BLOCKS)));
    }

    #[test]
    fn statuses_that_a_study_does_not_expect_by_itself_are_stated() {
        assert_eq!((expect(&[200]), expect(&[301])), (BTreeSet::new(), BTreeSet::new()));
        assert_eq!(expect(&[503]), BTreeSet::from([200, 503]));
        assert_eq!(expect(&[200, 429]), BTreeSet::from([200, 429]));
    }
}
