//! Flame graphs as SVG.

use inferno::flamegraph::{self, Options};

use crate::profile::folded::Folded;

/// Reason why a flame graph cannot be drawn, which is a bug in hoptax unless there are no stacks.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw the flame graph `{title}`: {cause}")]
pub struct FlameError {
    title: String,
    cause: String,
}

/// The flame graph of stacks: widths are CPU time.
///
/// # Errors
/// Without a stack.
pub fn graph(title: &str, stacks: &Folded) -> Result<String, FlameError> {
    draw(title, &stacks.lines().collect::<Vec<String>>())
}

/// The flame graph of stacks, coloured by their difference from `other`: red where they take more CPU time, blue where less.
///
/// # Errors
/// Without a stack.
pub fn difference(title: &str, stacks: &Folded, other: &Folded) -> Result<String, FlameError> {
    draw(title, &stacks.differences(other).collect::<Vec<String>>())
}

fn draw(title: &str, lines: &[String]) -> Result<String, FlameError> {
    let failed = |cause: String| FlameError { title: title.to_owned(), cause };
    let mut options = Options::default();
    title.clone_into(&mut options.title);
    "ns".clone_into(&mut options.count_name);
    let mut svg = Vec::new();
    let drawn = flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg);
    drawn.map_err(|error| failed(error.to_string()))?;
    String::from_utf8(svg).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_shows_every_frame_with_its_share() {
        let stacks = Folded::read("main;Envoy::Router::route(a<b>) 30\nmain;writev 10\n");
        let svg = graph("jwt", &stacks).unwrap();
        assert!(svg.contains("<svg") && svg.contains("jwt"), "{svg}");
        assert!(svg.contains("Envoy::Router::route(a&lt;b&gt;) (30 ns, 75.00%)"), "{svg}");
        assert!(graph("nothing", &Folded::default()).unwrap_err().to_string().contains("`nothing`"));
    }

    #[test]
    fn a_differential_graph_shows_what_was_added() {
        let (own, other) =
            (Folded::read("main;verify 30\nmain;writev 10\n"), Folded::read("main;writev 20\n"));
        let svg = difference("jwt less baseline", &own, &other).unwrap();
        assert!(
            svg.contains("verify (30 ns, 75.00%; +") && svg.contains("writev (10 ns, 25.00%; -"),
            "{svg}"
        );
    }
}
