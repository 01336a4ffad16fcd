//! The arms of a study that a user names for a search.

use std::str::FromStr;

/// The ids of arms, in the order in which they were named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArmIds(pub Vec<String>);

impl FromStr for ArmIds {
    type Err = String;

    /// Reads ids, separated by commas; those in braces belong to an id, as in `route/path{routes=200,depth=2}`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut ids = vec![String::new()];
        let mut depth = 0_usize;
        for character in text.chars() {
            match character {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    ids.push(String::new());
                    continue;
                }
                _ => {}
            }
            if let Some(id) = ids.last_mut() {
                id.push(character);
            }
        }
        let ids: Vec<String> = ids.iter().map(|id| id.trim().to_owned()).collect();
        if ids.iter().any(String::is_empty) {
            return Err("an arm has no name; write `baseline,lua`".to_owned());
        }
        Ok(Self(ids))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_are_separated_by_commas_outside_of_braces() {
        let ids = |text: &str| text.parse::<ArmIds>().map(|arms| arms.0);
        assert_eq!(ids("direct, lua"), Ok(vec!["direct".to_owned(), "lua".to_owned()]));
        assert_eq!(
            ids("route/path{routes=2,depth=3},a"),
            Ok(vec!["route/path{routes=2,depth=3}".to_owned(), "a".to_owned()])
        );
        assert!(ids("direct,").is_err() && ids("").is_err());
    }
}
