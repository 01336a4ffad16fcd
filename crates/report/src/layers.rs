//! The tables of CPU time by layer, and of top-down counters.

mod bars;
mod flame;

use std::collections::BTreeSet;

use hoptax_result::{ArmResult, LayerUse, StudyResult};

use crate::numbers::{difference, level, or_dash, percent};
use crate::quantity::Quantity;
use crate::rows::in_percent;
use crate::table::Table;
pub(crate) use bars::bars;
pub(crate) use flame::flame;

/// A table for each arm with layers: CPU time per request, its share, and the difference from the reference arm.
pub(crate) fn tables(result: &StudyResult) -> Vec<Table> {
    result.arms.iter().filter_map(table).collect()
}

/// A row for each arm with top-down counters: the share of each part, in percent of the issue slots.
pub(crate) fn top_down(result: &StudyResult) -> Option<Table> {
    let counted = || result.arms.iter().filter(|arm| !arm.top_down.is_empty());
    let parts: BTreeSet<&str> =
        counted().flat_map(|arm| &arm.top_down).map(|part| part.part.as_str()).collect();
    let row = |arm: &ArmResult| {
        let cell = |name: &&str| {
            let part = arm.top_down.iter().find(|part| part.part == **name);
            or_dash(part.map(|part| level(&in_percent(&part.share))))
        };
        (arm.id.clone(), parts.iter().map(cell).collect())
    };
    let headings = ["arm".to_owned()].into_iter().chain(parts.iter().map(|part| format!("{part} %")));
    let title = "Top-down counters: parts of the issue slots of the processor while it ran the proxies";
    (!parts.is_empty()).then(|| Table::of_words(title, headings, counted().map(row)))
}

fn table(arm: &ArmResult) -> Option<Table> {
    let whole: f64 = arm.layers.iter().map(|layer| layer.cpu_us_per_request.estimate).sum();
    if whole <= 0.0 {
        return None;
    }
    let other = arm.compared_with.as_deref();
    let other = other.filter(|_| arm.layers.iter().any(|layer| layer.added_us_per_request.is_some()));
    let row = |layer: &LayerUse| {
        let share = layer.cpu_us_per_request.estimate / whole;
        let mut cells = vec![level(&layer.cpu_us_per_request), percent(share, 1)];
        if other.is_some() {
            let added = layer.added_us_per_request.as_ref();
            cells.push(or_dash(added.map(|added| Quantity::judged_alone(added, "us").text())));
        }
        (layer.layer.clone(), cells)
    };
    let added = other.map(|other| format!("than {other}, us"));
    let profiler = arm.profiler_share.map_or_else(String::new, |share| {
        let share = in_percent(&share);
        format!("; the profiler added {} %, which is not included", difference(&share))
    });
    let title = format!("CPU time of {} by layer, per request{profiler}", arm.id);
    let headings = ["layer", "CPU us", "share"].map(str::to_owned).into_iter().chain(added);
    Some(Table::of_words(title, headings, arm.layers.iter().map(row)))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ArmKind, Interval, TopDownPart};

    use super::*;
    use crate::fixture;

    #[test]
    fn an_arm_with_layers_has_a_table_whose_shares_are_of_their_sum() {
        let mut result = fixture::study();
        assert!(tables(&result).is_empty());
        let about = |estimate: f64| Interval::around(estimate, 0.5);
        let layer = |name: &str, cpu_us: f64, added: Option<Interval>| LayerUse {
            layer: name.to_owned(),
            cpu_us_per_request: about(cpu_us),
            added_us_per_request: added,
        };
        for arm in &mut result.arms {
            let added = (arm.kind != ArmKind::Baseline).then(|| about(4.0));
            arm.profiler_share = Some(Interval::new(0.1, 0.05, 0.15));
            arm.layers = vec![layer("libc", 5.0, added), layer("kernel: network send", 15.0, None)];
        }
        let found = tables(&result);
        let of = |arm: &str| {
            found.iter().find(|table| table.title.contains(&format!("of {arm} by layer"))).unwrap()
        };
        let baseline = of("baseline");
        assert_eq!(baseline.headings(), ["layer", "CPU us", "share"]);
        assert!(
            baseline.title.ends_with("the profiler added +10.0 ±5.0 %, which is not included"),
            "{}",
            baseline.title
        );
        assert_eq!(baseline.texts(1), ["15.00 ±0.50", "75.0 %"]);
        let lua = of("lua");
        assert_eq!(lua.headings()[3], "than baseline, us");
        assert_eq!(lua.texts(0)[2], "+4.00 ±0.50");
    }

    #[test]
    fn parts_of_the_issue_slots_are_in_percent_and_absent_ones_are_dashes() {
        let mut result = fixture::study();
        assert!(top_down(&result).is_none());
        let part = |name: &str, estimate: f64| TopDownPart {
            part: name.to_owned(),
            share: Interval::around(estimate, 0.01),
        };
        let [first, second, ..] = result.arms.as_mut_slice() else { panic!("two arms") };
        first.top_down = vec![part("retiring", 0.3), part("backend bound", 0.5)];
        second.top_down = vec![part("retiring", 0.2)];
        let table = top_down(&result).unwrap();
        assert_eq!(table.headings(), ["arm", "backend bound %", "retiring %"]);
        assert_eq!(table.texts(0), ["50.0 ±1.0", "30.0 ±1.0"]);
        assert_eq!(table.texts(1), ["-", "20.0 ±1.0"]);
    }
}
