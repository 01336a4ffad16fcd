//! Studies with known laws, and with points that something other than the proxies limits.

use hoptax_result::{
    ArmKind, ArmResult, Finding, Interval, LoadSpec, Measure, Measured, PeakPlace, PlannedHop, ScaleFit,
    Severity, StudyResult, sample,
};

use super::*;

const SIZES: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Lambda, sigma and kappa. The peak is at 20 of 64.
const LAW: [f64; 3] = [1_000.0, 0.1, 0.00225];
const ROUNDS: u32 = 6;

fn law(size: u32) -> f64 {
    let [lambda, sigma, kappa] = LAW;
    let size = f64::from(size);
    lambda * size / (1.0 + sigma * (size - 1.0) + kappa * size * (size - 1.0))
}

/// Deviations of a round and of a size in it, within 2 %.
fn noise(size: u32, round: u32) -> f64 {
    let deviation = |number: u32| f64::from(number % 11) / 11.0 - 0.45;
    1.0 + 0.02 * deviation(round * 7 + 3) + 0.02 * deviation(size * 5 + round * 3)
}

fn loads() -> Vec<LoadSpec> {
    SIZES.map(|size| sample::closed_loop(&format!("connections-{size}"), size)).to_vec()
}

fn capped(most: f64) -> StudyResult {
    sample::study_of_rates(&[sample::arm("baseline")], loads(), ROUNDS, |_, load, round| {
        law(load.connections).min(most) * noise(load.connections, round)
    })
}

/// A study of one arm over connections.
fn connections() -> StudyResult {
    capped(f64::INFINITY)
}

/// Sets the measurements of the slices of a load, except the rate.
fn set(study: &mut StudyResult, load: &str, proxy: f64, generator: f64) {
    for arm in &mut study.arms {
        arm.loads
            .iter_mut()
            .filter(|one| one.load == load)
            .for_each(|one| one.proxy_core_share = Some(proxy));
    }
    let samples = study.rounds.iter_mut().flat_map(|round| &mut round.samples);
    for sample in samples.filter(|sample| sample.load == load) {
        sample.values.insert("generator_core_share".to_owned(), vec![Some(generator)]);
    }
}

fn only(study: &StudyResult, over: ScaleDimension) -> ScaleSeries {
    let mut series = scale(study, over).unwrap().body.series;
    assert_eq!(series.len(), 1, "{series:?}");
    series.remove(0)
}

fn fit(study: &StudyResult) -> ScaleFit {
    only(study, ScaleDimension::Connections).fit.unwrap()
}

fn covers(fit: &ScaleFit) -> bool {
    [fit.lambda, fit.sigma, fit.kappa].iter().zip(LAW).all(|(interval, truth)| interval.contains(truth))
}

#[test]
fn a_series_over_connections_has_the_law_and_its_peak() {
    let series = only(&connections(), ScaleDimension::Connections);
    let fit = series.fit.as_ref().unwrap();
    assert!(covers(fit), "{fit:?}");
    assert_eq!((fit.peak.place, fit.rounds), (PeakPlace::Within, ROUNDS));
    assert!(fit.peak.size.contains(20.0), "{fit:?}");
    assert_eq!((series.name.as_str(), series.left_out.len()), ("baseline", 0));
    assert_eq!(series.points.iter().map(|point| point.size).collect::<Vec<u32>>(), SIZES);
    for point in &series.points {
        let (fitted, deviation) = (point.fitted_rate.unwrap(), point.deviation_share.unwrap());
        let expected = point.rate.estimate / fitted.estimate - 1.0;
        assert!((deviation.estimate - expected).abs() < 1e-9 && expected.abs() < 0.03, "{point:?}");
    }
}

