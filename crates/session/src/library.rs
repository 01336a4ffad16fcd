//! The built-in studies and graphs of services.

use std::collections::BTreeSet;
use std::env;
use std::path::{self, Path, PathBuf};
use std::sync::OnceLock;

use hoptax_functions::Catalogue;
use hoptax_judge::length::Length;
use hoptax_plan::plan::{Load, Open, Plan, Rate};
use hoptax_predict::size::SizeError;
use hoptax_predict::size::graph::Graph;
use hoptax_result::counted;
use include_dir::{Dir, include_dir};

use crate::estimate::Estimate;
use crate::failure::Failure;

/// The built-in catalogue of functions.
///
/// # Errors
/// When it cannot be read.
pub fn catalogue() -> Result<&'static Catalogue, Failure> {
    Catalogue::load().map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::environment(lines.join("\n"))
    })
}

/// The built-in studies, and the graphs of services in a subfolder.
static STUDIES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../studies");

/// The names of the built-in graphs of services.
pub fn graph_names() -> Vec<String> {
    STUDIES.get_dir("graphs").map(names_in).unwrap_or_default()
}

/// The text of a built-in graph of services; none if no graph has this name.
pub(crate) fn graph(name: &str) -> Option<&'static str> {
    STUDIES.get_file(format!("graphs/{name}.yaml"))?.contents_utf8()
}

/// The text of a built-in study.
///
/// # Errors
/// When there is none with this name.
pub(crate) fn study(name: &str) -> Result<&'static str, Failure> {
    let names = names();
    let file =
        names.iter().find(|known| *known == name).and_then(|name| STUDIES.get_file(format!("{name}.yaml")));
    file.and_then(|file| file.contents_utf8()).ok_or_else(|| {
        let hint = hoptax_text::nearest::hint(name, names.iter().map(String::as_str));
        Failure::bad_input(format!(
            "unknown study `{name}`{hint}\n`hoptax study list` lists the built-in studies"
        ))
    })
}

/// Returns true if a built-in study has this name.
pub(crate) fn is_built_in(study_name: &str) -> bool {
    study(study_name).is_ok()
}

/// The absolute path of the folder of a study file. Relative paths in the file start there.
pub fn folder(file_name: &str) -> PathBuf {
    let folder = Path::new(file_name).parent().unwrap_or(Path::new(""));
    // If the folder no longer exists, keep its name as given: the error names it when a file in it is read.
    path::absolute(Path::new(".").join(folder)).unwrap_or_else(|_| folder.to_owned())
}

/// The built-in studies: each with its question, its duration, its memory and its other requirements; then the command that measures one.
///
/// # Errors
/// When the catalogue of functions cannot be read.
pub fn list() -> Result<String, Failure> {
    let next = "next: hoptax study quick   measures one of them; with --dry-run, prints its plan";
    Ok(format!("{}\n{next}", listed(plans()?)))
}

fn listed(plans: &[(String, Plan)]) -> String {
    plans.iter().map(|(name, plan)| described(name, plan)).collect::<Vec<_>>().join("\n")
}

/// The plans of the built-in studies, each with its name. The first call computes them, which is slow; later calls reuse them.
///
/// # Errors
/// When the catalogue of functions cannot be read, or a study has no plan.
pub(crate) fn plans() -> Result<&'static [(String, Plan)], Failure> {
    static PLANS: OnceLock<Vec<(String, Plan)>> = OnceLock::new();
    if let Some(plans) = PLANS.get() {
        return Ok(plans);
    }
    let catalogue = catalogue()?;
    let entry = |name: String| -> Result<(String, Plan), Failure> {
        let plan =
            Plan::read(&format!("{name}.yaml"), study(&name)?, catalogue).map_err(Failure::bad_input)?;
        Ok((name, plan))
    };
    let plans: Vec<(String, Plan)> = names().into_iter().map(entry).collect::<Result<_, _>>()?;
    Ok(PLANS.get_or_init(|| plans))
}

/// A built-in study in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltIn {
    /// Its name.
    pub name: String,
    /// Its question.
    pub question: String,
    /// The time and the memory that all its rounds take: `about 6 min and 0.6 GB of memory`.
    pub expense: String,
    /// Its other requirements.
    pub needs: Vec<String>,
    /// True if it makes networks, links or profiles of the kernel, which needs root.
    pub needs_root: bool,
}

/// The built-in studies, in the order of their names.
///
/// # Errors
/// When the catalogue of functions cannot be read.
pub fn built_in() -> Result<Vec<BuiltIn>, Failure> {
    Ok(plans()?.iter().map(|(name, plan)| in_short(name, plan)).collect())
}

fn in_short(name: &str, plan: &Plan) -> BuiltIn {
    let needs = plan.needs();
    BuiltIn {
        name: name.to_owned(),
        question: plan.summary.clone(),
        expense: expense(plan),
        needs_root: needs.iter().any(|need| need.starts_with("root")),
        needs,
    }
}

/// The time and the memory that a study takes: `about 6 min and 0.6 GB of memory`.
pub(crate) fn expense(plan: &Plan) -> String {
    let length = Length { rounds: plan.rounds, budget_s: None, until: None };
    let estimate = Estimate::from_plan(plan).words(&length, 0);
    let rounds = if plan.rounds_are_open {
        format!(", for {}", counted(plan.rounds.into(), "round"))
    } else {
        String::new()
    };
    estimate + &rounds
}

