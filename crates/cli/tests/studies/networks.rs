//! Studies of arms with networks of their own. Without root, or without the programs, they are not tested, which is printed.

#[path = "../../../host/tests/outer/mod.rs"]
mod outer;

use std::path::Path;

use self::outer::Outer;
use crate::support::study::{StudyFolder, smallest_study};
use crate::support::{is_alive, run, wait_until};

/// Arms in every kind of network, with programs of every package.
const ARMS: &str = "baseline, {name: host, network: {servers: host}}, \
    {name: container, network: {servers: container, nat: iptables}, compared_with: host}, \
    {name: translated, network: {servers: container, nat: nftables}, compared_with: host}, \
    {name: filtered, network: {firewall: ipset, rules: [3, 300, 3000]}, compared_with: host}";

/// A study of [`ARMS`].
fn study(rounds: u32) -> StudyFolder {
    StudyFolder::new(&smallest_study(ARMS, rounds))
}

/// A namespace that stands for the machine. Without one, the message of the study names the missing part.
fn machine() -> Option<Outer> {
    let machine = Outer::create();
    if machine.is_none() {
        let ran = study(2).run();
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("needs root") || ran.stderr.contains("apt-get install"),
            "{}",
            ran.stderr
        );
    }
    machine
}

#[test]
fn arms_are_measured_in_their_networks_and_the_machine_keeps_its_rules() {
    let Some(machine) = machine() else { return };
    let before = machine.state();
    let study = study(2);
    let ran = machine.within(|| study.run());
    let result = study.result_of(&ran);
    assert_eq!(result["plan"]["rounds_completed"], 2, "{}", ran.stderr);
    let arms = result["arms"].as_array().unwrap();
    let ids: Vec<&str> = arms.iter().map(|arm| arm["id"].as_str().unwrap()).collect();
    assert_eq!(ids[..4], ["baseline", "host", "container", "translated"]);
    assert_eq!(ids[4..], ["filtered{rules=3}", "filtered{rules=300}", "filtered{rules=3000}"]);
    for arm in arms {
        let count = |field: &str| arm["book"][field].as_u64().unwrap();
        assert!(count("answered") > 0 && count("answered") == count("sent"), "{arm:#}");
    }
    assert_eq!(arms[3]["subject"]["network"]["nat"], "nftables");
    // A packet with the request, at least, for each response.
    for sample in result["rounds"][0]["samples"].as_array().unwrap() {
        let packets = &sample["values"]["received_packets_per_request"];
        let is_counted = packets.as_array().is_some_and(|all| all.iter().all(|one| one.as_f64() > Some(0.9)));
        assert_eq!(is_counted, sample["arm"] != "baseline", "{sample:#}");
    }
    assert_eq!(machine.state(), before);
}

#[test]
fn kill_9_leaves_neither_processes_nor_rules_nor_interfaces() {
    let Some(machine) = machine() else { return };
    let before = machine.state();
    // While the first network is made, while origins start, and while slices are measured.
    let moments: [fn(&Path) -> bool; 3] = [
        |out| out.join("run.json").exists(),
        |out| out.join("origin-1.log").exists(),
        |out| out.join("rounds").join("0.json").exists(),
    ];
    for (number, is_now) in moments.into_iter().enumerate() {
        let study = study(10);
        let mut running = machine.within(|| study.start());
        wait_until("the moment", || is_now(&study.out()));
        let children = running.children();
        running.signal("KILL");
        running.0.wait().unwrap();
        wait_until("the end of all children", || children.iter().all(|child| !is_alive(*child)));
        run(["runs", "cleanup", study.folder.path().to_str().unwrap()]).succeeded();
        assert_eq!(machine.state(), before, "{number}");
    }
}
