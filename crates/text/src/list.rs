//! Lists of words in a sentence.

use std::borrow::Borrow;
use std::fmt::Display;

/// Words that all hold: `a, b and c`.
pub fn listed<T: Borrow<str> + Display>(words: &[T]) -> String {
    joined(words, "and")
}

/// Words of which one holds: `a, b or c`.
pub fn alternatives<T: Borrow<str> + Display>(words: &[T]) -> String {
    joined(words, "or")
}

/// The first `most` words, and the number of the others.
pub fn named<T: AsRef<str>>(words: &[T], most: usize) -> String {
    let first = words.iter().take(most).map(AsRef::as_ref).collect::<Vec<&str>>().join(", ");
    match words.len().saturating_sub(most) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn joined<T: Borrow<str> + Display>(words: &[T], conjunction: &str) -> String {
    match words {
        [] => String::new(),
        [word] => word.to_string(),
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conjunction_or_the_number_of_the_others_is_at_the_end_of_several_words() {
        let cases: [(&[&str], &str); 4] =
            [(&[], ""), (&["a"], "a"), (&["a", "b"], "a and b"), (&["a", "b", "c"], "a, b and c")];
        for (words, expected) in cases {
            assert_eq!(listed(words), expected);
        }
        assert_eq!(alternatives(&["a", "b", "c"]), "a, b or c");
        assert_eq!(named(&["a", "b"], 2), "a, b");
        assert_eq!(named(&["a", "b", "c"], 1), "a and 2 more");
    }
}
