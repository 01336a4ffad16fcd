//! The plan of a search for the highest rates of some arms of a study.

use hoptax_load::Arrivals;

use super::{Arm, CAPACITY_LOOP, CAPACITY_TURNS, Open, Plan, Rate};

impl Plan {
    /// The plan of a search on the arms with these ids, in this order, each with one copy. An id that contains commas may come as several
    /// items of the list. Each trial of a search states its own rate and opens its own connections. Requests, the number of connections,
    /// arrivals and expected statuses are those of the first open loop, or of the first closed loop if there is none.
    ///
    /// # Errors
    /// The part of the study that cannot be searched, and how to correct it.
    pub fn searched(&self, ids: &[String]) -> Result<Self, String> {
        if self.timeline.is_some() {
            return Err(format!(
                "the study `{}` observes a timeline, whose events a search cannot repeat: name a study of costs",
                self.name
            ));
        }
        let ids = self.joined(ids);
        if ids.len() < 2 {
            return Err("a ratio needs two arms: name at least two".to_owned());
        }
        let mut arms: Vec<Arm> = Vec::with_capacity(ids.len());
        for id in &ids {
            let Some(arm) = self.arms.iter().find(|arm| arm.id == *id) else {
                let known: Vec<&str> = self.arms.iter().map(|arm| arm.id.as_str()).collect();
                let hint = hoptax_text::nearest::hint(id, known.iter().copied());
                return Err(format!(
                    "the study `{}` has no arm `{id}`{hint}\nits arms are `{}`",
                    self.name,
                    known.join("`, `")
                ));
            };
            if arms.iter().any(|other| other.id == arm.id) {
                return Err(format!(
                    "the arm `{id}` is named twice: name `same` to compare an arm with itself"
                ));
            }
            arms.push(Arm { compared_with: None, copies: 1, ..arm.clone() });
        }
        let own = || self.loads.iter().filter(|load| load.caller.is_none());
        let chosen = own().find(|load| load.open.is_some()).or_else(|| own().next());
        let Some(mut load) = chosen.cloned() else {
            return Err(format!(
                "all loads of the study `{}` have a caller of their own, which cannot send at given rates: add one without `caller`",
                self.name
            ));
        };
        // An arm without a proxy takes part in open loops only.
        let arrivals = load.open.map_or(Arrivals::Uniform, |open| open.arrivals);
        load.open = Some(Open { rate: Rate::PerSecond(1.0), arrivals });
        // Each trial has a rate of its own, which no other arm shares.
        load.arms = None;
        Ok(Self {
            arms,
            loads: vec![load],
            capacity_turns: CAPACITY_TURNS,
            capacity_loop: CAPACITY_LOOP,
            rounds_are_open: false,
            profile: false,
            is_searched: true,
            ..self.clone()
        })
    }

    /// Joins items that together are the id of one arm, such as `baseline @ http2` and `response_bytes=1024`.
    fn joined(&self, parts: &[String]) -> Vec<String> {
        let mut ids = Vec::new();
        let mut rest = parts;
        while !rest.is_empty() {
            let longest = (1..=rest.len()).rev().find_map(|count| {
                let (id, rest) = rest.split_at(count);
                let id = id.join(", ");
                self.arms.iter().any(|arm| arm.id == id).then_some((id, rest))
            });
            let unknown = || rest.split_first().map(|(id, rest)| (id.clone(), rest));
            let Some((id, others)) = longest.or_else(unknown) else { break };
            ids.push(id);
            rest = others;
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use hoptax_functions::Catalogue;

    use crate::plan::Plan;

    fn plan(loads: &str) -> Plan {
        let text = format!("name: test\narms: [direct, baseline, same, lua]\nloads:\n{loads}");
        Plan::read("test.yaml", &text, Catalogue::load().unwrap()).unwrap()
    }

    const CLOSED: &str = "  - {name: full, loop: closed, connections: 16}\n";
    const OPEN: &str = "  - {name: open, loop: open, rate: 100, connections: 64, arrivals: poisson}\n";

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn the_arms_keep_the_order_in_which_they_are_named_and_have_one_copy_each() {
        let found = plan(&format!("{CLOSED}{OPEN}")).searched(&ids(&["lua", "direct"])).unwrap();
        let arms: Vec<&str> = found.arms.iter().map(|arm| arm.id.as_str()).collect();
        assert_eq!((arms, found.subjects().count()), (vec!["lua", "direct"], 2));
        assert!(found.arms.iter().all(|arm| arm.compared_with.is_none() && arm.takes_part(&found.loads[0])));
        assert_eq!(
            (found.loads.len(), found.loads[0].name.as_str(), found.loads[0].connections),
            (1, "open", 64)
        );
        let arrivals = |plan: &Plan| plan.loads[0].open.as_ref().unwrap().arrivals.to_string();
        assert_eq!(arrivals(&found), "poisson");
        // Only a trial has connections, and only one trial runs at a time; one of the arms has a proxy.
        assert_eq!(found.most_open_files(), 1 + 65);
        let closed = plan(CLOSED).searched(&ids(&["lua", "direct"])).unwrap();
        assert_eq!((closed.loads[0].name.as_str(), closed.most_open_files()), ("full", 1 + 17));
        assert_eq!(arrivals(&closed), "uniform");
    }

    #[test]
    fn an_id_with_commas_is_found_in_a_list_that_commas_separate() {
        let text = format!(
            "name: test\nconditions: {{protocol: [http1, http2], response_bytes: [64, 1024]}}\narms: [baseline, lua]\nloads:\n{OPEN}"
        );
        let plan = Plan::read("test.yaml", &text, Catalogue::load().unwrap()).unwrap();
        let found =
            plan.searched(&ids(&["baseline @ http2", "response_bytes=1024", "lua @ http2", "lua"])).unwrap();
        let arms: Vec<&str> = found.arms.iter().map(|arm| arm.id.as_str()).collect();
        assert_eq!(arms, ["baseline @ http2, response_bytes=1024", "lua @ http2", "lua"]);
        let unknown = plan.searched(&ids(&["lua", "baseline @ http2", "response_bytes=2048"])).unwrap_err();
        assert!(unknown.contains("no arm `response_bytes=2048`"), "{unknown}");
    }

    #[test]
    fn what_cannot_be_searched_is_refused_with_the_reason() {
        let error = |arms: &[&str]| plan(OPEN).searched(&ids(arms)).unwrap_err();
        assert!(error(&["baseline"]).contains("name at least two"));
        assert!(error(&["baseline", "baseline"]).contains("named twice"));
        let unknown = error(&["baseline", "luaa"]);
        assert!(
            unknown.contains("did you mean `lua`?") && unknown.contains("`baseline`, `direct`"),
            "{unknown}"
        );
        let timeline = "name: test\nobserve: timeline\narms: [baseline, lua]\nloads: [{name: a, loop: open, rate: 100, slice: 1s}]\n";
        let timeline = Plan::read("test.yaml", timeline, Catalogue::load().unwrap()).unwrap();
        assert!(timeline.searched(&ids(&["baseline", "lua"])).unwrap_err().contains("observes a timeline"));
        let php = plan("  - {name: php, loop: closed, caller: php}\n");
        assert!(php.searched(&ids(&["baseline", "lua"])).unwrap_err().contains("add one without `caller`"));
    }
}
