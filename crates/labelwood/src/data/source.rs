//! Bytes from a file, standard input or memory, decompressed, in blocks of whole lines.

use super::error::{Problem, ReadError, explained};
use crate::base::run::{Held, Memory, OutOfMemory};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How long a line may be; what is longer is no text file.
pub(super) const LONGEST_LINE: usize = 256 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How many times its own length a line may take in memory while it is parsed. Lists in JSON take the
/// most: 32 bytes for the two of `0,`.
const LINE_FACTOR: u64 = 32;
/// How much is read at a time of what is needed as a whole.
const STEP: u64 = 1 << 20;

/// Something to read from, with the name that messages use.
pub(super) struct Source<'a> {
    pub name: String,
    input: Counted<'a>,
    memory: Memory,
}

impl<'a> Source<'a> {
    /// Opens a file, or standard input for `-`; what is kept of it is part of `memory`.
    pub fn open(path: &Path, memory: &Memory) -> Result<Source<'static>, ReadError> {
        if path.as_os_str() == "-" {
            return Source::new("standard input".to_owned(), io::stdin(), memory);
        }
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Source::new(name, file, memory),
            Err(source) => Err(ReadError::Io { path: name, source }),
        }
    }

    /// Reads from memory, of which the machine's limit is the limit.
    pub fn from_bytes(name: &str, bytes: &'a [u8]) -> Result<Source<'a>, ReadError> {
        Source::new(name.to_owned(), bytes, &Memory::of_machine())
    }

    /// Reads from any reader.
    pub fn new(
        name: String,
        input: impl Read + Send + 'a,
        memory: &Memory,
    ) -> Result<Self, ReadError> {
        match decompressed(input) {
            Ok(input) => {
                let input = Counted { input, read: Arc::default() };
                Ok(Source { name, input, memory: memory.clone() })
            }
            Err(source) => Err(ReadError::Io { path: name, source: explained(source) }),
        }
    }

    /// The same with another limit.
    pub fn within(self, memory: &Memory) -> Self {
        Source { memory: memory.clone(), ..self }
    }

    /// The decompressed bytes.
    pub fn into_reader(self) -> impl Read + Send + 'a {
        self.input
    }

    /// Something that keeps what is read here, and keeps nothing yet.
    pub fn charge(&self) -> Charge {
        Charge {
            name: self.name.clone(),
            read: self.input.read.clone(),
            longest_line: self.memory.share(LINE_FACTOR).min(LONGEST_LINE),
            held: self.memory.hold(),
        }
    }
}

/// A reader that counts what was read.
struct Counted<'a> {
    input: Box<dyn Read + Send + 'a>,
    read: Arc<AtomicU64>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// What is kept of a source in memory. Too much of it is an error that names the source.
pub(crate) struct Charge {
    name: String,
    read: Arc<AtomicU64>,
    /// How long a line may be, so that it surely fits into memory while it is parsed.
    longest_line: usize,
    held: Held,
}

impl Charge {
    /// Something else that keeps what is read here, and keeps nothing yet.
    pub fn another(&self) -> Self {
        let (name, read) = (self.name.clone(), self.read.clone());
        Charge { name, read, longest_line: self.longest_line, held: self.held.another() }
    }

    /// States how many bytes are kept now.
    pub fn set(&mut self, bytes: usize) -> Result<(), ReadError> {
        self.held.set(bytes as u64).map_err(|full| self.error(full))
    }

    /// Counts what is kept for good: it outlives the reading.
    pub fn keep(self) {
        self.held.keep();
    }

    /// How long a line may be for sure; [`fits_line`](Self::fits_line) judges longer ones.
    pub fn longest_line(&self) -> usize {
        self.longest_line
    }

    /// Whether a line of so many bytes fits while it is parsed; false if no text has such lines.
    pub fn fits_line(&mut self, bytes: usize) -> Result<bool, ReadError> {
        if bytes > self.longest_line {
            self.set(bytes.saturating_mul(LINE_FACTOR as usize))?;
        }
        Ok(bytes <= LONGEST_LINE)
    }

    fn error(&self, source: OutOfMemory) -> ReadError {
        let read = self.read.load(Ordering::Relaxed);
        ReadError::Memory { path: self.name.clone(), read, source }
    }

