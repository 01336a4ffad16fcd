use hoptax_result::{BoundOf, LinkPlan, Loop, Loosened};

use super::*;
use crate::{Style, fixture};

const STYLE: Style = Style { width: 400, colour: false };

fn outputs(result: &StudyResult) -> [String; 4] {
    fixture::outputs(&study(result), STYLE)
}

#[test]
fn an_arm_that_is_only_bounded_may_add_more_than_the_first() {
    let answer_with = |high_us: Option<f64>| {
        let mut result = fixture::study();
        let lua = result.arms.iter_mut().find(|arm| arm.id == "lua").unwrap();
        (lua.cost.cpu_us_per_request, lua.cost.cpu_share) = (None, None);
        let bound = Bound::new(BoundOf::Cost, CostMeasure::CpuUs, Some(-6.0), high_us);
        lua.bounds.0 = bound.into_iter().collect();
        study(&result).answer.concat()
    };
    let usual = study(&fixture::study()).answer.concat();
    assert!(!usual.contains("may add more"), "{usual}");
    assert!(!answer_with(Some(1.0)).contains("may add more"), "{}", answer_with(Some(1.0)));
    for high_us in [Some(400.0), None] {
        let answer = answer_with(high_us);
        assert!(
            answer.contains("of those with an interval") && answer.contains("1 arm may add more"),
            "{answer}"
        );
    }
}

#[test]
fn the_answer_of_a_study_of_one_arm_is_the_cost_of_that_arm() {
    let answer_with = |change: fn(&mut ArmResult)| {
        let mut result = fixture::study();
        result.arms.retain(|arm| ["baseline", "lua"].contains(&arm.id.as_str()));
        result.arms.iter_mut().filter(|arm| arm.id == "lua").for_each(change);
        study(&result).answer
    };
    let begins = |answer: &[String], words: &str| {
        assert!(answer[0].starts_with(words), "{answer:?}");
        assert!(answer[1].starts_with("Plain proxying (`baseline`) takes "), "{answer:?}");
    };
    begins(&answer_with(|_| ()), "`lua` adds CPU time: +10.76 ±0.91 % (+4.9");
    let uncertain =
        answer_with(|arm| arm.cost.uncertain_signs.extend([CostMeasure::CpuShare, CostMeasure::CpuUs]));
    begins(&uncertain, "`lua`: no cost in CPU time is shown: +10.76 ±0.91 % (+4.9");
    let saving = answer_with(|arm| arm.cost.cpu_share = Some(Interval::around(-0.05, 0.01)));
    begins(&saving, "`lua` takes less CPU time: -5.0");
    let bounded = answer_with(|arm| {
        (arm.cost.cpu_us_per_request, arm.cost.cpu_share) = (None, None);
        let bound = Bound::new(BoundOf::Cost, CostMeasure::CpuUs, Some(-6.0), Some(9.0));
        arm.bounds.0 = bound.into_iter().collect();
    });
    begins(&bounded, "`lua`: no cost in CPU time is shown: -6");
}

#[test]
fn a_study_that_is_read_from_its_run_folder_is_continued_in_it() {
    let text = serde_json::to_string(&fixture::cut()).unwrap();
    let document = study_in_folder(&text, "my runs/quick-1/study.yaml", "my runs/quick-1").unwrap();
    let next = document.next.map(|next| next.command);
    assert_eq!(next.as_deref(), Some("hoptax study --resume 'my runs/quick-1'"));
    assert!(study_in_folder("{}", "quick", "runs/quick-1").is_err());
}

#[test]
fn a_cost_whose_bounds_are_both_above_zero_is_counted_as_above_zero() {
    let answer_with = |low: f64| {
        let mut result = fixture::study();
        let lua = result.arms.iter_mut().find(|arm| arm.id == "lua").unwrap();
        (lua.cost.cpu_us_per_request, lua.cost.cpu_share) = (None, None);
        let bound = Bound::new(BoundOf::Cost, CostMeasure::CpuUs, Some(low), Some(9.0));
        lua.bounds.0 = bound.into_iter().collect();
        study(&result).answer.concat()
    };
    // With its interval, `lua` is one of the four.
    assert!(answer_with(1.0).contains("4 of 6 costs"), "{}", answer_with(1.0));
    assert!(answer_with(-1.0).contains("3 of 6 costs"), "{}", answer_with(-1.0));
}

