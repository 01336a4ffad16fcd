//! What the proxies of a graph are predicted to use, and how far such predictions are from measurements.

mod check;

use hoptax_result::{
    AddedTime, Interval, PredictedTime, SizeLatency, SizeMoney, SizePoint, SizeResult, SizeSource,
    SizedFunction, SizedProxy, Verdict, WithheldTime,
};

pub use check::size_check;

use super::rows::Rows;
use super::scale::{decimals, range};
use super::{Paint, Style};
use crate::numbers::{grouped, level};

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

/// The proxies, their functions, and what the prediction rests on.
pub fn size(result: &SizeResult, style: Style) -> String {
    let title = format!("{} at {} requests/s", result.graph, number(result.rate));
    let mut text = format!("\n{}\n\n{}", style.paint(Paint::Bold, &title), proxies(&result.proxies));
    text += &format!("\n{}\n", style.wrap(&format!("cores in all: {}", range(&result.cores)), 2));
    text += &format!("{}\n", style.wrap(&bottleneck(result), 2));
    text += &format!("\n{}", curve(&result.curve, style));
    text += &format!("\n{}", latency(result, style));
    if !result.functions.is_empty() {
        text += &format!("\n{}", functions(&result.functions));
    }
    text.extend(connections(&result.proxies).map(|connections| format!("\n{connections}")));
    text += &format!("\n{}", resources(&result.proxies));
    text.extend(result.money.as_ref().map(|money| format!("\n{}", in_money(money, style))));
    let void = result.sources.iter().any(|source| source.verdict == Verdict::Void);
    if void {
        let warning = "a result is void: its numbers do not support a prediction";
        text += &format!("\n{}\n", style.paint(Paint::Red, warning));
    }
    if !result.extrapolations.is_empty() {
        text += &format!("\n{}\n", style.paint(Paint::Yellow, "beyond what was measured:"));
        let lines = result.extrapolations.iter().map(|line| style.wrap(&format!("- {line}"), 2) + "\n");
        text.extend(lines);
    }
    text += "\n";
    text.extend(result.sources.iter().map(|one| style.wrap(&source(one), 2) + "\n"));
    text + &format!("\n{}\n", style.wrap(&method(result), 2))
}

/// A number of requests per second, with a decimal only if it is small.
fn number(rate: f64) -> String {
    grouped(rate, usize::from(rate < 10.0))
}

fn proxies(proxies: &[SizedProxy]) -> String {
    let header =
        ["proxy of", "requests/s", "CPU us", "cores", "workers", "busy", "always busy at", "memory MiB"];
    let mut rows = Rows::new(&header);
    for proxy in proxies {
        rows.add(
            &proxy.service,
            vec![
                number(proxy.requests_per_second),
                level(&proxy.cpu_us_per_request),
                cores(&proxy.cores),
                proxy.workers.to_string(),
                format!("{:.0} %", 100.0 * proxy.busy_share.estimate),
                format!("{}/s", number(proxy.max_rate.estimate)),
                proxy.memory_bytes.map_or_else(|| "-".to_owned(), |bytes| level(&bytes.times(1.0 / MIB))),
            ],
        );
    }
    rows.text()
}

/// Cores with their interval: `1.265 ±0.038`.
fn cores(interval: &Interval) -> String {
    let digits = decimals(interval);
    format!("{} ±{}", grouped(interval.estimate, digits), grouped(interval.half_width(), digits))
}

fn rate_range(rate: &Interval) -> String {
    format!("{} ({} to {})", number(rate.estimate), number(rate.low), number(rate.high))
}

fn bottleneck(result: &SizeResult) -> String {
    let bottleneck = &result.bottleneck;
    let or = match bottleneck.or.as_slice() {
        [] => String::new(),
        others => format!("; the intervals do not tell it from `{}`", others.join("`, `")),
    };
    format!(
        "first bottleneck: `{}`, at {} requests/s to the entry{or}",
        bottleneck.service,
        rate_range(&bottleneck.rate)
    )
}

/// Characters of the longest bar.
const BAR_CELLS: f64 = 24.0;

/// Cores over rates, and for each request, so that the bend shows.
fn curve(points: &[SizePoint], style: Style) -> String {
    let mut rows = Rows::new(&["requests/s", "cores in all", "CPU us per request to the entry", ""]);
    let last = points.last();
    for point in points {
        let per_request = point.cores.times(1e6 / point.rate);
        let bar = last.map(|last| bar(point, last)).unwrap_or_default();
        rows.add(&number(point.rate), vec![cores(&point.cores), level(&per_request), bar]);
    }
    rows.text_with_bars()
        + &style.wrap("bars: cores; they would end at | if cores grew in proportion to the rate", 2)
        + "\n"
}

