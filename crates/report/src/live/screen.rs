//! Lines at the bottom of a terminal that are redrawn in place.
//!
//! They use relative cursor movements, so nothing is queried from the terminal, no key is read, and earlier output stays. The cursor rests
//! at the start of the line below them, so there is nothing to restore, whenever the program ends.

use std::io::Write;

/// The lines on a terminal.
#[derive(Debug)]
pub struct Screen<W> {
    terminal: W,
    /// The lines above the cursor.
    lines: Vec<String>,
}

impl<W: Write> Screen<W> {
    /// No lines.
    pub fn new(terminal: W) -> Self {
        Self { terminal, lines: Vec::new() }
    }

    /// Shows these lines in place of those before.
    pub fn show(&mut self, lines: Vec<String>) {
        let mut text = up(self.lines.len());
        for line in &lines {
            // Erase the rest of the old line.
            text += &format!("{line}\u{1b}[K\n");
        }
        // Erase old lines below, if there were more.
        text += "\u{1b}[J";
        self.lines = lines;
        self.write(&text);
    }

    /// Erases the lines.
    pub fn clear(&mut self) {
        if !self.lines.is_empty() {
            self.show(Vec::new());
        }
    }

    /// Calls `print`, which prints whole lines, so that these stand above.
    pub fn above(&mut self, print: impl FnOnce()) {
        let lines = self.lines.clone();
        self.clear();
        print();
        if !lines.is_empty() {
            self.show(lines);
        }
    }

    fn write(&mut self, text: &str) {
        // Write everything at once, so that no partial view is visible. If the terminal is closed, it is dropped.
        let _ = self.terminal.write_all(text.as_bytes()).and_then(|()| self.terminal.flush());
    }
}

/// Moves the cursor to the begin of the line that is so many lines above.
fn up(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\u{1b}[{lines}A\r") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a terminal after these bytes: it understands what a screen writes.
    fn shown(bytes: &[u8]) -> Vec<String> {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let (mut lines, mut row, mut column) = (vec![String::new()], 0, 0);
        let mut rest = text.as_str();
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            match letter {
                '\u{1b}' => {
                    let end = rest.find(char::is_alphabetic).unwrap();
                    match (&rest[1..end], &rest[end..=end]) {
                        ("", "K") => lines[row].truncate(column),
                        ("", "J") => {
                            lines.truncate(row + 1);
                            lines[row].truncate(column);
                        }
                        (count, "A") => row -= count.parse::<usize>().unwrap(),
                        other => panic!("{other:?}"),
                    }
                    rest = &rest[end + 1..];
                }
                '\r' => column = 0,
                '\n' => {
                    (row, column) = (row + 1, 0);
                    if row == lines.len() {
                        lines.push(String::new());
                    }
                }
                letter => {
                    let line = &mut lines[row];
                    if column < line.len() {
                        line.replace_range(column..=column, &letter.to_string());
                    } else {
                        line.push(letter);
                    }
                    column += 1;
                }
            }
        }
        lines
    }

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn lines_are_replaced_and_what_is_printed_stands_above_them() {
        let mut screen = Screen::new(Vec::new());
        screen.terminal.extend(b"$ command\n");
        screen.show(lines("a long line\nsecond\nthird"));
        assert_eq!(shown(&screen.terminal), ["$ command", "a long line", "second", "third", ""]);
        screen.show(lines("short\n2"));
        assert_eq!(shown(&screen.terminal), ["$ command", "short", "2", ""]);
        let shown_lines = screen.lines.clone();
        screen.above(|| ());
        assert_eq!(shown(&screen.terminal), ["$ command", "short", "2", ""]);
        assert_eq!(screen.lines, shown_lines);
        screen.clear();
        screen.terminal.extend(b"a note\n");
        screen.show(lines("again"));
        assert_eq!(shown(&screen.terminal), ["$ command", "a note", "again", ""]);
        screen.clear();
        assert_eq!(shown(&screen.terminal), ["$ command", "a note", ""]);
    }

    #[test]
    fn a_screen_without_lines_writes_nothing_to_clear_and_asks_nothing_of_the_terminal() {
        let mut screen = Screen::new(Vec::new());
        screen.clear();
        screen.above(|| ());
        assert!(screen.terminal.is_empty());
        screen.show(lines("one"));
        // A question would be `ESC [ 6 n`.
        assert!(!String::from_utf8(screen.terminal).unwrap().contains("[6n"));
    }
}
