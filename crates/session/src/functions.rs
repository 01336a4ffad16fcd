//! The functions of the catalogue, as a result, and one of them with its listed price as text.

use std::fmt::Write as _;

use hoptax_functions::{Catalogue, Function, FunctionCall};
use hoptax_report::documents::{
    FunctionsBody, FunctionsResult, ListedChange, ListedFunction, ListedKnob, at_load, at_loads,
    bounds_of_cost,
};
use hoptax_report::numbers::{UNCERTAIN_SIGN, difference, percent_difference};
use hoptax_result::{ArmResult, CostMeasure, Interval, StudyResult, grouped};

use crate::failure::Failure;
use crate::{library, prices};

/// All functions, by family, or the one with this id.
///
/// # Errors
/// When the catalogue cannot be read, and when there is none with this id.
pub fn listed(id: Option<&str>) -> Result<FunctionsResult, Failure> {
    let catalogue = library::catalogue()?;
    let functions = match id {
        Some(id) => vec![as_listed(found(catalogue, id)?)],
        None => by_family(catalogue).into_iter().flat_map(|(_, family)| family).map(as_listed).collect(),
    };
    Ok(FunctionsResult::new((), FunctionsBody { functions }))
}

/// The functions of each family, in the order of families and ids.
pub(crate) fn by_family(catalogue: &Catalogue) -> Vec<(&'static str, Vec<&Function>)> {
    let mut functions: Vec<&Function> = catalogue.iter().collect();
    functions.sort_by(|a, b| (a.family, &a.id).cmp(&(b.family, &b.id)));
    let families = functions.chunk_by(|a, b| a.family == b.family);
    families.filter_map(|family| Some((family.first()?.family.as_str(), family.to_vec()))).collect()
}

fn as_listed(function: &Function) -> ListedFunction {
    let knobs = function.knobs.iter().map(|(name, knob)| {
        let (default, takes) = (knob.default.to_string(), knob.range.to_string());
        (name.clone(), ListedKnob { default, takes, summary: knob.summary.clone() })
    });
    let changes = function
        .changes
        .iter()
        .map(|change| ListedChange { release: change.release.clone(), summary: change.summary.clone() });
    ListedFunction {
        id: function.id.clone(),
        family: function.family.as_str().to_owned(),
        summary: function.summary.clone(),
        source: function.source.clone(),
        changes: changes.collect(),
        knobs: knobs.collect(),
        fragment: function.fragment().to_owned(),
    }
}

/// One function, with its fragment and its price.
///
/// # Errors
/// When there is none with this id.
pub fn described(id: &str) -> Result<String, Failure> {
    let catalogue = library::catalogue()?;
    let function = found(catalogue, id)?;
    let mut text = format!("{}: {}\n", function.id, function.summary);
    if let Some(description) = &function.description {
        let _ = writeln!(text, "about   {description}");
    }
    let _ = writeln!(text, "family  {}\nsource  {}", function.family.as_str(), function.source);
    for change in &function.changes {
        let _ = writeln!(text, "changed {}: {}", change.release, change.summary);
    }
    for (name, knob) in &function.knobs {
        let _ = writeln!(text, "knob    {name}={}: {}; {}", knob.default, knob.summary, knob.range);
    }
    for (name, value) in function.request.headers.iter().chain(&function.request.own_headers) {
        let _ = writeln!(text, "request {name}: {}", truncated(value));
    }
    if let Some(query) = &function.request.query {
        let _ = writeln!(text, "request ?{query}");
    }
    if let Some(body) = function.body(&function.default_knobs()).map_err(Failure::environment)? {
        let _ = writeln!(text, "request a body of {} bytes", body.len());
    }
    if function.asks_companion {
        text += "calls   a companion: `hoptax lab origin`, started by the study\n";
    }
    let proofs = function.proofs(&function.default_knobs()).map_err(Failure::environment)?;
    for proof in proofs {
        let how = if proof.above.is_some() { "" } else { " moves" };
        let _ = writeln!(text, "proof   {proof}{how}");
    }
    let _ = write!(text, "\nfragment (a template):\n\n{}", indented(function.fragment()));
    text += &price(prices::published()?, &function.id);
    Ok(text)
}

fn found<'a>(catalogue: &'a Catalogue, id: &str) -> Result<&'a Function, Failure> {
    let call = FunctionCall::parse(id).map_err(Failure::bad_input)?;
    let (function, _) = catalogue.resolve(&call).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::bad_input(lines.join("\n"))
    })?;
    Ok(function)
}

/// What stands for a number that a check withholds.
const WITHHELD: &str = "withheld";

/// The price of a function: each number with its interval or its bounds, or the word that it is withheld.
pub(crate) struct Price {
    /// CPU time, as a share of plain proxying.
    pub(crate) cpu_share: String,
    /// CPU time, us.
    pub(crate) cpu_us: String,
    /// Median response time, us.
    pub(crate) p50_us: String,
}

