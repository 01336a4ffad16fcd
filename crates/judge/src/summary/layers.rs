//! CPU time of the proxies by layer, and top-down counters. Profiles give the shares of layers; slices without the profiler give the CPU
//! time.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_plan::profile::layers::names;
use hoptax_result::{Interval, LayerUse, RoundProfile, TopDownPart};
use hoptax_stats::mean_over_rounds;

use super::samples::Rounds;
use crate::measures;

/// CPU time per request in each layer of a round, us; none without a profile, and if no slice counts.
type ByLayer<'a> = Option<BTreeMap<&'a str, f64>>;

/// The layers of an arm, in the order of [`names`]. In each round, the CPU time per request of the slices is divided among the layers in
/// proportion to their samples, so the layers of an arm add up to its CPU time. Both arms were profiled under `load`.
pub(super) fn layers(
    rounds: &Rounds<'_>,
    arm: &str,
    compared_with: Option<&str>,
    load: &str,
) -> Vec<LayerUse> {
    let own = by_round(rounds, arm, load);
    let other = compared_with.map(|other| by_round(rounds, other, load));
    let found = own.iter().chain(other.iter().flatten()).flatten().flat_map(|layers| layers.keys().copied());
    let found: BTreeSet<&str> = found.collect();
    let part = |layers: &BTreeMap<&str, f64>, layer: &str| layers.get(layer).copied().unwrap_or(0.0);
    let use_of = |layer: &str| -> Option<LayerUse> {
        let level = own.iter().flatten().map(|layers| part(layers, layer));
        let level = mean_over_rounds(&level.collect::<Vec<f64>>(), rounds.confidence)?;
        let added = other.as_ref().and_then(|other| {
            let pairs =
                own.iter().zip(other).filter_map(|(own, other)| Some((own.as_ref()?, other.as_ref()?)));
            let added = pairs.map(|(own, other)| part(own, layer) - part(other, layer));
            mean_over_rounds(&added.collect::<Vec<f64>>(), rounds.confidence)
        });
        Some(LayerUse { layer: layer.to_owned(), cpu_us_per_request: level, added_us_per_request: added })
    };
    names().filter(|name| found.contains(name)).filter_map(use_of).collect()
}

/// CPU time per request that the profiler added, as a share of the CPU time without it.
pub(super) fn profiler_share(rounds: &Rounds<'_>, arm: &str, load: &str) -> Option<Interval> {
    let medians = rounds.medians(arm, load, &measures::CPU);
    let share = |(profile, cpu_us): (Option<&RoundProfile>, Option<f64>)| {
        let profile = profile.filter(|profile| profile.requests > 0 && profile.cpu_ns > 0)?;
        let with_us = profile.cpu_ns as f64 / 1e3 / profile.requests as f64;
        cpu_us.filter(|cpu_us| *cpu_us > 0.0).map(|cpu_us| with_us / cpu_us - 1.0)
    };
    let shares: Vec<f64> = profiles(rounds, arm).zip(medians).filter_map(share).collect();
    mean_over_rounds(&shares, rounds.confidence)
}

/// The top-down counters of an arm, by the names of the parts.
pub(super) fn top_down(rounds: &Rounds<'_>, arm: &str) -> Vec<TopDownPart> {
    let mut shares: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (part, share) in profiles(rounds, arm).flatten().flat_map(|profile| &profile.top_down) {
        shares.entry(part).or_default().push(*share);
    }
    let part = |(part, shares): (&str, Vec<f64>)| {
        Some(TopDownPart { part: part.to_owned(), share: mean_over_rounds(&shares, rounds.confidence)? })
    };
    shares.into_iter().filter_map(part).collect()
}

fn profiles<'a>(rounds: &Rounds<'a>, arm: &str) -> impl Iterator<Item = Option<&'a RoundProfile>> {
    rounds.all.iter().map(move |round| round.arms.get(arm)?.profile.as_ref())
}

