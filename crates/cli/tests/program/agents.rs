//! Loads of agents, as run by users: `hoptax lab agent` and `hoptax load --agents`, all on loopback.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{ExitStatus, Stdio};

use serde_json::Value;

use super::agent_pods::{begun, line_with};
use crate::support::{Guarded, Ran, TOLERANT, checked, hoptax, origin, ran, run, wait_until};

/// An agent that may send to a server, and its address.
fn agent(url: &str) -> (Guarded, String) {
    agent_with(url, &["--deadline", "1h"])
}

/// The same with these flags.
fn agent_with(url: &str, flags: &[&str]) -> (Guarded, String) {
    let target = url.trim_start_matches("http://").trim_end_matches('/');
    let mut command = hoptax();
    command.args(["lab", "agent", "--listen", "127.0.0.1:0", "--allow-target", target]).args(flags);
    let mut agent = Guarded(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let address = agent.address();
    (agent, address)
}

fn addresses(agents: &[(Guarded, String)]) -> String {
    agents.iter().map(|(_, address)| address.as_str()).collect::<Vec<_>>().join(",")
}

/// The way in which an agent ends by itself.
fn end(agent: &mut Guarded) -> ExitStatus {
    let mut status = None;
    wait_until("the agent ends", || {
        status = agent.0.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

/// The result of a load by these agents with these flags, and the run.
fn load(agents: &str, flags: &[&str], url: &str) -> (Ran, Value) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let mut command = hoptax();
    command.args(["load", "--agents", agents, "--json"]).arg(&file).args(flags).args(TOLERANT).arg(url);
    let ran = ran(&mut command);
    let text = fs::read_to_string(&file);
    let result = text.map_or(Value::Null, |text| checked("load", &text));
    (ran, result)
}

/// Flags of a load that ends with its last response, however slow the machine is.
const COUNTED: [&str; 10] = ["-q", "300", "-n", "600", "--warmup", "0s", "-d", "10m", "--timeout", "1m"];

#[test]
fn three_agents_send_exactly_the_requests_of_one_generator() {
    let (_origin, url) = origin(&[]);
    let agents = [agent(&url), agent(&url), agent(&url)];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one.json").display().to_string();
    let alone = ["load", "--json", &file, &url];
    assert_eq!(run(alone.into_iter().chain(COUNTED).chain(TOLERANT)).code, Some(0));
    let one = checked("load", &fs::read_to_string(&file).unwrap());
    let (ran, all) = load(&addresses(&agents), &COUNTED, &url);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for count in ["planned", "sent", "answered", "failed", "timed_out", "unfinished"] {
        assert_eq!(all["book"][count], one["book"][count], "{count}: {all:#}");
    }
    assert_eq!(all["statuses"], one["statuses"]);
    assert_eq!(all["latency"]["response"]["count"], 600);
    assert_eq!(all["plan"]["connections"], one["plan"]["connections"]);
    let listed = all["agents"]["all"].as_array().unwrap();
    let of = |name: &str| listed.iter().map(|agent| agent[name].clone()).collect::<Vec<Value>>();
    assert_eq!(of("answered"), [200, 200, 200]);
    assert_eq!(of("index"), [0, 1, 2]);
    assert!(of("outcome").iter().all(|outcome| outcome == "merged"), "{all:#}");
    assert!(all["agents"]["start_error_us"].as_f64() > Some(0.0));
    // The same agents serve another controller.
    let (ran, again) = load(&addresses(&agents), &COUNTED, &url);
    assert_eq!((ran.code, &again["book"]["answered"]), (Some(0), &600.into()), "{}", ran.stderr);
}

/// The seconds from the last message of a lost agent until it was given up, as a line about it states.
pub(super) fn stated_s(line: &str) -> f64 {
    let ends = [" s after its last message", " s: its machine"];
    let stated = ends.into_iter().find_map(|end| line.split_once(end)).unwrap_or_else(|| panic!("{line}")).0;
    stated.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn an_agent_that_is_killed_is_named_and_the_counts_of_the_others_are_exact() {
    let (_origin, url) = origin(&[]);
    let mut agents = vec![agent(&url), agent(&url), agent(&url)];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let mut command = hoptax();
    command
        .args(["load", "--agents", &addresses(&agents), "--json"])
        .arg(&file)
        .args(["-q", "300", "-n", "1800"]);
    command.args(["--warmup", "0s", "-d", "10m", "--timeout", "1m"]).args(TOLERANT).arg(&url);
    let mut load = Guarded(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(load.0.stderr.take().unwrap()).lines();
    let mut next = |part: &str| lines.by_ref().map_while(Result::ok).find(|line| line.contains(part));
    next("start together").unwrap();
    let (mut killed, name) = agents.remove(1);
    killed.0.kill().unwrap();
    killed.0.wait().unwrap();
    let line = next(&name).unwrap();
    assert!(line.contains(" died: ") && stated_s(&line) <= 10.0, "{line}");
    assert_eq!(load.0.wait().unwrap().code(), Some(3));
    let screen = std::io::read_to_string(load.0.stdout.take().unwrap()).unwrap();
    assert!(screen.contains("1,200 of 1,200 planned requests of 2 of 3 agents were answered"), "{screen}");
    // First of all findings.
    let first = screen.lines().skip_while(|line| !line.starts_with("caution")).nth(1);
    assert!(first.is_some_and(|line| line.starts_with("  agent-lost: ")), "{screen}");
    let result = checked("load", &fs::read_to_string(&file).unwrap());
    assert_eq!((&result["book"]["planned"], &result["verdict"]), (&1_200.into(), &"caution".into()));
    assert_eq!(result["book"]["answered"], 1_200);
    let lost = result["findings"].as_array().unwrap().iter().find(|one| one["id"] == "agent-lost").unwrap();
    assert!(lost["message"].as_str().unwrap().contains(&name), "{lost}");
    let outcomes: Vec<&str> = result["agents"]["all"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["merged", "died", "merged"]);
}

#[test]
fn agents_end_when_their_controller_is_killed() {
    let (_origin, url) = origin(&[]);
    let mut agents = vec![agent(&url), agent(&url)];
    let mut command = hoptax();
    command.args(["load", "--agents", &addresses(&agents), "-q", "100", "-d", "1h", &url]);
    let (mut load, mut lines) = begun(command);
    line_with(&mut lines, "start together");
    load.0.kill().unwrap();
    load.0.wait().unwrap();
    for (agent, _) in &mut agents {
        assert_eq!(end(agent).code(), Some(3));
        let stderr = agent.stderr();
        assert!(stderr.contains("the controller is gone"), "{stderr}");
    }
}

#[test]
fn an_interrupted_load_of_agents_has_the_result_so_far() {
    let (_origin, url) = origin(&[]);
    let agents = [agent(&url), agent(&url)];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let mut command = hoptax();
    command.args(["load", "--agents", &addresses(&agents), "-q", "200", "-d", "1h", "--warmup", "0s"]);
    command.arg("--json").arg(&file).args(TOLERANT).arg(&url);
    let (mut load, mut lines) = begun(command);
    line_with(&mut lines, "start together");
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    load.signal("INT");
    assert_eq!(load.0.wait().unwrap().code(), Some(130));
    let result = checked("load", &fs::read_to_string(&file).unwrap());
    assert_eq!(result["ended_by"], "interrupt");
    assert!(result["book"]["answered"].as_u64() > Some(0));
}

#[test]
fn agents_refuse_targets_that_nobody_named_and_nothing_is_sent() {
    let (_origin, url) = origin(&[]);
    let (_other, other_url) = origin(&[]);
    let agents = [agent(&url), agent(&other_url)];
    let (ran, result) = load(&addresses(&agents), &COUNTED, &url);
    assert_eq!((ran.code, &result), (Some(3), &Value::Null));
    assert!(
        ran.stderr.contains("nothing was sent") && ran.stderr.contains("--allow-target"),
        "{}",
        ran.stderr
    );
    let refused = format!("nothing was sent: agent `{}` failed: the agent may not send to ", agents[1].1);
    assert!(ran.stderr.contains(&refused), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("may not send").count(), 1, "said once: {}", ran.stderr);
    // Both serve again: a refusal is no end.
    let (ran, result) = load(&agents[0].1, &COUNTED, &url);
    assert_eq!((ran.code, &result["book"]["answered"]), (Some(0), &600.into()), "{}", ran.stderr);
}

#[test]
fn an_agent_serves_one_controller_at_a_time_and_goes_on_after_a_stranger() {
    let (_origin, url) = origin(&[]);
    let (_agent, address) = agent(&url);
    // A probe connects and ends.
    drop(std::net::TcpStream::connect(&address).unwrap());
    let mut command = hoptax();
    command.args(["load", "--agents", &address, "-q", "100", "-d", "1h", &url]);
    let (_first, mut lines) = begun(command);
    line_with(&mut lines, "1 agent starts");
    let (ran, _) = load(&address, &COUNTED, &url);
    ran.fails(3, "serves another controller");
}

#[test]
fn a_load_goes_on_without_agents_that_do_not_come_if_enough_do() {
    let (_origin, url) = origin(&[]);
    let (_agent, address) = agent(&url);
    // Nobody listens there. A port that was free a moment ago may be another test's.
    let nobody = "127.0.0.1:1";
    let both = format!("{nobody},{address}");
    let (ran, _) = load(&both, &COUNTED, &url);
    assert_eq!(ran.code, Some(3));
    let absent = format!("nothing was sent: agent `{nobody}` never joined: cannot connect to it: ");
    assert!(ran.stderr.contains(&absent) && ran.stderr.contains("--least-agents"), "{}", ran.stderr);
    let (ran, result) = load(&both, &[["--least-agents", "1"].as_slice(), COUNTED.as_slice()].concat(), &url);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("agent `{nobody}` never joined: ")), "{}", ran.stderr);
    assert_eq!(result["book"]["answered"], 600);
    assert_eq!(result["agents"]["all"][0]["outcome"], "absent");
    assert_eq!(result["agents"]["all"][0]["index"], Value::Null);
}

#[test]
fn loads_and_agents_that_cannot_be_are_refused_with_the_reason() {
    for (arguments, expected) in [
        (vec!["lab", "agent", "--deadline", "1h"], "--allow-target"),
        (vec!["lab", "agent", "--allow-target", "a:1"], "--deadline"),
        (
            vec!["lab", "agent", "--listen", "0.0.0.0:0", "--allow-target", "a:1", "--deadline", "1h"],
            "give it a --token-file",
        ),
        (vec!["lab", "agent", "--allow-target", "a:1", "--deadline", "9999999h"], "at most a year"),
        (vec!["load", "--agents", "a:1,a:1", "http://127.0.0.1:1/"], "twice"),
        (vec!["load", "--agents", "a:1,foo", "http://127.0.0.1:1/"], "`foo` is not an agent's address"),
        (vec!["load", "--agents", "a:1", "--least-agents", "2", "http://127.0.0.1:1/"], "only 1 are named"),
        (
            vec!["load", "--agents", "a:1", "--stages", "1@1s", "http://127.0.0.1:1/"],
            "does not support --stages",
        ),
        (vec!["load", "--agents", "a:1,b:1", "-c", "1", "http://127.0.0.1:1/"], "raise --connections to 2"),
        (vec!["load", "--agents", "a:1,b:1", "-n", "1", "http://127.0.0.1:1/"], "raise --count to 2"),
    ] {
        run(arguments.iter().copied()).fails(2, expected);
    }
}

#[test]
fn an_agent_ends_at_its_deadline() {
    let (_origin, url) = origin(&[]);
    let (mut idle, _) = agent_with(&url, &["--deadline", "1s"]);
    assert_eq!(end(&mut idle).code(), Some(0));
    // The load begins in this time, unless the machine stands still.
    let (mut agent, address) = agent_with(&url, &["--deadline", "10s"]);
    let (ran, _) = load(&address, &["-q", "100", "-d", "1h"], &url);
    ran.fails(3, "longer --deadline");
    assert_eq!(end(&mut agent).code(), Some(3));
}

#[test]
fn an_agent_with_a_token_serves_only_whoever_shows_it() {
    let (_origin, url) = origin(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, token: &str| {
        let path = folder.path().join(name);
        fs::write(&path, token).unwrap();
        path.display().to_string()
    };
    let (token, other) = (file("token", "0123456789abcdef\n"), file("other", "0123456789abcdeg\n"));
    let (_agent, address) = agent_with(&url, &["--deadline", "1h", "--token-file", &token]);
    for shown in [vec![], vec!["--agents-token-file", other.as_str()]] {
        let (ran, result) = load(&address, &[shown.as_slice(), COUNTED.as_slice()].concat(), &url);
        assert_eq!((ran.code, &result), (Some(3), &Value::Null));
        let refused = format!(
            "nothing was sent: agent `{address}` refused this controller, which sent no valid token; give the token file of the agent as --agents-token-file"
        );
        assert_eq!(ran.stderr.matches(&refused).count(), 1, "{}", ran.stderr);
    }
    let shown = ["--agents-token-file", token.as_str()];
    let (ran, result) = load(&address, &[shown.as_slice(), COUNTED.as_slice()].concat(), &url);
    assert_eq!((ran.code, &result["book"]["answered"]), (Some(0), &600.into()), "{}", ran.stderr);
}