impl Price {
    /// The price of an arm of the list.
    pub(crate) fn from_arm(arm: &ArmResult) -> Self {
        let written = |measure: CostMeasure, write: fn(&Interval) -> String, unit: &str| {
            let Some(cost) = measure.interval(&arm.cost) else {
                let bounds = bounds_of_cost(arm, measure).map(|bounds| bounds + unit);
                return bounds.unwrap_or_else(|| WITHHELD.to_owned());
            };
            write(&cost) + if arm.cost.uncertain_signs.contains(&measure) { UNCERTAIN_SIGN } else { "" }
        };
        Self {
            cpu_share: written(CostMeasure::CpuShare, percent_difference, " %"),
            cpu_us: written(CostMeasure::CpuUs, difference, ""),
            p50_us: written(CostMeasure::ResponseP50Us, difference, ""),
        }
    }
}

/// The arms of the list that have this function alone, in the order of the list.
pub(crate) fn listed_arms<'a>(list: &'a StudyResult, id: &str) -> Vec<&'a ArmResult> {
    list.arms.iter().filter(|arm| arm.function.as_deref() == Some(id)).collect()
}

/// The load of an arm behind its price, if that is not the load of most arms of the list: `, at 2,000 requests/s`; empty otherwise.
pub(crate) fn own_load(list: &StudyResult, arm: &ArmResult) -> String {
    let own = list.plan.cpu_load_of(&arm.id).filter(|own| list.plan.cpu_load() != Some(*own));
    own.map_or_else(String::new, |load| format!(", {}", at_load(load)))
}

/// The sentence about the loads behind prices; empty if all arms of the list have one load.
pub(crate) fn meaning_of_own_loads(list: &StudyResult) -> &'static str {
    let has_own = list.arms.iter().any(|arm| !own_load(list, arm).is_empty());
    if has_own {
        " A load behind a price is the own load of a function that is too heavy for the common load."
    } else {
        ""
    }
}

/// The Envoy, the machine, the time and the load of the list.
pub(crate) fn circumstances(list: &StudyResult) -> String {
    let environment = &list.environment;
    let version = environment.proxy_version.as_deref().unwrap_or("?");
    let loads = at_loads(&list.plan.loads, &[CostMeasure::CpuShare, CostMeasure::ResponseP50Us]);
    format!("Envoy {version}, {}, {}{loads}", environment.cpu_model, environment.started_at)
}

/// A number of a price in us, with its unit.
fn in_us(number: &str) -> String {
    if number == WITHHELD { number.to_owned() } else { format!("{number} us") }
}

/// Listed price of a function, one line for each arm.
fn price(list: &StudyResult, id: &str) -> String {
    let arms = listed_arms(list, id);
    if arms.is_empty() {
        return "\nno price is listed\n".to_owned();
    }
    let mut text = format!(
        "\nlisted price (docs/results/price-list: {}), added to each request, as a share of plain proxying and in us:\n\n",
        circumstances(list)
    );
    for arm in arms {
        let Price { cpu_share, cpu_us, p50_us } = Price::from_arm(arm);
        let of_cpu = if cpu_share == WITHHELD && cpu_us == WITHHELD {
            cpu_us
        } else {
            format!("{cpu_share} ({})", in_us(&cpu_us))
        };
        let _ = write!(text, "  {}: CPU {of_cpu}, p50 {}", arm.id, in_us(&p50_us));
        if let Some(companion) = &arm.companion_cpu_us_per_request {
            let _ = write!(text, ", and {} us of the companion's CPU", grouped(companion.estimate, 1));
        }
        text += &own_load(list, arm);
        text.push('\n');
    }
    if text.contains(UNCERTAIN_SIGN) {
        text += "\n?: the sign is uncertain when all costs of the list are judged together\n";
    }
    text
}

fn indented(fragment: &str) -> String {
    fragment.lines().map(|line| format!("  {}\n", truncated(line))).collect()
}

/// Truncates words that are too long, such as keys and tokens. Names of Envoy's types are short enough to be kept.
pub(crate) fn truncated(text: &str) -> String {
    const LONGEST: usize = 90;
    const KEPT: usize = 60;
    let word = |word: &str| {
        if word.chars().count() <= LONGEST {
            return word.to_owned();
        }
        word.chars().take(KEPT).chain("...".chars()).collect()
    };
    text.split(' ').map(word).collect::<Vec<String>>().join(" ")
}

#[cfg(test)]
pub(crate) mod tests {
    use hoptax_result::{Bound, BoundOf};

    use super::*;

    #[test]
    fn all_functions_are_listed_by_family_and_one_by_its_id() {
        let all = listed(None).unwrap().body.functions;
        let catalogue = library::catalogue().unwrap();
        assert_eq!(all.len(), catalogue.iter().count());
        let families = all.chunk_by(|a, b| a.family == b.family).count();
        assert_eq!(families, by_family(catalogue).len(), "those of a family are together");
        let one = listed(Some("jwt")).unwrap().body.functions;
        assert!(one.len() == 1 && all.contains(&one[0]), "{one:?}");
        assert_eq!(one[0].knobs["alg"].takes, "one of `RS256`, `ES256`");
        assert!(one[0].fragment.contains("jwt_authn.v3.JwtAuthentication"), "{}", one[0].fragment);
        assert!(listed(Some("jtw")).unwrap_err().to_string().contains("did you mean `jwt`?"));
    }

