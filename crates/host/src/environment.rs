//! The description of the machine in results.

use std::fs;
use std::time::SystemTime;

use hoptax_result::Environment;

use crate::accounting::bytes_of;

/// Reads the description of the machine. Unavailable fields stay empty.
pub fn capture() -> Environment {
    let system = rustix::system::uname();
    let cpu_info = read("/proc/cpuinfo");
    let field = |name: &str| {
        cpu_info
            .lines()
            .find_map(|line| line.split_once(':').filter(|(key, _)| key.trim() == name))
            .map(|(_, value)| value.trim().to_owned())
    };
    Environment {
        started_at: now(),
        proxy_version: None,
        proxy_sha256: None,
        proxy_build: None,
        kernel: system.release().to_string_lossy().into_owned(),
        cpu_model: field("model name").or_else(|| field("CPU part")).unwrap_or_default(),
        cpus: cpu_info.lines().filter(|line| line.starts_with("processor")).count() as u32,
        memory_bytes: bytes_of(&read("/proc/meminfo"), "MemTotal").unwrap_or(0),
        virtual_machine: field("flags")
            .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        clock_source: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        frequency_governor: Some(read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))
            .filter(|governor| !governor.is_empty()),
        load_average: read("/proc/loadavg")
            .split(' ')
            .next()
            .and_then(|word| word.parse().ok())
            .unwrap_or(0.0),
        proxy_cpus: Vec::new(),
        generator_cpus: Vec::new(),
        calibration: None,
        cluster: None,
    }
}

/// The current time in UTC, RFC 3339.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// The kernel's boot id; empty if unavailable.
pub fn boot_id() -> String {
    read("/proc/sys/kernel/random/boot_id")
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// Memory available without swapping, according to Linux, bytes.
pub fn available_bytes() -> Option<u64> {
    bytes_of(&read("/proc/meminfo"), "MemAvailable")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_local_machine_is_described() {
        let environment = capture();
        assert!(environment.cpus >= 1);
        assert!(environment.memory_bytes > 1 << 20 && available_bytes() < Some(environment.memory_bytes));
        assert!(!environment.kernel.is_empty());
        assert!(environment.started_at.ends_with('Z'));
    }
}
