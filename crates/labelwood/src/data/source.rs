//! Bytes from a file, standard input or memory, decompressed, in blocks of whole lines.

use super::error::{Problem, ReadError, explained};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

/// How long a line may be; what is longer is no text file.
pub(super) const LONGEST_LINE: usize = 256 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Something to read from, with the name that messages use.
pub(super) struct Source<'a> {
    pub name: String,
    input: Box<dyn Read + Send + 'a>,
}

impl<'a> Source<'a> {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path) -> Result<Source<'static>, ReadError> {
        if path.as_os_str() == "-" {
            return Source::new("standard input".to_owned(), io::stdin());
        }
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Source::new(name, file),
            Err(source) => Err(ReadError::Io { path: name, source }),
        }
    }

    /// Reads from memory.
    pub fn from_bytes(name: &str, bytes: &'a [u8]) -> Result<Source<'a>, ReadError> {
        Source::new(name.to_owned(), bytes)
    }

    fn new(name: String, input: impl Read + Send + 'a) -> Result<Self, ReadError> {
        match decompressed(input) {
            Ok(input) => Ok(Source { name, input }),
            Err(source) => Err(ReadError::Io { path: name, source: explained(source) }),
        }
    }

    /// The name and the decompressed bytes.
    pub fn into_reader(self) -> (String, impl Read + Send + 'a) {
        (self.name, self.input)
    }

    /// All of it at once, without a byte order mark.
    pub fn read_all(self) -> Result<(String, Vec<u8>), ReadError> {
        let mut blocks = Blocks::new(self, usize::MAX);
        let block = blocks.next()?.unwrap_or_default();
        Ok((blocks.name, block.text))
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
        Box::new(zstd::Decoder::new(input)?)
    } else {
        Box::new(input)
    })
}

/// Cuts a source into blocks that end with a line feed.
pub(super) struct Blocks<'a> {
    pub name: String,
    input: Box<dyn Read + Send + 'a>,
    size: usize,
    /// The beginning of the line that the last block cut off.
    rest: Vec<u8>,
    next_line: u64,
    is_first: bool,
    has_ended: bool,
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
            name: source.name,
            input: source.input,
            size: size.max(BYTE_ORDER_MARK.len()),
            rest: Vec::new(),
            next_line: 1,
            is_first: true,
            has_ended: false,
        }
    }

    /// The next block, never empty; nothing at the end.
    pub fn next(&mut self) -> Result<Option<Block>, ReadError> {
        let mut text = std::mem::take(&mut self.rest);
        let mut end = None;
        while end.is_none() && !self.has_ended {
            let known = text.len();
            self.fill(&mut text)?;
            end = memchr::memrchr(b'\n', &text[known..]).map(|at| known + at + 1);
            if end.is_none() && text.len() > LONGEST_LINE {
                let problem = Problem::LineTooLong { limit: LONGEST_LINE };
                return Err(ReadError::content(&self.name, (self.next_line, 1), problem));
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
        self.next_line += memchr::memchr_iter(b'\n', &text).count() as u64;
        Ok(Some(Block { text, first_line }))
    }

    /// Appends about `size` bytes.
    fn fill(&mut self, text: &mut Vec<u8>) -> Result<(), ReadError> {
        let before = text.len();
        let wanted = self.size;
        if let Err(error) = self.input.by_ref().take(wanted as u64).read_to_end(text) {
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
        if source.raw_os_error().is_some() {
            return ReadError::Io { path: self.name.clone(), source };
        }
        let line = self.next_line + memchr::memchr_iter(b'\n', text).count() as u64;
        let column = text.len() - memchr::memrchr(b'\n', text).map_or(0, |at| at + 1) + 1;
        let problem = Problem::Damaged { reason: source.to_string() };
        ReadError::content(&self.name, (line, column as u64), problem)
    }
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
            let error = Source::from_bytes("x", cut).unwrap().read_all().unwrap_err();
            assert!(
                matches!(&error, ReadError::Content { problem: Problem::Damaged { .. }, .. }),
                "{error}"
            );
        }
    }
}
