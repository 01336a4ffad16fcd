//! Faults in the section of a single proxy: flags that hoptax sets itself, workers that a function sets otherwise, and settings that
//! only Envoy supports.

use hoptax_functions::{Composition, FilterOrder};
use hoptax_result::HopProcessors;

use super::super::Placed;
use crate::file::{HopSection, ProxyWord};

/// The option that hoptax sets if the section has `workers`.
const CONCURRENCY: &str = "--concurrency";
/// Envoy's options that hoptax sets, and those that it must know: where the log is, and which processes share memory.
const OWN_FLAGS: [&str; 13] = [
    "--config-path",
    "-c",
    "--config-yaml",
    "--mode",
    CONCURRENCY,
    "--disable-hot-restart",
    "--base-id",
    "--use-dynamic-base-id",
    "--restart-epoch",
    "--admin-address-path",
    "--log-path",
    "--log-level",
    "-l",
];

/// Every problem with the section of a proxy, whose place in the file is `place`. `functions` are those that it lists.
pub(super) fn problems(section: &HopSection, functions: &Composition, place: &str) -> Placed {
    let mut problems = Vec::new();
    if section.processors == Some(HopProcessors::Number(0)) {
        problems.push((format!("{place}/processors"), "a proxy needs at least 1 processor".to_owned()));
    }
    for (index, flag) in section.flags.iter().enumerate() {
        if let Some(name) = own_flag(flag) {
            let instead = if name == CONCURRENCY { ": set `workers`" } else { ": remove it" };
            problems.push((
                format!("{place}/flags/{index}"),
                format!("hoptax controls `{name}` itself{instead}"),
            ));
        }
    }
    let of_workers = problem_of_workers(section, functions);
    problems.extend(of_workers.map(|message| (format!("{place}/workers"), message)));
    if section.proxy != ProxyWord::Envoy {
        let keys = [
            ("functions", !section.functions.is_empty()),
            ("order", section.order != FilterOrder::default()),
            ("workers", section.workers.is_some()),
            ("envoy", section.envoy.is_some()),
            ("flags", !section.flags.is_empty()),
            ("env", !section.env.is_empty()),
        ];
        let proxy = section.proxy.as_str();
        let misplaced = keys.into_iter().filter(|(_, is_set)| *is_set);
        let message = |key: &str| format!("`{key}` is for Envoy, not for {proxy}: remove it");
        problems.extend(misplaced.map(|(key, _)| (format!("{place}/{key}"), message(key))));
    }
    problems
}

/// The option of hoptax that a flag sets, alone or with its value: `--name=value`, `--name value`, or `-nvalue`.
fn own_flag(flag: &str) -> Option<&'static str> {
    let is_value = |own: &str, rest: &str| {
        let is_letter = !own.starts_with("--");
        is_letter || rest.is_empty() || rest.starts_with(['=', ' '])
    };
    OWN_FLAGS.into_iter().find(|own| flag.strip_prefix(own).is_some_and(|rest| is_value(own, rest)))
}

/// A number of workers beside a function that sets another one.
fn problem_of_workers(section: &HopSection, functions: &Composition) -> Option<String> {
    let stated = section.workers?;
    let setting = functions.components().iter().find(|component| component.function.workers.is_some())?;
    let of_function = setting.function.workers.filter(|number| *number != stated)?;
    Some(format!(
        "`{}` sets `workers: {of_function}` and does not support `workers: {stated}`: remove one of the two",
        setting.name
    ))
}