    /// All that a reader gives. Every byte of it is to take `factor` bytes.
    pub fn read_all(&mut self, mut input: impl Read, factor: usize) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        loop {
            match input.by_ref().take(STEP).read_to_end(&mut bytes) {
                Ok(0) => return Ok(bytes),
                Ok(_) => self.set(bytes.len().saturating_mul(factor))?,
                Err(source) => return Err(ReadError::Io { path: self.name.clone(), source }),
            }
        }
    }
}

/// Looks at the first bytes to tell what is compressed, whatever the name says.
fn decompressed<'a>(mut input: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
    let mut magic = Vec::new();
    input.by_ref().take(4).read_to_end(&mut magic)?;
    let is_gzip = magic.starts_with(&[0x1f, 0x8b]);
    let is_zstd = magic == [0x28, 0xb5, 0x2f, 0xfd];
    let input = Cursor::new(magic).chain(input);
    Ok(if is_gzip {
        let buffered = BufReader::with_capacity(1 << 16, input);
        Box::new(flate2::bufread::MultiGzDecoder::new(buffered))
    } else if is_zstd {
        Box::new(Unpacked(zstd::Decoder::new(input)?))
    } else {
        Box::new(input)
    })
}

/// What zstd unpacks; that it would take too much memory is not taken for damage.
struct Unpacked<R>(R);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.to_string() {
            reason if reason.contains("too much memory") => io::Error::new(
                io::ErrorKind::OutOfMemory,
                "it is compressed with a window of more than 128 MiB: compress it without --long",
            ),
            _ => error,
        })
    }
}

/// Cuts a source into blocks that end with a line feed.
pub(super) struct Blocks<'a> {
    source: Source<'a>,
    size: usize,
    /// The beginning of the line that the last block cut off.
    rest: Vec<u8>,
    next_line: u64,
    is_first: bool,
    has_ended: bool,
    charge: Charge,
    /// The length of the last block, which is being parsed while the next is read.
    last: usize,
}

/// Some whole lines.
#[derive(Default)]
pub(super) struct Block {
    pub text: Vec<u8>,
    /// The number of the first line, counted from 1.
    pub first_line: u64,
}

impl<'a> Blocks<'a> {
    /// Blocks of about `size` bytes; a longer line makes a longer block.
    pub fn new(source: Source<'a>, size: usize) -> Self {
        Blocks {
            charge: source.charge(),
            source,
            size: size.max(BYTE_ORDER_MARK.len()),
            rest: Vec::new(),
            next_line: 1,
            is_first: true,
            has_ended: false,
            last: 0,
        }
    }

    /// What messages call the source.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// Something that keeps what is made of the blocks.
    pub fn charge(&self) -> Charge {
        self.source.charge()
    }

    /// The next block, never empty; nothing at the end.
    pub fn next(&mut self) -> Result<Option<Block>, ReadError> {
        let mut text = std::mem::take(&mut self.rest);
        let mut end = None;
        while end.is_none() && !self.has_ended {
            let known = text.len();
            self.fill(&mut text)?;
            self.charge.set(self.last + text.len())?;
            end = memchr::memrchr(b'\n', &text[known..]).map(|at| known + at + 1);
            if end.is_none() {
                self.check_line(self.next_line, text.len())?;
            }
        }
        if self.has_ended {
            if !text.is_empty() && text.last() != Some(&b'\n') {
                text.push(b'\n');
            }
        } else if let Some(end) = end {
            self.rest = text.split_off(end);
        }
        if text.is_empty() {
            return Ok(None);
        }
        let first_line = self.next_line;
        if text.len() > self.charge.longest_line {
            for (line, bytes) in (first_line..).zip(text.split(|&byte| byte == b'\n')) {
                self.check_line(line, bytes.len())?;
            }
        }
        self.next_line += memchr::memchr_iter(b'\n', &text).count() as u64;
        self.last = text.len();
        Ok(Some(Block { text, first_line }))
    }

