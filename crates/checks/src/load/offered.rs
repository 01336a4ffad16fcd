//! The planned load must have been offered, and evenly.

use hoptax_result::{
    EndedBy, Finding, LoadResult, Loop, Measured, Severity, Window, count, counted, grouped, percent,
    why_unsent,
};

use super::limits::{Ends, bound_by};
use crate::check::Check;
use crate::thresholds;

/// Returns the rate that the subject sustained, as the end of a sentence. The record alone does not tell it: if the backlog of the warm-up
/// took all of that rate, the subject answered at its own rate all the time, but answered no request that was due in the record.
pub(super) fn sustained(result: &LoadResult) -> String {
    let rate = result.sustained_rate.filter(|_| result.plan.loop_ == Loop::Open);
    rate.map_or_else(String::new, |rate| {
        format!("; the subject answered {} {}", per_second(rate), result.plan.sustained_since())
    })
}

/// Advice when the subject is too slow.
fn not_sustained(result: &LoadResult) -> String {
    let rate = match result.sustained_rate {
        Some(rate) if rate > 0.0 => format!("the rate to below {}", per_second(rate)),
        _ => "the rate".to_owned(),
    };
    format!(
        "the subject does not sustain this rate on these connections: lower {rate} or raise `--connections`"
    )
}

fn per_second(rate: f64) -> String {
    format!("{}/s", grouped(rate, usize::from(rate < 10.0)))
}

/// The wait of an unsent request is not measured. Requests that the plan skips are
/// exempt: the plan states the setting, and the result their count.
pub(super) const OFFERED: Check<LoadResult> = Check {
    id: "offered",
    protects_from: "a load below the requested one",
    source: "Lancet (ATC 2019), check of the rate; RFC 9411, sustained rate",
    judge: |result, limits| {
        let book = &result.book;
        let min = limits.value(&thresholds::OFFERED_SHARE);
        if book.is_empty() && result.ended_by == EndedBy::Interrupt {
            // The user ended it, whatever its rate and its duration.
            return Vec::new();
        }
        if book.planned == 0 {
            return vec![Finding::new(
                "offered",
                Severity::Fail,
                Measured::percent(0.0, min),
                "no request was planned in the recorded time".to_owned(),
                "raise the rate or the duration",
            )];
        }
        let share = book.sent as f64 / book.planned as f64;
        if share >= min {
            return too_slow(result, min).into_iter().collect();
        }
        let of_reason =
            |(reason, number): (&String, &u64)| format!("{} ({})", count(*number), why_unsent(reason));
        let reasons: Vec<String> = result.unsent.iter().map(of_reason).collect();
        let unsent = if reasons.is_empty() { count(book.unsent) } else { reasons.join(", ") };
        let sentence = format!(
            "unsent: {unsent}; sent: {} of {} planned requests{}",
            percent(share, 1),
            count(book.planned),
            sustained(result)
        );
        let measured = Measured::percent(share, min);
        let is_as_requested = is_as_requested(result, share, min);
        vec![if is_as_requested && book.sent == 0 {
            let advice = "all requests were skipped as requested: lower the rate, or raise `--connections`";
            Finding::new("offered", Severity::Fail, measured, sentence, advice)
        } else if is_as_requested {
            let advice = "requests were skipped as requested: the numbers cover the sent requests only";
            Finding::new("offered", Severity::Warn, measured, sentence, advice)
        } else {
            Finding::new("offered", Severity::Fail, measured, sentence, &not_sustained(result))
                .bounding(&["times"])
        }]
    },
    withhold: Some(|result, finding, _| bound_by(result, finding, Ends::Lower)),
};

/// A number of requests ends a load when all of them are sent, however long that takes, so their rate may be below the
/// planned one. The number of arrivals in that time is random: it counts as too low from four of its standard deviations
/// on, those of a Poisson process.
fn too_slow(result: &LoadResult, min: f64) -> Option<Finding> {
    let target = result.rate.target.filter(|_| result.ended_by == EndedBy::Requests)?;
    let due = target * result.recorded_s;
    let share = result.book.sent as f64 / due;
    if due <= 0.0 || share + 4.0 / due.sqrt() >= min {
        return None;
    }
    let sentence = format!(
        "all requests were sent, but at {} of the planned rate of {target}/s{}",
        percent(share, 1),
        sustained(result),
        target = grouped(target, 0)
    );
    let advice = not_sustained(result);
    // Every request has its response time, from its intended start on.
    let finding = Finding::new("offered", Severity::Fail, Measured::percent(share, min), sentence, &advice);
    Some(finding.about(&["rates"]).keeping())
}

