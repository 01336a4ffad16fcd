//! A search that asks another program for its trials, so that it can be compared with other searches on the same subject.
//!
//! Arguments: the lowest load, the highest load, and for each goal `LOSS_RATIO,FINAL_S,FIRST_S,SUM_S,EXCEED_RATIO,WIDTH`. Each
//! trial is printed as `trial LOAD SECONDS`, and a line with its loss ratio is read. At the end, each goal is printed as
//! `goal LOWER UPPER CONDITIONAL_THROUGHPUT`, with `-` for what was not found.

#![allow(clippy::print_stdout, reason = "the dialogue uses stdout")]

use std::error::Error;
use std::time::Duration;
use std::{env, io};

use hoptax_stats::search::{Goal, Limits, Measured, Outcome, Search, Step};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [min, max, goals @ ..] = arguments.as_slice() else { return Err("give MIN MAX GOAL...".into()) };
    let goals: Vec<(f64, Goal)> = goals.iter().map(|text| goal(text)).collect::<Result<_, _>>()?;
    let limits = Limits { budget: Duration::from_hours(1_000), ..Limits::new(min.parse()?, max.parse()?) };
    let mut search = Search::new(&goals.iter().map(|(_, goal)| *goal).collect::<Vec<_>>(), limits)?;
    while let Step::Trial(planned) = search.next() {
        println!("trial {} {}", planned.load, planned.duration.as_secs_f64());
        let mut line = String::new();
        if io::stdin().read_line(&mut line)? == 0 {
            return Err("the dialogue ended before the search".into());
        }
        let loss_ratio: f64 = line.trim().parse()?;
        let outcomes = goals.iter().map(|(permitted, _)| Outcome::of_loss(loss_ratio, *permitted)).collect();
        let carried = planned.load * (1.0 - loss_ratio);
        search.record(&planned, Measured { took: planned.duration, carried, outcomes: Some(outcomes) });
    }
    for result in search.results() {
        let text = |load: Option<f64>| load.map_or("-".to_owned(), |load| load.to_string());
        println!(
            "goal {} {} {}",
            text(result.lower),
            text(result.upper),
            text(result.conditional_throughput)
        );
    }
    Ok(())
}

/// Parses a permitted loss ratio and a goal.
fn goal(text: &str) -> Result<(f64, Goal), Box<dyn Error>> {
    let numbers: Vec<f64> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let [permitted, final_s, first_s, sum_s, exceed_ratio, width] = numbers[..] else {
        return Err(format!("`{text}` is not a goal").into());
    };
    let seconds = Duration::from_secs_f64;
    let goal = Goal {
        final_trial: seconds(final_s),
        first_trial: seconds(first_s),
        duration_sum: seconds(sum_s),
        exceed_ratio,
        width,
    };
    Ok((permitted, goal))
}
