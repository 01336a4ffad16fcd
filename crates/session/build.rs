//! Compresses the published price list, which the program contains: as text, it would be a tenth of a release.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// The list, relative to this crate.
const LIST: &str = "../../docs/results/price-list/result.json";

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={LIST}");
    let variable = |name: &str| env::var(name).map_err(|error| format!("cargo did not set {name}: {error}"));
    let level = if variable("PROFILE")? == "debug" { Compression::fast() } else { Compression::best() };
    let text = fs::read(LIST).map_err(|error| format!("cannot read {LIST}: {error}"))?;
    let path = Path::new(&variable("OUT_DIR")?).join("price-list.zlib");
    let written = File::create(&path).and_then(|file| {
        let mut encoder = ZlibEncoder::new(file, level);
        encoder.write_all(&text)?;
        encoder.finish()
    });
    written.map(drop).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
