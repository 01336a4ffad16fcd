//! Descriptions of all checks and thresholds, as lists for people and for programs.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use crate::thresholds::{self, Threshold};
use crate::{load, study};

/// Description of a check.
#[derive(Clone, Debug, Serialize)]
pub struct About {
    /// Its id.
    pub id: &'static str,
    /// The mistake that it protects from.
    pub protects_from: &'static str,
    /// Its source.
    pub source: &'static str,
    /// Kinds of results that it judges.
    pub judges: Vec<&'static str>,
}

/// All checks, sorted by id; a check for loads and studies appears once.
pub fn all() -> Vec<About> {
    let mut all: Vec<About> = Vec::new();
    let loads = load::ALL.iter().map(|check| (check.id, check.protects_from, check.source, "load"));
    let studies = study::ALL.iter().map(|check| (check.id, check.protects_from, check.source, "study"));
    let timelines =
        study::OF_TIMELINES.iter().map(|check| (check.id, check.protects_from, check.source, "timeline"));
    let sittings = study::OF_SITTINGS
        .iter()
        .map(|check| (check.id, check.protects_from, check.source, "set of sittings"));
    for (id, protects_from, source, judges) in loads.chain(studies).chain(timelines).chain(sittings) {
        match all.iter_mut().find(|about| about.id == id) {
            Some(about) => about.judges.push(judges),
            None => all.push(About { id, protects_from, source, judges: vec![judges] }),
        }
    }
    all.sort_by_key(|about| about.id);
    all
}

/// The check with this id.
///
/// # Errors
/// When there is none, with the nearest.
pub fn find(id: &str) -> Result<About, String> {
    let all = all();
    all.iter().find(|about| about.id == id).cloned().ok_or_else(|| {
        let hint = hoptax_text::nearest::hint(id, all.iter().map(|about| about.id));
        format!("unknown check `{id}`{hint}\n`hoptax trust checks` lists them")
    })
}

/// All checks, by the kinds of results that they judge.
pub fn listed() -> String {
    let all = all();
    let kinds: BTreeSet<&[&str]> = all.iter().map(|about| about.judges.as_slice()).collect();
    let group = |kind: &[&str]| {
        let lines = all.iter().filter(|about| about.judges == kind);
        let lines: String =
            lines.map(|about| format!("  {:<24}  {}\n", about.id, about.protects_from)).collect();
        format!("every {}:\n{lines}", kind.join(" and every "))
    };
    kinds.into_iter().map(group).collect::<Vec<_>>().join("\n")
}

/// All thresholds with their defaults.
pub fn listed_thresholds() -> String {
    let line = |one: &Threshold| format!("{:<22}  {:<8}  {}\n", one.name, one.default, one.about);
    thresholds::ALL.iter().map(line).collect()
}

/// All thresholds, for programs.
pub fn thresholds_as_json() -> Value {
    let value = |one: &Threshold| {
        let stricter = if one.larger_is_tighter { "larger" } else { "smaller" };
        json!({ "name": one.name, "default": one.default, "stricter": stricter, "about": one.about })
    };
    thresholds::ALL.iter().map(value).collect()
}

impl About {
    /// The check with its source, and the meaning of its findings.
    pub fn explained(&self) -> String {
        format!(
            "{}\n\nprotects from: {}\njudges:        every {}\nsource:        {}\n\n\
             A finding states the observation, the threshold, and what to do. A failed check withholds the numbers that it \
             leaves without support, or bounds them. `hoptax runs show RUN --details` prints the findings of a run with their \
             advice.\n",
            self.id,
            self.protects_from,
            self.judges.join(" and every "),
            self.source
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_and_every_threshold_is_listed_and_explained() {
        let (listed, thresholds) = (listed(), listed_thresholds());
        for about in all() {
            assert!(listed.contains(&format!("  {} ", about.id)), "{}", about.id);
            assert!(find(about.id).unwrap().explained().contains(about.source), "{}", about.id);
            assert!(about.explained().contains("--details` prints the findings of a run with their advice"));
        }
        assert_eq!(thresholds.lines().count(), thresholds::ALL.len());
        assert_eq!(thresholds_as_json().as_array().map(Vec::len), Some(thresholds::ALL.len()));
        assert!(find("send-lga").unwrap_err().contains("did you mean `send-lag`?"));
    }
}
