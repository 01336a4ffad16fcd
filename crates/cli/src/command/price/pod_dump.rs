//! The configuration file of a bill: one that the user names, or the dump of the Envoy in a pod.

use hoptax_cluster::{Dump, DumpSource, PodName, config_dump};
use hoptax_session::price::{GivenFile, PodOfBill};

use super::{PodArguments, PriceArguments};
use crate::exit::{Failure, of_cluster};
use crate::print;

/// The file that the arguments name, or that of the dump of a pod, which is taken now; with `--resume` that of the run folder.
pub(super) fn given(arguments: &PriceArguments) -> Result<GivenFile, Failure> {
    match (&arguments.of_pod.pod, &arguments.config) {
        (Some(pod), _) => of_pod(pod, arguments),
        (None, Some(path)) => Ok(GivenFile::named(path)),
        (None, None) => Err(Failure::bad_input(
            "name a configuration, such as `hoptax price envoy.yaml`, or a pod: `hoptax price --pod NAMESPACE/NAME`",
        )),
    }
}

fn of_pod(pod: &PodName, arguments: &PriceArguments) -> Result<GivenFile, Failure> {
    let of_bill = PodOfBill { namespace: pod.namespace(), name: pod.name() };
    if let Some(folder) = &arguments.resume {
        return GivenFile::resumed(folder, of_bill);
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
        GivenFile::temporary(of_bill, &text)?
    } else {
        GivenFile::in_run_folder(arguments.run.out.folder(), of_bill, &text)?
    };
    print::note(&format!("took the dump of pod `{pod}` ({admin})"));
    if dump.run_folder.is_some() {
        print::note(&format!(
            "it is `{}`, which only you can read: Envoy masks private keys and passwords in it, but no other secrets",
            dump.path.display()
        ));
    }
    Ok(dump)
}
