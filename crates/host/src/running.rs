//! Finds processes that already run, for accounting: by id, by name, in a control group, or of a systemd unit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mount point of control groups.
const CGROUPS: &str = "/sys/fs/cgroup";
/// Length at which the kernel cuts the name of a process, bytes.
const NAME_BYTES: usize = 15;

/// Selection of processes. Their descendants are selected, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Running {
    /// The one with this id.
    Pid(u32),
    /// All with this name.
    Process(String),
    /// All in this control group and in those below it: `/system.slice/envoy.service`.
    Cgroup(PathBuf),
    /// All of this systemd unit: `envoy.service`.
    Unit(String),
}

impl fmt::Display for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pid(id) => write!(f, "pid {id}"),
            Self::Process(name) => write!(f, "process {name}"),
            Self::Cgroup(path) => write!(f, "cgroup {}", path.display()),
            Self::Unit(name) => write!(f, "unit {name}"),
        }
    }
}

impl FromStr for Running {
    type Err = String;

    /// Parses `pid=123`, `process=NAME`, `cgroup=PATH` or `unit=NAME`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, name) = text.split_once('=').unwrap_or((text, ""));
        match kind {
            "pid" => name.parse().map(Self::Pid).map_err(|_| format!("`{name}` is not the id of a process")),
            "process" | "cgroup" | "unit" if name.is_empty() => Err(format!("`{kind}=` needs a name")),
            "process" => Ok(Self::Process(name.to_owned())),
            "cgroup" => Ok(Self::Cgroup(name.into())),
            "unit" => Ok(Self::Unit(name.to_owned())),
            _ => Err("write `pid=ID`, `process=NAME`, `cgroup=PATH` or `unit=NAME`".to_owned()),
        }
    }
}

impl Running {
    /// The ids of the processes that run now. This process and those that it started, such as the proxies of a study, are only included if
    /// they are selected by id.
    ///
    /// # Errors
    /// When there is none, or `/proc` or the control groups cannot be read.
    pub fn processes(&self) -> io::Result<BTreeSet<u32>> {
        let all = all_processes()?;
        let none = || io::Error::new(io::ErrorKind::NotFound, format!("no process matches `{self}`"));
        let first: BTreeSet<u32> = match self {
            Self::Pid(id) => [*id].into_iter().filter(|id| all.contains_key(id)).collect(),
            Self::Process(name) => named(&all, name),
            Self::Cgroup(path) => in_group(&group(Path::new(CGROUPS), path))?,
            Self::Unit(name) => in_group(&unit(Path::new(CGROUPS), name)?.ok_or_else(none)?)?,
        };
        let with_descendants = with_descendants(&all, first);
        let found = match self {
            Self::Pid(_) => with_descendants,
            // An ancestor of this process may have the name, and is in the same groups.
            Self::Process(_) | Self::Cgroup(_) | Self::Unit(_) => without_own(&all, with_descendants),
        };
        if found.is_empty() { Err(none()) } else { Ok(found) }
    }
}

/// A process in `/proc`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    name: String,
    parent: u32,
}

/// All processes by their ids.
fn all_processes() -> io::Result<BTreeMap<u32, Process>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process may end between the listing and the read.
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        all.extend(parse_stat(&stat).map(|process| (id, process)));
    }
    Ok(all)
}

/// Name and parent from `/proc/PID/stat`. The name is in parentheses and may have any characters.
fn parse_stat(stat: &str) -> Option<Process> {
    let (_, rest) = stat.split_once('(')?;
    let (name, rest) = rest.rsplit_once(')')?;
    let parent = rest.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(Process { name: name.to_owned(), parent })
}

fn named(all: &BTreeMap<u32, Process>, name: &str) -> BTreeSet<u32> {
    let cut = name.get(..NAME_BYTES).unwrap_or(name);
    all.iter().filter(|(_, process)| process.name == cut).map(|(id, _)| *id).collect()
}

fn without_own(all: &BTreeMap<u32, Process>, mut found: BTreeSet<u32>) -> BTreeSet<u32> {
    let own = with_descendants(all, [std::process::id()].into());
    found.retain(|id| !own.contains(id));
    found
}

fn with_descendants(all: &BTreeMap<u32, Process>, mut found: BTreeSet<u32>) -> BTreeSet<u32> {
    loop {
        let children = all.iter().filter(|(_, process)| found.contains(&process.parent));
        let new: Vec<u32> = children.map(|(id, _)| *id).filter(|id| !found.contains(id)).collect();
        if new.is_empty() {
            return found;
        }
        found.extend(new);
    }
}

/// The folder of a control group, whose path is relative to `root` unless it is below it.
fn group(root: &Path, path: &Path) -> PathBuf {
    if path.starts_with(root) { path.to_owned() } else { root.join(path.strip_prefix("/").unwrap_or(path)) }
}

