//! The published price list, and the study that carries it to this machine.

use hoptax_result::StudyResult;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::measure::{Options, Place, complete};
use crate::results::parse;
use crate::study_text::StudyText;
use crate::update::Say;

/// The study result behind the published price list.
const LIST: &str = include_str!("../../../docs/results/price-list/result.json");
/// The study of the anchor functions.
const ANCHORS: &str = "anchors";

/// The published price list.
///
/// # Errors
/// When this version cannot read it.
pub fn published() -> Result<StudyResult, Failure> {
    parse("the published price list", LIST)
}

/// Measures the anchor functions, from whose costs on this machine those of the others follow.
///
/// # Errors
/// When the study cannot begin, fails or is interrupted.
pub fn measure_anchors(
    options: &Options<'_>,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<StudyResult, Failure> {
    let folder = interrupt.temporary_folder("prices")?;
    let place = Place::New { text: StudyText::named(ANCHORS)?, folder: Some(folder.path()), force: false };
    let measured = complete(&place, options, interrupt, say);
    // Its folder is removed, so nothing continues it.
    measured.map_err(|failure| if failure.is_interrupt() { Failure::interrupted() } else { failure })
}
