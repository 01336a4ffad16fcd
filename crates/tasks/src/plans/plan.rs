//! The plans, and how many pulls each of them allows.

/// A plan of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plan {
    /// For one person.
    Personal,
    /// For a few people.
    Team,
    /// For a company.
    Enterprise,
}

impl Plan {
    /// All plans, the smallest first.
    pub const ALL: [Self; 3] = [Self::Personal, Self::Team, Self::Enterprise];

    /// Its name in tokens, in the application's interface and in its storage.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Personal => "personal",
            Self::Team => "team",
            Self::Enterprise => "enterprise",
        }
    }

    /// The plan with this name; None if there is none.
    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plan| plan.name() == name)
    }
}

/// Pulls per minute of each plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Limit of [`Plan::Personal`].
    pub personal: u32,
    /// Limit of [`Plan::Team`].
    pub team: u32,
    /// Limit of [`Plan::Enterprise`].
    pub enterprise: u32,
}

impl Limits {
    /// Pulls per minute of a plan.
    pub const fn pulls_per_minute(&self, plan: Plan) -> u32 {
        match plan {
            Plan::Personal => self.personal,
            Plan::Team => self.team,
            Plan::Enterprise => self.enterprise,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { personal: 10, team: 100, enterprise: 1000 }
    }
}