/// Returns true if enough requests would have been sent without the skipping that the plan requests.
fn is_as_requested(result: &LoadResult, share: f64, min: f64) -> bool {
    let skipped = |reason: &str, is_requested: bool| {
        if is_requested { result.unsent.get(reason).copied().unwrap_or(0) } else { 0 }
    };
    let requested =
        skipped("busy", result.plan.when_busy != "wait") + skipped("late", result.plan.when_late == "skip");
    share + requested as f64 / result.book.planned as f64 >= min
}

/// The load must match the plan at all times, not only on average.
pub(super) const LOAD_CONSTANT: Check<LoadResult> = Check {
    id: "load-constant",
    protects_from: "a stall and the burst after it, which cancel in the mean",
    source: "RFC 9411: the sustained rate deviates by less than 5 %, here in each twentieth of the trial",
    judge: |result, limits| {
        if result.plan.loop_ == Loop::Closed || result.windows.is_empty() {
            return Vec::new();
        }
        let max = limits.value(&thresholds::LOAD_DEVIATION);
        // The excess over the deviation by chance decides; the deviation itself is stated.
        let (excess, worst) = result
            .windows
            .chunks(result.windows.len().div_ceil(20))
            .map(|part| {
                let sum = |of: fn(&Window) -> u64| part.iter().map(of).sum::<u64>() as f64;
                let (planned, sent) = (sum(|window| window.planned), sum(|window| window.sent));
                let deviation = (sent - planned).abs() / planned.max(1.0);
                // A request or two may fall into the next window.
                (deviation - 2.0 / planned.max(1.0), deviation)
            })
            .fold((0.0, 0.0), |worst, part| if part.0 > worst.0 { part } else { worst });
        if excess <= max {
            return Vec::new();
        }
        let skips = result.plan.when_busy != "wait" || result.plan.when_late == "skip";
        // Requests that waited for a connection were held up by the subject, and their wait is recorded: the
        // generator did not stall.
        let blocked = result.book.blocked + result.unsent.values().sum::<u64>();
        let missing: u64 =
            result.windows.iter().map(|window| window.planned.saturating_sub(window.sent)).sum();
        // This holds only if the generator itself handled every request well within a twentieth of the trial.
        let part_us = result.recorded_s * 1e6 / 20.0;
        let is_prompt = result.latency.own_lag.max_us.is_some_and(|us| us < max * part_us);
        let were_busy = blocked > 0 && blocked >= missing && is_prompt;
        let is_explained = skips || were_busy;
        let busy = if were_busy {
            format!(
                "; all connections were busy: {} waited for one, or {} not sent",
                counted(blocked, "request"),
                if blocked == 1 { "was" } else { "were" }
            )
        } else {
            String::new()
        };
        let finding = Finding::new(
            "load-constant",
            if is_explained { Severity::Warn } else { Severity::Fail },
            Measured::percent(worst, max),
            format!(
                "the number of requests sent deviates from the plan by up to {} in a twentieth of the trial{busy}",
                percent(worst, 1)
            ),
            if were_busy {
                "lower the rate, or raise `--connections`: see connections-busy"
            } else {
                "the generator stalled or all connections were busy: see send-lag and connections-busy"
            },
        );
        // Response times contain the delay, and `send-lag` judges it.
        vec![finding.about(&["times"]).keeping()]
    },
    withhold: None,
};

/// All requested connections must be open.
pub(super) const CONNECTIONS_LOST: Check<LoadResult> = Check {
    id: "connections-lost",
    protects_from: "a load on fewer connections than requested",
    source: "RFC 9411: concurrent connections deviate by less than 10 %",
    judge: |result, limits| {
        let plan = &result.plan;
        let keeps = plan.connect == "ahead"
            && plan.requests_per_connection.is_none()
            && plan.connection_age_s.is_none()
            && plan.network.resolve_every_s.is_none();
        let fewest = result.windows.iter().filter_map(|window| window.connections).min();
        let (true, Some(fewest)) = (keeps, fewest) else { return Vec::new() };
        let share = 1.0 - fewest as f64 / f64::from(plan.connections.max(1));
        let max = limits.value(&thresholds::CONNECTIONS_LOST);
        if share <= max {
            return Vec::new();
        }
        vec![Finding::new(
            "connections-lost",
            Severity::Warn,
            Measured::percent(share, max),
            format!(
                "at times, {fewest} of {} {} open, {} fewer than requested{}",
                counted(plan.connections.into(), "connection"),
                if plan.connections == 1 { "was" } else { "were" },
                percent(share, 0),
                closed(result)
            ),
            advice_on_closing(result),
        )]
    },
    withhold: None,
};

