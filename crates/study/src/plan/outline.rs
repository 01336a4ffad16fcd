//! A plan in words, for those who want to see what a study file comes to before it runs.

use std::fmt::Write;

use super::{Load, Plan};

/// Time that each slice takes beside its own length, and each process to come up and be warmed up, seconds. Fitted to the rounds of
/// the quick study (76 slices, 25 proxies) and of the price list (516 and 103) on two machines, less the time waited for the host:
/// 4.6 s and 20.8 to 22.5 s beside the slices.
const OF_SLICE_S: f64 = 0.013;
const OF_PROCESS_S: f64 = 0.14;
/// Resident memory of a proxy: the median of the 94 arms of the price list with Envoy 1.40, bytes. The most was 97 MB.
const OF_PROXY_BYTES: f64 = 71_400_000.0;

/// What a plan will take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Time for all rounds, seconds. A host that disturbs slices makes it longer, at most three times.
    pub wall_s: f64,
    /// Memory of all proxies, which are alive at once, bytes.
    pub memory_bytes: f64,
    /// Proxies alive at once.
    pub proxies: usize,
}

impl Plan {
    /// What it will take.
    pub fn estimate(&self) -> Estimate {
        let hops = |subject: usize| self.arm_of(subject).map_or(0, |arm| arm.subject.position.hops().len());
        let proxies: usize = (0..self.subjects.len()).map(hops).sum();
        let slices_s: f64 = self
            .loads
            .iter()
            .map(|load| {
                let slices = self.subjects_under(load).count() as f64 * f64::from(load.blocks);
                slices * (load.slice.as_secs_f64() + OF_SLICE_S)
            })
            .sum();
        Estimate {
            wall_s: f64::from(self.rounds) * (slices_s + proxies as f64 * OF_PROCESS_S),
            memory_bytes: proxies as f64 * OF_PROXY_BYTES,
            proxies,
        }
    }

    /// Its loads, arms and copies, and what it will take, a line for each.
    pub fn outline(&self) -> String {
        let mut text =
            format!("study `{}`: {} rounds, seed {}\n\nloads\n", self.name, self.rounds, self.seed);
        let width = self.loads.iter().map(|load| load.name.len()).max().unwrap_or(0);
        for load in &self.loads {
            let _ = writeln!(text, "  {:<width$}  {}", load.name, in_words(load));
        }
        text.push_str("\narms\n");
        let width = self.arms.iter().map(|arm| arm.id.len()).max().unwrap_or(0);
        for (number, arm) in self.arms.iter().enumerate() {
            let copies = self.subjects.iter().filter(|subject| subject.arm == number).count();
            let other = arm.compared_with.and_then(|other| self.arms.get(other));
            let versus = other.map_or_else(String::new, |other| format!("compared with {}", other.id));
            let copies = if copies > 1 { format!("{copies} copies") } else { String::new() };
            let line = format!("  {:<width$}  {}", arm.id, [versus, copies].concat());
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let Estimate { wall_s, memory_bytes, proxies } = self.estimate();
        let _ = writeln!(
            text,
            "\n{} arms, {proxies} proxies alive at once, {} slices in each round\n\
             about {:.0} minutes, longer where the host disturbs; about {:.1} GB of memory for the proxies",
            self.arms.len(),
            self.slices_per_round(),
            (wall_s / 60.0).ceil(),
            memory_bytes / 1e9
        );
        text
    }
}

fn in_words(load: &Load) -> String {
    let offered = match &load.open {
        None => "closed loop".to_owned(),
        Some((rate, arrivals)) => format!("open loop, {rate} requests/s, {arrivals}"),
    };
    let each = load.requests_per_connection.map_or_else(String::new, |requests| {
        format!(", {requests} request{} on each", if requests == 1 { "" } else { "s" })
    });
    let resumption = match load.resumption {
        None => "",
        Some(true) => ", sessions resumed",
        Some(false) => ", sessions not resumed",
    };
    let (connections, blocks, slice_ms) = (load.connections, load.blocks, load.slice.as_millis());
    format!("{offered}, {connections} connections{each}{resumption}, {blocks} slices of {slice_ms} ms")
}