/// A bar as long as its cores, with a mark where it would end if cores were in proportion to the rate.
fn bar(point: &SizePoint, last: &SizePoint) -> String {
    let cells = |share: f64| {
        if share.is_finite() { (share * BAR_CELLS).round().clamp(0.0, BAR_CELLS) as usize } else { 0 }
    };
    let (of_cores, of_rate) =
        (cells(point.cores.estimate / last.cores.estimate), cells(point.rate / last.rate));
    let cell = |place: usize| {
        if place == of_rate {
            '|'
        } else if place < of_cores + usize::from(of_rate < of_cores) {
            '█'
        } else {
            ' '
        }
    };
    (0..=of_cores.max(of_rate)).map(cell).collect::<String>().trim_end().to_owned()
}

/// What the proxies add to response times, or why that is unknown.
fn latency(result: &SizeResult, style: Style) -> String {
    let Some(latency) = &result.latency else {
        let reason = result.no_latency.as_deref().unwrap_or("the result is of an earlier version");
        return style.wrap(&format!("added to response times: not predicted: {reason}"), 2) + "\n";
    };
    let mut rows = Rows::new(&["proxy of", "busy", "added us", "at p99", "on the slowest way"]);
    for proxy in &latency.proxies {
        let service = Some(proxy.service.as_str());
        let [mean, p99] = added(latency, service, &proxy.added);
        let slowest = predicted(latency, service, PredictedTime::CriticalPathUs, proxy.critical_path_us);
        let mark = if proxy.is_extrapolated { " ~" } else { "" };
        rows.add(
            &proxy.service,
            vec![format!("{:.0} %{mark}", 100.0 * proxy.busy_share), mean, p99, slowest],
        );
    }
    format!("{}{}\n", rows.text(), style.wrap(&in_all(latency), 2))
}

/// Mean and tail of what a proxy adds, or all of them.
fn added(latency: &SizeLatency, service: Option<&str>, time: &AddedTime) -> [String; 2] {
    [(PredictedTime::MeanUs, time.mean_us), (PredictedTime::P99Us, time.p99_us)]
        .map(|(which, interval)| predicted(latency, service, which, interval))
}

/// A predicted time. Without one, that it is withheld, or - with too few responses.
fn predicted(
    latency: &SizeLatency,
    service: Option<&str>,
    time: PredictedTime,
    interval: Option<Interval>,
) -> String {
    let is_withheld =
        latency.withheld.iter().any(|one| one.time == time && one.service.as_deref() == service);
    match interval {
        Some(interval) => level(&interval),
        None if is_withheld => "withheld".to_owned(),
        None => "-".to_owned(),
    }
}

fn in_all(latency: &SizeLatency) -> String {
    let [mean, p99] = added(latency, None, &latency.added);
    let us = |time: &str| if time == "withheld" { time.to_owned() } else { format!("{time} us") };
    let p99 = if p99 == "-" { "too few responses for p99".to_owned() } else { format!("p99 {}", us(&p99)) };
    let mark = if latency.is_extrapolated { " (~ beyond what was measured: see below)" } else { "" };
    let withheld = match widest(&latency.withheld) {
        Some(widest) => format!("; withheld: intervals of more than half the number, up to {widest}"),
        None => String::new(),
    };
    format!("added to the response time of a request to the entry: mean {}, {p99}{mark}{withheld}", us(&mean))
}

/// The widest interval of withheld times, against its number.
fn widest(withheld: &[WithheldTime]) -> Option<String> {
    let share = withheld.iter().map(|one| one.half_width_share).reduce(f64::max)?;
    Some(format!("±{} %", grouped(100.0 * share, 0)))
}

/// New connections of the proxies that have some.
fn connections(proxies: &[SizedProxy]) -> Option<String> {
    let mut rows = Rows::new(&["new connections of", "per second", "CPU us each", "cores"]);
    let new = proxies.iter().filter_map(|proxy| Some((proxy, proxy.new_connections.as_ref()?)));
    let mut has_any = false;
    for (proxy, new) in new {
        has_any = true;
        rows.add(&proxy.service, vec![number(new.per_second), level(&new.cpu_us_each), cores(&new.cores)]);
    }
    has_any.then(|| rows.text())
}

/// Resources of containers.
fn resources(proxies: &[SizedProxy]) -> String {
    let mut rows = Rows::new(&["Kubernetes", "requests.cpu", "limits.cpu", "requests.memory"]);
    for proxy in proxies {
        let resources = &proxy.kubernetes;
        let memory = resources.memory_request.clone().unwrap_or_else(|| "-".to_owned());
        rows.add(&proxy.service, vec![resources.cpu_request.clone(), resources.cpu_limit.clone(), memory]);
    }
    rows.text()
}

