//! The rate of a study's load as text, and how busy it kept the proxies.

use hoptax_result::{ArmResult, LoadSpec, StudyResult};
use hoptax_stats::median;

use crate::numbers::{grouped, percent};

/// The rate of a load, and how busy it kept the proxies: `30 %, busy 43 %`.
pub(crate) fn rate(result: &StudyResult, load: &LoadSpec) -> String {
    let how = match (load.utilisation, load.rate) {
        (Some(share), _) => percent(share, 0),
        (None, Some(rate)) => format!("{}/s", grouped(rate, 0)),
        (None, None) => "closed loop".to_owned(),
    };
    let busy = busy_share(result, load).filter(|_| load.utilisation.is_some());
    let busy = busy.map_or_else(String::new, |share| format!(", busy {}", percent(share, 0)));
    how + &busy
}

/// Returns the busy share of the proxies under a load, the median over arms. None without proxies.
pub(crate) fn busy_share(result: &StudyResult, load: &LoadSpec) -> Option<f64> {
    let of_arm = |arm: &ArmResult| arm.under(&load.name)?.busy_share();
    median(&result.arms.iter().filter_map(of_arm).collect::<Vec<f64>>())
}
