//! `hoptax serve`: the history as pages, and loads over a REST API.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hoptax_serve::{Options, Server, Token, is_local};
use hoptax_session::store;

use crate::arguments::ServeArguments;
use crate::exit::{Code, Failure};
use crate::{interrupt, print};

/// The most bytes of a token file. A longer one holds something else.
const MAX_TOKEN_BYTES: u64 = 4_096;
/// The permissions with which others than its owner read a file.
const READ_BY_OTHERS: u32 = 0o044;

/// Runs the command.
pub(super) fn run(arguments: &ServeArguments) -> Result<Code, Failure> {
    let interrupt = interrupt::listen()?;
    let given = arguments.token_file.as_deref().map(token_in).transpose()?;
    let drawn = (given.is_none() && !is_local(arguments.listen)).then(Token::generated);
    let server = Server::bind(Options {
        listen: arguments.listen,
        token: given.or_else(|| drawn.clone()),
        targets: arguments.allowed_targets.clone(),
        hosts: arguments.allowed_hosts.clone(),
        allows_bills: arguments.allows_bills,
        store: store::path(arguments.store.file.as_deref())?,
        tell: print::say,
    })?;
    print::result(&format!("listening on http://{}/", server.address()))?;
    if let Some(token) = drawn {
        // Requests need the token, so `--quiet` does not suppress it.
        print::on_stderr(&format!("token: {}", token.secret()));
    }
    server.run(&interrupt)?;
    Ok(Code::Success)
}

fn token_in(file: &Path) -> Result<Token, Failure> {
    let refused = |why: &str| Failure::bad_input(format!("the token file `{}`: {why}", file.display()));
    let unreadable = |error: io::Error| refused(&error.to_string());
    let about = fs::metadata(file).map_err(unreadable)?;
    if !about.is_file() {
        return Err(refused("it is not a regular file"));
    }
    let mut text = String::new();
    let opened = File::open(file).map_err(unreadable)?;
    opened.take(MAX_TOKEN_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MAX_TOKEN_BYTES {
        return Err(refused(&format!("it has more than {MAX_TOKEN_BYTES} bytes")));
    }
    let token = Token::of_text(&text).map_err(|why| refused(&why))?;
    if about.permissions().mode() & READ_BY_OTHERS != 0 {
        let file = file.display();
        print::note(&format!("others on this machine can read the token: `chmod 600 {file}`"));
    }
    Ok(token)
}
