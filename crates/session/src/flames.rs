//! The flame graphs of a study from the stacks of its rounds: as files, and as trees in its result.

use std::fs;
use std::path::Path;

use hoptax_judge::summary::add_frames;
use hoptax_plan::plan::{Arm, Plan};
use hoptax_plan::profile::flame;
use hoptax_plan::profile::folded::Folded;
use hoptax_result::StudyResult;
use hoptax_run::runner::PROFILES;

use crate::update::{Say, Update};

/// Sets the frames of the arms of a judged result, from the stacks in its run folder.
pub(crate) fn add_to(result: &mut StudyResult, plan: &Plan, directory: &Path) {
    add_frames(result, |id, round| {
        let arm = plan.arms.iter().find(|arm| plan.profile && arm.id == id);
        let folder = arm.map(|arm| directory.join(PROFILES).join(arm.folder(0)));
        folder.map(|folder| read(&folder.join(format!("round-{round}.folded")))).unwrap_or_default()
    });
}

/// Writes `profiles/ARM.svg` for each arm with stacks, and `profiles/ARM-difference.svg` for its difference from the arm that it is
/// compared with. Writes nothing without profiles.
pub(crate) fn write(plan: &Plan, directory: &Path, say: Say<'_>) {
    if !plan.profile {
        return;
    }
    let folder = directory.join(PROFILES);
    let stacks = |arm: &Arm| stacks(&folder.join(arm.folder(0)));
    let mut drawn = 0;
    for arm in &plan.arms {
        let own = stacks(arm);
        if own.cpu_ns() == 0 {
            continue;
        }
        let mut graphs = vec![(format!("{}.svg", arm.folder(0)), flame::graph(&arm.id, &own))];
        if let Some(other) = plan.reference(arm) {
            let title = format!("{}: red takes more than in {}, blue less", arm.id, other.id);
            let graph = flame::difference(&title, &own, &stacks(other));
            graphs.push((format!("{}-difference.svg", arm.folder(0)), graph));
        }
        for (name, graph) in graphs {
            let path = folder.join(name);
            match graph
                .map_err(|error| error.to_string())
                .and_then(|svg| fs::write(&path, svg).map_err(|error| error.to_string()))
            {
                Ok(()) => drawn += 1,
                Err(error) => say(Update::Problem(&format!("cannot write `{}`: {error}", path.display()))),
            }
        }
    }
    if drawn > 0 {
        say(Update::Note(&format!("{drawn} flame graphs: {}", folder.display())));
    }
}

/// The stacks of all rounds in the folder of an arm.
fn stacks(folder: &Path) -> Folded {
    let mut all = Folded::default();
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "folded")) {
        all.join(read(&path));
    }
    all
}

/// The stacks of a round; none without the file.
fn read(path: &Path) -> Folded {
    Folded::read(&fs::read_to_string(path).unwrap_or_default())
}
