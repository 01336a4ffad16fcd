//! The headline numbers of a sized graph: cores, added response time, the rate of the first bottleneck, memory and money.

use hoptax_result::SizeResult;

use super::{added_time, amount, cores, no_latency, usable};
use crate::headline::{Headline, unless_void};
use crate::quantity::Quantity;
use crate::rows::MIB;
use crate::table::Cell;

/// The headlines.
pub(super) fn headlines(result: &SizeResult) -> Vec<Headline> {
    unless_void(result.verdict, of_numbers(result), || usable(result))
}

fn of_numbers(result: &SizeResult) -> Vec<Headline> {
    let added = result.latency.as_ref().map_or_else(
        || Cell::Quantity(Quantity::unknown(no_latency(result), "us")),
        |latency| added_time(latency.added.mean_us.as_ref()),
    );
    let bottleneck = &result.bottleneck;
    let others = bottleneck.or.iter().map(|other| format!(" or `{other}`")).collect::<String>();
    let memory = result.memory_bytes.map_or_else(
        || Quantity::unknown("the memory of a proxy is not measured", "MiB"),
        |bytes| Quantity::level(&bytes.times(1.0 / MIB), "MiB").predicted(),
    );
    let mut all = vec![
        Headline::number("cores of all proxies", cores(&result.cores), None),
        Headline::new("added to the mean response time", added, None),
        Headline::number(
            "rate of the first bottleneck",
            Quantity::level(&bottleneck.rate, "requests/s").predicted(),
            Some(format!("`{}`{others}", bottleneck.service)),
        ),
        Headline::number("memory of all proxies", memory, None),
    ];
    all.extend(result.money.as_ref().map(|money| {
        let number = money
            .per_month
            .as_ref()
            .map_or_else(|| Quantity::unknown("the memory of a proxy is not measured", ""), amount);
        Headline::number("money per month", number, Some("at your price".to_owned()))
    }));
    all
}

#[cfg(test)]
mod tests {
    use hoptax_result::Verdict;

    use super::super::size;
    use super::super::tests::sized;
    use crate::headline::tests::texts;

    #[test]
    fn a_graph_has_its_cores_times_bottleneck_memory_and_money() {
        let texts = texts(&size(&sized()));
        let expected = [
            "cores of all proxies: 1.266 ±0.038 cores",
            "added to the mean response time: 412.5 ±8.2 us",
            "rate of the first bottleneck: 18,975 ±569 requests/s (`gateway` or `cart`)",
            "memory of all proxies: 138.3 ±1.4 MiB",
            "money per month: 28.10 ±0.84 (at your price)",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_number_that_is_not_predicted_has_its_reason() {
        let mut sized = sized();
        (sized.latency, sized.no_latency) = (None, Some("`in-use` has no rounds".to_owned()));
        sized.memory_bytes = None;
        sized.money.as_mut().unwrap().per_month = None;
        let texts = texts(&size(&sized));
        assert_eq!(texts[1], "added to the mean response time: not known: `in-use` has no rounds");
        assert_eq!(texts[3], "memory of all proxies: not known: the memory of a proxy is not measured");
        assert!(texts[4].starts_with("money per month: not known: the memory"), "{texts:?}");
    }

    #[test]
    fn a_void_source_leaves_no_number() {
        let mut sized = sized();
        (sized.verdict, sized.sources[0].verdict) = (Verdict::Void, Verdict::Void);
        let texts = texts(&size(&sized));
        assert_eq!(texts.len(), 5);
        assert!(texts.iter().all(|text| text.contains(": not known: nothing can be used of")), "{texts:?}");
    }

    #[test]
    fn without_a_price_there_is_no_money() {
        let mut sized = sized();
        sized.money = None;
        assert_eq!(texts(&size(&sized)).len(), 4);
    }
}
