//! A gate as JUnit XML, which CI systems show as tests: one test case for each limit of each arm.

use std::io;

use hoptax_result::{GateLimit, GateOutcome, GateResult};
use quick_xml::Writer;
use quick_xml::events::BytesText;

use crate::gate::sentence;
use crate::numbers::ungrouped;

/// The gate as JUnit XML. An exceeded limit is a failure; an undecided or unknown one is skipped, with the reason.
///
/// # Errors
/// Never in practice: writing to memory does not fail.
pub fn gate(result: &GateResult) -> io::Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let count = |outcomes: &[GateOutcome]| {
        result.limits.iter().filter(|limit| outcomes.contains(&limit.outcome)).count().to_string()
    };
    let (tests, failures) = (result.limits.len().to_string(), count(&[GateOutcome::Failed]));
    let skipped = count(&[GateOutcome::Undecided, GateOutcome::Unknown]);
    let time = ungrouped(result.wall_seconds, 3);
    let counts = [("tests", tests.as_str()), ("failures", failures.as_str()), ("skipped", skipped.as_str())];
    writer.create_element("testsuites").with_attributes(counts).write_inner_content(|writer| {
        let suite = writer.create_element("testsuite").with_attribute(("name", result.study.as_str()));
        suite.with_attributes(counts).with_attribute(("time", time.as_str())).write_inner_content(
            |writer| result.limits.iter().try_for_each(|limit| case(writer, result, limit)),
        )?;
        Ok(())
    })?;
    let text = String::from_utf8(writer.into_inner()).map_err(io::Error::other)?;
    Ok(format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}\n"))
}

fn case(writer: &mut Writer<Vec<u8>>, result: &GateResult, limit: &GateLimit) -> io::Result<()> {
    let of = writer
        .create_element("testcase")
        .with_attribute(("classname", limit.arm.as_str()))
        .with_attribute(("name", limit.limit.as_str()));
    let sentence = sentence(result, limit);
    let message = ("message", sentence.as_str());
    match limit.outcome {
        GateOutcome::Passed => of.write_inner_content(|writer| {
            writer.create_element("system-out").write_text_content(BytesText::new(&sentence))?;
            Ok(())
        })?,
        GateOutcome::Failed => of.write_inner_content(|writer| {
            writer.create_element("failure").with_attribute(message).write_empty()?;
            Ok(())
        })?,
        GateOutcome::Undecided | GateOutcome::Unknown => of.write_inner_content(|writer| {
            writer.create_element("skipped").with_attribute(message).write_empty()?;
            Ok(())
        })?,
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::fixture;

    #[test]
    fn each_limit_is_a_test_case() {
        insta::assert_snapshot!(gate(&fixture::gate()).unwrap());
    }
}
