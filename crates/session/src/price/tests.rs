//! Tests of the plans of a bill's studies.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use hoptax_bootstrap::request::DerivedRequest;
use hoptax_functions::Catalogue;
use hoptax_plan::file::{self, Positions, StudyFile};
use hoptax_plan::plan::{Plan, Rate};
use hoptax_run::configurations;
use hoptax_text::secrets::without_signatures;

use super::arm::Arm;
use super::change::Change;
use super::study_file::{MOST_BLOCKS, NAME, SLICE, Source, StudyOfBill, study_file};
use super::{Configuration, PriceSettings, Studies, is_same_measurement};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::manifest::tests::manifest;
use crate::measure::Options;
use crate::run_folder::RunFolder;
use crate::study::Study;

fn request() -> DerivedRequest {
    DerivedRequest {
        method: "GET".to_owned(),
        host: "a.shop.example".to_owned(),
        path: "/cart".to_owned(),
        ..DerivedRequest::default()
    }
}

/// The study of a bill with these arms besides the whole, which is `request`.
fn study_of(request: &DerivedRequest, others: &[Arm], rate: Option<f64>) -> Study {
    let configuration = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bootstrap/fixtures/edge.yaml");
    let configuration = configuration.canonicalize().unwrap();
    let source = Source {
        configuration: &configuration,
        listener: "edge",
        lacking: &[],
        statuses: &[200],
        blocks: MOST_BLOCKS,
    };
    let file = study_file(source, StudyOfBill::First, &Arm::whole(request), others, rate);
    Study::made(file, NAME, "/".into()).unwrap()
}

fn planned(file: &StudyFile, positions: &Positions) -> Plan {
    let configurations = configurations::of_study(file, Path::new("/"));
    Plan::with_configurations(file, positions, Catalogue::load().unwrap(), configurations).unwrap()
}

/// The plan of the study of a bill with these arms besides the whole.
fn plan_of(others: &[Arm], rate: Option<f64>) -> Plan {
    let study = study_of(&request(), others, rate);
    planned(&study.file, &study.positions)
}

#[test]
fn the_kept_file_is_the_study_that_was_measured() {
    let headers = [("cookie", "a=\"1\"; b=`{{ c }}`"), ("x-shop", "1.0")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let request = DerivedRequest { headers, ..request() };
    let change: Change = "envoy -> 1.39.3".parse().unwrap();
    let changed = change.arm(&[], &request, Catalogue::load().unwrap(), 1).unwrap().arm;
    let study = study_of(&request, &[changed], Some(512.5));
    let (file, positions) = file::read("study.yaml", &study.text).unwrap();
    assert_eq!(file, study.file);
    // Tokens of the lab are signed again for each plan.
    let plan = |file, positions| without_signatures(&format!("{:?}", planned(file, positions)));
    assert_eq!(plan(&file, &positions), plan(&study.file, &study.positions));
}

#[test]
fn a_folder_of_another_configuration_or_study_is_refused_before_anything_is_tried() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bootstrap/fixtures/edge.yaml");
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.yaml");
    fs::copy(&fixture, &other).unwrap();
    let check = |configuration: &Path, study: &str| {
        drop(RunFolder::begin(folder.path(), study, &manifest()).unwrap());
        let settings = PriceSettings {
            configuration,
            listener: None,
            request: None,
            headers: &[],
            without: &[],
            what_if: &[],
            rate: None,
            price_per_core_hour: None,
        };
        let checked = Configuration::read(settings).unwrap().check_resumed(folder.path());
        checked.map_err(|failure| failure.to_string())
    };
    let bill = study_of(&request(), &[], None).text;
    assert_eq!(check(&fixture, &bill), Ok(()));
    for (configuration, study) in [
        (&other, bill.as_str()),
        (&fixture, "name: a\narms: [baseline]\nloads: [{name: all, loop: closed}]\n"),
    ] {
        let refused = check(configuration, study).unwrap_err();
        assert!(refused.contains("holds the study of another bill"), "{refused}");
    }
    assert!(!folder.path().join("tries").exists());
}

#[test]
fn a_bill_continues_if_only_a_signature_of_the_lab_is_another() {
    let of = |token: &str, rate: f64| {
        let headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
        study_of(&DerivedRequest { headers, ..request() }, &[], Some(rate)).file
    };
    let begun = of("eyJh.eyJi.one", 500.0);
    assert!(is_same_measurement(&begun, &of("eyJh.eyJi.other", 500.0)));
    assert!(!is_same_measurement(&begun, &of("eyJh.eyJj.one", 500.0)));
    assert!(!is_same_measurement(&begun, &of("eyJh.eyJi.one", 501.0)));
}

#[test]
fn a_failure_after_an_interrupt_is_that_interrupt_with_the_command_that_continues_the_bill() {
    let folder = tempfile::tempdir().unwrap();
    let said = |interrupt: &Interrupt, again: Option<&str>| {
        let (folder, options) = (folder.path(), Options::default());
        let studies = Studies { folder, is_resumed: false, budget: None, tries_within: None, again, options };
        studies.ended_by(Failure::environment("Envoy ended"), interrupt).to_string()
    };
    let again = Some("hoptax price envoy.yaml");
    let interrupt = Interrupt::default();
    assert_eq!(said(&interrupt, again), "Envoy ended");
    interrupt.flag().store(true, Ordering::Relaxed);
    assert_eq!(said(&interrupt, again), "interrupted", "no study is there");
    drop(RunFolder::begin(folder.path(), "name: a\n", &manifest()).unwrap());
    let continued = format!(": `hoptax price envoy.yaml --resume {}` continues it", folder.path().display());
    assert_eq!(said(&interrupt, again), format!("interrupted{continued}"));
    assert_eq!(said(&interrupt, None), "interrupted");
}

#[test]
fn a_change_of_the_release_is_an_arm_on_that_envoy() {
    let change: Change = "envoy -> 1.39.3".parse().unwrap();
    let changed = change.arm(&[], &request(), Catalogue::load().unwrap(), 1).unwrap();
    let plan = plan_of(&[changed.arm], None);
    let envoy_of = |id: &str| {
        let arm = plan.arms.iter().find(|arm| arm.id == id).unwrap();
        arm.envoy(&arm.chain.hops[0]).map(str::to_owned)
    };
    assert_eq!(envoy_of("what-if-1").as_deref(), Some("1.39.3"));
    assert_eq!((envoy_of("whole"), envoy_of("whole-again")), (None, None));
}

#[test]
fn the_only_load_at_a_rate_is_an_open_loop_at_this_rate() {
    let rates = |rate: Option<f64>| {
        let plan = plan_of(&[], rate);
        plan.loads.iter().map(|load| load.open.as_ref().map(|open| open.rate)).collect::<Vec<_>>()
    };
    assert_eq!(rates(Some(500.0)), [Some(Rate::PerSecond(500.0))]);
    let without = rates(None);
    assert!(matches!(without.as_slice(), [Some(Rate::OfSlowest(_))]), "{without:?}");
}

#[test]
fn a_slice_is_as_long_as_budgets_assume() {
    assert!(plan_of(&[], None).loads.iter().all(|load| load.slice == SLICE));
}
