//! `hoptax convert export --to parquet`, as run by users and scripts.

use std::fs::{self, File};
use std::process::{Output, Stdio};

use hoptax_report::{parquet, tables};
use hoptax_result::{StudyResult, sample};

use crate::support::{hoptax, run};

/// A result in a folder, and its file.
fn kept(result: &impl serde::Serialize) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json").display().to_string();
    fs::write(&file, serde_json::to_string(result).unwrap()).unwrap();
    (folder, file)
}

fn study() -> StudyResult {
    let load = sample::closed_loop("full", 16);
    sample::study_of_rates(
        &[sample::arm("baseline"), sample::arm("lua{a=1,b=2}")],
        vec![load],
        3,
        |_, _, round| 1_000.0 + f64::from(round),
    )
}

fn export(file: &str, options: &[&str], stdout: Stdio) -> Output {
    let arguments = [&["convert", "export", file, "--to", "parquet"], options].concat();
    hoptax()
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap()
}

#[test]
fn a_redirected_table_is_the_file_of_that_table() {
    let study = study();
    let (_folder, file) = kept(&study);
    let (numbers, slices) = (tables::numbers(&study), tables::slices(&study));
    assert_ne!(numbers, slices);
    for (options, table) in
        [(&[][..], &numbers), (&["--table", "numbers"], &numbers), (&["--table", "slices"], &slices)]
    {
        let exported = export(&file, options, Stdio::piped());
        assert_eq!(exported.status.code(), Some(0), "{}", String::from_utf8_lossy(&exported.stderr));
        assert!(exported.stdout.starts_with(b"PAR1") && exported.stdout.ends_with(b"PAR1"), "{options:?}");
        assert!(exported.stdout == parquet::bytes(table).unwrap(), "{options:?}");
        assert!(exported.stderr.is_empty(), "{}", String::from_utf8_lossy(&exported.stderr));
    }
}

#[test]
fn a_terminal_gets_an_error_instead_of_a_binary_file() {
    let (_folder, file) = kept(&study());
    // The master of a pseudo-terminal is a terminal too.
    let terminal = File::options().read(true).write(true).open("/dev/ptmx").unwrap();
    let refused = export(&file, &["--table", "slices"], Stdio::from(terminal));
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{stderr}");
    let command = format!("`hoptax convert export {file} --to parquet --table slices > slices.parquet`");
    assert!(stderr.contains("stdout is a terminal") && stderr.contains(&command), "{stderr}");
}

#[test]
fn what_has_no_such_table_is_refused_with_what_to_use_instead() {
    let (_folder, study) = kept(&study());
    let (_folder_of_load, load) = kept(&sample::load());
    let (_folder_of_other, other) = kept(&serde_json::json!({"format": "hoptax.other/1"}));
    for (arguments, expected) in [
        (
            vec!["convert", "export", &study, "--to", "parquet", "--table", "timeline"],
            "this study has no table `timeline`; it has `numbers`, `slices`",
        ),
        (
            vec!["convert", "export", &load, "--to", "parquet"],
            "it is the result of a load, and `--to parquet` converts tables of studies; use another format",
        ),
        (vec!["convert", "export", &other, "--to", "parquet"], "is not a study result"),
        (vec!["convert", "export", "/nonexistent", "--to", "parquet"], "cannot read `/nonexistent`"),
        (
            vec!["convert", "export", &study, "--to", "smp", "--table", "slices"],
            "`--table` needs `--to parquet`",
        ),
    ] {
        let ran = run(arguments.iter().copied());
        ran.fails(2, expected);
        assert!(ran.stdout.is_empty(), "{arguments:?}");
    }
}
