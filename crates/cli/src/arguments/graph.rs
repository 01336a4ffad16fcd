//! Arguments of `hoptax graph`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

#[derive(Debug, Args)]
#[command(after_help = "\
Prints a graph file for `hoptax size`. Comments at its top say what was assumed and what a graph
cannot express. What cannot be read is an error that lists all of it.

Examples:
  hoptax graph isotope topology.yaml > graph.yaml
  hoptax graph kubernetes manifests --entry frontend > graph.yaml
  kubectl get deploy,sts,svc,ns -o yaml > all/all.yaml && hoptax graph kubernetes all

docs/size.md describes the graph file.

Exit codes:
  0    the graph
  2    invalid input: not a topology, no workload, or no clear entry")]
pub(crate) struct GraphArguments {
    #[command(subcommand)]
    pub(crate) source: GraphSource,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GraphSource {
    /// From a topology of isotope, Istio's generator of mock services
    Isotope {
        /// The topology
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// From the Deployments and Services of a folder, with the labels that inject sidecars
    Kubernetes {
        /// Folder with manifests, `.yaml` or `.yml`; folders within it are read too
        #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
        /// Workload that requests from outside arrive at. Default: the one behind a public Service, or the one that none calls
        #[arg(long, value_name = "NAME")]
        entry: Option<String>,
    },
}