/// Returns the reason why connections were closed, as the end of a sentence.
fn closed(result: &LoadResult) -> String {
    let why = |(why, number): (&String, &u64)| {
        let why = match why.as_str() {
            "server" => "by the server",
            "request" => "as the request asked for it",
            "violation" => "because the server violated the protocol",
            "refused" => "because the server refused a request",
            "early-response" => "because the server responded before it had the whole request",
            "timed-out" => "with a request that timed out",
            "generator" => "because a resource of this machine was exhausted",
            other => other,
        };
        format!("{} {why}", count(*number))
    };
    let all: Vec<String> = result.closed.iter().map(why).collect();
    if all.is_empty() { String::new() } else { format!("; connections closed: {}", all.join(", ")) }
}

/// Returns the advice for the most frequent reason for which connections were closed.
fn advice_on_closing(result: &LoadResult) -> &'static str {
    let most = result.closed.iter().max_by_key(|(_, count)| **count).map(|(why, _)| why.as_str());
    match most {
        Some("request") => {
            "the requests end their connections (`Connection: close` or an upgrade): remove that header if clients keep connections"
        }
        Some("violation") => {
            "hoptax closes a connection whose state is unknown: fix the violations of the server, which the reasons of failures and the check \
             deviations name"
        }
        Some("refused") => {
            "hoptax replaces a connection on which the server refuses a request: use fewer `--streams` or a lower rate, or raise the server's \
             limits"
        }
        Some("early-response") => {
            "the server responds before it has read the request, so its connection cannot be used again: look at a response with curl"
        }
        Some("timed-out") => {
            "hoptax closes a connection on which a response is overdue: lower the rate, or raise `--timeout`"
        }
        Some("generator") => "raise the limits of this machine, which the reasons of failures name",
        _ => {
            "the server closes connections: raise its limits, or set `--requests-per-connection` to match them"
        }
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{EndedBy, LoadResult, Severity, Verdict};

    use crate::load::tests::fired;

    fn skip(reason: &'static str) -> impl FnOnce(&mut LoadResult) {
        move |result| {
            (result.book.sent, result.book.answered, result.book.unsent) = (197_000, 197_000, 3_000);
            result.unsent.insert(reason.to_owned(), 3_000);
        }
    }

    #[test]
    fn unsent_requests_fire() {
        assert_eq!(fired("offered", skip("end")).0, Some(Severity::Fail));
        assert_eq!(fired("offered", skip("busy")).0, Some(Severity::Fail), "skipping was not requested");
    }

    #[test]
    fn the_advice_states_the_sustained_rate_if_only_the_backlog_was_answered() {
        let (severity, result) = fired("offered", |result| {
            let planned = result.book.planned;
            result.book = hoptax_result::Book { planned, unsent: planned, ..Default::default() };
            result.unsent.insert("end".to_owned(), planned);
            result.sustained_rate = Some(97.6);
        });
        assert_eq!(severity, Some(Severity::Fail));
        let found = result.findings.iter().find(|finding| finding.id == "offered").unwrap();
        let expected = "sent: 0.0 % of 200,000 planned requests; the subject answered 98/s from the start of the warm-up on";
        assert!(found.message.ends_with(expected), "{}", found.message);
        assert!(found.message.starts_with("unsent: 200,000 (at the end); "), "{}", found.message);
        assert!(
            found.advice.contains("lower the rate to below 98/s or raise `--connections`"),
            "{}",
            found.advice
        );
        let (_, result) = fired("offered", |result| {
            (result.book.sent, result.book.unsent) = (0, result.book.planned);
            (result.sustained_rate, result.plan.warmup_s) = (Some(97.6), 0.0);
        });
        let found = result.findings.iter().find(|finding| finding.id == "offered").unwrap();
        assert!(
            found.message.ends_with("; the subject answered 98/s from the start on"),
            "{}",
            found.message
        );
    }

    #[test]
    fn requests_skipped_on_request_warn_and_do_not_void() {
        let invalidate = |result: &mut LoadResult| {
            skip("busy")(result);
            result.plan.when_busy = "skip".to_owned();
        };
        assert_eq!(fired("offered", invalidate).0, Some(Severity::Warn));
        let other = |result: &mut LoadResult| {
            skip("end")(result);
            result.plan.when_busy = "skip".to_owned();
        };
        assert_eq!(fired("offered", other).0, Some(Severity::Fail), "these were not skipped");
    }

    #[test]
    fn a_load_whose_requests_were_all_skipped_on_request_is_void() {
        let (severity, result) = fired("offered", |result| {
            let planned = result.book.planned;
            result.book = hoptax_result::Book { planned, unsent: planned, ..Default::default() };
            result.unsent.insert("busy".to_owned(), planned);
            result.plan.when_busy = "skip".to_owned();
        });
        assert_eq!((severity, result.verdict), (Some(Severity::Fail), Verdict::Void));
    }

    #[test]
    fn a_number_of_requests_that_took_longer_than_planned_fires() {
        let over = |seconds: f64| {
            fired("offered", |result| {
                result.ended_by = EndedBy::Requests;
                result.rate.target = Some(result.book.planned as f64);
                result.recorded_s = seconds;
            })
            .0
        };
        // 200,000 requests at as many per second; the standard deviation of their number is 0.2 %.
        assert_eq!((over(1.0), over(1.015)), (None, None));
        assert_eq!((over(1.03), over(5.0)), (Some(Severity::Fail), Some(Severity::Fail)));
    }

    #[test]
    fn an_empty_trial_fires() {
        assert_eq!(
            fired("offered", |result| result.book = hoptax_result::Book::default()).0,
            Some(Severity::Fail)
        );
    }

    #[test]
    fn the_deviation_is_stated_without_the_tolerance_and_with_its_cause_if_that_is_known() {
        let message = |blocked: u64| {
            let (_, result) = fired("load-constant", |result| {
                for window in &mut result.windows {
                    (window.planned, window.sent) = (1, 1);
                }
                // All five requests of a twentieth.
                result.windows[40..45].iter_mut().for_each(|window| window.sent = 0);
                result.book.blocked = blocked;
            });
            let found = result.findings.into_iter().find(|finding| finding.id == "load-constant").unwrap();
            (found.message, found.advice)
        };
        let (stalled, _) = message(0);
        assert!(stalled.ends_with("by up to 100.0 % in a twentieth of the trial"), "{stalled}");
        let (busy, advice) = message(5);
        assert!(busy.ends_with("; all connections were busy: 5 requests waited for one, or were not sent"));
        assert!(advice.starts_with("lower the rate"), "{advice}");
    }

    #[test]
    fn busy_connections_stand_before_the_deviation_that_they_cause() {
        let (_, result) = fired("load-constant", |result| {
            result.ended_by = EndedBy::Interrupt;
            result.windows[40..45].iter_mut().for_each(|window| window.sent = 0);
            result.book.blocked = 20_000;
        });
        let ids: Vec<&str> = result.findings.iter().map(|finding| finding.id.as_str()).collect();
        let place = |id: &str| ids.iter().position(|one| *one == id);
        let (busy, deviation) = (place("connections-busy"), place("load-constant"));
        assert!(busy.is_some() && deviation.is_some() && busy < deviation, "{ids:?}");
    }

    #[test]
    fn a_stall_and_its_burst_fail_and_warn_if_it_was_the_subject_that_stalled() {
        let stalled = |blocked: u64, longest_own_lag_us: Option<f64>| {
            fired("load-constant", |result| {
                for window in &mut result.windows[40..45] {
                    window.sent = 0;
                }
                result.windows[45].sent *= 6;
                result.book.blocked = blocked;
                let longest_us = &mut result.latency.own_lag.max_us;
                *longest_us = longest_own_lag_us.or(*longest_us);
            })
            .0
        };
        assert_eq!(stalled(0, None), Some(Severity::Fail));
        assert_eq!(stalled(10_000, None), Some(Severity::Warn));
        // The generator stalled: the requests that it then sent at once waited for connections.
        assert_eq!(stalled(10_000, Some(500_000.0)), Some(Severity::Fail));
    }

    #[test]
    fn lost_connections_fire_unless_they_are_to_be_closed() {
        let lose = |result: &mut LoadResult| result.windows[3].connections = Some(13);
        assert_eq!(fired("connections-lost", lose).0, Some(Severity::Warn));
        // The remedy depends on the side that closed them.
        let of = |closed: &[(&str, u64)]| {
            let closed = closed.iter().map(|(why, count)| ((*why).to_owned(), *count)).collect();
            let (_, result) = fired("connections-lost", |result| {
                lose(result);
                result.closed = closed;
            });
            let found = result.findings.into_iter().find(|finding| finding.id == "connections-lost").unwrap();
            (found.message, found.advice)
        };
        assert!(of(&[("server", 9)]).1.starts_with("the server closes connections"));
        let (message, advice) = of(&[("request", 9), ("server", 2)]);
        let expected = "; connections closed: 9 as the request asked for it, 2 by the server";
        assert!(message.ends_with(expected) && advice.starts_with("the requests end their"), "{message}");
        for why in ["violation", "refused", "early-response", "timed-out", "generator"] {
            let (message, advice) = of(&[(why, 9)]);
            assert!(!advice.contains("the server closes connections"), "{advice}");
            assert!(!message.contains(&format!("9 {why}")), "{message}");
        }
        let all = |result: &mut LoadResult| result.windows[3].connections = Some(0);
        assert_eq!(fired("connections-lost", all).0, Some(Severity::Warn));
        let (severity, _) = fired("connections-lost", |result| {
            result.plan.requests_per_connection = Some("10".to_owned());
            lose(result);
        });
        assert_eq!(severity, None);
    }
}
