//! Diagnosis: the abilities and limits of a machine, as `hoptax trust doctor` finds it. It is no result: nothing is measured but the machine.

use serde::Serialize;

use crate::{Environment, MachineProbe, Program};

/// A machine, and what it can measure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The program that looked.
    pub program: Program,
    /// The machine.
    pub environment: Environment,
    /// Its probe.
    pub machine: MachineProbe,
    /// The kinds of measurements, the most used first.
    pub abilities: Vec<Ability>,
}

/// A kind of measurements, and how far a machine supports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ability {
    /// Its id: `cpu-costs`.
    pub id: &'static str,
    /// The measurements in words: `CPU costs of functions`.
    pub measurements: &'static str,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LimitReason {
    /// In a few words: `slow wake-ups`.
    pub short: String,
    /// With what was seen, and what to change.
    pub text: String,
}

impl LimitReason {
    /// A reason.
    pub fn new(short: impl Into<String>, text: impl Into<String>) -> Self {
        Self { short: short.into(), text: text.into() }
    }
}

impl Ability {
    /// A kind of measurements that is impossible if there are reasons that exclude it, limited if there are others, and else full.
    pub fn new(
        id: &'static str,
        measurements: &'static str,
        excluding: Vec<LimitReason>,
        limiting: Vec<LimitReason>,
    ) -> Self {
        let extent = match (excluding.is_empty(), limiting.is_empty()) {
            (false, _) => Extent::Impossible,
            (true, false) => Extent::Limited,
            (true, true) => Extent::Full,
        };
        let reasons = if extent == Extent::Impossible { excluding } else { limiting };
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

impl Diagnosis {
    /// True if something is impossible without which the program has little use.
    pub fn lacks_essentials(&self) -> bool {
        self.abilities.iter().any(|ability| ability.is_essential && ability.extent == Extent::Impossible)
    }
}
