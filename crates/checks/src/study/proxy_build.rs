//! Builds of proxies. A build that its packager changed, or one with assertions, differs from a release of the same version.

use std::collections::BTreeSet;

use hoptax_result::{ArmResult, Finding, Measured, Severity, StudyResult};

use crate::check::Check;

/// What Envoy prints of a build of unmodified sources without assertions.
const OF_RELEASE: &str = "Clean/RELEASE";
/// The end of what it prints of a build with assertions.
const DEBUG: &str = "/DEBUG";

/// A proxy whose program is not built as a release.
pub(super) const PROXY_BUILD: Check<StudyResult> = Check {
    id: "proxy-build",
    protects_from: "the effect of a packager's patch or of a debug build read as that of a release",
    source: "`envoy --version` prints the state of the sources (bazel/get_workspace_status) and whether assertions are compiled in \
             (source/common/version/version.cc)",
    judge: |result, _| {
        let Some(one) = finding(result.arms.iter().flat_map(programs)) else { return Vec::new() };
        let (concerned, others): (Vec<&ArmResult>, Vec<&ArmResult>) =
            with_proxies(result).partition(|arm| programs(arm).any(|program| is_no_release(&program)));
        if others.is_empty() {
            return vec![one];
        }
        concerned.iter().map(|arm| Finding { arm: Some(arm.id.clone()), ..one.clone() }).collect()
    },
    withhold: None,
};

/// The finding about programs of proxies, each with its version and its build; none if all are built as releases. Numbers of another build
/// are true for it, so none is withheld.
pub fn finding<'a>(programs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<Finding> {
    let found: BTreeSet<(&str, &str)> = programs.into_iter().filter(is_no_release).collect();
    let said: Vec<String> =
        found.iter().map(|(version, build)| format!("Envoy {version} says `{build}`")).collect();
    let count = found.len() as u64;
    let message = format!("{}, not `{OF_RELEASE}`", said.join(", "));
    let advice = if found.iter().any(|(_, build)| build.ends_with(DEBUG)) {
        "measure a build that says `RELEASE`: one that says `DEBUG` checks assertions and may not be optimised, so its costs are not those \
         of a release"
    } else {
        "the numbers are those of this build; a difference from another release may be one of the build, such as a packager's patch: \
         compare releases with builds that say `Clean/RELEASE`"
    };
    let measured = Measured::count(count as f64, 0.0, "versions");
    (count > 0).then(|| Finding::new("proxy-build", Severity::Warn, measured, message, advice))
}

fn is_no_release((_, build): &(&str, &str)) -> bool {
    *build != OF_RELEASE
}

/// The version and the build of each proxy of an arm that reports both.
fn programs(arm: &ArmResult) -> impl Iterator<Item = (&str, &str)> {
    let hops = arm.subject.iter().flat_map(|subject| &subject.hops);
    hops.filter_map(|hop| Some((hop.version.as_deref()?, hop.build.as_deref()?)))
}

fn with_proxies(result: &StudyResult) -> impl Iterator<Item = &ArmResult> {
    let has_some = |arm: &&ArmResult| arm.subject.as_ref().is_some_and(|subject| !subject.hops.is_empty());
    result.arms.iter().filter(has_some)
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Finding, PlannedHop, PlannedSubject, Severity, StudyResult, Verdict};

    use crate::study::tests::{fired, withheld};

    /// The version and the build that a program reports.
    type Program = (&'static str, Option<&'static str>);

    const CLEAN: Program = ("1.40.0", Some("Clean/RELEASE"));
    const MODIFIED: Program = ("1.38.3", Some("Modified/RELEASE"));
    const DEBUG: Program = ("1.40.0", Some("Clean/DEBUG"));
    const OTHER: Program = ("nginx version: nginx/1.22", None);

    fn hop((version, build): Program) -> PlannedHop {
        let (version, build) = (Some(version.to_owned()), build.map(str::to_owned));
        PlannedHop { version, build, ..PlannedHop::default() }
    }

    /// Gives each arm a proxy of one of the programs.
    fn set(result: &mut StudyResult, programs: [Program; 3]) {
        for (arm, program) in result.arms.iter_mut().zip(programs) {
            arm.subject = Some(PlannedSubject { hops: vec![hop(program)], ..PlannedSubject::default() });
        }
    }

    /// The findings about arms with these proxies.
    fn found(programs: [Program; 3]) -> Vec<Finding> {
        let (severity, result) = fired("proxy-build", |result| set(result, programs));
        assert_eq!(result.verdict == Verdict::Caution, severity.is_some(), "{:?}", result.findings);
        result.findings
    }

    /// The only finding about arms with these proxies.
    fn only(programs: [Program; 3]) -> Finding {
        let mut found = found(programs);
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    #[test]
    fn a_modified_build_among_releases_warns_of_its_arm_and_withholds_nothing() {
        let programs = [CLEAN, CLEAN, MODIFIED];
        let one = only(programs);
        assert_eq!((one.severity, one.arm.as_deref()), (Severity::Warn, Some("lua")));
        assert_eq!(one.message, "Envoy 1.38.3 says `Modified/RELEASE`, not `Clean/RELEASE`");
        assert!(one.advice.contains("may be one of the build"), "{}", one.advice);
        assert_eq!(withheld(|result| set(result, programs)), [""; 0]);
    }

    #[test]
    fn builds_of_all_proxies_are_one_finding_with_each_version() {
        for all in [[MODIFIED; 3], [DEBUG; 3]] {
            let one = only(all);
            assert_eq!((one.severity, one.arm), (Severity::Warn, None));
        }
        let one = only([DEBUG, DEBUG, MODIFIED]);
        assert_eq!(
            one.message,
            "Envoy 1.38.3 says `Modified/RELEASE`, Envoy 1.40.0 says `Clean/DEBUG`, not `Clean/RELEASE`"
        );
        assert!(one.advice.starts_with("measure a build that says `RELEASE`"), "{}", one.advice);
    }

    #[test]
    fn one_proxy_of_several_suffices_and_an_arm_without_a_proxy_does_not_count() {
        let (_, result) = fired("proxy-build", |result| {
            set(result, [MODIFIED, CLEAN, CLEAN]);
            result.arms[1].subject = Some(PlannedSubject::default());
            let hops = [CLEAN, MODIFIED].map(hop).to_vec();
            result.arms[2].subject = Some(PlannedSubject { hops, ..PlannedSubject::default() });
        });
        let arms: Vec<Option<&str>> = result.findings.iter().map(|one| one.arm.as_deref()).collect();
        assert_eq!(arms, [None]);
    }

    #[test]
    fn a_release_and_a_program_that_says_nothing_of_its_build_do_not_warn() {
        assert_eq!(found([CLEAN; 3]), []);
        assert_eq!(found([OTHER; 3]), []);
        assert_eq!(found([CLEAN, OTHER, CLEAN]), []);
        let beside_other = found([MODIFIED, OTHER, MODIFIED]);
        let arms: Vec<Option<&str>> = beside_other.iter().map(|one| one.arm.as_deref()).collect();
        assert_eq!(arms, [Some("baseline"), Some("lua")]);
    }

    #[test]
    fn other_words_warn() {
        for build in ["Distribution/RELEASE", "Clean/", "/", "", "Clean/RELEASE/BoringSSL", "clean/release"] {
            let one = only([("1.40.0", Some(build)); 3]);
            let expected = format!("Envoy 1.40.0 says `{build}`, not `Clean/RELEASE`");
            assert_eq!(one.message, expected);
        }
    }
}