fn in_money(money: &SizeMoney, style: Style) -> String {
    let mut rows = Rows::new(&["money per month", "CPU", "memory", "both"]);
    let amount = |amount: &Option<Interval>| amount.as_ref().map_or_else(|| "-".to_owned(), cores);
    for proxy in &money.proxies {
        rows.add(
            &proxy.service,
            vec![amount(&proxy.cpu_per_month), amount(&proxy.memory_per_month), amount(&proxy.per_month)],
        );
    }
    let all = money.per_month.as_ref().map_or_else(|| "unknown".to_owned(), range);
    let price = |price: Option<f64>, unit: &str| price.map(|price| format!("{price} for a {unit} and hour"));
    let prices = [price(money.price_per_core_hour, "core"), price(money.price_per_gib_hour, "GiB")];
    let prices: Vec<String> = prices.into_iter().flatten().collect();
    let line = format!(
        "money per month in all: {all}, at {}, if the rate is the same for all {} hours of a month",
        prices.join(" and "),
        grouped(money.hours_per_month, 0)
    );
    format!("{}{}\n", rows.text(), style.wrap(&line, 2))
}

fn functions(functions: &[SizedFunction]) -> String {
    let mut rows =
        Rows::new(&["function", "proxy of", "side", "requests/s", "CPU us", "cores", "saved when off"]);
    for function in functions {
        rows.add(
            &function.function,
            vec![
                function.service.clone(),
                function.side.as_str().to_owned(),
                number(function.requests_per_second),
                level(&function.cpu_us_per_request),
                cores(&function.cores),
                cores(&function.saved_cores),
            ],
        );
    }
    rows.text()
}

fn source(source: &SizeSource) -> String {
    let version = source.proxy_version.as_deref().unwrap_or("of unknown version");
    let shares: Vec<String> =
        source.busy_shares.iter().map(|share| format!("{:.0} %", 100.0 * share)).collect();
    let busy = match shares.as_slice() {
        [] => String::new(),
        shares => format!(", proxies busy for {}", shares.join(", ")),
    };
    let rounds = if source.has_rounds { "" } else { ", without rounds" };
    format!(
        "from `{}` of {} on {}, Envoy {version}{busy}{rounds}",
        source.study, source.started_at, source.cpu_model
    )
}

/// How the numbers were computed, and what they do not cover.
fn method(result: &SizeResult) -> String {
    let mut text = format!(
        "CPU time per request is that of plain proxying and of each function, at the busy share of the proxy. Intervals are those of \
         {:.0} %: they cover restarts of the proxies that were measured, not the error of adding costs up, and hold for that processor.",
        100.0 * result.confidence
    );
    if result.latency.is_some() {
        text += " Times added to responses are those measured at the busy share of each proxy; simulated requests add them up, or take \
                 the slowest of calls at the same time, as if proxies were independent.";
    }
    text
}

#[cfg(test)]
mod tests {
    use hoptax_result::{
        KubernetesResources, ProxyLatency, ProxyMoney, SizeBottleneck, SizeSide, SizedConnections,
    };

    use super::*;

    const WIDE: Style = Style { width: 110, colour: false };

    fn about(estimate: f64, share: f64) -> Interval {
        Interval { estimate, low: estimate * (1.0 - share), high: estimate * (1.0 + share) }
    }

    fn proxy(service: &str, rate: f64, cpu_us: f64, workers: u32) -> SizedProxy {
        let cores = rate * cpu_us / 1e6;
        SizedProxy {
            service: service.to_owned(),
            workers,
            requests_per_second: rate,
            cpu_us_per_request: about(cpu_us, 0.03),
            cores: about(cores, 0.03),
            busy_share: about(cores / f64::from(workers), 0.03),
            max_rate: about(12_000.0 / cores * f64::from(workers), 0.03),
            memory_bytes: (workers > 1).then(|| about(61.0 * MIB, 0.01)),
            new_connections: (workers > 1).then(|| SizedConnections {
                per_second: 600.0,
                cpu_us_each: about(213.0, 0.08),
                cores: about(600.0 * 213e-6, 0.08),
            }),
            is_extrapolated: false,
            kubernetes: KubernetesResources {
                cpu_request: format!("{:.0}m", 1_030.0 * cores),
                cpu_limit: workers.to_string(),
                memory_request: (workers > 1).then(|| "62Mi".to_owned()),
            },
        }
    }

