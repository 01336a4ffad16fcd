//! The charts of a sized graph: the functions of its proxies as parts of all cores, and the cores by rate.

use hoptax_result::{
    Interval, SizeMoney, SizePoint, SizeResult, SizeSide, SizedCall, SizedFunction, SizedService, Verdict,
};
use hoptax_text::list::listed;

use super::{cores, number};
use crate::chart::{
    Axis, Band, Chart, GraphCall, GraphService, Line, Mark, Point, Series, ServiceGraph, Tone, Waterfall,
    WaterfallPart, WaterfallTotal, drawn,
};
use crate::document::{Block, Section};
use crate::quantity::Quantity;

/// Maximum number of drawn services. Among more, a reader would not find one.
const MOST_SERVICES: usize = 60;
/// Minimum number of rates of a curve.
const LEAST_RATES: usize = 2;
/// Hours of a month: a twelfth of 365 days.
const HOURS_PER_MONTH: f64 = 730.0;

/// The sections of the charts; empty for an unusable prediction.
pub(super) fn charts(result: &SizeResult) -> Vec<Section> {
    if result.verdict == Verdict::Void {
        return Vec::new();
    }
    let waterfall = waterfall(result).map(|chart| {
        let left_out = result.functions.len().saturating_sub(SizedFunction::MOST_SWITCHED);
        let rest = match left_out {
            0 => String::new(),
            _ => format!(" {left_out} cheaper ones are in the table below."),
        };
        let rest = rest + &beyond(result);
        let note = format!(
            "Each function with the cores that its proxy would use less without it, at {} requests/s.{rest}",
            number(result.rate)
        );
        Section::new(
            "Cores of each function",
            vec![Block::Note(note), Block::chart(Chart::Waterfall(Box::new(chart)))],
        )
    });
    let note = "Predicted, with intervals. Dashed: the rate of this prediction. Shaded: where the first proxy is busy all the time.";
    let curve = Section::of_charts("Cores by rate", note, curve(result).map(Chart::Series));
    waterfall.into_iter().chain(curve).collect()
}

/// Sentences about the proxies with costs beyond measurements, and the functions with such times; empty if there are none.
fn beyond(result: &SizeResult) -> String {
    let times = result.functions.iter().filter(|function| function.saved_mean_is_extrapolated);
    let times: Vec<String> = times.map(|function| format!("`{}`", name(function))).collect();
    let of_times = if times.is_empty() {
        String::new()
    } else {
        format!(" Response times are beyond measurements without {}.", listed(&times))
    };
    let has_function = |service: &str| result.functions.iter().any(|function| function.service == service);
    let proxies = result.proxies.iter().filter(|proxy| proxy.is_extrapolated && has_function(&proxy.service));
    let names: Vec<String> = proxies.map(|proxy| format!("`{}`", proxy.service)).collect();
    if names.is_empty() {
        return of_times;
    }
    format!(" Beyond measurements: those of {}.{of_times}", listed(&names))
}

/// Returns true if a chart has the cores by rate.
pub(super) fn has_curve(result: &SizeResult) -> bool {
    result.verdict != Verdict::Void && result.curve.len() >= LEAST_RATES
}

/// A number, other than the cores, that changes if a function is switched off.
struct Other {
    name: &'static str,
    unit: &'static str,
    /// The unit in terms of the result's unit.
    factor: f64,
    /// The number with all functions; none if there is no prediction.
    whole: fn(&SizeResult) -> Option<Interval>,
    /// The saving without a function; none if it is unknown.
    saved: fn(&SizedFunction) -> Option<Interval>,
    /// The price per hour of one unit of the result.
    price: fn(&SizeMoney) -> Option<f64>,
}

const GIB: f64 = 1_073_741_824.0;

const OTHERS: [Other; 2] = [
    Other {
        name: "memory of all proxies, MiB",
        unit: "MiB",
        factor: 1.0 / 1_048_576.0,
        whole: |result| result.memory_bytes,
        saved: |function| function.saved_memory_bytes,
        price: |money| money.price_per_gib_hour.map(|price| price / GIB),
    },
    Other {
        name: "time that the proxies add to a request on average, us",
        unit: "us",
        factor: 1.0,
        whole: |result| result.latency.as_ref().and_then(|latency| latency.added.mean_us),
        saved: |function| function.saved_mean_us,
        price: |_| None,
    },
];

impl Other {
    fn total(&self, result: &SizeResult) -> Option<WaterfallTotal> {
        let whole = (self.whole)(result)?.times(self.factor);
        let whole = Quantity::level(&whole, self.unit).predicted();
        let price_per_hour = result.money.as_ref().and_then(self.price).map(|price| price / self.factor);
        Some(WaterfallTotal { name: self.name.to_owned(), whole, price_per_hour })
    }

