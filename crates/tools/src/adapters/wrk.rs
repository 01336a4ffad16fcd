//! wrk: a closed loop without a rate.

use super::command_line::command_line;
use super::wrk_report::read;
use super::wrk2;
use crate::tool::Tool;

pub(super) const TOOL: Tool = Tool {
    name: "wrk",
    program: "wrk",
    version: "-v",
    command: |offer| match offer.rate {
        Some(_) => Err("does not support a rate"),
        None => Ok(command_line(
            offer,
            &[
                "-t1",
                &format!("-c{}", offer.connections),
                &format!("-d{}s", offer.seconds),
                "--latency",
                offer.url,
            ],
        )),
    },
    script: None,
    read: |output| match output.text {
        // The program of wrk2 is also named `wrk`.
        text if is_of_wrk2(text) => wrk2::read(text),
        text => read(text, true),
    },
    has_statistics: false,
    not_reported: &[
        "intended starts: each connection sends the next request after the response",
        "latency of requests in flight at the end, and of those that exceeded its timeout",
    ],
};

/// Returns true if the output is from wrk2: only wrk2 calibrates and prints `HdrHistogram` output.
fn is_of_wrk2(text: &str) -> bool {
    ["Thread calibration: ", "(HdrHistogram - "].into_iter().any(|mark| text.contains(mark))
}

#[cfg(test)]
mod tests {
    use hoptax_result::CountRange;

    use super::*;

    #[test]
    fn an_error_is_no_report() {
        assert!(read("unable to connect to 127.0.0.1:1 Connection refused\n", true).is_err());
    }

    #[test]
    fn late_responses_may_be_refused_ones() {
        let text = "  2 threads and 16 connections\n  100 requests in 2.00s, 3.87MB read\n  Socket errors: connect 1, read 20, write 300, timeout 4\n  \
                    Non-2xx or 3xx responses: 50\nRequests/sec:  50.00\n";
        let range = |at_least, at_most| Some(CountRange { at_least, at_most });
        let wrk = read(text, true).unwrap();
        assert_eq!((wrk.answered, wrk.failed, wrk.connections), (range(46, 50), range(371, 375), Some(16)));
        let wrk2 = read(text, false).unwrap();
        assert_eq!((wrk2.answered, wrk2.failed), (range(50, 50), range(371, 375)));
    }

    #[test]
    fn counters_that_are_lost_or_cannot_be_read_are_not_0() {
        let text = "  100 requests in 2.00s, 3.87MB read\n  Socket errors: connect 1, read 20, write 300, timeout 4\n  \
                    Non-2xx or 3xx responses: 50\nRequests/sec:  50.00\n";
        let of = |text: &str| {
            let read = read(text, true).unwrap();
            (read.answered.map(|range| (range.at_least, range.at_most)), read.failed, read.unread.join("; "))
        };
        // The last number that is left may lack digits.
        for end in ["Requests/sec", "0\nRequests/sec", "  Non-2xx", "  Socket"] {
            let (answered, failed, said) = of(text.split_once(end).unwrap().0);
            assert_eq!((answered, failed), (Some((0, 100)), None), "{end}");
            assert!(said.contains("the text ends before `Requests/sec:`"), "{said}");
        }
        for line in [
            "0 connect, 20 read, 0 write, 4 timeout",
            "connect 1, read 2,000, write 3, timeout 4",
            "connect 1",
        ] {
            let (answered, failed, said) =
                of(&text.replace("connect 1, read 20, write 300, timeout 4", line));
            assert_eq!((answered, failed), (Some((0, 50)), None), "{line}");
            assert!(said.contains(&format!("`Socket errors: {line}` cannot be read")), "{said}");
        }
        let (answered, failed, _) = of(&text.replace("responses: 50", "responses: 5,000"));
        assert_eq!((answered, failed), (Some((0, 100)), None));
        let (answered, ..) = of(&text.replace("Non-2xx", "Non 2xx"));
        assert_eq!(answered, Some((46, 50)));
    }

    #[test]
    fn columns_are_those_of_the_header_and_a_time_without_a_unit_is_named() {
        let text = "  Thread Stats   Max  Avg   Stdev\n    Latency  3.00ms  1529112  0.50ms\n  100 requests in 2.00s, 1MB read\nRequests/sec: 50.00\n";
        let read = read(text, true).unwrap();
        let latency = read.latency;
        assert_eq!(
            (latency.mean_us, latency.standard_deviation_us, latency.max_us),
            (None, Some(500.0), Some(3e3))
        );
        assert_eq!(read.unread, ["the mean: `1529112` has no unit, and hoptax does not guess it"]);
        let commas = crate::adapters::wrk_report::read(&text.replace("1529112", "1,10ms"), true).unwrap();
        assert_eq!(commas.unread, ["the mean: `1,10ms` has a comma, but hoptax reads numbers with points"]);
    }
}
