//! Bytes from a file, standard input or memory, decompressed, in blocks of whole lines.

use super::arriving::Arriving;
use super::error::{ReadError, with_remedy};
use crate::base::run::{Held, Memory, OutOfMemory};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How long a line may be; what is longer is no text file.
pub(super) const LONGEST_LINE: usize = 256 << 20;
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The memory that parsing a line takes at most, in multiples of its length. Lists in JSON take the
/// most: 32 bytes for the two bytes `0,`.
const LINE_FACTOR: u64 = 32;
/// How much of live input is read ahead, at most, and as which part of the memory limit.
const AHEAD: usize = 8 << 20;
const AHEAD_SHARE: u64 = 64;
/// Input that is kept whole is read in steps of this many bytes.
const STEP: u64 = 1 << 20;

/// An input with the name that messages use.
pub(super) struct Source<'a> {
    pub name: String,
    input: CountingReader<'a>,
    memory: Memory,
}

impl<'a> Source<'a> {
    /// Opens a file, or standard input for `-`. Data that are kept of it count towards `memory`.
    pub(super) fn open(path: &Path, memory: &Memory) -> Result<Source<'static>, ReadError> {
        if path.as_os_str() == "-" {
            return Source::new("standard input".to_owned(), io::stdin(), memory);
        }
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Source::new(name, file, memory),
            Err(source) => Err(ReadError::Io { path: name, source }),
        }
    }

    /// Opens a file, or standard input for `-`. What has arrived of standard input is given at once, if
    /// it `is_live`, instead of when all that was asked for is there.
    pub(super) fn open_live(
        path: &Path,
        is_live: bool,
        memory: &Memory,
    ) -> Result<Source<'static>, ReadError> {
        let source = Source::open(path, memory)?;
        if !is_live || path.as_os_str() != "-" {
            return Ok(source);
        }
        let ahead = memory.share(AHEAD_SHARE).min(AHEAD);
        match Arriving::new(source.input, ahead) {
            Ok(arriving) => {
                let input = CountingReader { input: Input::Live(arriving), read: Arc::default() };
                Ok(Source { input, ..source })
            }
            Err(error) => Err(ReadError::Io { path: source.name, source: error }),
        }
    }

    /// Reads the bytes of a file that is in memory.
    pub(super) fn from_bytes(
        name: &str,
        bytes: &'a [u8],
        memory: &Memory,
    ) -> Result<Source<'a>, ReadError> {
        Source::new(name.to_owned(), bytes, memory)
    }

    /// Reads from any reader.
    pub(super) fn new(
        name: String,
        input: impl Read + Send + 'a,
        memory: &Memory,
    ) -> Result<Self, ReadError> {
        match decompressed(input) {
            Ok(input) => {
                let input = CountingReader { input: Input::Whole(input), read: Arc::default() };
                Ok(Source { name, input, memory: memory.clone() })
            }
            Err(source) => Err(ReadError::Io { path: name, source: with_remedy(source) }),
        }
    }

    /// The decompressed bytes.
    pub(super) fn into_reader(self) -> impl Read + Send + 'a {
        self.input
    }

    /// Counts the memory of data that are kept of this source, from 0.
    pub(super) fn meter(&self) -> MemoryMeter {
        MemoryMeter {
            name: self.name.clone(),
            read: self.input.read.clone(),
            longest_line: self.memory.share(LINE_FACTOR).min(LONGEST_LINE),
            held: self.memory.hold(),
        }
    }
}

/// A reader that counts the bytes that were read.
struct CountingReader<'a> {
    input: Input<'a>,
    read: Arc<AtomicU64>,
}

enum Input<'a> {
    /// Somebody waits until as much is there as was asked for.
    Whole(Box<dyn Read + Send + 'a>),
    /// What has arrived is used at once.
    Live(Arriving),
}

