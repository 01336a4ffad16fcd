//! Properties of converted lists that hold for every machine.

use std::sync::LazyLock;

use hoptax_predict::prices::{ANCHORS, convert, known, listed};
use hoptax_result::{ArmKind, Interval, PriceMade, PricesResult, StudyResult, Verdict};
use proptest::prelude::*;

/// The published list, which takes long to read.
static LIST: LazyLock<StudyResult> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../../docs/results/price-list/result.json")).unwrap()
});

/// A study of the anchors on a machine on which every cost is `factor` times that of the list.
fn anchors(list: &StudyResult, factor: f64) -> StudyResult {
    let times = |one: Option<Interval>| {
        one.map(|one| Interval::new(one.estimate * factor, one.low * factor, one.high * factor))
    };
    let mut here = list.clone();
    here.arms.retain(|arm| arm.kind != ArmKind::Function || ANCHORS.contains(&arm.id.as_str()));
    for arm in &mut here.arms {
        arm.cpu_us_per_request = times(arm.cpu_us_per_request);
        arm.cost.cpu_us_per_request = times(arm.cost.cpu_us_per_request);
    }
    here
}

fn converted(factor: f64) -> PricesResult {
    convert(&LIST, &anchors(&LIST, factor), &known::machines()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn on_a_uniformly_slower_machine_every_price_grows_by_the_factor(factor in 0.2_f64..5.0) {
        let prices = converted(factor);
        let made = |made| prices.prices.iter().filter(move |price| price.made == made);
        prop_assert_eq!(made(PriceMade::MeasuredHere).count(), ANCHORS.len());
        prop_assert!(made(PriceMade::Converted).count() > 10);
        for price in made(PriceMade::Converted) {
            let (listed, here) = (price.listed_us.unwrap(), price.here_us.unwrap());
            prop_assert!((here.estimate / listed.estimate / factor - 1.0).abs() < 1e-9, "{:?}", price);
            prop_assert!(here.low < here.estimate && here.estimate < here.high && here.low > 0.0, "{:?}", price);
        }
        prop_assert!((prices.body.here.unwrap().factor / factor - 1.0).abs() < 1e-9);
    }
}

#[test]
fn an_equally_fast_machine_gets_the_same_list() {
    for price in converted(1.0).body.prices {
        match price.here_us {
            Some(here) => {
                assert!((here.estimate - price.listed_us.unwrap().estimate).abs() < 1e-9, "{price:?}");
            }
            None => assert!(price.made == PriceMade::NoPrice && price.reason.is_some(), "{price:?}"),
        }
    }
}

#[test]
fn measured_prices_are_kept() {
    let mut here = anchors(&LIST, 2.0);
    let jwt = here.arms.iter_mut().find(|arm| arm.id == "jwt").unwrap();
    let measured = Interval::new(77.0, 76.0, 78.0);
    jwt.cost.cpu_us_per_request = Some(measured);
    let prices = convert(&LIST, &here, &known::machines()).unwrap();
    let price = prices.prices.iter().find(|price| price.id == "jwt").unwrap();
    assert_eq!((price.here_us, price.made), (Some(measured), PriceMade::MeasuredHere));
}

#[test]
fn prices_are_in_descending_order() {
    let prices = converted(2.0);
    let us: Vec<f64> = prices.prices.iter().map_while(|price| Some(price.here_us?.estimate)).collect();
    assert!(us.windows(2).all(|pair| pair[0] >= pair[1]), "{us:?}");
}

#[test]
fn prices_of_a_list_are_in_descending_order_of_their_shares() {
    let prices = listed(&LIST).body.prices;
    let shares: Vec<f64> = prices.iter().map_while(|price| Some(price.listed_share?.estimate)).collect();
    assert!(shares.len() > 50 && shares.is_sorted_by(|one, next| one >= next), "{shares:?}");
    assert!(prices.iter().skip(shares.len()).all(|price| price.listed_share.is_none()), "{prices:?}");
}

#[test]
fn a_study_without_common_functions_converts_nothing() {
    let mut here = LIST.clone();
    here.arms.clear();
    assert!(convert(&LIST, &here, &known::machines()).is_none());
}

#[test]
fn a_study_of_one_function_keeps_its_price_and_converts_no_other() {
    let prices = |functions: &[&str]| {
        let mut here = anchors(&LIST, 2.0);
        here.arms.retain(|arm| arm.kind != ArmKind::Function || functions.contains(&arm.id.as_str()));
        convert(&LIST, &here, &known::machines()).unwrap().body.prices
    };
    let count = |functions: &[&str], made: PriceMade| {
        prices(functions).iter().filter(|price| price.made == made).count()
    };
    assert!(count(&ANCHORS[..3], PriceMade::Converted) > 0);
    assert_eq!((count(&["jwt"], PriceMade::Converted), count(&["jwt"], PriceMade::MeasuredHere)), (0, 1));
    for price in prices(&["jwt"]).iter().filter(|price| price.id != "jwt") {
        assert!(
            price.reason.as_ref().is_some_and(|reason| reason.contains("here: 1 instead of 3")),
            "{price:?}"
        );
    }
}

#[test]
fn converted_prices_are_as_doubtful_as_the_worse_of_their_two_studies() {
    let known = known::machines();
    for (of_list, of_here, expected) in [
        (Verdict::Sound, Verdict::Caution, Verdict::Caution),
        (Verdict::Caution, Verdict::Sound, Verdict::Caution),
        (Verdict::Sound, Verdict::Sound, Verdict::Sound),
    ] {
        let (mut list, mut here) = (LIST.clone(), anchors(&LIST, 1.0));
        (list.verdict, here.verdict) = (of_list, of_here);
        let converted = convert(&list, &here, &known).unwrap();
        let found: Vec<&str> = converted.findings.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(converted.verdict, expected);
        let doubtful = [(of_list, "the price list,"), (of_here, "the measurement on this machine,")];
        let doubtful = doubtful.into_iter().filter(|(verdict, _)| *verdict != Verdict::Sound);
        let names: Vec<&str> = doubtful.map(|(_, name)| name).collect();
        let are_named = found.iter().zip(&names).all(|(one, name)| one.starts_with(name));
        assert!(found.len() == names.len() && are_named, "{found:?}");
    }
    let (mut list, mut here) = (LIST.clone(), anchors(&LIST, 1.0));
    (list.verdict, here.verdict) = (Verdict::Sound, Verdict::Sound);
    here.plan.never_halted = !list.plan.never_halted;
    let converted = convert(&list, &here, &known).unwrap();
    assert_eq!(converted.verdict, Verdict::Caution, "no error is known for this");
    assert_eq!(converted.findings[0].id, "other-halting");
}