    /// Refuses a line, or what counts as one, that is too long.
    pub fn check_line(&mut self, line: u64, bytes: usize) -> Result<(), ReadError> {
        if self.charge.fits_line(bytes)? {
            return Ok(());
        }
        let problem = Problem::LineTooLong { limit: LONGEST_LINE };
        Err(ReadError::content(self.name(), (line, 1), problem))
    }

    /// Appends about `size` bytes.
    fn fill(&mut self, text: &mut Vec<u8>) -> Result<(), ReadError> {
        let before = text.len();
        let wanted = self.size;
        if let Err(error) = self.source.input.by_ref().take(wanted as u64).read_to_end(text) {
            return Err(self.failure(error, text));
        }
        self.has_ended = text.len() - before < wanted;
        if std::mem::take(&mut self.is_first) && text.starts_with(BYTE_ORDER_MARK) {
            text.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(())
    }

    /// Tells damaged data, at the place they reach to, from a system that cannot read.
    fn failure(&self, source: io::Error, text: &[u8]) -> ReadError {
        if is_of_system(&source) {
            return ReadError::Io { path: self.name().to_owned(), source };
        }
        let line = self.next_line + memchr::memchr_iter(b'\n', text).count() as u64;
        let column = text.len() - memchr::memrchr(b'\n', text).map_or(0, |at| at + 1) + 1;
        let problem = Problem::Damaged { reason: source.to_string() };
        ReadError::content(self.name(), (line, column as u64), problem)
    }
}

/// Whether reading failed because of the system, be it for want of memory, and not because of what
/// was read.
pub(crate) fn is_of_system(error: &io::Error) -> bool {
    error.raw_os_error().is_some() || error.kind() == io::ErrorKind::OutOfMemory
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn blocks(bytes: &[u8], size: usize) -> Vec<(u64, Vec<u8>)> {
        let mut blocks = Blocks::new(Source::from_bytes("x", bytes).unwrap(), size);
        let mut found = Vec::new();
        while let Some(block) = blocks.next().unwrap() {
            found.push((block.first_line, block.text));
        }
        found
    }

    #[test]
    fn blocks_end_at_line_ends_and_know_their_lines() {
        let found = blocks(b"\xef\xbb\xbfa\nbcdefgh\n\nijklmnop", 4);
        let expected =
            [(1, b"a\n".to_vec()), (2, b"bcdefgh\n\n".to_vec()), (4, b"ijklmnop\n".to_vec())];
        assert_eq!(found, expected);
        assert!(blocks(b"", 4).is_empty());
        assert!(blocks(b"\xef\xbb\xbf", 4).is_empty());
    }

    #[test]
    fn every_block_size_gives_the_same_text() {
        let text = b"one\ntwo two two\n\n\nthree";
        for size in 1..30 {
            let joined: Vec<u8> =
                blocks(text, size).into_iter().flat_map(|block| block.1).collect();
            assert_eq!(joined, [text.as_slice(), b"\n"].concat(), "{size}");
        }
    }

    #[test]
    fn compressed_bytes_are_told_by_their_magic_and_may_be_concatenated() {
        let gzip = |text: &[u8]| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        };
        assert_eq!(blocks(&[gzip(b"a\n"), gzip(b"b\n")].concat(), 99), [(1, b"a\nb\n".to_vec())]);
        let zstd = |text: &[u8]| zstd::encode_all(text, 0).unwrap();
        assert_eq!(blocks(&[zstd(b"a\n"), zstd(b"b\n")].concat(), 99), [(1, b"a\nb\n".to_vec())]);
    }

    #[test]
    fn data_cut_short_are_reported_where_they_end() {
        let text: Vec<u8> =
            (0..3000u32).flat_map(|n| format!("{}\n", n * n).into_bytes()).collect();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
        encoder.write_all(&text).unwrap();
        for whole in [encoder.finish().unwrap(), zstd::encode_all(text.as_slice(), 0).unwrap()] {
            let cut = &whole[..whole.len() - 9];
            let mut blocks = Blocks::new(Source::from_bytes("x", cut).unwrap(), usize::MAX);
            let error = blocks.next().err().unwrap();
            assert!(
                matches!(&error, ReadError::Content { problem: Problem::Damaged { .. }, .. }),
                "{error}"
            );
        }
    }
}