fn by_round<'a>(rounds: &Rounds<'a>, arm: &str, load: &str) -> Vec<ByLayer<'a>> {
    let of_round = |(profile, cpu_us): (Option<&'a RoundProfile>, Option<f64>)| {
        let layers = &profile?.layers_ns;
        let all_ns: u64 = layers.values().sum();
        let cpu_us = cpu_us.filter(|_| all_ns > 0)?;
        Some(layers.iter().map(|(layer, ns)| (layer.as_str(), cpu_us * *ns as f64 / all_ns as f64)).collect())
    };
    profiles(rounds, arm).zip(rounds.medians(arm, load, &measures::CPU)).map(of_round).collect()
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ArmRound, StudyRound};
    use proptest::prelude::*;

    use super::*;
    use crate::summary::tests::one_slice;

    const LOAD: &str = "full";

    /// An arm with its CPU time per request, us, and the samples of its layers, nanoseconds.
    type Profiled<'a> = (&'a str, f64, &'a [(&'a str, u64)]);

    fn round(arms: &[Profiled<'_>]) -> StudyRound {
        let sample = |(arm, cpu_us, _): &Profiled<'_>| one_slice(arm, LOAD, &[(&measures::CPU, *cpu_us)]);
        let arm = |(arm, cpu_us, layers): &Profiled<'_>| {
            let layers_ns = layers.iter().map(|(layer, ns)| ((*layer).to_owned(), *ns)).collect();
            let cpu_ns = (*cpu_us * 1.1 * 1e6) as u64;
            let top_down = [("retiring".to_owned(), cpu_us / 100.0)].into();
            let profile =
                RoundProfile { requests: 1_000, cpu_ns, layers_ns, top_down, ..RoundProfile::default() };
            ((*arm).to_owned(), ArmRound { profile: Some(profile), ..ArmRound::default() })
        };
        StudyRound {
            samples: arms.iter().map(sample).collect(),
            arms: arms.iter().map(arm).collect(),
            ..StudyRound::default()
        }
    }

    fn layers_of_jwt(rounds: &Rounds<'_>) -> Vec<LayerUse> {
        layers(rounds, "jwt", Some("plain"), LOAD)
    }

    #[test]
    fn a_layer_has_its_share_of_the_time_without_the_profiler() {
        let plain: Profiled<'_> = ("plain", 20.0, &[("libc", 300), ("kernel: copies", 700)]);
        let all = [1.0, 1.0].map(|_| round(&[plain, ("jwt", 40.0, &[("libc", 100), ("TLS", 100)])]));
        let rounds = Rounds { all: &all, times: &[], confidence: 0.95 };
        let layers = layers_of_jwt(&rounds);
        let of = |layer: &LayerUse| {
            let both = [layer.cpu_us_per_request, layer.added_us_per_request.unwrap()];
            let [own, added] = both.map(|us| us.estimate.round());
            (layer.layer.clone(), own as i64, added as i64)
        };
        let expected = [("kernel: copies", 0, -14), ("libc", 20, 14), ("TLS", 20, 20)];
        let expected = expected.map(|(layer, own, added)| (layer.to_owned(), own, added));
        assert_eq!(layers.iter().map(of).collect::<Vec<_>>(), expected);
        let share = profiler_share(&rounds, "jwt", LOAD).unwrap();
        assert!((share.estimate - 0.1).abs() < 1e-6, "{share:?}");
        let parts = top_down(&rounds, "jwt");
        let [part] = parts.as_slice() else { panic!("{parts:?}") };
        assert!(part.part == "retiring" && (part.share.estimate - 0.4).abs() < 1e-9, "{part:?}");
        assert!(top_down(&rounds, "other").is_empty());
    }

    #[test]
    fn a_study_without_profiles_has_no_layers() {
        let mut one = round(&[("plain", 20.0, &[]), ("jwt", 40.0, &[])]);
        one.arms.clear();
        let all = [one.clone(), one];
        let rounds = Rounds { all: &all, times: &[], confidence: 0.95 };
        assert!(layers_of_jwt(&rounds).is_empty() && profiler_share(&rounds, "jwt", LOAD).is_none());
    }

    proptest! {
        #[test]
        fn layers_add_up_to_the_cpu_time_of_the_arm(
            cpu_us in prop::collection::vec(1.0..500.0_f64, 2..6), ns in prop::collection::vec(1_u64..1_000_000, 3),
        ) {
            let of = |cpu_us: &f64| {
                let layers = [("libc", ns[0]), ("TLS", ns[1]), ("kernel: other", ns[2])];
                round(&[("plain", 20.0, &layers), ("jwt", *cpu_us, &layers)])
            };
            let all: Vec<StudyRound> = cpu_us.iter().map(of).collect();
            let rounds = Rounds { all: &all, times: &[], confidence: 0.95 };
            let sum: f64 = layers_of_jwt(&rounds).iter().map(|layer| layer.cpu_us_per_request.estimate).sum();
            let whole = rounds.level("jwt", LOAD, &measures::CPU).unwrap().estimate;
            prop_assert!((sum - whole).abs() < 1e-6 * whole, "{} {}", sum, whole);
        }
    }
}