/// The control group of a unit below `root`. A name without a suffix is that of a service.
fn unit(root: &Path, name: &str) -> io::Result<Option<PathBuf>> {
    let name = if name.contains('.') { name.to_owned() } else { format!("{name}.service") };
    for folder in groups_below(root)? {
        if folder.file_name().is_some_and(|own| *own == *name) {
            return Ok(Some(folder));
        }
    }
    Ok(None)
}

/// The processes of a control group and of those below it.
fn in_group(folder: &Path) -> io::Result<BTreeSet<u32>> {
    let mut ids = BTreeSet::new();
    for folder in groups_below(folder)? {
        // A group may be removed between the listing and the read.
        let Ok(text) = fs::read_to_string(folder.join("cgroup.procs")) else { continue };
        ids.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
    }
    Ok(ids)
}

/// The folder itself and all folders below it, a folder before those in it.
fn groups_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let of = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot read the control group `{}`: {error}", folder.display()))
    };
    let mut found = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).map_err(of)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(groups_below(&entry.path()).unwrap_or_default());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A shell with a child that sleeps; both end when dropped.
    struct Family(Child);

    impl Drop for Family {
        fn drop(&mut self) {
            // The child of the shell ends with its input.
            drop(self.0.stdin.take());
            let _ = self.0.wait();
        }
    }

    fn family() -> Family {
        Family(Command::new("sh").args(["-c", "cat; :"]).stdin(Stdio::piped()).spawn().unwrap())
    }

    #[test]
    fn a_process_is_found_by_its_id_with_its_children() {
        let family = family();
        let id = family.0.id();
        // The shell starts its child after it was started itself.
        let found = loop {
            let found = Running::Pid(id).processes().unwrap();
            if found.len() > 1 {
                break found;
            }
            std::thread::yield_now();
        };
        assert!(found.contains(&id) && found.len() == 2, "{found:?}");
        let all = all_processes().unwrap();
        assert!(named(&all, "sh").contains(&id));
        // By its name, it could be a proxy of a study that runs besides the one that is meant.
        let by_name = Running::Process("sh".to_owned()).processes().unwrap_or_default();
        assert!(found.is_disjoint(&by_name), "{by_name:?}");
    }

    #[test]
    fn a_process_that_does_not_run_is_named() {
        for (running, name) in [
            (Running::Pid(u32::MAX), "pid 4294967295"),
            (Running::Process("no-such-process".to_owned()), "process no-such-process"),
            (Running::Cgroup("/no-such.slice".into()), "no-such.slice"),
        ] {
            let error = running.processes().unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn the_words_of_an_argument_are_those_of_study_files() {
        for (text, expected) in [
            ("pid=12", Running::Pid(12)),
            ("process=a=b", Running::Process("a=b".to_owned())),
            ("cgroup=/system.slice/envoy.service", Running::Cgroup("/system.slice/envoy.service".into())),
            ("unit=envoy", Running::Unit("envoy".to_owned())),
        ] {
            assert_eq!(text.parse(), Ok(expected));
        }
        for (text, expected) in [
            ("pid=envoy", "`envoy` is not the id of a process"),
            ("pid", "`` is not the id of a process"),
            ("process=", "`process=` needs a name"),
            ("name=envoy", "`process=NAME`"),
            ("12", "`pid=ID`"),
        ] {
            let error = text.parse::<Running>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn the_name_in_parentheses_may_have_parentheses_and_blanks() {
        let process = parse_stat("12 (a) (b c) S 34 12 12 0").unwrap();
        assert_eq!((process.name.as_str(), process.parent), ("a) (b c", 34));
        assert_eq!(parse_stat("12 (a"), None);
    }

    #[test]
    fn a_long_name_is_cut_as_the_kernel_does() {
        let process = Process { name: "a-name-of-16-by".to_owned(), parent: 1 };
        let all = [(7, process)].into();
        assert_eq!(named(&all, "a-name-of-16-byt"), [7].into());
        assert_eq!(named(&all, "a-name"), BTreeSet::new());
    }

    #[test]
    fn a_unit_is_a_control_group_of_its_name_with_those_below_it() {
        let root = tempfile::tempdir().unwrap();
        let service = root.path().join("system.slice/envoy.service");
        fs::create_dir_all(service.join("worker")).unwrap();
        fs::write(service.join("cgroup.procs"), "12\n13\n").unwrap();
        fs::write(service.join("worker/cgroup.procs"), "14\n").unwrap();
        let found = unit(root.path(), "envoy").unwrap().unwrap();
        assert_eq!(found, service);
        assert_eq!(in_group(&found).unwrap(), [12, 13, 14].into());
        assert_eq!(unit(root.path(), "other").unwrap(), None);
        for path in ["/system.slice/envoy.service", "system.slice/envoy.service"] {
            assert_eq!(group(root.path(), Path::new(path)), service);
        }
        assert_eq!(group(root.path(), &service), service);
    }
}
