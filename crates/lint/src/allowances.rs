//! A file that allows findings by the paths of their nodes, for texts without comments: JSON, and dumps of running proxies.

use hoptax_bootstrap::{Place, Problem, Problems};
use hoptax_text::nearest::hint;
use hoptax_text::yaml::envoy::{self, Key, Node, Tree};
use serde_json::Value;

use crate::finding::Finding;
use crate::rules::ALLOWED_WITHOUT_EFFECT;
use crate::{ALL, Linted, rule};

/// The keys of an entry.
const KEYS: [&str; 3] = ["rule", "at", "reason"];

/// Allowances of a file.
#[derive(Clone, Debug)]
pub struct Allowances {
    /// The name of the file.
    name: String,
    entries: Vec<Entry>,
}

/// An entry: findings of a rule at a path and below it, or everywhere.
#[derive(Clone, Debug)]
struct Entry {
    line: u64,
    id: String,
    at: String,
    reason: String,
    is_used: bool,
}

impl Entry {
    fn allows(&self, finding: &Finding) -> bool {
        let leads_to = |path: &str| {
            path.strip_prefix(&self.at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.id == finding.rule.id && (leads_to(&finding.path) || leads_to(&finding.found.at))
    }
}

impl Allowances {
    /// Reads a file: a list of `{rule, at, reason}`, where `at` is optional.
    ///
    /// # Errors
    /// All problems of the file.
    pub fn read(name: &str, text: &str) -> Result<Self, Problems> {
        let mut reader = Reader { name, problems: Vec::new() };
        let root = match envoy::first(text) {
            Ok(root) => root,
            Err(error) => {
                reader.add(error.line, format!("not YAML: {}", error.message));
                return Err(Problems::new(reader.problems));
            }
        };
        let mut entries = Vec::new();
        match &root.node {
            Node::Sequence(items) => entries.extend(items.iter().filter_map(|item| reader.entry(item))),
            _ => reader.add(root.line, "needs a list of `{rule: RULE-ID, at: PATH, reason: TEXT}`"),
        }
        if reader.problems.is_empty() {
            Ok(Self { name: name.to_owned(), entries })
        } else {
            Err(Problems::new(reader.problems))
        }
    }

    /// Sets aside the findings that it allows.
    pub fn sort_out(&mut self, linted: &mut Linted) {
        for finding in std::mem::take(&mut linted.findings) {
            match self.entries.iter_mut().find(|entry| entry.allows(&finding)) {
                Some(entry) => {
                    entry.is_used = true;
                    linted.allowed.push((finding, entry.reason.clone()));
                }
                None => linted.findings.push(finding),
            }
        }
    }

    /// A finding for each entry that has allowed nothing so far.
    pub fn without_effect(&self) -> Vec<Finding> {
        let unused = self.entries.iter().filter(|entry| !entry.is_used);
        let about = |entry: &Entry| {
            let place = if entry.at.is_empty() { String::new() } else { format!(" at `{}`", entry.at) };
            let message =
                format!("this entry allows `{}`{place}, but the rule finds nothing there", entry.id);
            Finding::at_line(&ALLOWED_WITHOUT_EFFECT, &self.name, 0, entry.line, message)
        };
        unused.map(about).collect()
    }
}

/// Reads entries, and collects their problems.
struct Reader<'t> {
    name: &'t str,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn add(&mut self, line: u64, message: impl Into<String>) {
        let place = Place { file: self.name.to_owned(), line, column: 0, pointer: String::new() };
        self.problems.push(Problem { place, message: message.into() });
    }

