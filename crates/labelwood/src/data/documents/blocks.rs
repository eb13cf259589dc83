//! Blocks of whole lines that are known to be UTF-8.

use super::super::error::{Place, ReadError};
use super::super::source::{Blocks, MemoryMeter, Source};
use crate::base::run::Task;
use std::path::Path;

/// How much of a file of lines is read at a time.
const BLOCK: usize = 1 << 20;

/// Calls `take` with every line of a text file, plain, gzip or zstd, or of standard input for `-`. It
/// returns how many bytes it keeps of all lines so far.
///
/// ```
/// let (folder, task) = (tempfile::tempdir()?, labelwood::run::Pool::new(1)?.task());
/// let path = folder.path().join("words.txt");
/// std::fs::write(&path, "the\r\na\n")?;
/// let mut words = Vec::new();
/// labelwood::data::documents::read_lines(&path, &task, |line| {
///     words.push(line.to_owned());
///     64 * words.len()
/// })?;
/// assert_eq!(words, ["the", "a"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_lines(
    path: &Path,
    task: &Task,
    mut take: impl FnMut(&str) -> usize,
) -> Result<(), ReadError> {
    let mut blocks = TextBlocks::new(Source::open(path, task.memory())?, BLOCK);
    let mut meter = blocks.meter();
    while let Some(block) = blocks.next()? {
        block.text.lines().try_for_each(|line| meter.set(take(line)))?;
    }
    meter.keep();
    Ok(())
}

/// Cuts a source into texts that end with a line feed.
pub(in crate::data) struct TextBlocks<'a> {
    blocks: Blocks<'a>,
    /// What is wrong behind the last block.
    failed: Option<ReadError>,
}

/// Some whole lines.
pub(in crate::data) struct TextBlock {
    pub text: String,
    /// The number of the first line, counted from 1.
    pub first_line: u64,
}

impl<'a> TextBlocks<'a> {
    /// Texts of about `size` bytes; a longer line makes a longer text.
    pub(crate) fn new(source: Source<'a>, size: usize) -> Self {
        TextBlocks { blocks: Blocks::new(source, size), failed: None }
    }

    /// Whether a byte order mark stands before the first line, once a block is read.
    pub(crate) fn has_mark(&self) -> bool {
        self.blocks.has_mark
    }

    /// What messages call the source.
    pub(crate) fn name(&self) -> &str {
        self.blocks.name()
    }

    /// Counts the memory of data that are made of the texts, from 0.
    pub(crate) fn meter(&self) -> MemoryMeter {
        self.blocks.meter()
    }

    /// Refuses a row of several lines that is too long; `line` is the one that it starts in.
    pub(crate) fn check_row(&mut self, line: u64, bytes: usize) -> Result<(), ReadError> {
        self.blocks.check_line(line, bytes)
    }

    /// An error at a line and a column, counted from 1.
    pub(crate) fn fault(&self, place: Place, problem: impl Into<String>) -> ReadError {
        ReadError::content(self.name(), place, problem)
    }

    /// The next lines, never none; nothing at the end.
    pub(crate) fn next(&mut self) -> Result<Option<TextBlock>, ReadError> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let Some(block) = self.blocks.next()? else { return Ok(None) };
        match String::from_utf8(block.text) {
            Ok(text) => Ok(Some(TextBlock { text, first_line: block.first_line })),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let bytes = error.as_bytes();
                let before = &bytes[..at];
                let line = block.first_line + memchr::memchr_iter(b'\n', before).count() as u64;
                if at == 0 && line == 1 && matches!(bytes[..], [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
                {
                    let problem = "this is UTF-16: save it as UTF-8, or convert it with `iconv -f UTF-16 -t UTF-8`";
                    return Err(self.fault((1, 1), problem));
                }
                let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
                let problem = format!(
                    "the byte `{}` is not UTF-8 text: convert the file, for example with `iconv -f \
                     LATIN1 -t UTF-8`, or state the right format",
                    bytes[at].escape_ascii()
                );
                let failed = self.fault((line, (at - start) as u64 + 1), problem);
                let mut bytes = error.into_bytes();
                bytes.truncate(start);
                match String::from_utf8(bytes) {
                    // The lines before come first.
                    Ok(text) if !text.is_empty() => {
                        self.failed = Some(failed);
                        Ok(Some(TextBlock { text, first_line: block.first_line }))
                    }
                    _ => Err(failed),
                }
            }
        }
    }
}
