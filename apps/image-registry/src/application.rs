//! The registry: accounts, sessions, tokens and images, over HTTP and in SQLite.

mod key;
mod password;
mod sample;
mod session;
mod store;
mod web;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hoptax_tasks::plans::Rules;
use tokio::net::TcpListener;

use store::Store;

/// The file with the key of the tokens, in the folder of the application.
pub const KEY_FILE: &str = "key";
/// The file with accounts, sessions, images and pulls.
const STORE_FILE: &str = "registry.sqlite";
/// The beginning of the paths of images.
const IMAGES: &str = "/images/";

/// The prefix of the line with the address that clients use.
pub const LISTENING: &str = "listening on http://";
/// The prefix of the line with the address that the data plane asks for pulls.
pub const USAGE: &str = "usage on http://";

/// The settings that the application is started with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address for clients.
    pub listen: SocketAddr,
    /// The address for the data plane, which no client may reach: it states the pulls of every account.
    pub usage_listen: SocketAddr,
    /// The key and the storage.
    pub data: Data,
    /// True if the application itself refuses pulls beyond the plan. Otherwise the data plane does, and the application only records pulls.
    pub enforce: bool,
}

/// The key and the storage of an application.
#[derive(Clone, Debug)]
pub enum Data {
    /// In this folder, which is created if it does not exist.
    Folder(PathBuf),
    /// In memory, for a study: a known account with the plan Enterprise, and a known image.
    Sample {
        /// Pulls per minute of its plan.
        pulls_per_minute: u32,
    },
}

/// An error that prevents the application from running.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The sample cannot be created.
    #[error("cannot create the sample: {0}; this is a bug in the image registry")]
    Sample(String),
    /// A file of its folder cannot be used.
    #[error("cannot use `{}`: {source}", path.display())]
    File {
        /// The file or the folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The key file has no valid key.
    #[error("`{}` has no key of 32 bytes in base64url: restore it, or delete it; all tokens are then invalid", .0.display())]
    Key(PathBuf),
    /// The storage cannot be opened.
    #[error("cannot open the storage `{}`: {source}; another image registry may use it", path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
    /// It cannot listen.
    #[error("cannot listen on `{address}`: {source}; choose another address")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
}

/// The state that all requests share.
pub(crate) struct Application {
    store: Mutex<Store>,
    rules: Rules,
    /// The beginning of the paths of images.
    images: &'static str,
    enforce: bool,
}

impl Application {
    /// The storage. Its statements take tens of microseconds, so a lock is enough, without a pool.
    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the application until its process ends. `report` receives a line for each address that it listens on.
///
/// It may be killed at any moment: SQLite keeps committed data.
///
/// # Errors
/// A file of its folder or an address cannot be used.
pub async fn run(settings: &Settings, report: impl Fn(&str)) -> Result<(), StartError> {
    let Settings { listen, usage_listen, data, enforce } = settings;
    let (rules, store, images) = match data {
        Data::Folder(folder) => {
            let (rules, store) = in_folder(folder)?;
            (rules, store, IMAGES)
        }
        Data::Sample { pulls_per_minute } => {
            let store = sample::store().map_err(|error| StartError::Sample(error.to_string()))?;
            (sample::rules(*pulls_per_minute).map_err(StartError::Sample)?, store, sample::IMAGES)
        }
    };
    let application =
        std::sync::Arc::new(Application { store: Mutex::new(store), rules, images, enforce: *enforce });
    let (clients, usage) = (bound(*listen).await?, bound(*usage_listen).await?);
    report(&format!("{USAGE}{}", usage.1));
    report(&format!("{LISTENING}{}", clients.1));
    tokio::spawn(axum::serve(usage.0, web::usage(application.clone())).into_future());
    let served = axum::serve(clients.0, web::clients(application)).await;
    served.map_err(|source| StartError::Listen { address: clients.1, source })
}

/// The key and the storage in a folder.
fn in_folder(folder: &Path) -> Result<(Rules, Store), StartError> {
    std::fs::create_dir_all(folder).map_err(|source| StartError::File { path: folder.to_owned(), source })?;
    let rules = Rules::with_key(key::load(&folder.join(KEY_FILE))?);
    let path = folder.join(STORE_FILE);
    let store = Store::open(&path).map_err(|source| StartError::Store { path, source })?;
    Ok((rules, store))
}

async fn bound(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let error = |source| StartError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(error)?;
    let bound = listener.local_addr().map_err(error)?;
    Ok((listener, bound))
}

/// The key of an application's tokens in base64url, the form of the data plane's settings.
///
/// # Errors
/// The key cannot be read.
pub fn key_text(folder: &Path) -> io::Result<String> {
    Ok(std::fs::read_to_string(folder.join(KEY_FILE))?.trim().to_owned())
}