#[test]
fn a_control_is_no_cost_of_the_answer() {
    let mut result = fixture::study();
    let usual = study(&result).answer;
    for arm in result.arms.iter_mut().filter(|arm| arm.is_control()) {
        let most = Interval::new(500.0, 499.0, 501.0);
        (arm.cost.cpu_us_per_request, arm.cost.cpu_share) = (Some(most), Some(most));
    }
    assert_eq!(study(&result).answer, usual);
    assert!(!so_far(&result).unwrap().contains("control/"));
}

#[test]
fn every_measure_of_rounds_is_in_all_outputs() {
    let mut result = fixture::study();
    let number = Some(Interval::new(8_192.0, 4_096.0, 12_288.0));
    for arm in result.arms.iter_mut().filter(|arm| !arm.hops.is_empty()) {
        let all = RoundMeasure::ALL.into_iter().map(|measure| (measure, number));
        arm.hops[0].of_rounds = all.clone().collect();
        arm.cost.of_rounds = all.collect();
    }
    let outputs = outputs(&result);
    for measure in RoundMeasure::ALL {
        let measure = measure.definition();
        let heading = measure.own_table.unwrap_or(measure.short_heading);
        for output in &outputs {
            let is_in = output.contains(heading) || output.contains(&words::capitalised(heading));
            assert!(is_in, "{heading}: {output}");
        }
    }
}

#[test]
fn every_output_of_a_study_lists_loosened_thresholds() {
    let usual = fixture::study();
    let mut loose = usual.clone();
    loose.loosened = vec![Loosened { name: "steal".to_owned(), default: 0.005, value: 0.02 }];
    let text = "ith a loosened threshold: steal 0.02 instead of 0.005";
    let read = |result: &StudyResult| outputs(result).into_iter().take(3).collect::<Vec<String>>();
    assert!(read(&usual).iter().all(|output| !output.contains("loosened")));
    for output in read(&loose) {
        assert_eq!(output.matches(text).count(), 1, "{output}");
    }
}

#[test]
fn a_column_that_is_withheld_for_all_arms_is_named_once() {
    let mut result = fixture::study();
    result.findings[0].withholds = true;
    result.findings[0].measures = vec![hoptax_result::Measure::ResponseP99];
    for arm in &mut result.arms {
        arm.cost.response_us.p99 = None;
    }
    let document = study(&result);
    assert!(document.table.unwrap().columns.iter().all(|column| column.heading != "p99 us"));
    assert_eq!(document.notes[0], "withheld for all arms: p99 us");
    assert!(study(&fixture::void()).table.is_none());
}

#[test]
fn numbers_of_two_loads_state_both() {
    let mut result = fixture::study();
    let open = result.plan.loads.iter_mut().find(|load| load.loop_ == Loop::Open);
    // A share of each arm's capacity is no load that CPU time is taken from.
    open.unwrap().utilisation = Some(0.3);
    let [terminal, ..] = outputs(&result);
    let text = terminal.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("CPU time at saturation; response times at 4,000 requests/s, uniform arrivals"),
        "{text}"
    );
}

#[test]
fn a_study_without_a_load_in_use_says_that_its_costs_are_those_of_saturated_proxies() {
    let note = |result: &StudyResult| {
        study(result).notes.into_iter().find(|note| note.starts_with("CPU time is that of saturated proxies"))
    };
    let mut result = fixture::study();
    assert_eq!(note(&result), None);
    result.plan.loads.retain(|load| load.loop_ == Loop::Closed);
    let said = note(&result).unwrap();
    assert!(said.contains("(`saturation`)") && said.contains("`{name: in-use, loop: open}`"), "{said}");
    let mut over_a_link = result.clone();
    over_a_link.plan.link =
        Some(LinkPlan { delay_us: 17_500.0, jitter_us: 0.0, rate_bits_per_second: None, loss_share: 0.0 });
    assert_eq!(note(&over_a_link), None);
    for arm in &mut result.arms {
        (arm.cost.cpu_us_per_request, arm.cost.cpu_share) = (None, None);
    }
    assert_eq!(note(&result), None, "no cost in CPU time is printed");
}

#[test]
fn a_cost_that_some_arms_lack_keeps_its_column() {
    let mut result = fixture::study();
    let count = result.arms.len();
    for arm in result.arms.iter_mut().take(count - 1) {
        arm.cost.response_us.p90 = None;
    }
    let table = study(&result).table.unwrap();
    assert!(table.columns.iter().any(|column| column.heading == "p90 us"));
}

#[test]
fn the_answer_of_a_void_study_is_why() {
    let answer = study(&fixture::void()).answer;
    assert!(answer[0].starts_with("The study is void: "), "{answer:?}");
    let cut = study(&fixture::cut()).answer;
    assert!(cut[0].starts_with("The study ended after 4 of 10 rounds"), "{cut:?}");
}

