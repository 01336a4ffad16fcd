//! Arguments of `hoptax convert smp`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use hoptax_load::HostPort;

use super::shared::JsonArguments;
use super::values;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax convert smp run test.yaml --json result.json
  hoptax convert smp run test.yaml --target shop.test:8080
  hoptax convert smp meshmark runs/quick-1

`hoptax convert export RESULT --to smp` writes results in the format of SMP, and
`hoptax convert import smp FILE` reads them. docs/reference/smp.md describes the fields, the
formula of MeshMark and its defects.")]
pub(crate) struct SmpArguments {
    #[command(subcommand)]
    pub(crate) action: SmpAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SmpAction {
    /// Send the load of an SMP test configuration
    ///
    /// The clients of the configuration send one after the other. Load goes to this machine only, unless --target names the
    /// other one: a file does not choose a target.
    #[command(after_help = "\
Exit codes:
  0    no result is void
  2    not a test configuration, or a target that is not allowed
  3    a load could not run
  4    a result is void
  130  interrupted")]
    Run(RunTestArguments),
    /// Print the index `MeshMark` and the value for cost of each arm of a study
    Meshmark {
        /// Run folder of a study, or its `result.json`
        #[arg(value_name = "RESULT", value_hint = ValueHint::AnyPath)]
        result: PathBuf,
        #[command(flatten)]
        json: JsonArguments,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RunTestArguments {
    /// Test configuration, YAML or JSON; `-` is stdin
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Allow load to this server, which is not on this machine: host and port as in the URL; repeatable
    #[arg(long, value_name = "HOST:PORT", value_parser = target)]
    pub(crate) target: Vec<HostPort>,
    /// Send the load of this client only, counted from 1
    #[arg(long, value_name = "NUMBER", value_parser = values::whole::<u32>(1..))]
    pub(crate) client: Option<u32>,
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}

/// A host in lower case, without the brackets of an IPv6 address, and a port.
fn target(text: &str) -> Result<HostPort, String> {
    let form = || "write it as `HOST:PORT`".to_owned();
    let (host, port) = text.rsplit_once(':').ok_or_else(form)?;
    let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    let port = port.parse().map_err(|_| form())?;
    if host.is_empty() || host.contains(['/', '@']) { Err(form()) } else { Ok(HostPort { host, port }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_host_and_a_port() {
        let to = |host: &str, port| Ok(HostPort { host: host.to_owned(), port });
        assert_eq!(target("Shop.test:80"), to("shop.test", 80));
        assert_eq!(target("[2001:db8::1]:443"), to("2001:db8::1", 443));
        for text in
            ["shop.test", "shop.test:http", ":80", "http://shop.test:80", "a@shop.test:80", "shop.test:70000"]
        {
            assert!(target(text).is_err(), "{text}");
        }
    }
}
