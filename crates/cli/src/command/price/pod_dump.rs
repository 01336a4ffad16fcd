//! The dump of the Envoy in a pod, as a configuration file.

use std::path::{Path, PathBuf};

use hoptax_cluster::{Dump, DumpSource, PodName, config_dump};
use hoptax_session::price::{Configuration, keep_pod_dump, pod_dump};
use tempfile::TempDir;

use super::{PodArguments, PriceArguments};
use crate::exit::{Failure, of_cluster};
use crate::print;

/// The configuration that the user names.
pub(super) struct Given {
    /// Its file.
    pub(super) path: PathBuf,
    /// The run folder, if it had to be created for the file.
    pub(super) run_folder: Option<PathBuf>,
    /// The folder of the file, if it is needed as long as the command.
    temporary: Option<TempDir>,
}

impl Given {
    /// The file that the arguments name, or that of the dump of a pod, which is taken now; with `--resume` that of the run folder.
    pub(super) fn from_arguments(arguments: &PriceArguments) -> Result<Self, Failure> {
        match (&arguments.of_pod.pod, &arguments.config) {
            (Some(pod), _) => Self::of_pod(pod, arguments),
            (None, Some(path)) => Ok(Self { path: path.clone(), run_folder: None, temporary: None }),
            (None, None) => Err(Failure::bad_input(
                "name a configuration, such as `hoptax price envoy.yaml`, or a pod: `hoptax price --pod NAMESPACE/NAME`",
            )),
        }
    }

    fn of_pod(pod: &PodName, arguments: &PriceArguments) -> Result<Self, Failure> {
        if let Some(folder) = &arguments.resume {
            let path = pod_dump(folder, pod.namespace(), pod.name());
            if !path.is_file() {
                return Err(Failure::bad_input(format!(
                    "`{}` holds no bill of pod `{pod}`: there is no `{}`; give --resume the same --pod as at the start of the bill",
                    folder.display(),
                    path.display()
                )));
            }
            return Ok(Self { path, run_folder: None, temporary: None });
        }
        let Dump { text, admin } = take(pod, &arguments.of_pod)?;
        let keep = |folder: &Path| keep_pod_dump(folder, pod.namespace(), pod.name(), &text);
        let given = if arguments.dry_run {
            let folder = tempfile::tempdir();
            let folder =
                folder.map_err(|error| Failure::environment(format!("cannot create a folder: {error}")))?;
            Self { path: keep(folder.path())?, run_folder: None, temporary: Some(folder) }
        } else {
            let folder = Configuration::create_run_folder(arguments.run.out.folder())?;
            Self { path: keep(&folder)?, run_folder: Some(folder), temporary: None }
        };
        let container = admin.container.map(|name| format!("container `{name}`, ")).unwrap_or_default();
        let of = format!("{container}port {}, {}", admin.port, admin.source);
        print::note(&format!("took the dump of pod `{pod}` ({of})"));
        if given.run_folder.is_some() {
            print::note(&format!(
                "it is `{}`, which only you can read: Envoy masks private keys and passwords in it, but no other secrets",
                given.path.display()
            ));
        }
        Ok(given)
    }

    /// Keeps the file after the command: an error may name its lines.
    pub(super) fn keep(self) {
        if let Some(folder) = self.temporary {
            // Keep the folder, so that the path of its file stays valid.
            let _ = folder.keep();
            print::note(&format!("the dump is `{}`", self.path.display()));
        }
    }
}

/// Takes the dump of a pod.
fn take(pod: &PodName, arguments: &PodArguments) -> Result<Dump, Failure> {
    let PodArguments { pod: _, cluster, container, admin_port } = arguments;
    let source = DumpSource {
        pod,
        context: cluster.kube_context.as_deref(),
        container: container.as_deref(),
        admin_port: *admin_port,
    };
    config_dump(&source).map_err(of_cluster)
}
