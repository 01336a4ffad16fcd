//! The cost of a thousand agents for their controller: `cargo bench -p hoptax-agents`, or another number with `-- 10000`. Agents and
//! controller are one process, so its numbers are upper bounds of the controller's. `lag s` is how long after a second of all agents the
//! controller showed it, at most; `result s` is the time beside the load.

#![allow(clippy::print_stdout, reason = "a bench prints its numbers")]
#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[path = "../tests/simulated/mod.rs"]
mod simulated;

use std::fs;
use std::time::Instant;

use simulated::{Simulated, p99_of_bursts_us};

fn main() {
    let given = std::env::args().skip(1).find_map(|word| word.parse::<u32>().ok());
    let agents = given.unwrap_or(1_000);
    println!(
        "{:>7} {:>8} {:>8} {:>8} {:>9} {:>8} {:>8} {:>8}",
        "agents", "watched", "wall s", "CPU s", "CPU/wall", "peak MB", "lag s", "result s"
    );
    for is_watched in [false, true] {
        let load = Simulated {
            rate: f64::from(agents) * 100.0,
            seconds: 10,
            batches: 20,
            is_paced: true,
            ..Simulated::new(agents)
        };
        begin_peak();
        let (begun, used_s) = (Instant::now(), cpu_s());
        let (sent, _, lines) = load.run(is_watched);
        let (wall_s, used_s) = (begun.elapsed().as_secs_f64(), cpu_s() - used_s);
        let answered = sent.unwrap().result.book.answered;
        assert_eq!(answered, u64::from(agents) * 1_000);
        let (share, peak_mb) = (used_s / wall_s, peak_mb());
        let lag_s = lines.iter().map(|shown| shown.lag_s).fold(0.0, f64::max);
        // What the agents compute before it, greetings, clocks, the notice of the start, and the sum of the reports.
        let result_s = wall_s - load.seconds as f64;
        let (load, cost) = (format!("{agents:>7} {is_watched:>8}"), format!("{used_s:>8.2} {share:>9.2}"));
        println!("{load} {wall_s:>8.1} {cost} {peak_mb:>8} {lag_s:>8.2} {result_s:>8.2}");
    }
    println!("\nbursts of 1,000 agents at a server that needs 50 us for a request");
    println!("{:>20} {:>10}", "clocks off by ms", "p99 us");
    for offset_ms in [0, 1, 10, 100] {
        println!(
            "{:>20} {:>10}",
            format!("+-{offset_ms}"),
            p99_of_bursts_us(1_000, 50_000, offset_ms * 1_000_000)
        );
    }
}

/// CPU time of this process, seconds.
fn cpu_s() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // User and system time, in ticks of a hundredth of a second, are the 12th and 13th word after the name.
    let rest = stat.rsplit(')').next().unwrap();
    rest.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
}

/// Has the peak begin again.
fn begin_peak() {
    fs::write("/proc/self/clear_refs", "5").unwrap();
}

/// Peak resident memory of this process since [`begin_peak`], MB.
fn peak_mb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1_024
}
