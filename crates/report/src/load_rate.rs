//! The rate of a load of a study in words, the loads that numbers hold for, and how busy a load kept the proxies.

use hoptax_result::{ArmResult, CostMeasure, LoadSpec, Loop, Measure, StudyResult};
use hoptax_stats::median;

use crate::numbers::{grouped, percent};

/// The rate of a load as it was planned: `30 %`, `4,000/s`.
pub(crate) fn planned(load: &LoadSpec) -> String {
    match (load.utilisation, load.rate) {
        (Some(share), _) => percent(share, 0),
        (None, Some(rate)) => format!("{}/s", grouped(rate, 0)),
        (None, None) => "closed loop".to_owned(),
    }
}

/// The rate of a load, and how busy it kept the proxies: `30 %, busy 43 %`.
pub(crate) fn rate(result: &StudyResult, load: &LoadSpec) -> String {
    let busy = busy_share(result, load).filter(|_| load.utilisation.is_some());
    let busy = busy.map_or_else(String::new, |share| format!(", busy {}", percent(share, 0)));
    planned(load) + &busy
}

/// The load that a number holds for, as in `at 4,000 requests/s, uniform arrivals`.
pub fn at_load(load: &LoadSpec) -> String {
    match (load.loop_, load.rate, load.utilisation) {
        (Loop::Closed, ..) => "at saturation".to_owned(),
        (Loop::Open, Some(rate), _) => {
            // Uniform arrivals leave no queue behind other callers.
            let arrivals =
                load.arrivals.as_ref().map_or_else(String::new, |arrivals| format!(", {arrivals} arrivals"));
            format!("at {} requests/s{arrivals}", grouped(rate, 0))
        }
        (Loop::Open, None, Some(share)) => format!("at {} of each arm's capacity", percent(share, 0)),
        (Loop::Open, None, None) => format!("under {}", load.name),
    }
}

/// The loads of a study that its numbers in these measures hold for, as the end of a title: `; CPU time and response times at 4,000
/// requests/s`. Empty if none of them is CPU time or a response time, and if the loads are not known.
pub fn at_loads(loads: &[LoadSpec], measures: &[CostMeasure]) -> String {
    let cpu = LoadSpec::usual(loads, Measure::Cpu)
        .filter(|_| measures.iter().any(|measure| measure.measure() == Measure::Cpu));
    let times = LoadSpec::usual(loads, Measure::ResponseP50)
        .filter(|_| measures.iter().any(|measure| measure.is_quantile()));
    match (cpu, times) {
        (Some(cpu), Some(times)) if cpu == times => format!("; CPU time and response times {}", at_load(cpu)),
        (cpu, times) => {
            let of = |what: &str, load: Option<&LoadSpec>| {
                load.map_or_else(String::new, |load| format!("; {what} {}", at_load(load)))
            };
            of("CPU time", cpu) + &of("response times", times)
        }
    }
}

/// Returns the busy share of the proxies under a load, the median over arms. None without proxies.
pub(crate) fn busy_share(result: &StudyResult, load: &LoadSpec) -> Option<f64> {
    let of_arm = |arm: &ArmResult| arm.under(&load.name)?.busy_share();
    median(&result.arms.iter().filter_map(of_arm).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use hoptax_result::sample;

    use super::*;

    #[test]
    fn a_title_names_the_loads_of_the_measures_that_it_has() {
        let open = LoadSpec { loop_: Loop::Open, rate: Some(4_000.0), ..sample::closed_loop("in-use", 16) };
        let loads = [sample::closed_loop("full", 16), open];
        let (cpu, p50, rate) = (CostMeasure::CpuUs, CostMeasure::ResponseP50Us, CostMeasure::MaxRate);
        assert_eq!(at_loads(&loads, &[cpu, p50]), "; CPU time and response times at 4,000 requests/s");
        assert_eq!(at_loads(&loads, &[p50, rate]), "; response times at 4,000 requests/s");
        assert_eq!(at_loads(&loads[..1], &[cpu, p50]), "; CPU time at saturation");
        assert_eq!([at_loads(&loads, &[rate]), at_loads(&[], &[cpu, p50])], ["", ""]);
    }
}
