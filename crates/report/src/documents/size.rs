//! The document of the predicted CPU time and memory of the proxies of a graph.

mod charts;
mod headlines;

use hoptax_result::{
    AddedTime, Interval, ProxyLatency, SizeMoney, SizePoint, SizeResult, SizeSource, SizedFunction,
    SizedProxy, Verdict,
};
use hoptax_text::command_line::{option, path_options, path_word};
use hoptax_text::list::listed;

use crate::document::{Block, Document, FindingText, IN_DETAILS, Judgement, Next, Section};
use crate::numbers::{grouped, percent};
use crate::quantity::Quantity;
use crate::rows::MIB;
use crate::table::{Cell, Column, Row, Table};

/// Maximum number of warnings about the limits of a prediction on the first screen.
const MOST_NOTES: usize = 3;
/// Maximum number of proxies that a common warning names.
const MOST_NAMES: usize = 4;

/// The document of a graph in the file or folder `graph` whose requests arrive at the service `entry`, if the user named one, predicted
/// `from` these results. If it `is_runnable`, `hoptax lab graph run` accepts it unchanged.
pub fn size_of(
    result: &SizeResult,
    graph: &str,
    entry: Option<&str>,
    from: &[String],
    is_runnable: bool,
) -> Document {
    let (graph, from) = (path_word(graph.as_ref()) + &option("--entry", entry), path_options("--from", from));
    let with = |command: &str, rate: f64| format!("hoptax {command} {graph} --rate {rate}{from}");
    let next = if result.proxies.iter().any(|proxy| too_few_workers(proxy).is_some()) {
        Next::new(with("predict size", result.rate), "predicts again, with more `workers` in the graph")
    } else if is_runnable {
        let purpose = "runs the graph here, and says how far off this prediction is";
        Next::new(with("lab graph run", result.rate), purpose)
    } else {
        Next::new(with("predict size", 2.0 * result.rate), "predicts twice the rate")
    };
    Document { next: Some(next), ..size(result) }
}

/// The document of a sized graph with an unknown file. The busiest proxy comes first.
pub fn size(result: &SizeResult) -> Document {
    let mut document = Document::new(
        format!("predict size {}", result.graph),
        format!("{} at {} requests/s", result.graph, number(result.rate)),
        answer(result),
    );
    document.verdict = Some(Judgement { verdict: result.verdict, usable: usable(result) });
    document.table = Some(proxies(result));
    document.headlines = headlines::headlines(result);
    document.notes = notes(result);
    document.next = Some(run_here(result));
    document.findings = FindingText::all(&result.findings);
    document.plots = charts::charts(result);
    document.sections.push(curve(result, charts::has_curve(result)));
    document.sections.push(latency(result));
    document.sections.extend((!result.functions.is_empty()).then(|| Section::of_table(functions(result))));
    document.sections.extend(connections(&result.proxies).map(Section::of_table));
    document.sections.push(Section::of_table(resources(&result.proxies)));
    document.sections.extend(result.money.as_ref().map(in_money));
    // The notes have few limits whole.
    if result.extrapolations.len() > MOST_NOTES {
        document.sections.extend(Section::of_lines("Beyond measurements", result.extrapolations.clone()));
    }
    document.sections.extend(Section::of_lines("Sources", result.sources.iter().map(source).collect()));
    document.sections.extend(Section::of_lines("Method", method(result)));
    document
}

/// Running the graph as processes, at its rate or at the highest rate that its first bottleneck certainly carries. The results that it was
/// predicted from are unknown here.
fn run_here(result: &SizeResult) -> Next {
    let rate = result.rate.min(result.bottleneck.rate.low.floor().max(1.0));
    let command = format!("hoptax lab graph run {} --rate {rate}", path_word(result.graph.as_ref()));
    Next::new(command, "runs the graph here, and measures what its proxies use")
}

fn usable(result: &SizeResult) -> String {
    let worst = result.sources.iter().filter(|source| source.verdict == result.verdict);
    let worst: Vec<String> = worst.map(|source| format!("`{}`", source.study)).collect();
    match result.verdict {
        Verdict::Void => {
            format!("nothing can be used of {}: a prediction needs another result", listed(&worst))
        }
        Verdict::Caution => format!(
            "CPU times and added times may be used with the warnings of {}, which `hoptax runs show RESULT` prints",
            listed(&worst)
        ),
        Verdict::Sound if !result.extrapolations.is_empty() => {
            "CPU times and added times are sound within what was measured; part of them is beyond".to_owned()
        }
        Verdict::Sound => "CPU times and added times are sound".to_owned(),
    }
}

