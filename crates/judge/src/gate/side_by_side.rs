//! The study of a gate: every arm as it is, and with the candidate.

use hoptax_plan::as_chain::{as_chain, stem};
use hoptax_plan::file::{ArmEntry, ChainEntry, HopEntry, HopSection, Observe, ProxyWord, StudyFile};
use hoptax_plan::plan::BASELINE;
use hoptax_result::GateResult;

use super::Limit;
use super::candidate::Candidate;

/// Suffixes of the names of arms in the study of a gate.
const REFERENCE: &str = GateResult::REFERENCE;
const CANDIDATE: &str = GateResult::CANDIDATE;
const AGAIN: &str = GateResult::AGAIN;

/// The study of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct SideBySide {
    /// The study file.
    pub file: StudyFile,
    /// The arms that it measures with and without the candidate.
    pub pairs: Vec<Pair>,
    /// Arms of the given study that the candidate does not change. They are left out.
    pub unchanged: Vec<String>,
}

impl SideBySide {
    /// The number of intervals that decide, if each arm has one combination of conditions.
    pub fn comparisons(&self, limits: &[Limit]) -> usize {
        limits.len() * self.pairs.iter().filter(|pair| !pair.is_same).count()
    }
}

/// An arm that is measured with and without the candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The arm, as the given study names it.
    pub arm: String,
    /// Name of the arm as it is.
    pub reference: String,
    /// Name of the arm with the candidate; for the A/A arm, name of a second copy of the arm as it is.
    pub other: String,
    /// True for the A/A arm.
    pub is_same: bool,
}

/// The study that measures the arms of `file` with and without the candidate, and the first arm twice without it, as the A/A arm.
///
/// # Errors
/// When the study observes a timeline or has loads for some arms, or the candidate changes none of its arms.
pub fn side_by_side(file: &StudyFile, candidate: &Candidate) -> Result<SideBySide, String> {
    if file.observe == Observe::Timeline {
        return Err(format!("`{}` observes a timeline, in which no arm is compared with another", file.name));
    }
    if let Some(load) = file.load_with_arms() {
        return Err(format!(
            "the load `{load}` of `{}` has `only` or `except`, which `hoptax gate` cannot use, because it renames the arms: remove them",
            file.name
        ));
    }
    let (mut arms, mut pairs, mut unchanged) =
        (vec![ArmEntry::Name(BASELINE.to_owned())], Vec::new(), Vec::new());
    for entry in &file.arms {
        let Some((arm, plain)) = as_chain(entry) else {
            unchanged.extend(left_out(entry));
            continue;
        };
        let changed = candidate.applied_to(&plain);
        if changed == plain {
            unchanged.push(arm);
            continue;
        }
        let is_taken =
            |stem: &str| pairs.iter().any(|pair: &Pair| pair.reference == format!("{stem}{REFERENCE}"));
        let stem = stem(&arm, is_taken);
        let name = |end: &str| format!("{stem}{end}");
        let mut add = |end: &str, of: &ChainEntry, compared_with: Option<String>| {
            arms.push(ArmEntry::Chain(ChainEntry { name: name(end), compared_with, ..of.clone() }));
        };
        add(REFERENCE, &plain, None);
        let mut others = vec![(CANDIDATE, &changed, false)];
        if pairs.is_empty() {
            others.push((AGAIN, &plain, true));
        }
        for (end, of, is_same) in others {
            add(end, of, Some(name(REFERENCE)));
            pairs.push(Pair { arm: arm.clone(), reference: name(REFERENCE), other: name(end), is_same });
        }
    }
    if pairs.is_empty() {
        let reason = if candidate.config.is_some() {
            "none of them has a configuration of yours (`hops: [{config: FILE}]`); `hoptax compare OLD.yaml NEW.yaml` compares two files"
        } else {
            "each names an Envoy of its own"
        };
        return Err(format!("the candidate changes no arm of `{}`: {reason}", file.name));
    }
    let file = StudyFile {
        name: format!("{}-gate", file.name),
        summary: "Does the candidate exceed the limits?".to_owned(),
        arms,
        points: false,
        // Its numbers belong to arms of other names.
        published: Vec::new(),
        ..file.clone()
    };
    Ok(SideBySide { file, pairs, unchanged })
}

/// The name under which the gate reports an entry that it does not measure; None for functions and for arms that every gate has.
fn left_out(entry: &ArmEntry) -> Option<String> {
    match entry {
        ArmEntry::Name(_) | ArmEntry::Function(_) => None,
        ArmEntry::Subject(entry) => Some(entry.subject.to_string()),
        ArmEntry::Unloaded(entry) => Some(entry.unloaded.clone()),
        ArmEntry::Chain(entry) => Some(entry.name.clone()),
        ArmEntry::External(entry) => Some(entry.name.clone()),
    }
}

impl Candidate {
    /// The arm with the candidate. A proxy that names its own Envoy keeps it.
    fn applied_to(&self, entry: &ChainEntry) -> ChainEntry {
        let mut changed = entry.clone();
        if let Some(envoy) = &self.envoy {
            match &mut changed.hops {
                None => {
                    changed.envoy.get_or_insert_with(|| envoy.clone());
                }
                Some(hops) => hops.iter_mut().for_each(|hop| with_envoy(hop, envoy)),
            }
        }
        if let Some(config) = &self.config {
            for hop in changed.hops.iter_mut().flatten() {
                // A proxy that has only a name runs a generated configuration.
                let HopEntry::Hop(hop) = hop else { continue };
                if let Some(own) = &mut hop.config {
                    own.clone_from(config);
                }
            }
        }
        changed
    }
}