    fn saved(&self, function: &SizedFunction) -> Option<Quantity> {
        let saved = (self.saved)(function)?.times(self.factor);
        Some(Quantity::difference(&saved, self.unit).predicted())
    }
}

/// A waterfall of the functions on top of the proxies' use without them; none if there are no functions.
fn waterfall(result: &SizeResult) -> Option<Waterfall> {
    let mut functions: Vec<&SizedFunction> = result.functions.iter().collect();
    functions.sort_by(|one, other| other.saved_cores.estimate.total_cmp(&one.saved_cores.estimate));
    // Only the most expensive functions have a switch.
    functions.truncate(SizedFunction::MOST_SWITCHED);
    let others: Vec<&Other> = OTHERS.iter().filter(|other| (other.whole)(result).is_some()).collect();
    let part = |function: &&SizedFunction| WaterfallPart {
        name: name(function),
        kind: format!("{} requests of `{}`", function.side.as_str(), function.service),
        cost: Quantity::difference(&function.saved_cores, "cores").predicted(),
        also: others.iter().map(|other| other.saved(function)).collect(),
    };
    let money = result.money.as_ref();
    (!functions.is_empty()).then(|| Waterfall {
        title: "cores of all proxies, from what is left without the functions to the whole".to_owned(),
        axis: "cores of all proxies".to_owned(),
        unit: "cores",
        rest: Some(cores(&without(&result.cores, &functions))),
        parts: functions.iter().map(part).collect(),
        together: None,
        whole: Some(cores(&result.cores)),
        also: others.iter().filter_map(|other| other.total(result)).collect(),
        rate: None,
        price_per_core_hour: money.and_then(|money| money.price_per_core_hour),
        hours_per_month: money.map_or(HOURS_PER_MONTH, |money| money.hours_per_month),
        graph: graph(result, &functions),
    })
}

/// The services with the functions that have a switch; none for a result of an earlier version, and for a very large graph.
fn graph(result: &SizeResult, functions: &[&SizedFunction]) -> Option<ServiceGraph> {
    let place = |name: &str| result.services.iter().position(|one| one.service == name);
    let call =
        |call: &SizedCall| Some(GraphCall { to: place(&call.service)?, text: per_request(call.per_request) });
    let service = |service: &SizedService| {
        let of = |side: SizeSide| {
            let all = functions.iter().enumerate();
            let own = all.filter(|(_, one)| one.service == service.service && one.side == side);
            own.map(|(place, _)| place).collect()
        };
        GraphService {
            name: service.service.clone(),
            has_proxy: service.has_proxy,
            calls: service.calls.iter().filter_map(call).collect(),
            inbound: of(SizeSide::Inbound),
            outbound: of(SizeSide::Outbound),
        }
    };
    (1..=MOST_SERVICES).contains(&result.services.len()).then(|| ServiceGraph {
        title: "services, with the functions of their proxies on the calls".to_owned(),
        services: result.services.iter().map(service).collect(),
    })
}

/// How often a service is called, as text.
fn per_request(calls: f64) -> String {
    let calls = format!("{calls}");
    let noun = if calls == "1" { "call" } else { "calls" };
    format!("{calls} {noun} for each request")
}

/// The function with its place, because one function may be on several edges.
fn name(function: &SizedFunction) -> String {
    let side = match function.side {
        SizeSide::Inbound => "",
        SizeSide::Outbound => " (outbound)",
    };
    format!("{}: {}{side}", function.service, function.function)
}

/// The whole without some functions. The errors of their savings are not independent of the error of the whole, so half-widths are added,
/// which never makes the interval too narrow.
fn without(whole: &Interval, functions: &[&SizedFunction]) -> Interval {
    let all = functions.iter().map(|function| &function.saved_cores);
    all.fold(*whole, |left, saved| {
        Interval::new(left.estimate - saved.estimate, left.low - saved.high, left.high - saved.low)
    })
}