/// The generator carries 4,500 requests per second, the proxies up to 5,326.
#[test]
fn points_that_the_generator_limits_are_left_out_and_named() {
    let mut study = capped(4_500.0);
    let limited: Vec<u32> = SIZES.into_iter().filter(|size| law(*size) > 4_500.0).collect();
    assert_eq!(limited, [16, 32]);
    // Without the evidence, the limit is mistaken for that of the proxies.
    let misled = fit(&study);
    assert!(!covers(&misled), "{misled:?}");
    for size in &limited {
        set(&mut study, &format!("connections-{size}"), 0.8, 0.99);
    }
    let series = only(&study, ScaleDimension::Connections);
    let named: Vec<(u32, &str)> =
        series.left_out.iter().map(|point| (point.size, point.reason.as_str())).collect();
    let reason = "the generator used 99 % of its core, and the proxies were busy 80 % of the time";
    assert_eq!(named, [(16, reason), (32, reason)]);
    assert!(series.left_out.iter().all(|point| point.rate.is_some()));
    let fit = series.fit.unwrap();
    assert!(covers(&fit), "{fit:?}");
    assert!(!fit.sigma.contains(misled.sigma.estimate), "{fit:?} {misled:?}");
}

#[test]
fn a_busy_generator_limits_nothing_while_the_proxies_are_saturated() {
    let mut study = connections();
    set(&mut study, "connections-16", 0.97, 0.9);
    // Few connections leave both idle, as the law describes.
    set(&mut study, "connections-1", 0.4, 0.3);
    assert_eq!(only(&study, ScaleDimension::Connections).left_out, []);
    set(&mut study, "connections-16", 0.7, 0.5);
    for round in &mut study.rounds {
        for sample in round.samples.iter_mut().filter(|sample| sample.load == "connections-16") {
            sample.values.insert("processors_busy_share".to_owned(), vec![Some(0.98)]);
        }
    }
    let left_out = only(&study, ScaleDimension::Connections).left_out;
    assert!(left_out.len() == 1 && left_out[0].reason.starts_with("the processors of generator and origin"));
}

#[test]
fn a_rate_that_a_check_withholds_is_left_out_with_its_finding() {
    let finding = |id: &str, withholds: bool| Finding {
        load: Some("connections-8".to_owned()),
        measures: vec![Measure::Rate],
        withholds,
        ..Finding::new(id, Severity::Fail, Measured::count(1.0, 0.9, ""), "it was busy".to_owned(), "")
    };
    let left_out = |finding: Finding| {
        let mut study = connections();
        if finding.withholds {
            study.arms[0].loads[3].rate = None;
        }
        study.findings = vec![finding];
        only(&study, ScaleDimension::Connections).left_out
    };
    let withheld = left_out(finding("generator-saturated", true));
    assert_eq!(withheld.len(), 1);
    assert_eq!((withheld[0].size, withheld[0].rate), (8, None));
    assert_eq!(withheld[0].reason, "generator-saturated: it was busy");
    assert_eq!(left_out(finding("callers-limit", false)).len(), 1, "callers limit with a warning");
    assert_eq!(left_out(finding("drift", false)), []);
}

/// A front proxy and clones of a sidecar, beside an arm with one proxy and the A/A arm.
fn clones(numbers: &[usize]) -> StudyResult {
    let of = |number: usize| {
        let mut arm = sample::arm(&format!("clones-{number}"));
        let subject = arm.subject.as_mut().unwrap();
        let hop = subject.hops[0].clone();
        let named = |name: String| PlannedHop { name, ..hop.clone() };
        subject.hops = vec![named("front".to_owned()), named("sidecar".to_owned())];
        subject.hops.extend((2..=number).map(|clone| named(format!("sidecar-{clone}"))));
        subject.upstreams = number as u32;
        arm
    };
    let same = ArmResult { kind: ArmKind::Same, ..of(1) };
    let mut arms = vec![sample::arm("baseline"), ArmResult { id: "same".to_owned(), ..same }];
    arms.extend(numbers.iter().map(|number| of(*number)));
    sample::study_of_rates(&arms, vec![sample::closed_loop("full", 64)], ROUNDS, |arm, _, round| {
        let clones = arm.subject.as_ref().unwrap().upstreams;
        5_000.0 / f64::from(clones).sqrt() * noise(clones, round)
    })
}

