//! Descriptions of all checks.

use hoptax_text::list::listed;

use crate::{load, study};

/// Description of a check.
#[derive(Clone, Debug)]
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

impl About {
    /// The results that it judges: `every load, every study and every timeline`.
    pub fn judged(&self) -> String {
        let every: Vec<String> = self.judges.iter().map(|kind| format!("every {kind}")).collect();
        listed(&every)
    }

    /// The check with its source, and the meaning of its findings.
    pub fn explained(&self) -> String {
        format!(
            "{}\n\nprotects from: {}\njudges:        {}\nsource:        {}\n\n\
             A finding states the observation, the threshold, and what to do. A failed check withholds the numbers that it \
             leaves without support, or bounds them. `hoptax runs show RUN --details` prints the findings of a run with their \
             advice.\n",
            self.id,
            self.protects_from,
            self.judged(),
            self.source
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_is_explained_with_its_source() {
        for about in all() {
            assert!(find(about.id).unwrap().explained().contains(about.source), "{}", about.id);
            assert!(about.explained().contains("--details` prints the findings of a run with their advice"));
        }
        let [one, two, three] = ["admitted", "drift", "book"].map(|id| find(id).unwrap().judged());
        assert_eq!((one.as_str(), two.as_str()), ("every study", "every load and every study"));
        assert_eq!(three, "every load, every study and every timeline");
        assert!(find("send-lga").unwrap_err().contains("did you mean `send-lag`?"));
    }
}
