//! The files with our code that Envoy loads. They are embedded in the program and written into the directory of each arm that
//! uses them.

use std::path::{Path, PathBuf};

/// A file of our code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeFile {
    /// The dynamic module, which `build.rs` builds from `modules/` for hoptax's processor and glibc, which Envoy needs.
    Module,
    /// The WebAssembly filters, as built by `make filters`.
    WasmFilters,
}

impl CodeFile {
    /// All files.
    pub(crate) const ALL: [Self; 2] = [Self::Module, Self::WasmFilters];

    /// The variable of fragments with its path.
    pub(crate) const fn variable(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::WasmFilters => "wasm_filters",
        }
    }

    /// Its path in an arm's directory.
    pub fn path(self, directory: &Path) -> PathBuf {
        directory.join(match self {
            Self::Module => "hoptax_module.so",
            Self::WasmFilters => "hoptax_filters.wasm",
        })
    }

    /// Its contents.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Self::Module => include_bytes!(concat!(env!("OUT_DIR"), "/hoptax_module.so")),
            Self::WasmFilters => include_bytes!("../../../filters/hoptax_filters.wasm"),
        }
    }
}
