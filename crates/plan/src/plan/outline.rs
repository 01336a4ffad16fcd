//! Prints a plan, for previews of a study file before it runs.

use std::fmt::Write;

use hoptax_result::{counted, grouped, percent};

use super::{Load, Open, Plan, Rate};

impl Plan {
    /// Its loads, arms and copies, one per line.
    pub fn outline(&self) -> String {
        let mut text = format!(
            "study `{}`: {}, seed {}\n\nloads\n",
            self.name,
            counted(self.rounds.into(), "round"),
            self.seed
        );
        let width = self.loads.iter().map(|load| load.name.len()).max().unwrap_or(0);
        for load in &self.loads {
            let taking = self.arms.iter().filter(|arm| arm.takes_part(load)).count();
            let of_all = load.arms.as_ref().map(|_| format!(", {taking} of {} arms", self.arms.len()));
            let _ =
                writeln!(text, "  {:<width$}  {}{}", load.name, in_words(load), of_all.unwrap_or_default());
        }
        if let Some(timeline) = self.timeline.as_ref().filter(|timeline| !timeline.events.is_empty()) {
            text.push_str("\nevents\n");
            for event in &timeline.events {
                let _ = writeln!(text, "  at {} s  {}", grouped(event.at.as_secs_f64(), 2), event.change);
            }
        }
        text.push_str("\narms\n");
        let width = self.arms.iter().map(|arm| arm.id.len()).max().unwrap_or(0);
        for arm in &self.arms {
            let versus = self.reference(arm).map(|other| format!("compared with {}", other.id));
            let copies = (arm.copies > 1).then(|| format!("{} copies", arm.copies));
            let notes: Vec<String> = versus.into_iter().chain(copies).collect();
            let line = format!("  {:<width$}  {}", arm.id, notes.join(", "));
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let proxies: usize = self.subjects().map(|subject| subject.arm.chain.hops.len()).sum();
        let slices = grouped(self.slices_per_round() as f64, 0);
        if let Some(timeline) = &self.timeline {
            let arms = grouped(self.arms.len() as f64, 0);
            let interval_s = grouped(timeline.interval.as_secs_f64(), 2);
            let _ = writeln!(
                text,
                "\n{arms} arms, one alive at a time, {slices} slices in each round, observed in intervals of {interval_s} s"
            );
            return text;
        }
        let (arms, proxies) = (grouped(self.arms.len() as f64, 0), grouped(proxies as f64, 0));
        let _ =
            writeln!(text, "\n{arms} arms, {proxies} proxies alive at once, {slices} slices in each round");
        text
    }
}

fn in_words(load: &Load) -> String {
    let offered = match &load.open {
        None => "closed loop".to_owned(),
        Some(Open { rate: Rate::PerSecond(rate), arrivals }) => {
            let rate = grouped(*rate, usize::from(rate.fract() > 0.0));
            format!("open loop, {rate} requests/s, {arrivals}")
        }
        Some(Open { rate: Rate::Utilisation(share), arrivals }) => {
            format!("open loop, {} of the capacity of each arm, {arrivals}", percent(*share, 0))
        }
        Some(Open { rate: Rate::OfSlowest(share), arrivals }) => {
            format!("open loop, {} of the capacity of the slowest arm, {arrivals}", percent(*share, 0))
        }
    };
    let each = load.requests_per_connection.map_or_else(String::new, |requests| {
        format!(", {} per connection", counted(requests.into(), "request"))
    });
    let resumption = match load.resumption {
        None => "",
        Some(true) => ", sessions resumed",
        Some(false) => ", sessions not resumed",
    };
    let (connections, slice_ms) = (counted(load.connections as u64, "connection"), load.slice.as_millis());
    format!(
        "{offered}, {connections}{each}{resumption}, {} of {slice_ms} ms",
        counted(load.blocks.into(), "slice")
    )
}
