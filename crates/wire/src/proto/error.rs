//! Errors of methods of gRPC and of their messages.

use std::path::PathBuf;

use thiserror::Error;

/// Reason why a message cannot be encoded.
#[derive(Debug, Error)]
pub enum ProtoError {
    /// The file cannot be read or is invalid.
    #[error("cannot use the proto file `{}`: {reason}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The cause.
        reason: String,
    },
    /// The server's reflection is unusable.
    #[error("invalid gRPC reflection data of `{server}`: {reason}")]
    Reflection {
        /// The server.
        server: String,
        /// The cause.
        reason: String,
    },
    /// The path names no known service.
    #[error("`{source_name}` has no service `{service}`; it has {}", listed(known))]
    Service {
        /// The file, or the server.
        source_name: String,
        /// The requested service.
        service: String,
        /// The known services.
        known: Vec<String>,
    },
    /// The service has no such method.
    #[error("the service `{service}` has no method `{method}`; it has {}", listed(known))]
    Method {
        /// The service.
        service: String,
        /// The requested method.
        method: String,
        /// The known methods.
        known: Vec<String>,
    },
    /// The JSON does not match the message type.
    #[error("the message is not a valid `{kind}`: {reason}")]
    Json {
        /// The message type.
        kind: String,
        /// The cause.
        reason: String,
    },
}

pub(super) fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { format!("`{}`", names.join("`, `")) }
}
