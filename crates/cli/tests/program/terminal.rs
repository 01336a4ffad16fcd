//! Output on a terminal: a view while a load and a search run, colours, and neither where they are not wanted.

use std::fs;
use std::process::{Command, Stdio};

use crate::support::{TOLERANT, origin, program, root, run};

/// The bytes that a terminal gets from the program with these arguments, in an environment with these settings.
fn on_terminal(settings: &str, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("typescript");
    let words: Vec<String> = arguments.iter().map(|word| format!("'{word}'")).collect();
    let command = format!("exec env {settings} '{}' {}", program().display(), words.join(" "));
    let mut script = Command::new("script");
    script.args(["--quiet", "--command", &command]).arg(&file);
    script.env("SHELL", "/bin/sh").env("TERM", "xterm").env_remove("NO_COLOR");
    script.env("XDG_STATE_HOME", "/nonexistent").env("XDG_DATA_HOME", "/nonexistent");
    let status = script.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.unwrap().success());
    fs::read_to_string(file).unwrap()
}

/// A load that lasts long enough for a view. Its answer has emphasis on a terminal.
fn load(url: &str) -> Vec<&str> {
    [&["load", "-q", "200", "-c", "2", "--warmup", "0s", "-d", "1700ms"][..], &TOLERANT, &[url]].concat()
}

/// A search that ends soon.
const FIND: [&str; 9] =
    ["find", "--slo", "p50<1s", "--min-rate", "500", "--max-rate", "505", "--budget", "20s"];

/// The mark of a view: the rest of each of its lines is erased.
const VIEW: &str = "\u{1b}[K";
/// The begin of a colour or of emphasis.
const BOLD: &str = "\u{1b}[1m";

#[test]
fn a_load_on_a_terminal_has_a_view_while_it_runs_and_its_result_below() {
    let (_origin, url) = origin(&[]);
    let shown = on_terminal("", &load(&url));
    let (view, result) = shown.rsplit_once("\u{1b}[J").unwrap();
    let rows = ["\nrate ", "\np50 ", "\np99 ", "\nsend lag p99 ", "\nbodies ", "\nconnections ", "\nerrors "];
    for part in [VIEW, " left", "█"].into_iter().chain(rows) {
        // A terminal ends lines with two letters.
        assert!(view.replace('\r', "").contains(part), "{part:?} is missing: {view:?}");
    }
    assert!(result.contains(BOLD), "{result:?}");
    // The view is removed before the result: the cursor moves up over as many lines as it has.
    assert!(view.ends_with("\u{1b}[8A\r"), "{view:?}");
}

#[test]
fn a_quiet_load_has_no_view_and_a_load_without_colours_none_of_them() {
    let (_origin, url) = origin(&[]);
    let quiet = on_terminal("", &[&load(&url)[..], &["--quiet"]].concat());
    assert!(!quiet.contains(VIEW) && quiet.contains(BOLD), "{quiet:?}");
    for (settings, more) in [("NO_COLOR=1", &[][..]), ("", &["--no-color"][..])] {
        let plain = on_terminal(settings, &[&load(&url)[..], more].concat());
        assert!(plain.contains(VIEW) && !plain.contains(BOLD) && !plain.contains("\u{1b}[0"), "{plain:?}");
    }
    let dumb = on_terminal("TERM=dumb", &load(&url));
    assert!(!dumb.contains('\u{1b}'), "{dumb:?}");
}

#[test]
fn elsewhere_there_is_no_view_and_with_quiet_nothing_but_the_result_and_problems() {
    let (_origin, url) = origin(&[]);
    let ran = run(load(&url));
    assert!(!ran.stderr.contains('\u{1b}') && !ran.stdout.contains('\u{1b}'), "{}{}", ran.stderr, ran.stdout);
    let ran = run(FIND.into_iter().chain([url.as_str()]));
    assert!(ran.stderr.contains("search from 500 to 505 requests/s"), "{}", ran.stderr);
    let quiet = run(FIND.into_iter().chain([url.as_str(), "--quiet"]));
    assert!(quiet.stderr.is_empty() && !quiet.stdout.is_empty(), "{}", quiet.stderr);
    let wrong = run(["load", "--quiet", "-n", "1", "nothing://127.0.0.1/"]);
    assert!(wrong.code == Some(2) && !wrong.stderr.is_empty(), "{}", wrong.stderr);
}

/// A note about a file of a stranger, which names the file.
#[test]
fn a_note_cannot_command_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop\u{1b}[2J\u{202e}.yaml");
    fs::copy(root().join("crates/cli/tests/fixtures/given.yaml"), &file).unwrap();
    let arguments = ["lint", file.to_str().unwrap(), "--fix", "--only", "cors-after-auth"];
    let ran = run(arguments);
    assert!(ran.stderr.contains("shop\\u{1b}[2J\\u{202e}.yaml: nothing to fix: "), "{ran:?}");
    assert!(!ran.stderr.contains(['\u{1b}', '\u{202e}']), "{ran:?}");
    let quiet = run(arguments.into_iter().chain(["--quiet"]));
    assert!(quiet.stderr.is_empty() && !quiet.stdout.contains(['\u{1b}', '\u{202e}']), "{quiet:?}");
}

#[test]
fn a_search_on_a_terminal_has_a_view_of_what_is_known_below_its_trials() {
    let (_origin, url) = origin(&[]);
    let shown = on_terminal("", &[&FIND[..], &[&url]].concat()).replace('\r', "");
    for part in ["0 trials in ", "\ntrial at ", "\np50<1s  not known", "▒", "at most ", "; so far "] {
        assert!(shown.contains(part), "{part:?} is missing: {shown:?}");
    }
}
