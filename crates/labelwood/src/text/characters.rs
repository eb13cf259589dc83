//! Word characters, white space and lower case as Python defines them, because scikit-learn's tokens
//! depend on it. Rust's definitions differ in the details that are handled here.

use std::ops::Range;
use unicode_normalization::char::is_combining_mark;

/// Whether Python's `\w` matches: letters and numbers of any script, and the underscore.
///
/// Rust counts marks and letters in circles or squares that have the property Alphabetic, which
/// Python does not.
#[inline]
pub(super) fn is_word(character: char) -> bool {
    match character {
        '\0'..='\x7f' => IS_WORD[character as usize],
        '\u{24b6}'..='\u{24e9}' | '\u{1f130}'..='\u{1f189}' => false,
        '\u{80}'..='\u{2ff}' => character.is_alphanumeric(),
        _ => character.is_alphanumeric() && !is_combining_mark(character),
    }
}

/// [`is_word`] of the ASCII characters, by byte; false for all others.
pub(super) static IS_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    table
};

/// How many bytes the character has that starts with this one.
#[inline]
pub(super) fn width(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

/// Whether Python's `\s` matches: it adds four separators to Unicode's White_Space.
#[inline]
pub(super) fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\x1c'..='\x1f')
}

/// Writes `text` in lower case into `lower`, as Python's `str.lower()` does.
pub(super) fn lowercase(text: &str, lower: &mut String) {
    lower.clear();
    if text.is_ascii() {
        lower.push_str(text);
        lower.make_ascii_lowercase();
    } else if text.contains('Σ') {
        // At the end of a word its lower case is another letter, which the standard library knows.
        lower.push_str(&text.to_lowercase());
    } else {
        for character in text.chars() {
            if character.is_ascii() {
                lower.push(character.to_ascii_lowercase());
            } else {
                lower.extend(character.to_lowercase());
            }
        }
    }
}

/// Where a part of a text starts in it, in bytes.
pub(super) fn start_of(part: &str, text: &str) -> usize {
    part.as_ptr().addr() - text.as_ptr().addr()
}

/// Which character of a text each byte comes from that the text has once it is in lower case.
pub(super) struct Origins(Vec<u32>);

impl Origins {
    /// Of a text; `is_lowered` says whether it is put into lower case at all.
    pub(super) fn new(text: &str, is_lowered: bool) -> Self {
        let mut origins = Vec::with_capacity(text.len());
        for (at, character) in (0..).zip(text.chars()) {
            // A sigma has another lower case at the end of a word, of as many bytes.
            let bytes = match is_lowered {
                true => character.to_lowercase().map(char::len_utf8).sum(),
                false => character.len_utf8(),
            };
            origins.resize(origins.len() + bytes, at);
        }
        Origins(origins)
    }

    /// The characters that some bytes come from; nothing of no bytes.
    pub(super) fn of(&self, bytes: Range<usize>) -> Option<Range<usize>> {
        let own = self.0.get(bytes)?;
        Some(*own.first()? as usize..*own.last()? as usize + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lower(text: &str) -> String {
        let mut lower = "left over".to_owned();
        lowercase(text, &mut lower);
        lower
    }

    #[test]
    fn lower_case_is_that_of_the_standard_library() {
        for text in ["", "ABC_Z[1]", "ÄÖ Å", "ΟΔΟΣ ΣΑΣ.", "İstanbul", "ẞ", "Ⅷ", "日本 A"]
        {
            assert_eq!(lower(text), text.to_lowercase());
        }
        assert_eq!(lower("ΟΔΟΣ"), "οδος");
        assert_eq!(lower("İ"), "i\u{307}");
    }

    #[test]
    fn marks_circles_and_squares_are_no_word_characters() {
        for character in ['a', 'Z', '0', '_', 'é', 'ß', '語', '٣', '½', 'Ⅷ', 'ª', '\u{10ffff}']
        {
            assert_eq!(is_word(character), character != '\u{10ffff}', "{character}");
        }
        for character in ['-', '\'', '\u{301}', '\u{93e}', 'Ⓐ', '🅰', '😀', '€', '\u{200d}', '\0']
        {
            assert!(!is_word(character), "{character}");
        }
    }

    #[test]
    fn separators_are_white_space() {
        for character in ['\x1c', '\x1f', '\u{85}', '\u{a0}', '\u{3000}', '\t'] {
            assert!(is_space(character));
        }
        assert!(!is_space('\u{200b}') && !is_space('\x1b'));
    }
}