impl CountingReader<'_> {
    /// Appends about `wanted` bytes, or as many as have arrived; false at the end.
    fn fill(&mut self, text: &mut Vec<u8>, wanted: usize) -> io::Result<bool> {
        let before = text.len();
        if let Input::Whole(_) = self.input {
            self.take(wanted as u64).read_to_end(text)?;
            return Ok(text.len() - before == wanted);
        }
        let mut buffer = vec![0; wanted.min(LIVE_STEP)];
        loop {
            let count = self.read(&mut buffer)?;
            text.extend_from_slice(&buffer[..count]);
            let Input::Live(arriving) = &mut self.input else { return Ok(count > 0) };
            if count == 0 || text.len() - before >= wanted || !arriving.has_more() {
                return Ok(count > 0);
            }
        }
    }
}

/// How many bytes of live input are taken at a time.
const LIVE_STEP: usize = 64 << 10;

impl Read for CountingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.input {
            Input::Whole(input) => input.read(buffer)?,
            Input::Live(arriving) => arriving.read(buffer)?,
        };
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Counts the memory of data that are kept of a source. Too much is an error that names the source.
pub(crate) struct MemoryMeter {
    name: String,
    read: Arc<AtomicU64>,
    /// Lines up to this length fit into memory while they are parsed, whatever else is kept.
    longest_line: usize,
    held: Held,
}

impl MemoryMeter {
    /// A second meter for the same source, from 0.
    pub(crate) fn another(&self) -> Self {
        let (name, read) = (self.name.clone(), self.read.clone());
        MemoryMeter { name, read, longest_line: self.longest_line, held: self.held.another() }
    }

    /// Sets how many bytes are kept now.
    pub(crate) fn set(&mut self, bytes: usize) -> Result<(), ReadError> {
        self.held.set(bytes as u64).map_err(|full| self.error(full))
    }

    /// Leaves the bytes counted for good, for data that outlive the reading.
    pub(crate) fn keep(self) {
        self.held.keep();
    }

    /// Whether a line of `bytes` bytes may be parsed: false beyond [`LONGEST_LINE`], an error if the
    /// memory does not suffice.
    fn fits_line(&mut self, bytes: usize) -> Result<bool, ReadError> {
        if bytes > self.longest_line {
            self.set(bytes.saturating_mul(LINE_FACTOR as usize))?;
        }
        Ok(bytes <= LONGEST_LINE)
    }

    fn error(&self, source: OutOfMemory) -> ReadError {
        let read = self.read.load(Ordering::Relaxed);
        ReadError::Memory { path: self.name.clone(), read, source }
    }

    /// Reads everything. Each byte counts as `factor` bytes of memory.
    pub(crate) fn read_all(
        &mut self,
        mut input: impl Read,
        factor: usize,
    ) -> Result<Vec<u8>, ReadError> {
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

/// The first bytes of compressed data.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Decompresses gzip and zstd, which the first bytes show, whatever the name is.
fn decompressed<'a>(mut input: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
    let mut magic = Vec::new();
    // Not a byte more than it takes: a short line may be all there is for now.
    while (GZIP.starts_with(&magic) || ZSTD.starts_with(&magic))
        && input.by_ref().take(1).read_to_end(&mut magic)? > 0
        && magic != GZIP
        && magic != ZSTD
    {}
    let (is_gzip, is_zstd) = (magic == GZIP, magic == ZSTD);
    let input = Cursor::new(magic).chain(input);
    Ok(if is_gzip {
        let buffered = BufReader::with_capacity(1 << 16, input);
        Box::new(flate2::bufread::MultiGzDecoder::new(buffered))
    } else if is_zstd {
        Box::new(ZstdReader(zstd::Decoder::new(input)?))
    } else {
        Box::new(input)
    })
}

/// A zstd reader that reports a window over the limit as lack of memory, not as damaged data.
struct ZstdReader<R>(R);

impl<R: Read> Read for ZstdReader<R> {
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
    /// Whether a byte order mark stood before the first line, once that is read.
    pub has_mark: bool,
    has_ended: bool,
    meter: MemoryMeter,
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
    pub(super) fn new(source: Source<'a>, size: usize) -> Self {
        Blocks {
            meter: source.meter(),
            source,
            size: size.max(BYTE_ORDER_MARK.len()),
            rest: Vec::new(),
            next_line: 1,
            is_first: true,
            has_mark: false,
            has_ended: false,
            last: 0,
        }
    }