/// A proxy with too few workers for the rate, and the number of workers that it needs.
fn too_few_workers(proxy: &SizedProxy) -> Option<String> {
    let needed = (proxy.busy_share.estimate * f64::from(proxy.workers)).ceil();
    (needed > f64::from(proxy.workers)).then(|| {
        let busy = Quantity::level(&proxy.busy_share.times(100.0), "%").predicted().with_unit();
        format!(
            "`{}` needs {needed} workers instead of {} (busy {busy})",
            proxy.service,
            proxy.workers,
            needed = grouped(needed, 0)
        )
    })
}

/// The proxies with too few workers, the total number of cores, the time added to response times, and the first bottleneck.
fn answer(result: &SizeResult) -> Vec<String> {
    let few: Vec<String> = result.proxies.iter().filter_map(too_few_workers).collect();
    let at = format!("At {} requests/s", number(result.rate));
    let used = match few.as_slice() {
        [] => format!("{at}, the proxies of {} use", result.graph),
        _ => format!("With these, the proxies of {} use", result.graph),
    };
    let few = (!few.is_empty()).then(|| format!("{at}, {}", few.join(" and ")));
    let added = result.latency.as_ref().and_then(|latency| latency.added.mean_us);
    let added = added.map_or_else(String::new, |mean| {
        format!(" and add {} to the mean response time", Quantity::predicted_level(&mean, "us").with_unit())
    });
    let money = result.money.as_ref().and_then(|money| money.per_month);
    let money =
        money.map_or_else(String::new, |money| format!(" ({} a month at your price)", amount(&money).text()));
    let bottleneck = &result.bottleneck;
    let or = match bottleneck.or.as_slice() {
        [] => String::new(),
        others => format!(" or `{}`", others.join("` or `")),
    };
    let as_it_is = if few.is_some() { "As configured, the" } else { "The" };
    let mut answer: Vec<String> = few.into_iter().collect();
    answer.extend([
        format!("{used} {}{money}{added}", cores(&result.cores).with_unit()),
        format!(
            "{as_it_is} first bottleneck is `{}`{or}, at {} to the entry",
            bottleneck.service,
            Quantity::level(&bottleneck.rate, "requests/s").with_unit()
        ),
    ]);
    answer
}

/// Merges lines that say the same about several proxies into one line that names the proxies.
fn joined(lines: &[String]) -> Vec<String> {
    let mut said: Vec<(Vec<String>, &str)> = Vec::new();
    for line in lines {
        let of_proxy = line.strip_prefix('`').and_then(|line| line.split_once("`: "));
        let (names, what) = match of_proxy {
            Some((name, what)) => (vec![format!("`{name}`")], what),
            None => (Vec::new(), line.as_str()),
        };
        let same = said.iter_mut().find(|(others, other)| *other == what && !others.is_empty());
        match same.filter(|_| !names.is_empty()) {
            Some((others, _)) => others.extend(names),
            None => said.push((names, what)),
        }
    }
    let text = |(mut names, what): (Vec<String>, &str)| {
        let more = names.len().saturating_sub(MOST_NAMES);
        names.truncate(MOST_NAMES);
        names.extend((more > 0).then(|| format!("{} more", grouped(more as f64, 0))));
        if names.is_empty() { what.to_owned() } else { format!("{}: {what}", listed(&names)) }
    };
    said.into_iter().map(text).collect()
}

/// The limits of the prediction.
fn notes(result: &SizeResult) -> Vec<String> {
    let limits = joined(&result.extrapolations);
    let shown = if limits.len() > MOST_NOTES { MOST_NOTES - 1 } else { MOST_NOTES };
    let mut notes: Vec<String> =
        limits.iter().take(shown).map(|line| format!("beyond measurements: {line}")).collect();
    let rest = limits.len().saturating_sub(shown);
    if rest > 0 {
        notes.push(format!("beyond measurements: {rest} more, {IN_DETAILS}"));
    }
    if result.latency.is_none() {
        notes.push(format!("response times are not predicted: {}", no_latency(result)));
    }
    notes
}

fn no_latency(result: &SizeResult) -> &str {
    result.no_latency.as_deref().unwrap_or("the result is of an earlier version")
}

/// A number of requests per second, with a decimal if it is small.
fn number(rate: f64) -> String {
    grouped(rate, usize::from(rate < 10.0))
}

fn us(interval: &Interval) -> Quantity {
    Quantity::level(interval, "us").predicted()
}

fn cores(interval: &Interval) -> Quantity {
    Quantity::level(interval, "cores").predicted()
}

/// An amount of money.
fn amount(interval: &Interval) -> Quantity {
    Quantity::level(interval, "").predicted()
}

