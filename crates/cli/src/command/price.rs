//! `hoptax price`: measures the cost of an Envoy configuration per request, and the cost that each of its parts adds.

mod pod_dump;

use std::path::PathBuf;

use clap::{Args, ValueHint};
use hoptax_bootstrap::request::RequestLine;
use hoptax_cluster::PodName;
use hoptax_report::documents::{self, Again};
use hoptax_session::price::{Budget, Change, Configuration, GivenFile, PriceSettings, Studies, page};
use hoptax_session::{Options, RequestedLength, thresholds};
use hoptax_text::command_line::{option, path_word};

use crate::arguments::shared::{
    BudgetArguments, ClusterArguments, CorePriceArguments, HeaderArguments, RunArguments,
};
use crate::arguments::values;
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

/// Options of tries and measurements, which a dry run has not.
const MEASURED: [&str; 11] = [
    "only_try",
    "what_if",
    "rate",
    "price_per_core_hour",
    "rounds",
    "budget",
    "envoy",
    "thresholds",
    "out",
    "resume",
    "json",
];

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax price envoy.yaml --rate 3000 --price-per-core-hour 0.04
  hoptax price envoy.yaml --what-if 'jwt -> check-token/lua' --what-if 'envoy -> 1.39.3'
  hoptax price --pod shop/cart-5f7d9 --kube-context prod --listener virtualInbound

The configuration is a bootstrap in YAML or JSON, with the files that it names beside it, or the
dump of a running proxy: `curl 'http://ADMIN/config_dump?include_eds' > dump.json`. It may be
inside a ConfigMap, a Secret or another object of Kubernetes, also among the documents of a
rendered chart; of several, `map.yaml#envoy.yaml` names the one with that key. It is adapted to
this machine: listeners and upstream servers on loopback, certificates and secrets of a lab,
external services answered by hoptax. Every replacement is listed, and secrets are never
printed.

--pod takes the dump of the Envoy in a pod of Kubernetes, with the kubeconfig: the API server
forwards the port of its admin interface. It needs the rights `get` on `pods`, and `get` and
`create` on `pods/portforward`. Nothing runs in the pod, and the bill is measured on this machine.
The run folder keeps the dump, readable for you only.

Arms are the whole, the whole without each of its parts, and everything off. Those that respond
as the whole does are measured side by side in one study, with a second copy of the whole: the A/A
arm. The cost of a part is the difference between the whole and the whole without it. If the parts
do not add up to what they cost together, or if that is uncertain, a second study of as many rounds,
or of the rest of --budget, measures them again, and pairs of them. The bill says whether it
confirms the first, and names those that interact.

CPU time is that of the proxy alone. Without --rate, the rate is half of the capacity of the
slowest arm. The run folder holds bill.json, bill.md, bill.html, the tries, the study file,
its result and its report.

Exit codes:
  0    the bill was measured
  2    invalid input: the configuration cannot be read or adapted, or Envoy refuses it
  3    a requirement is missing, such as Envoy, memory or a port
  4    the study is void
  130  interrupted; --resume continues the bill")]
#[command(mut_arg("budget", |budget| budget
    .conflicts_with("rounds")
    .help("Time of the bill, its tries and its second study included")
    .long_help(
        "Time of the bill, its tries and its second study included: as many complete rounds as fit, at least two. \
         With --resume, the additional time"
    )))]
