//! The table of contents of the book, which lists each generated page below the list of its kind.

use super::{Chapter, LIST, markdown};

/// The table of contents with a line for each page of these chapters. Replaces existing lines of these pages; all others stay.
pub(super) fn with_pages(summary: &str, chapters: &[Chapter]) -> String {
    let mut text = String::new();
    for line in summary.lines() {
        let chapter = chapters.iter().find(|chapter| line.contains(&format!("]({}/", chapter.folder)));
        let is_list = |chapter: &Chapter| line.ends_with(&format!("]({}/{LIST})", chapter.folder));
        match chapter {
            None => text += &format!("{line}\n"),
            Some(chapter) if is_list(chapter) => {
                text += &format!("{line}\n");
                let indent = line.len() - line.trim_start().len() + 2;
                for (name, _) in &chapter.pages {
                    let file = markdown::file_name(name);
                    text += &format!("{:indent$}- [{name}]({}/{file})\n", "", chapter.folder);
                }
            }
            Some(_) => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_listed_below_their_kind_and_other_lines_stay() {
        let pages = vec![("a/b".to_owned(), String::new()), ("c".to_owned(), String::new())];
        let chapters = [Chapter { folder: "functions", list: String::new(), pages }];
        let before = "# Book\n\n- [x](guide/x.md)\n- [Functions](functions/README.md)\n  - [old](functions/old.md)\n\n# Part\n";
        let after = with_pages(before, &chapters);
        let expected = "# Book\n\n- [x](guide/x.md)\n- [Functions](functions/README.md)\n  - [a/b](functions/a-b.md)\n  - [c](functions/c.md)\n\n# Part\n";
        assert_eq!(after, expected);
        assert_eq!(with_pages(&after, &chapters), after);
    }
}
