//! A built-in study, as the API states it.

use std::time::Duration;

use hoptax_session::{Study, library};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::budget;
use crate::studying::BoundedStudy;

/// Default time limit of a study.
const USUAL: Duration = Duration::from_mins(10);

/// A built-in study to be measured.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedStudy {
    /// The name of a built-in study: `GET /studies` has them all.
    study: String,
    /// Time of the study, such as `30m`, at most 12h: as many rounds as fit, and at least two; 10 min if absent.
    budget: Option<String>,
}

/// A built-in study that can be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct BuiltInStudy {
    /// Its name.
    study: String,
    /// Its question.
    question: String,
    /// The time and the memory that all its rounds take: `about 6 min and 0.6 GB of memory`.
    takes: String,
    /// Its other requirements, such as programs.
    needs: Vec<String>,
}

/// The built-in studies that can be started over the network. Those that need root change the machine's networks, so they are left out.
///
/// # Errors
/// When they cannot be read, which is a bug.
pub(crate) fn startable() -> Result<Vec<BuiltInStudy>, String> {
    let all = library::built_in().map_err(|failure| failure.to_string())?;
    let without_root = all.into_iter().filter(|study| !study.needs_root);
    let in_short = |study: library::BuiltIn| BuiltInStudy {
        study: study.name,
        question: study.question,
        takes: study.expense,
        needs: study.needs,
    };
    Ok(without_root.map(in_short).collect())
}

impl WantedStudy {
    /// Validates the study.
    ///
    /// # Errors
    /// All invalid values: an unknown name, a study that needs root, a time limit out of range.
    pub(crate) fn bounded(&self, startable: &[BuiltInStudy]) -> Result<BoundedStudy, String> {
        let budget = budget(self.budget.as_deref()).map(|stated| stated.unwrap_or(USUAL));
        let study = Study::built_in(&self.study).map_err(|failure| format!("`study`: {failure}"));
        let is_startable = startable.iter().any(|one| one.study == self.study);
        let study = study.and_then(|study| {
            let needs_root = || {
                format!(
                    "`study`: it needs root, to change networks or to profile the kernel: `hoptax study {}` measures it on the machine \
                     itself",
                    self.study
                )
            };
            if is_startable { Ok(study) } else { Err(needs_root()) }
        });
        match (study, budget) {
            (Ok(study), Ok(budget)) => Ok(BoundedStudy { study, budget }),
            (study, budget) => {
                let problems = [study.err(), budget.err()];
                Err(problems.into_iter().flatten().collect::<Vec<String>>().join("\n"))
            }
        }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.study
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use serde_json::{Value, json};

    use super::*;

    /// The studies that can be started. To find them, all are planned.
    fn found() -> &'static [BuiltInStudy] {
        static FOUND: OnceLock<Vec<BuiltInStudy>> = OnceLock::new();
        FOUND.get_or_init(|| startable().unwrap())
    }

    fn bounded(wanted: Value) -> Result<BoundedStudy, String> {
        let wanted = serde_json::from_value::<WantedStudy>(wanted).map_err(|error| error.to_string())?;
        wanted.bounded(found())
    }

    #[test]
    fn a_study_is_built_in_and_has_a_time() {
        let of = bounded(json!({"study": "quick", "budget": "90s"})).unwrap();
        assert_eq!((of.study.name(), of.budget), (Some("quick.yaml"), Duration::from_secs(90)));
        assert_eq!(bounded(json!({"study": "quick"})).unwrap().budget, USUAL);
    }

    #[test]
    fn files_unknown_studies_and_those_that_need_root_are_refused() {
        for (study, why) in [
            ("quikc", "did you mean `quick`?"),
            ("/etc/passwd", "unknown study"),
            ("studies/quick.yaml", "unknown study"),
            ("", "unknown study"),
            ("cross-datacenter-php", "needs root"),
        ] {
            let refused = bounded(json!({"study": study, "budget": "1y"})).err().unwrap();
            assert!(refused.contains(why) && refused.contains("`budget`: "), "{study}: {refused}");
            assert!(refused.starts_with("`study`: "), "{refused}");
        }
        assert!(bounded(json!({"study": "quick", "envoy": "/bin/sh"})).is_err());
    }
}
