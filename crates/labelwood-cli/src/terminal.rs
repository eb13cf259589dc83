//! What is drawn for people: how wide a line may be, and whether it may have colours.

use std::env;
use std::ffi::OsStr;
use std::io::{self, IsTerminal};

use terminal_size::{Width, terminal_size_of};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The columns that tables take at most, and lines where there is no terminal.
const COLUMNS: usize = 80;
/// Tables get no narrower than this.
const LEAST: usize = 40;

/// The columns of a terminal.
#[cfg(unix)]
pub fn width_of(terminal: &impl std::os::fd::AsFd) -> usize {
    terminal_size_of(terminal).map_or(COLUMNS, |(Width(columns), _)| usize::from(columns))
}

/// The columns of a terminal.
#[cfg(windows)]
pub fn width_of(terminal: &impl std::os::windows::io::AsHandle) -> usize {
    terminal_size_of(terminal).map_or(COLUMNS, |(Width(columns), _)| usize::from(columns))
}

/// The columns that a table on standard output may take: at most 80, and no more than the terminal has.
pub fn table_width() -> usize {
    match io::stdout().is_terminal() {
        true => width_of(&io::stdout()).clamp(LEAST, COLUMNS),
        false => COLUMNS,
    }
}

/// Whether colours and other codes may be written to a stream: to terminals, unless the environment says
/// otherwise (<https://no-color.org>, <https://bixense.com/clicolors>).
pub fn has_colours(is_terminal: bool) -> bool {
    decide(is_terminal, |name| env::var_os(name))
}

/// Whether a line can be drawn again in its place.
pub fn can_redraw(is_terminal: bool) -> bool {
    is_terminal && env::var_os("TERM").is_none_or(|name| name != "dumb")
}

fn decide<S: AsRef<OsStr>>(is_terminal: bool, variable: impl Fn(&str) -> Option<S>) -> bool {
    let is = |name, wanted: &dyn Fn(&OsStr) -> bool| {
        variable(name).is_some_and(|value| wanted(value.as_ref()))
    };
    if is("NO_COLOR", &|value| !value.is_empty()) {
        return false;
    }
    if is("CLICOLOR_FORCE", &|value| !value.is_empty() && value != "0") {
        return true;
    }
    is_terminal && !is("CLICOLOR", &|value| value == "0") && !is("TERM", &|value| value == "dumb")
}

/// The columns that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// A text of at most so many columns: what is too long ends in `…`.
pub fn shortened(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |letter: &char| {
        let own = letter.width().unwrap_or(0);
        let fits = own <= left;
        left = left.saturating_sub(own);
        fits
    };
    let short: String = text.chars().take_while(fits).collect();
    short + if columns > 0 { "…" } else { "" }
}

/// A text in lines of at most so many columns, broken between words; a word that is longer has a line
/// of its own, and is shortened if it `must_fit`.
pub fn wrapped(text: &str, columns: usize, must_fit: bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    if must_fit {
        lines = lines.iter().map(|line| shortened(line, columns)).collect();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_unless_the_environment_says_otherwise() {
        let decided = |is_terminal, set: &[(&str, &'static str)]| {
            decide(is_terminal, |name| {
                set.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
            })
        };
        assert!(decided(true, &[]) && !decided(false, &[]));
        assert!(!decided(true, &[("NO_COLOR", "1")]) && decided(true, &[("NO_COLOR", "")]));
        assert!(!decided(true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
        assert!(decided(false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!decided(false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!decided(true, &[("CLICOLOR", "0")]) && !decided(true, &[("TERM", "dumb")]));
    }

    #[test]
    fn a_text_is_shortened_and_wrapped_to_its_columns() {
        assert_eq!(shortened("herons", 6), "herons");
        assert_eq!(shortened("herons", 5), "hero…");
        assert_eq!(shortened("日本語", 4), "日…");
        assert_eq!(shortened("herons", 0), "");
        assert_eq!(wrapped("owls and herons", 8, true), ["owls and", "herons"]);
        assert_eq!(wrapped("a lighthouse", 6, true), ["a", "light…"]);
        assert_eq!(wrapped("a lighthouse", 6, false), ["a", "lighthouse"]);
        assert_eq!(wrapped("", 6, true), [""]);
    }
}