pub(crate) struct PriceArguments {
    /// Envoy bootstrap or `/config_dump`, YAML or JSON; or use --pod
    #[arg(value_name = "CONFIG", value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,
    #[command(flatten)]
    of_pod: PodArguments,
    /// Print listeners, requests, parts and replacements, and start nothing
    #[arg(long, conflicts_with_all = MEASURED)]
    dry_run: bool,
    /// Try each arm, report which parts act on the request, and measure nothing
    #[arg(long = "try", conflicts_with_all = ["rate", "price_per_core_hour", "rounds", "budget", "thresholds", "resume", "json"])]
    only_try: bool,
    /// Listener: its name, or a unique prefix of it [default: the first that forwards a request, else the first that answers one]
    #[arg(long, value_name = "NAME")]
    listener: Option<String>,
    /// Request, as `GET https://HOST/PATH` [default: derived from the routes]
    ///
    /// The scheme says whether the connection has TLS, and host and path select the route.
    #[arg(long, value_name = "REQUEST")]
    request: Option<RequestLine>,
    #[command(flatten)]
    headers: HeaderArguments,
    /// Measure only this part; repeatable [default: all]
    ///
    /// A part is named by its name in the file, by the last word of its type (`jwt_authn`), or by the function of the catalogue
    /// that is the same filter or access log (`jwt`, `access-log/json`).
    #[arg(long, value_name = "NAME")]
    without: Vec<String>,
    /// Also measure a change, `FROM -> TO`; repeatable
    ///
    /// FROM is an HTTP filter or an access log of the bill, named as for --without, and TO is a function of the catalogue that is
    /// one of the same kind (`hoptax functions`): `access-log/json -> access-log/file`. With `nothing` as TO, FROM is any part, and is removed. `envoy -> 1.39.3` is the whole on another
    /// Envoy. Headers that a function needs are sent to every arm.
    #[arg(long, value_name = "CHANGE")]
    what_if: Vec<Change>,
    /// Requests per second to this one proxy [default: half of its capacity]
    #[arg(long, value_name = "NUMBER", value_parser = values::rate)]
    rate: Option<f64>,
    #[command(flatten)]
    core_price: CorePriceArguments,
    #[command(flatten)]
    budget: BudgetArguments,
    #[command(flatten)]
    run: RunArguments,
    /// Continue an interrupted or killed bill in its run folder, with the same configuration and the same options
    ///
    /// All arms are tried again, and complete rounds are kept. With --pod, the dump is that of the run folder. --rounds is the new total [default: as before].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "out")]
    resume: Option<PathBuf>,
}

/// Heading of the options of a pod.
const POD: &str = "Pod";

/// The pod whose Envoy is priced.
#[derive(Debug, Args)]
#[command(mut_arg("kube_context", |context| context.requires("pod").conflicts_with("config").help_heading(POD)))]
pub(crate) struct PodArguments {
    /// Instead of CONFIG, the dump of the Envoy in this pod of Kubernetes
    #[arg(long, value_name = "NAMESPACE/NAME", conflicts_with = "config", help_heading = POD)]
    pod: Option<PodName>,
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Container of the proxy [default: a known one, such as `istio-proxy` or `consul-dataplane`]
    #[arg(long, value_name = "NAME", requires = "pod", conflicts_with = "config", value_parser = values::name_in_cluster, help_heading = POD)]
    container: Option<String>,
    /// Port of the admin interface of the proxy [default: what the pod states, else the usual one of the container]
    #[arg(long, value_name = "PORT", requires = "pod", conflicts_with = "config", value_parser = clap::value_parser!(u16).range(1..), help_heading = POD)]
    admin_port: Option<u16>,
}

/// Runs the command.
pub(crate) fn run(arguments: &PriceArguments) -> Result<Code, Failure> {
    // Check before the tries, which take seconds.
    thresholds::limits(&arguments.run.measure.checks.thresholds)?;
    let given = pod_dump::given(arguments)?;
    let ended = price_given(arguments, &given);
    // An error may name lines of the dump.
    if ended.is_err()
        && let Some(path) = given.left()
    {
        print::note(&format!("the dump is `{}`", path.display()));
    }
    ended
}

/// Prices the configuration in a file.
fn price_given(arguments: &PriceArguments, given: &GivenFile) -> Result<Code, Failure> {
    let headers = arguments.headers.all();
    let configuration = Configuration::read(PriceSettings {
        configuration: &given.path,
        listener: arguments.listener.as_deref(),
        request: arguments.request.as_ref(),
        headers: &headers,
        without: &arguments.without,
        what_if: &arguments.what_if,
        rate: arguments.rate,
        price_per_core_hour: arguments.core_price.per_hour,
    })?;
    if arguments.dry_run {
        return configuration.dry_run(&print::list).map(|()| Code::Success);
    }
    if let Some(folder) = &arguments.resume {
        // Check before the tries, which take seconds.
        configuration.check_resumed(folder)?;
    }
    let RunArguments { rounds, out, measure, json } = &arguments.run;
    let folder = arguments.resume.as_deref().or(given.run_folder.as_deref()).or(out.folder());
    let folder = Configuration::create_run_folder(folder)?;
    let continuing = continuing(arguments);
    let studies = Studies {
        folder: &folder,
        is_resumed: arguments.resume.is_some(),
        budget: arguments.budget.time.map(Budget::begin),
        tries_within: None,
        again: Some(&continuing),
        options: Options {
            length: RequestedLength { rounds: *rounds, ..RequestedLength::default() },
            ..measure.options()
        },
    };
    let interrupt = interrupt::listen()?;
    if arguments.only_try {
        configuration.tries(&studies, &print::result, &interrupt, &print::say)?;
        return Ok(Code::Success);
    }
    // Only the bill goes to stdout.
    let bill = progress::shown(|say| configuration.price(&studies, &interrupt, say))?;
    print::document_or_json(json.file(), &bill, || {
        let command = again(arguments);
        let again = Again { command: &command, folder: &folder, missing: missing(arguments) };
        documents::bill_of(&bill, again).with_page(page(&folder)).shown_by(folder.display())
    })?;
    Ok(Code::from(bill.verdict))
}

