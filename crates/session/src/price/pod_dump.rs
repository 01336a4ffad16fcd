//! The dump of the pod that a bill is about. The run folder keeps it, because the pod may have changed or gone when the bill continues.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::replaced::write_private;
use crate::run_files::POD_DUMP;
use crate::run_folder::{Held, check_free};

/// The path of a pod's dump in the run folder of its bill.
pub fn pod_dump(run_folder: &Path, namespace: &str, pod: &str) -> PathBuf {
    // Dots cannot be ambiguous here: a namespace has none.
    run_folder.join(POD_DUMP).join(format!("{namespace}.{pod}.json"))
}

/// Keeps the dump of a pod in the run folder of its bill, readable by its owner only: it contains secrets, which are masked only in derived
/// files. The store leaves it out.
///
/// # Errors
/// When it cannot be written, or the folder already holds a bill, which would continue with another configuration.
pub fn keep_pod_dump(run_folder: &Path, namespace: &str, pod: &str, dump: &str) -> Result<PathBuf, Failure> {
    check_free(run_folder, Held::Refused)?;
    let path = pod_dump(run_folder, namespace, pod);
    let folder = path.parent().unwrap_or(run_folder);
    let written = fs::create_dir_all(folder).and_then(|()| write_private(&path, dump));
    written.map_err(|error| Failure::environment(format!("cannot write `{}`: {error}", path.display())))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_dump_is_kept_for_its_owner_at_a_place_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = keep_pod_dump(folder.path(), "shop", "cart-1.a", "{}").unwrap();
        assert_eq!(path, pod_dump(folder.path(), "shop", "cart-1.a"));
        assert_eq!(path, folder.path().join("pod-dump/shop.cart-1.a.json"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(folder.path().join("file"), "").unwrap();
        let failure = keep_pod_dump(&folder.path().join("file"), "a", "b", "{}").unwrap_err().to_string();
        assert!(failure.contains("a.b.json"), "{failure}");
    }

    #[test]
    fn the_dump_of_a_measured_bill_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = keep_pod_dump(folder.path(), "shop", "cart-1", "{\"configs\": []}").unwrap();
        fs::write(folder.path().join("result.json"), "{}").unwrap();
        assert!(keep_pod_dump(folder.path(), "shop", "cart-1", "{}").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"configs\": []}");
    }
}
