//! The corpus of a target: inputs that the fuzzer kept.

use std::path::Path;
use std::process::Command;

/// The inputs of the target in the module `path`: an empty one, fixed bytes, and those of its archive, if it has one.
pub(crate) fn inputs(path: &str) -> Vec<Vec<u8>> {
    let name = path.rsplit("::").next().expect("a last part");
    let mut all = vec![Vec::new(), (0..=255).collect()];
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(format!("{name}.tar.gz"));
    if archive.exists() {
        let folder = tempfile::tempdir().expect("a folder for the inputs");
        let unpacked = Command::new("tar")
            .arg("--extract")
            .arg("--file")
            .arg(&archive)
            .arg("--directory")
            .arg(folder.path())
            .status();
        assert!(unpacked.is_ok_and(|status| status.success()), "{} cannot be unpacked", archive.display());
        let files = std::fs::read_dir(folder.path().join(name)).expect("a folder of inputs");
        all.extend(files.map(|file| std::fs::read(file.expect("an entry").path()).expect("an input")));
        assert!(all.len() > 10, "{} has no inputs", archive.display());
    }
    all
}
