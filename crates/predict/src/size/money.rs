//! Monthly price of the cores and the memory of proxies.

use hoptax_result::{Interval, ProxyMoney, SizeMoney, SizeResult, SizedProxy};

/// Hours of a month: 365 days of 24 hours, divided by 12.
pub const HOURS_PER_MONTH: f64 = 730.0;

/// Bytes of a GiB.
const GIB: f64 = 1_073_741_824.0;

/// Prices, in any currency; None for a resource without a price.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    /// Price of a core for an hour.
    pub per_core_hour: Option<f64>,
    /// Price of a GiB of memory for an hour.
    pub per_gib_hour: Option<f64>,
}

/// Returns the monthly price of the proxies of a prediction, if they always run at its rate. The price counts the cores and the memory that
/// they use. None without a price.
///
/// **Method.** The correlation between the errors of CPU time and memory is unknown, so the interval of a sum is the widest possible
/// ([`Interval::sum_of_dependent`]).
pub fn money(result: &SizeResult, prices: Prices) -> Option<SizeMoney> {
    let Prices { per_core_hour, per_gib_hour } = prices;
    if per_core_hour.is_none() && per_gib_hour.is_none() {
        return None;
    }
    let of_cores = |cores: &Interval| per_core_hour.map(|price| cores.times(price * HOURS_PER_MONTH));
    let of_memory =
        |proxy: &SizedProxy| Some(proxy.memory_bytes?.times(per_gib_hour? * HOURS_PER_MONTH / GIB));
    let sum = |parts: &[Option<Interval>]| {
        Interval::sum_of_dependent(&parts.iter().copied().collect::<Option<Vec<_>>>()?)
    };
    let of_proxy = |proxy: &SizedProxy| {
        let (cpu, memory) = (of_cores(&proxy.cores), of_memory(proxy));
        let parts = match (per_core_hour, per_gib_hour) {
            (Some(_), Some(_)) => vec![cpu, memory],
            (None, _) => vec![memory],
            (_, None) => vec![cpu],
        };
        ProxyMoney {
            service: proxy.service.clone(),
            cpu_per_month: cpu,
            memory_per_month: memory,
            per_month: sum(&parts),
        }
    };
    let mut all: Vec<Option<Interval>> = per_core_hour.map(|_| of_cores(&result.cores)).into_iter().collect();
    if per_gib_hour.is_some() {
        all.extend(result.proxies.iter().map(of_memory));
    }
    Some(SizeMoney {
        price_per_core_hour: per_core_hour,
        price_per_gib_hour: per_gib_hour,
        hours_per_month: HOURS_PER_MONTH,
        proxies: result.proxies.iter().map(of_proxy).collect(),
        per_month: sum(&all),
    })
}