#[test]
fn a_study_that_still_measures_has_a_line_with_its_most_expensive_arms() {
    let mut result = fixture::study();
    result.plan.rounds_completed = 3;
    let line = so_far(&result).unwrap();
    assert!(
        line.starts_with(
            "CPU time that arms add at 4,000 requests/s, uniform arrivals, after 3 rounds: compress/gzip +133.3 ±2.1 %, jwt "
        ),
        "{line}"
    );
    assert!(line.ends_with(" more") && !line.contains("same"), "{line}");
    result.plan.loads.retain(|load| load.loop_ == Loop::Closed);
    let line = so_far(&result).unwrap();
    assert!(line.starts_with("CPU time that arms add at saturation, after 3 rounds: "), "{line}");
    assert_eq!(so_far(&fixture::void()), None);
}

#[test]
fn costs_by_measure_use_the_units_of_tables() {
    let result = fixture::study();
    let rows = rows(&result);
    let lua = rows.iter().find(|row| row.arm.id == "lua").unwrap();
    let share = CostMeasure::CpuShare.interval(&lua.arm.cost).unwrap();
    let Cell::Quantity(quantity) = lua.cost(CostMeasure::CpuShare) else { panic!("a quantity") };
    assert!((quantity.estimate.unwrap() - 100.0 * share.estimate).abs() < 1e-9);
}

#[test]
fn a_cost_that_may_be_chance_among_all_has_a_mark_and_is_not_counted() {
    let of = |change: fn(&mut ArmResult)| {
        let mut result = fixture::study();
        result.arms.iter_mut().filter(|arm| arm.id == "lua").for_each(change);
        study(&result)
    };
    let cpu = |document: &Document| {
        let table = document.table.as_ref().unwrap();
        table.rows.iter().find(|row| row.name == "lua").unwrap().cells[0].text()
    };
    let usual = of(|_| ());
    let uncertain = of(|arm| arm.cost.uncertain_signs.extend([CostMeasure::CpuShare, CostMeasure::CpuUs]));
    assert_eq!((cpu(&usual).as_str(), cpu(&uncertain).as_str()), ("+10.76 ±0.91", "+10.76 ±0.91 ?"));
    assert!(usual.answer.concat().contains("4 of 6 costs"), "{:?}", usual.answer);
    assert!(uncertain.answer.concat().contains("3 of 6 costs"), "{:?}", uncertain.answer);
    assert!(uncertain.notes.iter().any(|note| note.starts_with("?: ")), "{:?}", uncertain.notes);
    let without = of(|arm| arm.cost.uncertain_signs.clear());
    let mut certain = fixture::study();
    certain.arms.iter_mut().for_each(|arm| arm.cost.uncertain_signs.clear());
    assert!(
        study(&certain).notes.iter().all(|note| !note.starts_with("?: ")) && cpu(&without) == cpu(&usual)
    );
}

#[test]
fn an_arm_of_another_load_has_its_rate_after_its_name_and_a_note_explains_it() {
    let mut result = fixture::loaded();
    let others: Vec<String> = result.arms.iter().map(|arm| arm.id.clone()).filter(|id| id != "lua").collect();
    result.plan.loads[1].arms = others;
    result.plan.loads[2].arms = vec!["baseline".to_owned(), "lua".to_owned()];
    for arm in &mut result.arms {
        let left_out = match arm.id.as_str() {
            "baseline" => "",
            "lua" => "fixed-rate",
            _ => "half",
        };
        arm.loads.retain(|load| load.load != left_out);
    }
    let document = study(&result);
    let table = document.table.as_ref().unwrap();
    let names: Vec<&str> = table.rows.iter().map(|row| row.name.as_str()).collect();
    assert!(names.contains(&"lua (10,000/s)") && names.contains(&"rbac"), "{names:?}");
    assert_eq!(names.iter().filter(|name| name.contains("/s)")).count(), 1, "{names:?}");
    let note =
        "(10,000/s): measured at 10,000 requests/s, uniform arrivals, like what the arm is compared with";
    assert_eq!(document.notes.iter().filter(|one| *one == note).count(), 1, "{:?}", document.notes);
    assert!(!study(&fixture::loaded()).notes.iter().any(|one| one.contains("like what the arm")));
    let costs = all_costs(&result, &rows(&result)).unwrap();
    let lua = costs.arms.iter().find(|arm| arm.id == "lua").unwrap();
    assert_eq!(lua.name, "lua (10,000/s)");
}