    #[test]
    fn a_description_is_below_the_summary_on_a_terminal() {
        let cors = found(library::catalogue().unwrap(), "cors").unwrap();
        let description = cors.description.as_ref().unwrap();
        let text = described("cors").unwrap();
        let begin = format!("cors: {}\nabout   {description}\nfamily", cors.summary);
        assert!(text.starts_with(&begin), "{text}");
        assert!(!described("jwt").unwrap().contains("\nabout "));
    }

    /// The published list as if all its arms had one load.
    fn with_one_load() -> StudyResult {
        let mut list = prices::published().unwrap().clone();
        let ids: Vec<String> = list.arms.iter().map(|arm| arm.id.clone()).collect();
        let usual = list.plan.cpu_load().unwrap().name.clone();
        let others: Vec<String> = ids
            .iter()
            .filter_map(|id| list.plan.cpu_load_of(id))
            .filter(|load| load.name != usual)
            .map(|load| load.name.clone())
            .collect();
        list.plan.loads.retain(|load| !others.contains(&load.name));
        list.plan.loads.iter_mut().find(|load| load.name == usual).unwrap().arms = ids;
        list
    }

    /// The same with a load of its own for `jwt`, at 1,500 requests/s.
    pub(crate) fn with_own_load() -> StudyResult {
        let mut list = with_one_load();
        let usual = list.plan.cpu_load().unwrap().name.clone();
        let usual = list.plan.loads.iter_mut().find(|load| load.name == usual).unwrap();
        let mut own = usual.clone();
        (own.name, own.rate) = ("in-use-slow".to_owned(), Some(1_500.0));
        own.arms = ["baseline", "jwt"].map(str::to_owned).to_vec();
        usual.arms.retain(|id| id != "jwt");
        list.plan.loads.push(own);
        list
    }

    #[test]
    fn listed_prices_name_the_load_that_they_hold_for() {
        let list = with_own_load();
        let usual = at_load(list.plan.cpu_load().unwrap());
        let [lua, jwt] = ["lua", "jwt"].map(|id| price(&list, id));
        assert!(usual.contains(" requests/s"), "{usual}");
        assert!(lua.contains(&format!("CPU time and response times {usual}), added")), "{lua}");
        assert!(jwt.contains(", at 1,500 requests/s") && !lua.contains("1,500 requests/s"), "{lua}{jwt}");
        assert_eq!(meaning_of_own_loads(&with_one_load()), "");
    }

    #[test]
    fn a_listed_price_without_an_interval_has_its_bounds() {
        let mut list = prices::published().unwrap().clone();
        let lua = list.arms.iter_mut().find(|arm| arm.id == "lua").unwrap();
        lua.cost.cpu_us_per_request = None;
        lua.cost.cpu_share = None;
        lua.cost.response_us.p50 = None;
        let bound = |measure, low, high| Bound::new(BoundOf::Cost, measure, low, high);
        lua.bounds.0.extend(bound(CostMeasure::CpuShare, Some(-0.05), Some(0.3)));
        lua.bounds.0.extend(bound(CostMeasure::CpuUs, None, Some(12.34)));
        let text = price(&list, "lua");
        assert!(text.contains("  lua: CPU -5 to +30 % (≤ +12.4 us), p50 withheld"), "{text}");
        let lua = list.arms.iter_mut().find(|arm| arm.id == "lua").unwrap();
        lua.bounds.0.clear();
        let text = price(&list, "lua");
        assert!(
            text.contains("  lua: CPU withheld, p50 withheld") && !text.contains("withheld us"),
            "{text}"
        );
    }

    #[test]
    fn a_listed_price_whose_sign_is_not_supported_is_marked_and_others_are_not() {
        let list = prices::published().unwrap();
        let of_functions = list.arms.iter().filter_map(|arm| Some((arm, arm.function.as_deref()?)));
        let (mut marked, mut unmarked) = (0, 0);
        for (arm, function) in of_functions.filter(|(arm, _)| arm.cost.cpu_us_per_request.is_some()) {
            let text = price(list, function);
            let line = text.lines().find(|line| line.starts_with(&format!("  {}: CPU ", arm.id))).unwrap();
            let us = line.split(" (").nth(1).unwrap().split(" us)").next().unwrap();
            let is_uncertain = arm.cost.uncertain_signs.contains(&CostMeasure::CpuUs);
            assert_eq!(us.ends_with(" ?"), is_uncertain, "{line}");
            assert_eq!(text.contains("\n?: the sign is uncertain"), text.contains(" ?"), "{text}");
            *(if is_uncertain { &mut marked } else { &mut unmarked }) += 1;
        }
        assert!(marked > 0 && unmarked > 0, "{marked} {unmarked}");
    }
}
