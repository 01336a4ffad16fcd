//! `hoptax serve`: the history as pages, and loads over a REST API.

use std::fs;
use std::path::Path;

use hoptax_serve::{Options, Server, Token, is_local};
use hoptax_session::store;

use crate::arguments::ServeArguments;
use crate::exit::{Code, Failure};
use crate::{interrupt, print};

/// Runs the command.
pub(super) fn run(arguments: &ServeArguments) -> Result<Code, Failure> {
    let interrupt = interrupt::listen()?;
    let given = arguments.token_file.as_deref().map(token_in).transpose()?;
    let drawn = (given.is_none() && !is_local(arguments.listen)).then(Token::generated);
    let server = Server::bind(Options {
        listen: arguments.listen,
        token: given.or_else(|| drawn.clone()),
        targets: arguments.allowed_targets.clone(),
        store: store::path(arguments.store.file.as_deref())?,
        tell: print::say,
    })?;
    print::result(&format!("listening on http://{}/", server.address()))?;
    if let Some(token) = drawn {
        print::note(&format!("token: {}", token.secret()));
    }
    server.run(&interrupt)?;
    Ok(Code::Success)
}

fn token_in(file: &Path) -> Result<Token, Failure> {
    let refused = |why: &str| Failure::bad_input(format!("the token file `{}`: {why}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| refused(&error.to_string()))?;
    Token::of_text(&text).map_err(|why| refused(&why))
}
