//! `hoptax lab reader`: reads CPU times of containers on a node of a cluster, for the measurement of a mesh.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use hoptax_agents::reader::Reader;

use crate::exit::{Code, Failure};
use crate::{interrupt, print};

#[derive(Debug, Args)]
pub(crate) struct ReaderArguments {
    /// Address to listen on, of loopback; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", value_parser = hoptax_host::scoped::socket_address)]
    listen: SocketAddr,
    /// Folder of the control groups of the node
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    groups: PathBuf,
}

/// Runs the command.
pub(super) fn run(arguments: &ReaderArguments) -> Result<Code, Failure> {
    let interrupt = interrupt::listen()?;
    let reader = Reader::bind(arguments.listen, &arguments.groups)?;
    print::result(&format!("listening on {}", reader.address()))?;
    reader.run(&interrupt)?;
    Ok(Code::Success)
}