/// A study, described in a few lines.
fn described(name: &str, plan: &Plan) -> String {
    let mut text = format!("{name}\n  {}\n  {}\n", plan.summary, expense(plan));
    let needs = plan.needs();
    if !needs.is_empty() {
        text += &format!("  needs {}\n", needs.join("; "));
    }
    text
}

/// Advice about a graph that cannot be predicted because results lack functions: the built-in study that measures most of them. Either a
/// line to append to the reason, or empty.
pub(crate) fn advice(why: &SizeError, graph: &Graph) -> String {
    let functions: BTreeSet<&str> = graph.functions().collect();
    let is_missing = matches!(why, SizeError::Missing { .. });
    let plans = if is_missing { plans().unwrap_or_default() } else { &[] };
    let study = with_most_of(&functions, plans);
    study.map_or_else(String::new, |(name, count)| {
        format!("\n`hoptax study {name}` measures {count} of the {} functions of the graph", functions.len())
    })
}

/// The first of `plans` from which most of these functions can be predicted, and how many it covers; none if none covers any.
fn with_most_of<'a>(functions: &BTreeSet<&str>, plans: &'a [(String, Plan)]) -> Option<(&'a str, usize)> {
    let found = |(name, plan): &'a (String, Plan)| {
        // Predictions need loads at which all arms are equally busy.
        let is_in_use = |load: &Load| matches!(load.open, Some(Open { rate: Rate::Utilisation(_), .. }));
        let has = |function: &&&str| plan.arms.iter().any(|arm| arm.id == **function);
        let count = functions.iter().filter(has).count();
        (count > 0 && plan.loads.iter().any(is_in_use)).then_some((name.as_str(), count))
    };
    plans.iter().filter_map(found).reduce(|best, other| if other.1 > best.1 { other } else { best })
}

fn names() -> Vec<String> {
    names_in(&STUDIES)
}

fn names_in(folder: &Dir<'_>) -> Vec<String> {
    let stem = |file: &include_dir::File<'_>| Some(file.path().file_stem()?.to_str()?.to_owned());
    let mut names: Vec<String> = folder.files().filter_map(stem).collect();
    names.sort();
    names
}

/// The path of this program, which starts itself again as the origin.
///
/// # Errors
/// When the system does not report the path.
pub fn program() -> Result<PathBuf, Failure> {
    env::current_exe().map_err(|error| Failure::environment(format!("cannot find this program: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned() -> &'static [(String, Plan)] {
        plans().unwrap()
    }

    #[test]
    fn the_study_with_most_functions_of_a_graph_is_named() {
        let functions = BTreeSet::from(["jwt", "rbac{rules=50}", "access-log/json"]);
        assert_eq!(with_most_of(&functions, planned()), Some(("graph-parts", 3)));
        assert_eq!(with_most_of(&BTreeSet::from(["no-such"]), planned()), None);
    }

    #[test]
    fn every_built_in_study_can_be_planned() {
        assert!(names().contains(&"quick".to_owned()));
        for (name, plan) in planned() {
            assert_eq!(plan.name, *name, "a study's name is that of its file");
        }
    }

    #[test]
    fn every_study_is_listed_with_its_question_and_what_it_needs() {
        let list = listed(planned());
        for name in names() {
            let (_, rest) =
                list.split_once(&format!("{name}\n  ")).unwrap_or_else(|| panic!("{name}: {list}"));
            let mut lines = rest.lines();
            assert!(lines.next().unwrap().ends_with('?'), "{name}: the summary is a question: {rest}");
            assert!(lines.next().unwrap().trim_start().starts_with("about "), "{name}: {rest}");
        }
        let front = list.split("\n\n").find(|entry| entry.starts_with("front-proxies\n")).unwrap();
        assert!(front.contains("needs caddy (package caddy); haproxy (package haproxy); nginx"), "{front}");
        let php = list.split("\n\n").find(|entry| entry.starts_with("cross-datacenter-php\n")).unwrap();
        assert!(php.contains("needs root") && php.contains("php-cli"), "{php}");
    }

    #[test]
    fn a_built_in_study_is_no_file_whatever_its_name_is() {
        assert!(study("quick").unwrap().contains("arms"));
        for name in ["/etc/passwd", "../Cargo.toml", "Cargo.toml", "graphs/boutique", "quick.yaml", ""] {
            let refused = study(name).unwrap_err().to_string();
            assert!(refused.contains("unknown study"), "{name}: {refused}");
        }
    }

    #[test]
    fn studies_that_need_root_are_told_from_others() {
        let of = |name: &str| {
            let found = planned().iter().find(|(of, _)| of == name);
            found.map(|(name, plan)| in_short(name, plan)).unwrap()
        };
        assert!(of("cross-datacenter-php").needs_root && !of("quick").needs_root);
        let quick = of("quick");
        assert!(quick.question.ends_with('?') && quick.expense.starts_with("about "), "{quick:?}");
        assert!(of("cross-datacenter-php").needs.iter().any(|need| need.starts_with("root")));
    }
}