    /// An entry; none if it has a problem.
    fn entry(&mut self, item: &Tree) -> Option<Entry> {
        let Node::Mapping(keys) = &item.node else {
            self.add(item.line, "needs `{rule: RULE-ID, at: PATH, reason: TEXT}`");
            return None;
        };
        let before = self.problems.len();
        for (Key { line, text, .. }, value) in keys {
            if !KEYS.contains(&text.as_str()) {
                self.add(*line, format!("unknown key `{text}`{}", hint(text, KEYS)));
            } else if !matches!(&value.node, Node::Scalar(Value::String(text), _) if !text.trim().is_empty())
            {
                self.add(*line, format!("`{text}` must be a string that is not empty"));
            }
        }
        let text = |name: &str| {
            let value = keys.iter().rev().find(|(key, _)| key.text == name).map(|(_, value)| &value.node);
            match value {
                Some(Node::Scalar(Value::String(text), _)) => Some(text.trim().to_owned()),
                _ => None,
            }
        };
        let (id, at, reason) = (text("rule"), text("at").unwrap_or_default(), text("reason"));
        if let Some(id) = id.as_deref().filter(|id| rule(id).is_none()) {
            let hint = hint(id, ALL.iter().map(|rule| rule.id));
            self.add(item.line, format!("unknown rule `{id}`{hint}; `hoptax lint rules` lists them"));
        }
        if !at.is_empty() && !at.starts_with('/') {
            self.add(item.line, "`at` is a path as `hoptax lint --json -` prints it, which begins with `/`");
        }
        for (name, value) in [("rule", &id), ("reason", &reason)] {
            if value.is_none() && !keys.iter().any(|(key, _)| key.text == name) {
                self.add(item.line, format!("has no key `{name}`"));
            }
        }
        let is_sound = self.problems.len() == before;
        let at = at.trim_end_matches('/').to_owned();
        Some(Entry { line: item.line, id: id?, at, reason: reason?, is_used: false }).filter(|_| is_sound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hoptax_bootstrap::read_partly;

    /// Two clusters with the same fault, in JSON.
    const TWO: &str = r#"{"static_resources": {"clusters": [{"name": "a"}, {"name": "b"}]}}"#;

    fn linted() -> Linted {
        crate::lint(&read_partly("x.json", TWO, None, &|_| Err("none".to_owned())).unwrap())
    }

    fn of_rule(linted: &Linted) -> Vec<&str> {
        let of = linted.findings.iter().filter(|finding| finding.rule.id == "connect-timeout-default");
        of.map(|finding| finding.path.as_str()).collect()
    }

    #[test]
    fn an_entry_allows_a_rule_at_a_path_by_names_or_by_numbers_or_everywhere() {
        let [a, b] = ["/static_resources/clusters/a/name", "/static_resources/clusters/b/name"];
        assert_eq!(of_rule(&linted()), [a, b]);
        let left = |at: &str, left: &[&str]| {
            let text = format!("- rule: connect-timeout-default\n  reason: small\n{at}");
            let mut allowances = Allowances::read("allow.yaml", &text).unwrap();
            let mut linted = linted();
            allowances.sort_out(&mut linted);
            assert_eq!(of_rule(&linted), left, "{at}");
            assert_eq!(allowances.without_effect().len(), usize::from(left.len() == 2), "{at}");
            assert!(linted.allowed.iter().all(|(_, reason)| reason == "small"));
            assert_eq!(linted.allowed.len(), 2 - left.len());
        };
        left("", &[]);
        left("  at: /static_resources/clusters/b\n", &[a]);
        left("  at: /static_resources/clusters/0/\n", &[b]);
        left("  at: /static_resources/clusters\n", &[]);
        left("  at: /static_resources/clust\n", &[a, b]);
        left("  at: /static_resources/clusters/c\n", &[a, b]);
    }

    #[test]
    fn problems_of_a_file_are_reported_together_with_their_lines() {
        let text = "- {rule: rate-limit-of, reason: x}\n- rule: rate-limit-off\n- 5\n- {rule: rate-limit-off, reason: '', att: a}\n\
                    - {rule: rate-limit-off, reason: x, at: clusters}\n";
        let problems = Allowances::read("allow.yaml", text).unwrap_err().to_string();
        for expected in [
            "allow.yaml:1: unknown rule `rate-limit-of`; did you mean `rate-limit-off`?",
            "allow.yaml:2: has no key `reason`",
            "allow.yaml:3: needs `{rule: RULE-ID, at: PATH, reason: TEXT}`",
            "allow.yaml:4: unknown key `att`",
            "allow.yaml:4: `reason` must be a string that is not empty",
            "allow.yaml:5: `at` is a path",
        ] {
            assert!(problems.contains(expected), "{expected}:\n{problems}");
        }
        assert_eq!(problems.lines().count(), 6, "{problems}");
        for (text, expected) in [("a: [", "allow.yaml:1: not YAML"), ("rule: x", "needs a list")] {
            let problem = Allowances::read("allow.yaml", text).unwrap_err().to_string();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