/// Each proxy, and all of them.
fn proxies(result: &SizeResult) -> Table {
    let mut all: Vec<&SizedProxy> = result.proxies.iter().collect();
    all.sort_by(|one, other| other.cores.estimate.total_cmp(&one.cores.estimate));
    let added = |service: Option<&str>| {
        let latency = result.latency.as_ref()?;
        let of_proxy = latency.proxies.iter().find(|one| Some(one.service.as_str()) == service);
        let time = if service.is_none() { Some(&latency.added) } else { of_proxy.map(|one| &one.added) };
        Some(added_time(time?.mean_us.as_ref()))
    };
    let row = |proxy: &&SizedProxy| {
        let memory = proxy.memory_bytes.map(|bytes| bytes.times(1.0 / MIB));
        Row::new(
            &proxy.service,
            vec![
                Cell::Quantity(cores(&proxy.cores)),
                Cell::words(grouped(100.0 * proxy.busy_share.estimate, 0)),
                Cell::Quantity(us(&proxy.cpu_us_per_request)),
                Cell::words(number(proxy.requests_per_second)),
                added(Some(&proxy.service)).unwrap_or(Cell::Empty),
                memory.as_ref().map(|memory| Quantity::level(memory, "MiB").predicted()).into(),
                Cell::words(proxy.workers.to_string()),
                Cell::words(number(proxy.max_rate.estimate)),
            ],
        )
    };
    let mut rows: Vec<Row> = all.iter().map(row).collect();
    if rows.len() > 1 {
        let mut cells = vec![Cell::Empty; 8];
        if let Some(cell) = cells.get_mut(0) {
            *cell = Cell::Quantity(cores(&result.cores));
        }
        if let Some(cell) = cells.get_mut(4) {
            *cell = added(None).unwrap_or(Cell::Empty);
        }
        rows.insert(0, Row::new("all proxies", cells));
    }
    let columns = [
        Column::new("cores", 0),
        Column::new("busy %", 1),
        Column::new("CPU us", 2),
        Column::new("requests/s", 3),
        Column::new("added us", 4),
        Column::new("memory MiB", 5),
        Column::new("workers", 6),
        Column::new("max requests/s", 7),
    ];
    Table::new("predicted use of each proxy", "proxy of", columns, rows).without_empty_columns()
}

/// Cores by rate, in total and per request, so that the bend is visible. Left to the chart of a page if it `has_chart`.
fn curve(result: &SizeResult, has_chart: bool) -> Section {
    let row = |point: &SizePoint| {
        let per_request = point.cores.times(1e6 / point.rate);
        Row::new(
            number(point.rate),
            vec![Cell::Quantity(cores(&point.cores)), Cell::Quantity(us(&per_request))],
        )
    };
    let columns = [Column::new("cores in all", 0), Column::new("CPU us per request to the entry", 1)];
    let table = Table::new("cores in all by rate", "requests/s", columns, result.curve.iter().map(row));
    Section::new("Cores by rate", vec![Block::Table(table).unless_page(has_chart)])
}

/// Returns the time that the proxies add to response times, or the reason why it is unknown.
fn latency(result: &SizeResult) -> Section {
    let title = "Added response times, us";
    let Some(latency) = &result.latency else {
        return Section::new(
            title,
            vec![Block::Lines(vec![format!("not predicted: {}", no_latency(result))])],
        );
    };
    let cells = |added: &AddedTime, slowest: Cell| {
        vec![added_time(added.mean_us.as_ref()), added_time(added.p99_us.as_ref()), slowest]
    };
    let row = |proxy: &ProxyLatency| {
        let mut all = cells(&proxy.added, added_time(Some(&proxy.critical_path_us)));
        let mark = if proxy.is_extrapolated { "beyond measurements" } else { "" };
        all.extend([Cell::words(grouped(100.0 * proxy.busy_share, 0)), Cell::words(mark)]);
        Row::new(&proxy.service, all)
    };
    let mut all = cells(&latency.added, Cell::Empty);
    let mark = if latency.is_extrapolated { "beyond measurements" } else { "" };
    all.extend([Cell::Empty, Cell::words(mark)]);
    let columns = [
        Column::new("mean", 0),
        Column::new("p99", 0),
        Column::new("on the slowest way", 1),
        Column::new("busy %", 2),
        Column::text("note", 3),
    ];
    let rows = std::iter::once(Row::new("all proxies", all)).chain(latency.proxies.iter().map(row));
    let of_table = "time that proxies add to the response of a request to the entry, us";
    let table = Table::new(of_table, "proxy of", columns, rows);
    Section::new(title, vec![Block::Table(table.without_empty_columns())])
}

/// A time that proxies add, with its interval or its bounds, or the reason why there is none.
fn added_time(interval: Option<&Interval>) -> Cell {
    Cell::Quantity(match interval {
        Some(interval) => Quantity::predicted_level(interval, "us"),
        None => Quantity::unknown("too few responses", "us"),
    })
}