    /// What messages call the source.
    pub(super) fn name(&self) -> &str {
        &self.source.name
    }

    /// Counts the memory of data that are made of the blocks, from 0.
    pub(super) fn meter(&self) -> MemoryMeter {
        self.source.meter()
    }

    /// The next block, never empty; nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<Block>, ReadError> {
        let mut text = std::mem::take(&mut self.rest);
        let mut end = None;
        while end.is_none() && !self.has_ended {
            let known = text.len();
            self.fill(&mut text)?;
            self.meter.set(self.last + text.len())?;
            end = memchr::memrchr(b'\n', &text[known..]).map(|at| known + at + 1);
            if end.is_none() {
                self.check_line(self.next_line, text.len())?;
            }
        }
        if let Some(end) = end.filter(|_| !self.has_ended) {
            self.rest = text.split_off(end);
        }
        if std::mem::take(&mut self.is_first) && text.starts_with(BYTE_ORDER_MARK) {
            text.drain(..BYTE_ORDER_MARK.len());
            self.has_mark = true;
        }
        if self.has_ended && !text.is_empty() && text.last() != Some(&b'\n') {
            text.push(b'\n');
        }
        if text.is_empty() {
            return Ok(None);
        }
        let first_line = self.next_line;
        if text.len() > self.meter.longest_line {
            for (line, bytes) in (first_line..).zip(text.split(|&byte| byte == b'\n')) {
                self.check_line(line, bytes.len())?;
            }
        }
        self.next_line += memchr::memchr_iter(b'\n', &text).count() as u64;
        self.last = text.len();
        Ok(Some(Block { text, first_line }))
    }

    /// Refuses a line, or a row of several lines, that is too long.
    pub(super) fn check_line(&mut self, line: u64, bytes: usize) -> Result<(), ReadError> {
        if self.meter.fits_line(bytes)? {
            return Ok(());
        }
        let problem = format!(
            "the line is longer than {LONGEST_LINE} bytes: this is no text file with one row per line"
        );
        Err(ReadError::content(self.name(), (line, 1), problem))
    }

    /// Appends about `size` bytes.
    fn fill(&mut self, text: &mut Vec<u8>) -> Result<(), ReadError> {
        match self.source.input.fill(text, self.size) {
            Ok(goes_on) => self.has_ended = !goes_on,
            Err(error) => return Err(self.failure(error, text)),
        }
        Ok(())
    }

    /// Whether blocks are what has arrived, rather than as large as may be.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.source.input.input, Input::Live(_))
    }

    /// The error of a failed read: the system's, or damaged data with the place they reach to.
    fn failure(&self, source: io::Error, text: &[u8]) -> ReadError {
        if is_of_system(&source) {
            return ReadError::Io { path: self.name().to_owned(), source };
        }
        let line = self.next_line + memchr::memchr_iter(b'\n', text).count() as u64;
        let column = text.len() - memchr::memrchr(b'\n', text).map_or(0, |at| at + 1) + 1;
        ReadError::content(self.name(), (line, column as u64), damaged(&source))
    }
}

/// What is wrong where compressed data cannot be read on.
pub(super) fn damaged(source: &io::Error) -> String {
    format!("the compressed data are damaged or cut short here ({source}): copy the file again")
}

/// Whether a read failed because of the system or lack of memory, and not because of damaged data.
pub(crate) fn is_of_system(error: &io::Error) -> bool {
    error.raw_os_error().is_some() || error.kind() == io::ErrorKind::OutOfMemory
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn blocks(bytes: &[u8], size: usize) -> Vec<(u64, Vec<u8>)> {
        let source = Source::from_bytes("x", bytes, &Memory::of_machine()).unwrap();
        let mut blocks = Blocks::new(source, size);
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
            let mut blocks = Blocks::new(
                Source::from_bytes("x", cut, &Memory::of_machine()).unwrap(),
                usize::MAX,
            );
            let error = blocks.next().err().unwrap();
            assert!(error.to_string().contains("are damaged or cut short here"), "{error}");
        }
    }
}
