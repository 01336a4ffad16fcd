//! The dump of the Envoy in a pod, as a configuration file.

use std::path::{Path, PathBuf};

use hoptax_cluster::{Dump, DumpSource, PodName, config_dump};
use hoptax_session::price::{PodDump, PodOfBill};

use super::{PodArguments, PriceArguments};
use crate::exit::{Failure, of_cluster};
use crate::print;

/// The configuration that the user names.
pub(super) enum Given {
    /// A file.
    File(PathBuf),
    /// The dump of a pod.
    OfPod(PodDump),
}

impl Given {
    /// The file that the arguments name, or that of the dump of a pod, which is taken now; with `--resume` that of the run folder.
    pub(super) fn from_arguments(arguments: &PriceArguments) -> Result<Self, Failure> {
        match (&arguments.of_pod.pod, &arguments.config) {
            (Some(pod), _) => of_pod(pod, arguments).map(Self::OfPod),
            (None, Some(path)) => Ok(Self::File(path.clone())),
            (None, None) => Err(Failure::bad_input(
                "name a configuration, such as `hoptax price envoy.yaml`, or a pod: `hoptax price --pod NAMESPACE/NAME`",
            )),
        }
    }

    /// Its file.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::OfPod(dump) => &dump.path,
        }
    }

    /// The run folder, if it was created for the file.
    pub(super) fn run_folder(&self) -> Option<&Path> {
        match self {
            Self::File(_) => None,
            Self::OfPod(dump) => dump.run_folder.as_deref(),
        }
    }

    /// Lets the file stay after the command: an error may name its lines.
    pub(super) fn leave(self) {
        if let Self::OfPod(dump) = self
            && let Some(path) = dump.left()
        {
            print::note(&format!("the dump is `{}`", path.display()));
        }
    }
}

fn of_pod(pod: &PodName, arguments: &PriceArguments) -> Result<PodDump, Failure> {
    let of_bill = PodOfBill { namespace: pod.namespace(), name: pod.name() };
    if let Some(folder) = &arguments.resume {
        return PodDump::resumed(folder, of_bill);
    }
    let PodArguments { pod: _, cluster, container, admin_port } = &arguments.of_pod;
    let source = DumpSource {
        pod,
        context: cluster.kube_context.as_deref(),
        container: container.as_deref(),
        admin_port: *admin_port,
    };
    let Dump { text, admin } = config_dump(&source).map_err(of_cluster)?;
    let dump = if arguments.dry_run {
        PodDump::temporary(of_bill, &text)?
    } else {
        PodDump::in_run_folder(arguments.run.out.folder(), of_bill, &text)?
    };
    let container = admin.container.map(|name| format!("container `{name}`, ")).unwrap_or_default();
    print::note(&format!("took the dump of pod `{pod}` ({container}port {}, {})", admin.port, admin.source));
    if dump.run_folder.is_some() {
        print::note(&format!(
            "it is `{}`, which only you can read: Envoy masks private keys and passwords in it, but no other secrets",
            dump.path.display()
        ));
    }
    Ok(dump)
}
