//! The store: results of studies and loads in one SQLite file, with the files of their run folders.
//!
//! A run is a row of columns that lists need, the files of its folder as they were, and its labels. Numbers of its result are
//! also rows, so that [`Store::series`] reads a number over many runs without parsing results. Rows are derived from the
//! files ([`describe`]); the files are what counts.
//!
//! Contents are stored once, under their SHA-256, and verified whenever they are read: SQLite does not notice a changed byte
//! in a value. Secrets are left out ([`secrets`]). A damaged store is salvaged run by run ([`salvage()`]).

mod contents;
mod describe;
mod error;
pub mod folder;
mod import;
mod labels;
mod list;
mod paths;
mod salvage;
mod schema;
mod secrets;
mod series;
mod store;

pub use describe::RESULT;
pub use error::StoreError;
pub use folder::Document;
pub use import::Imported;
pub use list::Filter;
pub use paths::{PathImported, import_all};
pub use salvage::{Salvaged, salvage};
pub use secrets::has_secrets;
pub use series::Series;
pub use store::{Compacted, Store};
