//! The table of a load that reopens connections: connections and handshakes per second, and processor use of the proxy.

use hoptax_result::{ArmLoad, ArmResult, Interval, LoadSpec, Measure, Place, StudyResult};

use crate::numbers::{level, or_dash, percent};
use crate::table::Table;
use crate::words;

/// A column of rates: its heading, and its value for an arm.
type Column = (&'static str, fn(&ArmLoad) -> Option<Interval>);

const COLUMNS: [Column; 3] = [
    ("connections/s", |load| load.connections_per_second),
    ("full handshakes/s", |load| load.full_handshakes_per_second),
    ("resumed handshakes/s", |load| load.resumed_handshakes_per_second),
];

/// New connections and handshakes of every arm under one load; none if the load keeps its connections open, or if nothing was measured.
pub(crate) fn table(result: &StudyResult, load: &LoadSpec) -> Option<Table> {
    load.requests_per_connection?;
    let of = |arm| under(arm, load);
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|column| result.arms.iter().filter_map(of).any(|(_, under)| column.1(under).is_some()))
        .collect();
    let row = |(arm, under): (&ArmResult, &ArmLoad)| {
        let group = or_dash(arm.key_exchange_group.clone());
        let rates = columns.iter().map(|column| rate(result, arm, under, column.1(under)));
        let busy = or_dash(under.busy_share().map(|share| percent(share, 0)));
        let cells = std::iter::once(group).chain(rates).chain([busy]);
        (arm.id.clone(), cells.collect())
    };
    let headings = ["arm", "TLS group"].into_iter().chain(columns.iter().map(|column| column.0));
    let title = format!(
        "new connections under {}, {} (a proxy that was not fully busy sustains more)",
        load.name,
        words::loop_of(result, load)
    );
    let rows = result.arms.iter().filter_map(of).map(row);
    (!columns.is_empty()).then(|| Table::of_words(title, headings.chain(["proxy busy"]), rows))
}

fn under<'a>(arm: &'a ArmResult, load: &LoadSpec) -> Option<(&'a ArmResult, &'a ArmLoad)> {
    Some((arm, arm.under(&load.name)?))
}

/// A rate with its interval, `withheld` if a finding withheld it, or `-` if there is none.
fn rate(result: &StudyResult, arm: &ArmResult, under: &ArmLoad, rate: Option<Interval>) -> String {
    if let Some(rate) = rate {
        return level(&rate);
    }
    let place = Place {
        arm: &arm.id,
        compared_with: None,
        load: Some(under.load.as_str()),
        measure: Measure::NewConnections,
    };
    let is_withheld = result.findings.iter().any(|finding| finding.withholds_number(&place));
    if is_withheld { "withheld" } else { "-" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn handshakes_are_shown_with_their_group_if_connections_are_reopened() {
        let mut result = fixture::loaded();
        assert!(result.plan.loads.iter().all(|load| table(&result, load).is_none()));
        let interval = |estimate| Some(Interval::around(estimate, 20.0));
        result.plan.loads[0].requests_per_connection = Some(1);
        let load = result.plan.loads[0].clone();
        assert!(table(&result, &load).is_none(), "nothing was measured");
        let arm = result.arms.iter_mut().find(|arm| arm.id == "lua").unwrap();
        arm.key_exchange_group = Some("X25519".to_owned());
        arm.loads[0].connections_per_second = interval(3_400.0);
        arm.loads[0].full_handshakes_per_second = interval(3_400.0);
        arm.loads[0].proxy_core_share = Some(0.987);
        let table = table(&result, &load).unwrap();
        assert_eq!(
            table.headings(),
            ["arm", "TLS group", "connections/s", "full handshakes/s", "proxy busy"]
        );
        assert_eq!(table.texts_of("lua"), ["X25519", "3,400 ±20", "3,400 ±20", "99 %"]);
        assert_eq!(table.texts_of("baseline"), ["-", "-", "-", "-"]);
    }
}
