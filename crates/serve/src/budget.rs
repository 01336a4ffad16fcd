//! The time limit of a job, as the API states it.

use std::time::Duration;

/// The minimum. A study always measures at least two rounds.
const SHORTEST: Duration = Duration::from_secs(1);
/// The maximum. For a longer job, there may be nobody left to stop it.
const LONGEST: Duration = Duration::from_hours(12);

/// The time limit in a field `budget`; none if the field is absent.
///
/// # Errors
/// When it is not a duration or is out of range, with the name of the field.
pub(crate) fn budget(text: Option<&str>) -> Result<Option<Duration>, String> {
    let Some(text) = text else { return Ok(None) };
    let length = humantime::parse_duration(text)
        .map_err(|_| "`budget`: it is not a duration, such as `10m` or `90s`".to_owned())?;
    if (SHORTEST..=LONGEST).contains(&length) {
        Ok(Some(length))
    } else {
        Err("`budget`: it must be at least 1s and at most 12h".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_at_most_half_a_day() {
        assert_eq!(budget(None), Ok(None));
        assert_eq!(budget(Some("10m")), Ok(Some(Duration::from_mins(10))));
        assert_eq!(budget(Some("12h")), Ok(Some(LONGEST)));
        for text in ["", "10", "soon", "0s", "999ms", "12h 1s", "1y"] {
            assert!(budget(Some(text)).unwrap_err().starts_with("`budget`: "), "{text}");
        }
    }
}