    fn latency_of(service: &str, mean_us: f64, is_extrapolated: bool) -> ProxyLatency {
        ProxyLatency {
            service: service.to_owned(),
            busy_share: 0.63,
            added: AddedTime {
                mean_us: Some(about(mean_us, 0.02)),
                p99_us: (!is_extrapolated).then(|| about(2.6 * mean_us, 0.05)),
            },
            critical_path_us: Some(about(0.5 * mean_us, 0.02)),
            is_extrapolated,
        }
    }

    fn sized() -> SizeResult {
        let function = |name: &str, cores: f64| SizedFunction {
            service: "gateway".to_owned(),
            function: name.to_owned(),
            side: SizeSide::Inbound,
            requests_per_second: 12_000.0,
            cpu_us_per_request: about(cores / 0.012, 0.1),
            cores: about(cores, 0.1),
            saved_cores: about(0.8 * cores, 0.2),
        };
        SizeResult {
            format: SizeResult::FORMAT.to_owned(),
            graph: "shop".to_owned(),
            rate: 12_000.0,
            confidence: 0.95,
            sources: vec![SizeSource {
                study: "in-use".to_owned(),
                started_at: "2026-11-22T23:17:11Z".to_owned(),
                verdict: Verdict::Caution,
                cpu_model: "Test CPU".to_owned(),
                proxy_version: Some("1.40.0".to_owned()),
                busy_shares: vec![0.19, 0.45, 0.98],
                has_rounds: true,
            }],
            proxies: vec![proxy("gateway", 12_000.0, 105.4, 2), proxy("cart", 6.5, 160.0, 1)],
            functions: vec![function("jwt", 0.494), function("rbac{rules=50}", 0.0768)],
            cores: about(1.266, 0.03),
            curve: vec![
                SizePoint { rate: 1_897.5, cores: about(0.31, 0.04) },
                SizePoint { rate: 9_487.5, cores: about(1.14, 0.03) },
                SizePoint { rate: 18_975.0, cores: about(1.95, 0.03) },
            ],
            bottleneck: SizeBottleneck {
                service: "gateway".to_owned(),
                rate: about(18_975.0, 0.03),
                or: vec!["cart".to_owned()],
            },
            latency: Some(SizeLatency {
                added: AddedTime { mean_us: Some(about(412.5, 0.02)), p99_us: None },
                is_extrapolated: true,
                proxies: vec![latency_of("gateway", 250.0, false), latency_of("cart", 325.0, true)],
                withheld: [(None, 1.87), (Some("cart"), 4.2)]
                    .map(|(service, half_width_share)| WithheldTime {
                        service: service.map(str::to_owned),
                        time: PredictedTime::P99Us,
                        half_width_share,
                    })
                    .to_vec(),
            }),
            no_latency: None,
            money: Some(SizeMoney {
                price_per_core_hour: Some(0.03),
                price_per_gib_hour: Some(0.004),
                hours_per_month: 730.0,
                proxies: vec![ProxyMoney {
                    service: "gateway".to_owned(),
                    cpu_per_month: Some(about(27.7, 0.03)),
                    memory_per_month: None,
                    per_month: None,
                }],
                per_month: Some(about(28.1, 0.03)),
            }),
            extrapolations: vec![
                "`cart` is busy for 1 % of the time, less than the 19 % measured".to_owned(),
            ],
        }
    }

    #[test]
    fn a_graph_with_its_functions_and_limits() {
        insta::assert_snapshot!(size(&sized(), WIDE));
    }

    #[test]
    fn without_response_times_the_reason_is_said() {
        let mut sized = sized();
        (sized.latency, sized.no_latency) = (None, Some("`in-use` has no rounds".to_owned()));
        let text = size(&sized, WIDE);
        assert!(text.contains("added to response times: not predicted: `in-use` has no rounds"), "{text}");
    }

    #[test]
    fn a_bar_shows_where_cores_in_proportion_would_end() {
        let point = |rate: f64, cores: f64| SizePoint { rate, cores: about(cores, 0.0) };
        let last = point(1_000.0, 2.0);
        assert_eq!(bar(&point(500.0, 1.5), &last), format!("{}|{}", "█".repeat(12), "█".repeat(6)));
        assert_eq!(bar(&point(500.0, 0.5), &last), format!("{}{}|", "█".repeat(6), " ".repeat(6)));
        assert_eq!(bar(&last, &last), format!("{}|", "█".repeat(24)));
    }

    #[test]
    fn a_void_source_is_said() {
        let mut sized = sized();
        sized.sources[0].verdict = Verdict::Void;
        assert!(size(&sized, WIDE).contains("a result is void"));
    }
}
