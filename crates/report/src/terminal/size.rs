//! What the proxies of a graph are predicted to use, and how far such predictions are from measurements.

use hoptax_result::{
    CheckedComposition, Interval, SizeCheckResult, SizePoint, SizeResult, SizeSource, SizedFunction,
    SizedProxy, UncheckedComposition, Verdict,
};

use super::rows::Rows;
use super::scale::{decimals, range};
use super::{Paint, Style};
use crate::numbers::{grouped, level, signed};
use crate::words;

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

/// The proxies, their functions, and what the prediction rests on.
pub fn size(result: &SizeResult, style: Style) -> String {
    let title = format!("{} at {} requests/s", result.graph, number(result.rate));
    let mut text = format!("\n{}\n\n{}", style.paint(Paint::Bold, &title), proxies(&result.proxies));
    text += &format!("\n{}\n", style.wrap(&format!("cores in all: {}", range(&result.cores)), 2));
    text += &format!("{}\n", style.wrap(&bottleneck(result), 2));
    text += &format!("\n{}", curve(&result.curve));
    if !result.functions.is_empty() {
        text += &format!("\n{}", functions(&result.functions));
    }
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
    text + &format!("\n{}\n", style.wrap(&method(result.confidence), 2))
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

/// Cores over rates, and for each request, so that the bend shows.
fn curve(points: &[SizePoint]) -> String {
    let mut rows = Rows::new(&["requests/s", "cores in all", "CPU us per request to the entry"]);
    for point in points {
        let per_request = point.cores.times(1e6 / point.rate);
        rows.add(&number(point.rate), vec![cores(&point.cores), level(&per_request)]);
    }
    rows.text()
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
fn method(confidence: f64) -> String {
    format!(
        "CPU time per request is that of plain proxying and of each function, at the busy share of the proxy. Intervals are those of \
         {:.0} %: they cover restarts of the proxies that were measured, not the error of adding costs up, and hold for that processor. \
         Response times are not predicted: results state quantiles, which do not add up along a path.",
        100.0 * confidence
    )
}

/// Each composition as predicted and as measured.
pub fn size_check(result: &SizeCheckResult, style: Style) -> String {
    let mut text = String::new();
    if let Some(warning) = words::warning(result.verdict, "the study is void: read its findings first") {
        text += &format!("\n{}\n", style.paint(Style::of_verdict(result.verdict), warning));
    }
    let title = format!("{}: compositions, CPU us per request", result.study);
    text += &format!("\n{}\n\n{}\n", style.paint(Paint::Bold, &title), compositions(result));
    text.extend(summary(result).iter().map(|line| style.wrap(line, 2) + "\n"));
    text.extend(left_out(&result.left_out).iter().map(|line| style.wrap(line, 2) + "\n"));
    text + &format!("\n{}\n", style.wrap(&method_of_check(result.confidence), 2))
}

fn compositions(result: &SizeCheckResult) -> String {
    let header =
        ["composition", "load", "proxies", "functions", "measured", "predicted", "difference", "error"];
    let mut rows = Rows::new(&header);
    for one in &result.compositions {
        let [low, high] = [one.difference_us.low, one.difference_us.high].map(|us| signed(us, 1));
        let mark = if one.is_interaction { " *" } else { "" };
        rows.add(
            &one.arm,
            vec![
                one.load.clone(),
                one.hops.to_string(),
                one.functions.to_string(),
                level(&one.measured_us),
                level(&one.predicted_us),
                format!("{} ({low} to {high}){mark}", signed(one.difference_us.estimate, 1)),
                format!(
                    "{} %{}",
                    signed(100.0 * one.error_share, 1),
                    if one.is_extrapolated { " ~" } else { "" }
                ),
            ],
        );
    }
    rows.text()
}

fn summary(result: &SizeCheckResult) -> Vec<String> {
    let (Some(mean), Some(worst)) = (result.mean_error_share, result.worst_error_share) else {
        return vec!["no composition can be compared".to_owned()];
    };
    let is_worst = |one: &&CheckedComposition| !one.is_extrapolated && one.error_share.abs() >= worst;
    let at = result.compositions.iter().find(is_worst);
    let at = at.map_or_else(String::new, |one| format!(" (`{}` under {})", one.arm, one.load));
    let found: Vec<String> = result
        .compositions
        .iter()
        .filter(|one| one.is_interaction)
        .map(|one| format!("`{}` under {}", one.arm, one.load))
        .collect();
    let mut lines =
        vec![format!("error: {:.1} % on average, {:.1} % at worst{at}", 100.0 * mean, 100.0 * worst)];
    let by_chance = (1.0 - result.confidence) * result.compositions.len() as f64;
    lines.push(if found.is_empty() {
        "* no interaction: every interval of a difference contains 0".to_owned()
    } else {
        format!(
            "* interactions, whose difference excludes 0: {}. By chance, {} of {} would",
            found.join(", "),
            grouped(by_chance, 1),
            result.compositions.len()
        )
    });
    let extrapolated = result.compositions.iter().filter(|one| one.is_extrapolated).count();
    if extrapolated > 0 {
        lines.push(format!(
            "~ extrapolated, and not in these errors: {extrapolated}. A proxy is less busy or busier than those that its parts were \
             measured on"
        ));
    }
    lines
}

/// What is left out, with all compositions of one reason in a sentence.
fn left_out(all: &[UncheckedComposition]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for one in all {
        let load = one.load.as_ref().map_or_else(String::new, |load| format!(" under {load}"));
        let name = format!("`{}`{load}", one.arm);
        match reasons.iter_mut().find(|(reason, _)| *reason == one.reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((&one.reason, vec![name])),
        }
    }
    let line = |(reason, names): (&str, Vec<String>)| format!("left out: {}: {reason}", names.join(", "));
    reasons.into_iter().map(line).collect()
}

fn method_of_check(confidence: f64) -> String {
    format!(
        "Predicted is the plain proxy for each proxy, and the cost of each function alone, of the same study at the rate of the \
         composition. The difference is measured minus predicted, within rounds; the error is predicted minus measured, of the measured. \
         Intervals are those of {:.0} %.",
        100.0 * confidence
    )
}

#[cfg(test)]
mod tests {
    use hoptax_result::{SizeBottleneck, SizeSide};

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
                SizePoint { rate: 18_975.0, cores: about(1.95, 0.03) },
            ],
            bottleneck: SizeBottleneck {
                service: "gateway".to_owned(),
                rate: about(18_975.0, 0.03),
                or: vec!["cart".to_owned()],
            },
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
    fn a_void_source_is_said() {
        let mut sized = sized();
        sized.sources[0].verdict = Verdict::Void;
        assert!(size(&sized, WIDE).contains("a result is void"));
    }

    fn checked(arm: &str, measured: f64, difference: f64) -> CheckedComposition {
        let difference_us = Interval { estimate: difference, low: difference - 2.0, high: difference + 2.0 };
        CheckedComposition {
            arm: arm.to_owned(),
            load: "saturation".to_owned(),
            hops: 1,
            functions: 2,
            measured_us: about(measured, 0.02),
            predicted_us: about(measured - difference, 0.03),
            difference_us,
            error_share: -difference / measured,
            is_interaction: !difference_us.contains(0.0),
            is_extrapolated: arm == "idle-hops",
        }
    }

    #[test]
    fn a_check_names_interactions_and_what_it_left_out() {
        let result = SizeCheckResult {
            format: SizeCheckResult::FORMAT.to_owned(),
            study: "prediction".to_owned(),
            verdict: Verdict::Sound,
            confidence: 0.95,
            compositions: vec![
                checked("jwt-and-lua", 110.0, 1.1),
                checked("two-hops", 150.0, -7.5),
                checked("idle-hops", 290.0, 120.0),
            ],
            left_out: vec![UncheckedComposition {
                arm: "mesh".to_owned(),
                load: None,
                reason: "no arm has only `lua`".to_owned(),
            }],
            mean_error_share: Some(0.03),
            worst_error_share: Some(0.05),
        };
        insta::assert_snapshot!(size_check(&result, WIDE));
    }
}