/// New connections of the proxies that have some.
fn connections(proxies: &[SizedProxy]) -> Option<Table> {
    let new = proxies.iter().filter_map(|proxy| Some((proxy, proxy.new_connections.as_ref()?)));
    let rows: Vec<Row> = new
        .map(|(proxy, new)| {
            Row::new(
                &proxy.service,
                vec![
                    Cell::words(number(new.per_second)),
                    Cell::Quantity(us(&new.cpu_us_each)),
                    Cell::Quantity(cores(&new.cores)),
                ],
            )
        })
        .collect();
    let columns = ["per second", "CPU us each", "cores"].map(|heading| Column::new(heading, 0));
    (!rows.is_empty()).then(|| Table::new("new connections", "proxy of", columns, rows))
}

/// Resources of containers.
fn resources(proxies: &[SizedProxy]) -> Table {
    let row = |proxy: &SizedProxy| {
        let resources = &proxy.kubernetes;
        let processor = [&resources.cpu_request, &resources.cpu_limit].map(|one| Cell::from(one.clone()));
        let memory = Cell::from(resources.memory_request.clone());
        Row::new(&proxy.service, processor.into_iter().chain([memory]).collect())
    };
    let columns = ["requests.cpu", "limits.cpu", "requests.memory"].map(|heading| Column::new(heading, 0));
    Table::new("Kubernetes resources", "proxy of", columns, proxies.iter().map(row)).without_empty_columns()
}

fn in_money(money: &SizeMoney) -> Section {
    let rows = money.proxies.iter().map(|proxy| {
        let all = [&proxy.per_month, &proxy.cpu_per_month, &proxy.memory_per_month];
        Row::new(&proxy.service, all.map(|one| one.as_ref().map(amount).into()).into())
    });
    let all = money.per_month.as_ref().map(amount);
    let all = Row::new("all proxies", vec![all.into(), Cell::Empty, Cell::Empty]);
    let columns = ["both", "CPU", "memory"].map(|heading| Column::new(heading, 0));
    let table = Table::new("money per month", "proxy of", columns, std::iter::once(all).chain(rows));
    let price = |price: Option<f64>, unit: &str| price.map(|price| format!("{price} for a {unit} and hour"));
    let prices = [price(money.price_per_core_hour, "core"), price(money.price_per_gib_hour, "GiB")];
    let prices: Vec<String> = prices.into_iter().flatten().collect();
    let line = format!(
        "at {}, if the rate is the same for all {} hours of a month",
        prices.join(" and "),
        grouped(money.hours_per_month, 0)
    );
    Section::new(
        "Money per month",
        vec![Block::Table(table.without_empty_columns()), Block::Lines(vec![line])],
    )
}

/// The functions of all proxies, the most expensive first.
fn functions(result: &SizeResult) -> Table {
    let mut all: Vec<&SizedFunction> = result.functions.iter().collect();
    all.sort_by(|one, other| other.cores.estimate.total_cmp(&one.cores.estimate));
    let row = |function: &&SizedFunction| {
        Row::new(
            &function.function,
            vec![
                Cell::Quantity(cores(&function.cores)),
                Cell::Quantity(cores(&function.saved_cores)),
                Cell::Quantity(us(&function.cpu_us_per_request)),
                Cell::words(number(function.requests_per_second)),
                Cell::words(&function.service),
                Cell::words(function.side.as_str()),
            ],
        )
    };
    let columns = [
        Column::new("cores", 0),
        Column::new("saved when off", 1),
        Column::new("CPU us", 2),
        Column::new("requests/s", 4),
        Column::text("proxy of", 0),
        Column::text("side", 3),
    ];
    Table::new("functions of the proxies", "function", columns, all.iter().map(row))
}

fn source(source: &SizeSource) -> String {
    let version = source.proxy_version.as_deref().unwrap_or("of unknown version");
    let shares: Vec<String> = source.busy_shares.iter().map(|share| percent(*share, 0)).collect();
    let busy = match shares.as_slice() {
        [] => String::new(),
        shares => format!(", proxies busy for {}", shares.join(", ")),
    };
    let rounds = if source.has_rounds { "" } else { ", without rounds" };
    format!(
        "`{}` of {} on {}, Envoy {version}{busy}{rounds} ({})",
        source.study,
        source.started_at,
        source.cpu_model,
        source.verdict.as_str()
    )
}

/// The method of the numbers and its limits.
fn method(result: &SizeResult) -> Vec<String> {
    let mut lines = vec![
        "CPU time per request is that of plain proxying and of each function, at the busy share of the proxy"
            .to_owned(),
        format!(
            "intervals are those of {}: they cover restarts of the proxies that were measured, not the error of adding costs up, and \
             hold for that processor",
            percent(result.confidence, 0)
        ),
    ];
    if result.latency.is_some() {
        lines.push(
            "times added to responses are those measured at the busy share of each proxy; simulated requests add them up, or take the \
             slowest of calls at the same time, as if proxies were independent"
                .to_owned(),
        );
    }
    lines
}

#[cfg(test)]
mod tests;