#[test]
fn clones_without_enough_connections_are_left_out() {
    let mut study = clones(&[1, 2, 5, 10, 100]);
    let series = only(&study, ScaleDimension::Clones);
    assert_eq!((series.name.as_str(), series.points.len(), series.left_out.len()), ("clones-1", 5, 0));
    assert_eq!(series.fit.unwrap().peak.place, PeakPlace::Below);
    study.arms.last_mut().unwrap().loads[0].proxy_core_share = Some(0.88);
    let series = only(&study, ScaleDimension::Clones);
    assert_eq!(series.left_out[0].arm, "clones-100");
    assert_eq!(
        series.left_out[0].reason,
        "the proxies were busy 88 % of the time, so its 64 connections limited the rate"
    );
}

#[test]
fn proxies_that_share_full_processors_with_the_generator_are_left_out() {
    let mut study = clones(&[1, 2, 5, 10, 100]);
    let load = &mut study.arms.last_mut().unwrap().loads[0];
    (load.proxy_busy_share, load.proxy_processors_busy_share) = (Some(0.6), Some(1.0));
    let left_out = &only(&study, ScaleDimension::Clones).left_out;
    assert_eq!(left_out[0].arm, "clones-100");
    assert!(
        left_out[0].reason.starts_with("the proxies were busy 60 % of the time"),
        "{}",
        left_out[0].reason
    );
}

#[test]
fn a_size_is_in_the_fit_once() {
    let mut study = clones(&[1, 2, 5, 10, 10]);
    study.arms.last_mut().unwrap().id = "unpinned-10".to_owned();
    for sample in study.rounds.iter_mut().filter_map(|round| round.samples.last_mut()) {
        sample.arm = "unpinned-10".to_owned();
    }
    let left_out = only(&study, ScaleDimension::Clones).left_out;
    assert_eq!(left_out.len(), 1);
    assert_eq!(left_out[0].reason, "the fit has `clones-10` under full, which has the same size");
}

#[test]
fn a_study_without_a_series_says_what_it_lacks() {
    let said = |study: &StudyResult, over| scale(study, over).unwrap_err().to_string();
    let study = connections();
    assert_eq!(
        said(&study, ScaleDimension::Clones),
        "no arm of `sample` was measured at different `clones` under a closed loop; it has different `connections`: use \
         `--over connections`"
    );
    assert_eq!(
        said(&clones(&[1, 2, 5]), ScaleDimension::Clones),
        "a fit needs at least 4 different sizes, and `sample` has fewer: `clones-1` has 1, 2, 5 clones; add some to the study"
    );
    let mut without_rounds = study.clone();
    without_rounds.rounds.clear();
    assert!(said(&without_rounds, ScaleDimension::Connections).contains("no rounds"));
    let mut open = study;
    open.plan.loads.iter_mut().for_each(|load| load.loop_ = Loop::Open);
    assert!(said(&open, ScaleDimension::Connections).contains("no closed loop"));
}

#[test]
fn a_series_without_a_fit_says_why() {
    let mut study = connections();
    study.rounds.truncate(4);
    let series = only(&study, ScaleDimension::Connections);
    assert_eq!((series.fit, series.points.len()), (None, 7));
    assert_eq!(
        series.no_fit.unwrap(),
        "4 rounds with a rate at every size are too few for intervals: they need 5; add rounds to the study"
    );
    let mut study = connections();
    for size in [4, 8, 16, 32] {
        set(&mut study, &format!("connections-{size}"), 0.5, 0.99);
    }
    let series = only(&study, ScaleDimension::Connections);
    assert_eq!((series.fit, series.left_out.len()), (None, 4));
    let why = series.no_fit.unwrap();
    assert!(
        why.starts_with(
            "3 of its sizes count, and a law needs 4; left out: 4, since the generator used 99 %"
        ),
        "{why}"
    );
}

#[test]
fn disturbed_slices_are_in_no_rate() {
    let mut study = connections();
    let usual = fit(&study);
    for sample in study.rounds.iter_mut().flat_map(|round| &mut round.samples) {
        sample.set_aside.push(vec![hoptax_result::Disturbance::Steal]);
        sample.values.values_mut().for_each(|values| values.push(Some(1.0)));
    }
    assert_eq!(fit(&study), usual);
    let is_narrow = |interval: &Interval| interval.half_width() < 0.1 * interval.estimate;
    assert!(is_narrow(&usual.lambda), "{usual:?}");
}
