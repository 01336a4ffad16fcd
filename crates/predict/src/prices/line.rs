//! A machine as a line: the cost factor of functions relative to a list, over their stretch.

/// A line: the logarithm of the cost factor is `level + slope * stretch`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Line {
    /// The logarithm of the factor at stretch 0.
    pub level: f64,
    /// Its change per unit of stretch.
    pub slope: f64,
}

/// A function, or plain proxying, with known costs on both machines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anchor {
    /// Its stretch.
    pub stretch: f64,
    /// The logarithm of the ratio of its cost here to its cost on the list.
    pub log_factor: f64,
}

impl Line {
    /// Fits a line to `anchors` by least squares. None without anchors. The slope is 0 if all anchors have the same stretch, as a
    /// single one does.
    pub fn through(anchors: &[Anchor]) -> Option<Self> {
        let count = anchors.len() as f64;
        let mean = |of: fn(&Anchor) -> f64| anchors.iter().map(of).sum::<f64>() / count;
        let (stretch, log_factor) = (mean(|one| one.stretch), mean(|one| one.log_factor));
        let moment = |of: fn(&Anchor) -> f64, mean: f64| -> f64 {
            anchors.iter().map(|one| (one.stretch - stretch) * (of(one) - mean)).sum()
        };
        let spread = moment(|one| one.stretch, stretch);
        let slope = if spread > 1e-9 { moment(|one| one.log_factor, log_factor) / spread } else { 0.0 };
        (!anchors.is_empty()).then_some(Self { level: log_factor - slope * stretch, slope })
    }

    /// The cost factor of a function with this stretch.
    pub fn factor(&self, stretch: f64) -> f64 {
        (self.level + self.slope * stretch).exp()
    }
}

/// The functions to measure on a machine to carry a list to it: functions that compute, functions that exchange messages, and one
/// in between. All of them are expensive. They are the arms of the study `anchors`.
pub const ANCHORS: [&str; 4] = ["ext-authz/http", "jwt", "route/path{routes=1000}", "tracing/opentelemetry"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_passes_through_two_anchors_and_is_level_through_one() {
        let (slow, fast) =
            (Anchor { stretch: 1.0, log_factor: 1.2 }, Anchor { stretch: -1.0, log_factor: 0.4 });
        let line = Line::through(&[slow, fast]).unwrap();
        assert!((line.level - 0.8).abs() < 1e-12 && (line.slope - 0.4).abs() < 1e-12, "{line:?}");
        assert_eq!(Line::through(&[slow]), Some(Line { level: 1.2, slope: 0.0 }));
        assert_eq!(Line::through(&[]), None);
    }
}
