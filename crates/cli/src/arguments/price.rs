//! Arguments of `hoptax price`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax price envoy.yaml --dry-run    listeners, requests, parts and replacements; starts nothing
  hoptax price envoy.yaml              try each variant, and report which parts act on the request
  hoptax price dump.json --listener public_listener --out bill

The configuration is a bootstrap in YAML or JSON, with the files that it names beside it, or the dump
of a running proxy: `curl http://ADMIN/config_dump?include_eds > dump.json`. It is adapted to this
machine: listeners and upstream servers on loopback, certificates and secrets of a lab, external
services answered by hoptax. Every replacement is listed, and secrets are never printed.

Variants are the whole, the whole without each of its parts, and everything off. Each must be
accepted by Envoy and answer the request. CPU time is not measured: `hoptax study` does that for the
functions of its catalogue.

Exit codes:
  0    success
  2    invalid input: the configuration cannot be read or adapted, or Envoy refuses it
  3    a requirement is missing, such as Envoy or a port
  130  interrupted")]
pub(crate) struct PriceArguments {
    /// Envoy bootstrap or `/config_dump`, YAML or JSON
    #[arg(value_name = "CONFIG", value_hint = ValueHint::FilePath)]
    pub(crate) config: PathBuf,
    /// Print listeners, requests, parts and replacements, and start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Listener to try [default: the first with a request]
    #[arg(long, value_name = "NAME")]
    pub(crate) listener: Option<String>,
    /// Envoy version, path to an Envoy binary (with a `/`), or name of a program on PATH
    #[arg(long, value_name = "VERSION|PATH", conflicts_with = "dry_run")]
    pub(crate) envoy: Option<String>,
    /// Folder for the bootstraps of all variants and their logs [default: a temporary folder, which is removed]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "dry_run")]
    pub(crate) out: Option<PathBuf>,
}