fn with_envoy(hop: &mut HopEntry, envoy: &str) {
    match hop {
        HopEntry::Name(name) => {
            let section = HopSection {
                name: Some(name.clone()),
                envoy: Some(envoy.to_owned()),
                ..HopSection::default()
            };
            *hop = HopEntry::Hop(Box::new(section));
        }
        HopEntry::Hop(section) if matches!(section.proxy, ProxyWord::Envoy) => {
            section.envoy.get_or_insert_with(|| envoy.to_owned());
        }
        HopEntry::Hop(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use hoptax_plan::file;

    use super::*;
    use crate::fixture;

    const STUDY: &str = r#"
name: mine
rounds: 8
arms:
  - baseline
  - same
  - direct
  - "rbac{rules=5}"
  - {name: edge, hops: [front, {name: back, functions: [lua]}, {proxy: nginx}]}
  - {name: pinned, envoy: 1.39.3}
  - {name: ours, hops: [{config: conf/envoy.yaml}]}
  - {unloaded: lua}
loads:
  - {name: saturation, loop: closed, slice: 100ms}
"#;

    fn with_candidate(candidate: &str) -> Result<SideBySide, String> {
        let (file, _) = file::read("mine.yaml", STUDY).unwrap();
        side_by_side(&file, &candidate.parse().unwrap())
    }

    fn entry<'a>(found: &'a SideBySide, name: &str) -> &'a ChainEntry {
        let chains = found.file.arms.iter().filter_map(|arm| match arm {
            ArmEntry::Chain(entry) => Some(entry),
            _ => None,
        });
        chains.into_iter().find(|entry| entry.name == name).unwrap()
    }

    #[test]
    fn every_arm_without_an_envoy_of_its_own_is_measured_with_both() {
        let found = with_candidate("envoy=1.41.0").unwrap();
        let arms: Vec<(&str, bool)> =
            found.pairs.iter().map(|pair| (pair.arm.as_str(), pair.is_same)).collect();
        assert_eq!(
            arms,
            [
                ("baseline", false),
                ("baseline", true),
                ("rbac{rules=5}", false),
                ("edge", false),
                ("ours", false)
            ]
        );
        assert_eq!(found.unchanged, ["pinned", "lua"]);
        let candidate = entry(&found, "rbac-rules-5.candidate");
        assert_eq!(candidate.envoy.as_deref(), Some("1.41.0"));
        assert_eq!(candidate.compared_with.as_deref(), Some("rbac-rules-5.reference"));
        assert_eq!(entry(&found, "rbac-rules-5.reference").envoy, None);
        assert_eq!(
            entry(&found, "baseline.again"),
            &ChainEntry {
                name: "baseline.again".to_owned(),
                compared_with: Some("baseline.reference".to_owned()),
                ..entry(&found, "baseline.reference").clone()
            }
        );
        let edge = serde_json::to_value(entry(&found, "edge.candidate")).unwrap();
        assert_eq!(
            (&edge["hops"][0]["envoy"], &edge["hops"][1]["envoy"]),
            (&"1.41.0".into(), &"1.41.0".into())
        );
        assert!(edge["hops"][2].get("envoy").is_none(), "{edge}");
    }

    #[test]
    fn a_candidate_may_be_a_configuration() {
        let found = with_candidate("config=/new/envoy.yaml").unwrap();
        assert_eq!(found.pairs.len(), 2, "{:?}", found.pairs);
        let config =
            |name: &str| serde_json::to_value(entry(&found, name)).unwrap()["hops"][0]["config"].clone();
        assert_eq!(config("ours.reference"), "conf/envoy.yaml");
        assert_eq!(
            (config("ours.candidate"), config("ours.again")),
            ("/new/envoy.yaml".into(), config("ours.reference"))
        );
    }

    #[test]
    fn the_study_can_be_planned_and_read_again() {
        let text = STUDY.replace("  - {name: ours, hops: [{config: conf/envoy.yaml}]}\n", "");
        let (file, _) = file::read("mine.yaml", &text).unwrap();
        let found = side_by_side(&file, &"envoy=1.41.0".parse().unwrap()).unwrap();
        let (text, _) = file::write(&found.file).unwrap();
        assert_eq!(file::read("gate.yaml", &text).unwrap().0, found.file);
        let plan = fixture::plan(&text);
        for pair in &found.pairs {
            let place = |id: &str| plan.arms.iter().position(|arm| arm.id == id);
            let other = &plan.arms[place(&pair.other).unwrap()];
            assert_eq!(other.compared_with, place(&pair.reference), "{pair:?}");
            assert_eq!(other.kind == hoptax_result::ArmKind::Same, pair.is_same, "{pair:?}");
        }
    }

    #[test]
    fn a_load_for_some_arms_is_refused_since_a_gate_names_them_otherwise() {
        let text = "name: x\narms: [baseline, lua]\nloads: [{name: a, loop: open}, {name: b, loop: open, only: [lua]}]\n";
        let (file, _) = file::read("x.yaml", text).unwrap();
        let error = side_by_side(&file, &"envoy=1.41.0".parse().unwrap()).unwrap_err();
        let expected = "the load `b` of `x` has `only` or `except`, which `hoptax gate` cannot use, because it renames the arms: remove them";
        assert_eq!(error, expected);
    }

    #[test]
    fn a_candidate_that_changes_nothing_is_an_error() {
        let text = "name: x\narms: [baseline, lua]\nloads: [{name: all, loop: closed}]\n";
        let (file, _) = file::read("x.yaml", text).unwrap();
        let error = side_by_side(&file, &"config=/a.yaml".parse().unwrap()).unwrap_err();
        assert!(error.contains("changes no arm of `x`"), "{error}");
    }
}
