//! Blocks of whole lines that are known to be UTF-8.

use super::super::error::{Excerpt, Problem, ReadError};
use super::super::source::{Blocks, Source};

/// Cuts a source into texts that end with a line feed.
pub(super) struct TextBlocks<'a>(Blocks<'a>);

/// Some whole lines.
pub(super) struct TextBlock {
    pub text: String,
    /// The number of the first line, counted from 1.
    pub first_line: u64,
}

impl<'a> TextBlocks<'a> {
    /// Texts of about `size` bytes; a longer line makes a longer text.
    pub fn new(source: Source<'a>, size: usize) -> Self {
        TextBlocks(Blocks::new(source, size))
    }

    /// What messages call the source.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// An error at a line and a column, counted from 1.
    pub fn fault(&self, place: (u64, u64), problem: Problem) -> ReadError {
        ReadError::content(self.name(), place, problem)
    }

    /// The next lines, never none; nothing at the end.
    pub fn next(&mut self) -> Result<Option<TextBlock>, ReadError> {
        let Some(block) = self.0.next()? else { return Ok(None) };
        match String::from_utf8(block.text) {
            Ok(text) => Ok(Some(TextBlock { text, first_line: block.first_line })),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let bytes = error.as_bytes();
                let before = &bytes[..at];
                let line = block.first_line + memchr::memchr_iter(b'\n', before).count() as u64;
                let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
                let found = Excerpt::new(&bytes[at..=at]);
                Err(self.fault((line, (at - start) as u64 + 1), Problem::NotUtf8 { found }))
            }
        }
    }
}
