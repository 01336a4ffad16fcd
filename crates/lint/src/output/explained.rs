//! Rules in words.

use crate::{ALL, Rule, Severity};

/// One rule: its fault, its consequence, and its cure.
pub fn explained(rule: &Rule) -> String {
    format!(
        "{} ({})\n\nfinds:   {}\nwhy:     {}\nto do:   {}\nsource:  {}\n\nA comment on the line of a finding, or above it, allows it:\n  \
         # hoptax-lint: allow {} REASON\n",
        rule.id, rule.severity, rule.title, rule.why, rule.cure, rule.source, rule.id
    )
}

/// All rules, by severity.
pub fn listed() -> String {
    let groups = Severity::ALL.map(|severity| {
        let of = ALL.iter().filter(|rule| rule.severity == severity);
        let lines: String = of.map(|rule| format!("  {:<26}  {}\n", rule.id, rule.title)).collect();
        format!("{severity}:\n{lines}")
    });
    groups.join("\n")
}

/// All rules as a page of Markdown.
pub fn page() -> String {
    let mut text = format!(
        "# Rules of `hoptax lint`\n\n{} rules. Error: the file alone shows that it does not do what it says, or that Envoy refuses it. \
         Warning: the file fails\nunder usual conditions. Info: a default that the owner should know, or a fault that depends on the \
         environment.\n`hoptax lint rules --markdown` prints this page.\n",
        ALL.len()
    );
    for severity in Severity::ALL {
        text += &format!(
            "\n## {}\n",
            match severity {
                Severity::Error => "Errors",
                Severity::Warning => "Warnings",
                Severity::Info => "Infos",
            }
        );
        for rule in ALL.iter().filter(|rule| rule.severity == severity) {
            text += &format!(
                "\n### {}\n\nFinds: {}.\n\nWhy: {}\n\nTo do: {}\n\nSource: {}\n",
                rule.id, rule.title, rule.why, rule.cure, rule.source
            );
        }
    }
    text
}