/// The cores of all proxies by rate; none with fewer than two rates.
fn curve(result: &SizeResult) -> Option<Series> {
    let point =
        |point: &SizePoint| Point::with_interval(point.rate, &point.cores, cores(&point.cores).with_unit());
    let points: Vec<Point> = result.curve.iter().map(point).collect();
    if points.len() < LEAST_RATES {
        return None;
    }
    let at =
        Mark { x: drawn(result.rate), text: format!("predicted for {} requests/s", number(result.rate)) };
    let bottleneck = &result.bottleneck;
    let rate = Quantity::level(&bottleneck.rate, "requests/s").with_unit();
    let band = Band {
        from: Some(drawn(bottleneck.rate.low)),
        to: Some(drawn(bottleneck.rate.high)),
        at: Some(drawn(bottleneck.rate.estimate)),
        text: format!("first bottleneck, `{}`, at {rate}", bottleneck.service),
        tone: Tone::Third,
    };
    let x = Axis::linear("rate at the entry, requests/s", "requests/s");
    let y = Axis::linear("cores of all proxies", "cores");
    let lines = vec![Line::joined("cores", Tone::Own, points)];
    Some(Series { marks: vec![at], bands: vec![band], ..Series::new("cores by rate", x, y, lines) })
}

#[cfg(test)]
mod tests {
    use super::super::tests::sized;
    use super::*;

    #[test]
    fn the_bars_of_functions_add_up_to_all_cores() {
        let result = sized();
        let chart = waterfall(&result).unwrap();
        let parts: f64 = chart.parts.iter().filter_map(|part| part.cost.estimate).sum();
        let rest = chart.rest.as_ref().and_then(|rest| rest.estimate).unwrap();
        assert!((rest + parts - result.cores.estimate).abs() < 1e-9, "{chart:?}");
        assert_eq!(chart.parts[0].name, "gateway: jwt");
        assert_eq!(chart.price_per_core_hour, Some(0.03));
    }

    #[test]
    fn an_interval_without_functions_is_as_wide_as_all_of_theirs() {
        let result = sized();
        let functions: Vec<&SizedFunction> = result.functions.iter().collect();
        let left = without(&result.cores, &functions);
        let widths: f64 = functions.iter().map(|one| one.saved_cores.half_width()).sum();
        assert!((left.half_width() - result.cores.half_width() - widths).abs() < 1e-9, "{left:?}");
    }

    #[test]
    fn functions_are_on_the_calls_that_they_act_on() {
        let mut result = sized();
        result.functions[1].side = SizeSide::Outbound;
        let chart = waterfall(&result).unwrap();
        let graph = chart.graph.unwrap();
        let [gateway, cart] = graph.services.as_slice() else { panic!("{graph:?}") };
        assert_eq!((gateway.name.as_str(), gateway.has_proxy), ("gateway", true));
        assert_eq!(gateway.calls, [GraphCall { to: 1, text: "2 calls for each request".to_owned() }]);
        assert_eq!((gateway.inbound.as_slice(), gateway.outbound.as_slice()), (&[0][..], &[1][..]));
        assert_eq!(chart.parts[1].name, "gateway: rbac{rules=50} (outbound)");
        assert!(cart.calls.is_empty() && cart.inbound.is_empty(), "{cart:?}");
        assert_eq!(per_request(1.0), "1 call for each request");
        let one = result.services[0].clone();
        result.services = vec![one; MOST_SERVICES + 1];
        assert_eq!(waterfall(&result).unwrap().graph, None, "too many to find one");
        result.services.clear();
        assert_eq!(waterfall(&result).unwrap().graph, None, "a result of an earlier version");
    }

    #[test]
    fn one_function_on_two_edges_has_two_names() {
        let mut other = sized().functions[0].clone();
        other.side = SizeSide::Outbound;
        assert_eq!(name(&other), "gateway: jwt (outbound)");
    }

    #[test]
    fn functions_of_proxies_beyond_measurements_are_named_above_the_chart() {
        let mut result = sized();
        let note = |result: &SizeResult| match &charts(result)[0].blocks[0] {
            Block::Note(note) => note.clone(),
            other => panic!("{other:?}"),
        };
        assert!(note(&result).ends_with("at 12,000 requests/s."), "{}", note(&result));
        // `cart` has no functions.
        result.proxies.iter_mut().for_each(|proxy| proxy.is_extrapolated = true);
        assert!(note(&result).ends_with(" Beyond measurements: those of `gateway`."), "{}", note(&result));
        result.functions[0].saved_mean_is_extrapolated = true;
        let times = " Response times are beyond measurements without `gateway: jwt`.";
        assert!(note(&result).ends_with(times), "{}", note(&result));
    }

    #[test]
    fn a_void_prediction_and_one_without_functions_or_rates_draw_nothing() {
        assert!(charts(&sized()).len() == 2 && has_curve(&sized()));
        assert!(charts(&sized().judged(Verdict::Void, Vec::new())).is_empty());
        let mut bare = sized();
        bare.functions.clear();
        bare.curve.truncate(1);
        assert!(charts(&bare).is_empty() && !has_curve(&bare));
    }
}