/// The command that measures the same bill, without its length and its run folder. A header may be a credential, so the user adds its
/// value.
fn again(arguments: &PriceArguments) -> String {
    let PodArguments { pod, cluster, container, admin_port } = &arguments.of_pod;
    let headers = arguments.headers.all();
    let once = [
        option("--pod", pod.as_ref()),
        option("--kube-context", cluster.kube_context.as_ref()),
        option("--container", container.as_ref()),
        option("--admin-port", *admin_port),
        option("--listener", arguments.listener.as_ref()),
        option("--request", arguments.request.as_ref()),
        option("--rate", arguments.rate),
        option("--price-per-core-hour", arguments.core_price.per_hour),
    ];
    let without = arguments.without.iter().map(|name| option("--without", Some(name)));
    let what_if = arguments.what_if.iter().map(|change| option("--what-if", Some(change)));
    let headers = headers.iter().map(|(name, _)| option("--header", Some(format!("{name}: VALUE"))));
    let configuration = arguments.config.iter().map(|path| format!(" {}", path_word(path)));
    let words: String = configuration.chain(once).chain(without).chain(what_if).chain(headers).collect();
    format!("hoptax price{words}{}", arguments.run.measure.again())
}

/// The command that continues the bill after an interrupt, without its run folder: the file of the bill is not written yet.
fn continuing(arguments: &PriceArguments) -> String {
    again(arguments) + &arguments.run.json.again()
}

/// What the user adds to the command of [`again`], in words; none if it has all.
fn missing(arguments: &PriceArguments) -> Option<&'static str> {
    match arguments.headers.all().len() {
        0 => None,
        1 => Some("the value of the header"),
        _ => Some("the values of the headers"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use hoptax_text::command_line::word;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        price: PriceArguments,
    }

    fn arguments(words: &[&str]) -> PriceArguments {
        let words = std::iter::once("price").chain(words.iter().copied());
        Line::try_parse_from(words).unwrap().price
    }

    fn again_of(words: &[&str]) -> String {
        again(&arguments(words))
    }

    #[test]
    fn the_same_bill_has_all_options_but_its_length_and_its_folder() {
        let given = [
            "my envoy.yaml",
            "--listener",
            "edge",
            "--request",
            "GET https://shop.example/cart?q=1",
            "--rate",
            "3000",
            "--price-per-core-hour",
            "0.04",
            "--without",
            "lua",
            "--without",
            "jwt",
            "--what-if",
            "jwt -> lua",
            "--envoy",
            "1.39.3",
            "--never-halt",
            "never",
            "--threshold",
            "steal=0.02",
        ];
        let length = [&given[..], &["--rounds", "4", "--out", "runs/1"]].concat();
        assert_eq!(again_of(&length), format!("hoptax price {}", given.map(word).join(" ")));
        assert_eq!(again_of(&["--pod", "shop/cart-1", "--rounds", "4"]), "hoptax price --pod shop/cart-1");
    }

    #[test]
    fn an_interrupted_bill_continues_with_the_file_of_its_result() {
        let continued = |words: &[&str]| continuing(&arguments(words));
        let json = continued(&["envoy.yaml", "--rate", "9", "--json", "my bill.json"]);
        assert_eq!(json, "hoptax price envoy.yaml --rate 9 --json 'my bill.json'");
        assert_eq!(continued(&["envoy.yaml", "--json", "-"]), "hoptax price envoy.yaml --json -");
    }

    #[test]
    fn a_credential_in_a_header_is_not_repeated() {
        let command = again_of(&["envoy.yaml", "--header", "authorization: Bearer secret"]);
        assert_eq!(command, "hoptax price envoy.yaml --header 'authorization: VALUE'");
        let missing_of = |words: &[&str]| missing(&arguments(words));
        assert_eq!(missing_of(&["envoy.yaml"]), None);
        assert_eq!(missing_of(&["envoy.yaml", "-H", "X-A: it's"]), Some("the value of the header"));
        let two = ["envoy.yaml", "-H", "a: b", "-H", "c: d"];
        assert_eq!(missing_of(&two), Some("the values of the headers"));
    }
}
