//! What each check is about.

use crate::{load, study};

/// Description of a check.
#[derive(Clone, Debug)]
pub struct About {
    /// Its id.
    pub id: &'static str,
    /// What it protects from.
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
    for (id, protects_from, source, judges) in loads.chain(studies).chain(timelines) {
        match all.iter_mut().find(|about| about.id == id) {
            Some(about) => about.judges.push(judges),
            None => all.push(About { id, protects_from, source, judges: vec![judges] }),
        }
    }
    all.sort_by_key(|about| about.id);
    all
}
