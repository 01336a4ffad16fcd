//! The file of the configuration that a bill is about: one that its user names, or the dump of a pod. The run folder keeps a dump, because
//! the pod may have changed or gone when the bill continues.

use std::path::{Path, PathBuf};
use std::{fmt, fs};

use tempfile::TempDir;

use crate::failure::Failure;
use crate::price::Configuration;
use crate::replaced::write_private;
use crate::run_files::POD_DUMP;
use crate::run_folder::{Held, check_free};

/// The pod that a bill is about.
#[derive(Clone, Copy, Debug)]
pub struct PodOfBill<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
}

impl fmt::Display for PodOfBill<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The file of a configuration, which may be the dump of a pod.
#[derive(Debug)]
pub struct GivenFile {
    /// The file.
    pub path: PathBuf,
    /// The run folder, if it was created for the file.
    pub run_folder: Option<PathBuf>,
    /// The folder of the file, if both are removed with this.
    temporary: Option<TempDir>,
}

impl GivenFile {
    /// A file that the user names.
    pub fn named(path: &Path) -> Self {
        Self { path: path.to_owned(), run_folder: None, temporary: None }
    }

    /// The dump that a run folder keeps, for a bill that continues.
    ///
    /// # Errors
    /// When it keeps none of this pod.
    pub fn resumed(run_folder: &Path, pod: PodOfBill<'_>) -> Result<Self, Failure> {
        let path = path_in(run_folder, pod);
        if path.is_file() {
            return Ok(Self { path, run_folder: None, temporary: None });
        }
        Err(Failure::bad_input(format!(
            "`{}` holds no bill of pod `{pod}`: there is no `{}`; give --resume the same --pod as at the start of the bill",
            run_folder.display(),
            path.display()
        )))
    }

    /// Keeps a dump in the run folder of its bill, which is created; none for one that is named after the time. Only its owner can read the
    /// file: it contains secrets, which are masked only in derived files. The store leaves it out.
    ///
    /// # Errors
    /// When it cannot be written, or the folder already holds a bill, which would continue with another configuration.
    pub fn in_run_folder(run_folder: Option<&Path>, pod: PodOfBill<'_>, dump: &str) -> Result<Self, Failure> {
        let run_folder = Configuration::create_run_folder(run_folder)?;
        let path = keep(&run_folder, pod, dump)?;
        Ok(Self { path, run_folder: Some(run_folder), temporary: None })
    }

    /// Keeps a dump in a temporary folder, for a command that measures nothing.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn temporary(pod: PodOfBill<'_>, dump: &str) -> Result<Self, Failure> {
        let folder = tempfile::tempdir();
        let folder =
            folder.map_err(|error| Failure::environment(format!("cannot create a folder: {error}")))?;
        Ok(Self { path: keep(folder.path(), pod, dump)?, run_folder: None, temporary: Some(folder) })
    }

    /// Lets a temporary file stay, because an error may name its lines, and returns its path; none for a file that stays anyway.
    pub fn left(self) -> Option<PathBuf> {
        let folder = self.temporary?;
        let _ = folder.keep();
        Some(self.path)
    }
}

/// The path of a pod's dump in a folder.
fn path_in(folder: &Path, pod: PodOfBill<'_>) -> PathBuf {
    // Dots cannot be ambiguous here: a namespace has none.
    folder.join(POD_DUMP).join(format!("{}.{}.json", pod.namespace, pod.name))
}

fn keep(run_folder: &Path, pod: PodOfBill<'_>, dump: &str) -> Result<PathBuf, Failure> {
    check_free(run_folder, Held::Refused)?;
    let path = path_in(run_folder, pod);
    let folder = path.parent().unwrap_or(run_folder);
    let written = fs::create_dir_all(folder).and_then(|()| write_private(&path, dump));
    written.map_err(|error| Failure::cannot_write(&path, error))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const CART: PodOfBill<'static> = PodOfBill { namespace: "shop", name: "cart-1.a" };

    #[test]
    fn a_dump_is_kept_for_its_owner_at_a_place_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let kept = GivenFile::in_run_folder(Some(&path), CART, "{}").unwrap();
        assert_eq!(kept.path, GivenFile::resumed(&path, CART).unwrap().path);
        assert_eq!(kept.path, path.join("pod-dump/shop.cart-1.a.json"));
        assert_eq!(fs::read_to_string(&kept.path).unwrap(), "{}");
        assert_eq!(fs::metadata(&kept.path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(kept.run_folder.as_deref(), Some(path.as_path()));
        assert_eq!(kept.left(), None);
        fs::write(path.join("file"), "").unwrap();
        let pod = PodOfBill { namespace: "a", name: "b" };
        let failure = keep(&path.join("file"), pod, "{}").unwrap_err().to_string();
        assert!(failure.contains("a.b.json"), "{failure}");
    }

    #[test]
    fn the_dump_of_a_measured_bill_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = GivenFile::in_run_folder(Some(folder.path()), CART, "{\"configs\": []}").unwrap().path;
        fs::write(folder.path().join("result.json"), "{}").unwrap();
        assert!(GivenFile::in_run_folder(Some(folder.path()), CART, "{}").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"configs\": []}");
    }

    #[test]
    fn a_bill_continues_with_the_dump_of_its_own_pod_only() {
        let folder = tempfile::tempdir().unwrap();
        GivenFile::in_run_folder(Some(folder.path()), CART, "{}").unwrap();
        let other = PodOfBill { namespace: "shop", name: "cart-2" };
        let refused = GivenFile::resumed(folder.path(), other).unwrap_err().to_string();
        assert!(refused.contains("holds no bill of pod `shop/cart-2`"), "{refused}");
    }

    #[test]
    fn a_temporary_dump_goes_unless_it_is_left_for_an_error() {
        let gone = GivenFile::temporary(CART, "{}").unwrap().path;
        assert!(!gone.exists());
        let left = GivenFile::temporary(CART, "{}").unwrap().left().unwrap();
        assert_eq!(fs::read_to_string(&left).unwrap(), "{}");
        let folder = left.parent().and_then(Path::parent).unwrap();
        fs::remove_dir_all(folder).unwrap();
    }
}
