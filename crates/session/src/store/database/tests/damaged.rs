//! Whatever is damaged behind the first page, a salvaged store has only texts that were stored.

use std::sync::OnceLock;

use proptest::prelude::*;

use super::*;

/// Length of the first page, without which a file is no store.
const FIRST_PAGE: usize = 4096;

/// The file of a store of 8 runs that is closed, and a place in it behind its first page.
fn eight_runs(place: f64) -> (&'static [u8], usize) {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    let file = FILE.get_or_init(|| fs::read(Folder::with_runs(8).path()).unwrap());
    (file.as_slice(), FIRST_PAGE + ((file.len() - FIRST_PAGE) as f64 * place) as usize)
}

/// Salvages a damaged store of 8 runs, and verifies that it has nothing that was not stored, and reports its losses.
fn salvaged_as_stored(folder: &Folder) -> Result<(), TestCaseError> {
    let salvaged = salvage(&folder.path(), SystemTime::now()).unwrap();
    let mut store = folder.open();
    store.compact().unwrap();
    let listed = store.list(&Filter::default()).unwrap();
    for run in &listed {
        let (_, original) = run_of(run.run as u32 - 1);
        for document in store.documents(run.run).unwrap() {
            prop_assert!(original.contains(&document), "{}", document.path);
        }
    }
    let (runs, incomplete) = salvaged.map_or((8, 0), |salvaged| (salvaged.runs, salvaged.incomplete.len()));
    prop_assert_eq!(runs, listed.len());
    let complete = listed.iter().filter(|run| store.paths(run.run).unwrap().len() == 4).count();
    prop_assert!(complete >= runs - incomplete, "{complete} of {runs}, {incomplete} said to be incomplete");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any bytes may overwrite a part of the file behind its first page: every text that can be read afterwards is one that was stored.
    #[test]
    fn what_is_salvaged_is_what_was_stored(place in 0.0..1.0f64, length in 1usize..20_000, byte: u8) {
        let (file, from) = eight_runs(place);
        let folder = Folder::of(file);
        damage(&folder.path(), from, &vec![byte; length]);
        salvaged_as_stored(&folder)?;
    }

    /// The same wherever the file ends behind its first page.
    #[test]
    fn what_is_salvaged_of_a_truncated_store_is_what_was_stored(place in 0.0..1.0f64) {
        let (file, end) = eight_runs(place);
        let folder = Folder::of(&file[..end]);
        salvaged_as_stored(&folder)?;
    }
}
