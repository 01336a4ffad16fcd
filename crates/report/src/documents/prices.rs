//! The document of a price list, or of prices carried to this machine.

use hoptax_result::{PricesBody, PricesResult, Report, Verdict};

use crate::document::{Document, Judgement, Next, Section};
use crate::kind::Documented;
use crate::prices::{lines, table};

impl Documented for PricesBody {
    const DOCUMENT: fn(&Report<Self>) -> Document = prices;
}

/// The document of prices.
pub fn prices(result: &PricesResult) -> Document {
    let count = result.prices.len();
    let answer = match &result.here {
        None => format!("Prices of {count} functions of Envoy, measured on another machine"),
        Some(here) => {
            let carried = result.prices.iter().filter(|price| price.here_us.is_some()).count();
            format!(
                "{carried} of {count} functions of Envoy have a price on this machine, within a factor of {:.2}",
                here.error.as_ref().map_or(1.0, |error| error.factor)
            )
        }
    };
    let mut document = Document::new("predict prices", "", vec![answer]);
    document.table = Some(table(result).into());
    let usable = match result.verdict {
        Verdict::Sound => "no check of the studies behind the prices warned or failed",
        Verdict::Caution if result.halts_differently() => {
            "carried between a machine whose processors halt and one that was kept from it: their errors are not known"
        }
        Verdict::Caution => {
            "a check of the studies behind the prices warned or failed; prices without support are left out"
        }
        Verdict::Void => "a study behind the prices is void: measure it again",
    };
    document.verdict = Some(Judgement { verdict: result.verdict, usable: usable.to_owned() });
    if result.here.is_none() {
        document.next =
            Some(Next::new("hoptax predict prices --here", "predicts the prices on this machine"));
    }
    document.sections.extend(Section::of_lines("Source", lines(result)));
    document
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;
    use crate::prices::fixture;
    use crate::render::{markdown, terminal};

    #[test]
    fn prices_that_were_carried() {
        let style = Style { width: 100, colour: false };
        insta::assert_snapshot!(terminal::details(&prices(&fixture::carried()), style));
        insta::assert_snapshot!(markdown::text(&prices(&fixture::carried())));
    }
}
