//! The abilities and limits of a machine, as `hoptax trust doctor` finds them: each kind of measurements, how far it is possible, and why no
//! further.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Body, Environment, Finding, MachineProbe, Measured, Report, Severity};

/// The measurements that a machine supports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DoctorBody {
    /// The probe of the machine.
    pub machine: MachineProbe,
    /// The kinds of measurements, the most used first.
    pub abilities: Vec<Ability>,
}

/// A kind of measurements, and how far a machine supports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ability {
    /// Its id: `cpu-costs`.
    pub id: String,
    /// The measurements in words: `CPU costs of functions`.
    pub measurements: String,
    /// True if the program has little use without it.
    pub is_essential: bool,
    /// How far it is possible.
    pub extent: Extent,
    /// The reasons that exclude or limit it, the most important first; empty if it has no limit.
    pub reasons: Vec<LimitReason>,
    /// A remark that holds where it has no limit, in a few words; may be empty.
    pub note: String,
}

/// How far a kind of measurements is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// Without a limit that is known beforehand.
    Full,
    /// With a limit.
    Limited,
    /// Not at all.
    Impossible,
}

/// A reason that excludes or limits a kind of measurements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitReason {
    /// Its id, which its finding has, too: `no-envoy`.
    pub id: String,
    /// In a few words: `slow wake-ups`.
    pub short: String,
    /// With what was seen, and what to change.
    pub text: String,
}

impl LimitReason {
    /// A reason.
    pub fn new(id: &str, short: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: id.to_owned(), short: short.into(), text: text.into() }
    }
}

impl Ability {
    /// A kind of measurements that is impossible if there are reasons that exclude it, limited if there are others, and else full.
    pub fn new(
        id: &str,
        measurements: &str,
        excluding: Vec<LimitReason>,
        limiting: Vec<LimitReason>,
    ) -> Self {
        let extent = match (excluding.is_empty(), limiting.is_empty()) {
            (false, _) => Extent::Impossible,
            (true, false) => Extent::Limited,
            (true, true) => Extent::Full,
        };
        let reasons = if extent == Extent::Impossible { excluding } else { limiting };
        let (id, measurements) = (id.to_owned(), measurements.to_owned());
        Self { id, measurements, is_essential: false, extent, reasons, note: String::new() }
    }

    /// The same as one without which the program has little use.
    #[must_use]
    pub fn essential(self) -> Self {
        Self { is_essential: true, ..self }
    }

    /// The same with what holds where it has no limit.
    #[must_use]
    pub fn with_note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }
}

/// Its report.
pub type DoctorResult = Report<DoctorBody>;

impl Body for DoctorBody {
    const FORMAT: &'static str = "hoptax.doctor/1";
    type Environment = Environment;

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        "machine".to_owned()
    }

    /// A finding for each reason: a failure if it excludes measurements, a warning if it only limits them. Its value is their number. It
    /// withholds nothing, because no number depends on it, and has no advice, because the text of a reason says what to change.
    fn own_findings(&self) -> Vec<Finding> {
        let finding = |reason: &LimitReason| {
            let has_it = |ability: &&Ability| ability.reasons.contains(reason);
            let concerned: Vec<&Ability> = self.abilities.iter().filter(has_it).collect();
            let is_excluding = concerned.iter().any(|ability| ability.extent == Extent::Impossible);
            let severity = if is_excluding { Severity::Fail } else { Severity::Warn };
            let measured = Measured::count(concerned.len() as f64, 0.0, "measurements");
            Finding::new(&reason.id, severity, measured, reason.text.clone(), "").keeping()
        };
        self.reasons().into_iter().map(finding).collect()
    }

    /// Void if something is impossible without which the program has little use.
    fn is_void(&self) -> bool {
        self.lacks_essentials()
    }
}

impl DoctorBody {
    /// True if something is impossible without which the program has little use.
    pub fn lacks_essentials(&self) -> bool {
        self.missing_essentials().next().is_some()
    }

    /// The impossible measurements without which the program has little use.
    pub fn missing_essentials(&self) -> impl Iterator<Item = &Ability> {
        self.abilities.iter().filter(|ability| ability.is_essential && ability.extent == Extent::Impossible)
    }

    /// The reasons that exclude or limit measurements, each once, in the order of the measurements.
    pub fn reasons(&self) -> Vec<&LimitReason> {
        let mut reasons: Vec<&LimitReason> = Vec::new();
        for reason in self.abilities.iter().flat_map(|ability| &ability.reasons) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        reasons
    }
}
