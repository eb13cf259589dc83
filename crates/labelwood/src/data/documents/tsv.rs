//! Lines of a text, a TAB and labels.

use super::super::error::ReadError;
use super::super::source::MemoryMeter;
use super::Labels;
use super::batch::{Batch, Span};
use super::blocks::{TextBlock, TextBlocks};

/// The memory of a document without text and labels.
const DOCUMENT: usize = 2 * size_of::<Span>() + size_of::<usize>();

/// Reads the lines of a file.
pub(super) struct Reader<'a> {
    blocks: TextBlocks<'a>,
    /// The first block, if it was read already.
    first: Option<TextBlock>,
    labels: Labels,
    /// Empty lines so far. They are documents if a line with text follows.
    pending: usize,
    /// Counts the documents of a block, which take more than its text if lines are short.
    meter: MemoryMeter,
    /// What is wrong behind the last batch.
    failed: Option<ReadError>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(blocks: TextBlocks<'a>, first: Option<TextBlock>, labels: Labels) -> Self {
        Reader { meter: blocks.meter(), blocks, first, labels, pending: 0, failed: None }
    }

    /// The documents of the next block; the block's own text is their memory.
    pub(super) fn next(&mut self, keeps_fields: bool) -> Result<Option<Batch>, ReadError> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let block = match self.first.take() {
            Some(block) => Some(block),
            None => self.blocks.next()?,
        };
        let Some(block) = block else { return Ok(None) };
        let mut batch = Batch::over(block.text);
        let mut start = 0;
        let mut line = block.first_line;
        while let Some(length) = memchr::memchr(b'\n', &batch.arena().as_bytes()[start..]) {
            let row = (start, batch.arena()[start..start + length].trim_end_matches('\r').len());
            let before = batch.len();
            if let Err((column, problem)) = self.take_line(&mut batch, row) {
                let failed = self.blocks.fault((line, column), problem);
                if batch.is_empty() {
                    return Err(failed);
                }
                self.failed = Some(failed);
                break;
            }
            if keeps_fields && batch.len() > before {
                // Those of empty lines come first.
                (before + 1..batch.len()).for_each(|_| batch.keep(Span::default()));
                batch.keep(Span { start, end: start + row.1 });
            }
            self.meter.set(batch.bytes() + self.pending * DOCUMENT)?;
            start += length + 1;
            line += 1;
        }
        // From here on the caller counts the batch.
        self.meter.set(self.pending * DOCUMENT)?;
        Ok(Some(batch))
    }

    /// Adds the line that starts at a place of the arena and has some length.
    fn take_line(
        &mut self,
        batch: &mut Batch,
        (start, length): (usize, usize),
    ) -> Result<(), (u64, String)> {
        if length == 0 {
            self.pending += 1;
            return Ok(());
        }
        let end = start + length;
        let bytes = &batch.arena().as_bytes()[start..end];
        let Some(tab) = memchr::memchr(b'\t', bytes) else {
            if self.labels != Labels::Optional {
                let problem = "expected a text, a TAB and labels, but there is no TAB in this line: \
                               add the labels, or only the TAB if there are none";
                return Err((length as u64 + 1, problem.to_owned()));
            }
            self.push(batch, Span { start, end }, None);
            return Ok(());
        };
        if let Some(second) = memchr::memchr(b'\t', &bytes[tab + 1..]) {
            let found = 1 + memchr::memchr_iter(b'\t', bytes).count();
            let problem = format!(
                "expected a text, a TAB and labels, but found {found} fields: replace the TABs within \
                 the text, or read the file as CSV if its first line names the columns"
            );
            return Err(((tab + second) as u64 + 2, problem));
        }
        let labels = Span { start: start + tab + 1, end };
        self.push(batch, Span { start, end: start + tab }, Some(labels));
        Ok(())
    }

    /// Adds a document behind those of the empty lines before it.
    fn push(&mut self, batch: &mut Batch, text: Span, labels: Option<Span>) {
        for _ in 0..std::mem::take(&mut self.pending) {
            batch.push(Span::default(), Span::default(), None);
        }
        batch.push(text, Span::default(), labels);
    }
}
