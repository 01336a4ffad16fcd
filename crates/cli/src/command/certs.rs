//! `hoptax lab certs`: creates a certificate authority and certificates for tests.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use hoptax_certs::folder::write;

use crate::arguments::values;
use crate::exit::{Code, Failure};
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax lab certs lab                  lab/ca.pem, lab/server.pem, lab/client.pem and their keys
  hoptax lab certs lab frontend cart    certificates for these names
  hoptax load --ca lab/ca.pem --cert lab/client.pem --key lab/client.key https://127.0.0.1:8080/

Each certificate is valid for its name, for localhost and the loopback addresses, and has the
SPIFFE ID spiffe://hoptax.test/NAME. Use them for tests only: the authority's key is in the same
folder.")]
pub(crate) struct CertsArguments {
    /// Output folder
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    /// Names; each gets its own certificate
    #[arg(value_name = "NAME", default_values_t = ["server".to_owned(), "client".to_owned()], value_parser = values::file_name)]
    names: Vec<String>,
    /// Validity period
    #[arg(long, value_name = "DURATION", default_value = "30days", value_parser = values::duration)]
    valid: Duration,
    /// Overwrite existing files
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &CertsArguments) -> Result<Code, Failure> {
    let CertsArguments { folder, names, valid, force } = arguments;
    let seconds = i64::try_from(valid.as_secs()).unwrap_or(i64::MAX / 4);
    let written = write(folder, names, seconds, *force)?;
    written.iter().try_for_each(|path| print::result(&path.display().to_string()))?;
    Ok(Code::Success)
}
