//! A sample caller, as its file describes it.

/// A caller of `apps/`.
#[derive(PartialEq)]
pub struct Known {
    /// Its name in study files.
    pub name: &'static str,
    /// Its name in sentences, in the plural.
    pub title: &'static str,
    pub(super) program: &'static str,
    /// Arguments with placeholders.
    pub(super) arguments: &'static [&'static str],
    /// Arguments with which the program prints the versions of the libraries that a call needs.
    pub(super) version: &'static [&'static str],
    /// Arguments with which the program succeeds only if it has the extensions that the script needs.
    pub(super) extensions: &'static [&'static str],
    /// The name and the text of the script that it runs.
    pub(super) script: (&'static str, &'static str),
    /// Advice for a missing program: the package to install.
    pub(super) remedy: &'static str,
}
