//! Checksums of files, computed on all threads.
//!
//! The digest is a tree of two levels: XXH3 (64 bits) of every 16 MiB piece, then XXH3 (128 bits)
//! of the pieces' digests and the length. Pieces are independent, so that one large file is
//! verified on every thread, by plain reads into a small buffer: the file's pages do not become
//! part of this process. It guards against accidents, not against forgery.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64, xxh3_128};

use super::StoreError;
use crate::base::run::Task;

/// How many bytes one piece of the digest covers. Part of the format.
const PIECE: usize = 16 << 20;
/// How much of a piece is read at a time.
const BUFFER: usize = 256 << 10;

/// A 128-bit checksum, shown as 32 hexadecimal digits.
///
/// ```
/// use labelwood::store::Digest;
/// let digest = Digest::of(b"labels");
/// assert_ne!(digest, Digest::of(b"Labels"));
/// assert_eq!(digest.to_string().len(), 32);
/// assert_eq!(Digest::try_from(digest.to_string()), Ok(digest));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Digest(u128);

/// The text is not 32 hexadecimal digits in lower case.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a digest is 32 hexadecimal digits in lower case")]
pub struct NotADigest;

impl Digest {
    /// The digest of bytes in memory.
    pub fn of(bytes: &[u8]) -> Self {
        of_pieces(bytes.chunks(PIECE).map(xxh3_64), bytes.len() as u64)
    }

    /// The digest of bytes in memory, on the current rayon pool.
    pub(super) fn of_many(bytes: &[u8]) -> Self {
        let pieces: Vec<u64> = bytes.par_chunks(PIECE).map(xxh3_64).collect();
        of_pieces(pieces, bytes.len() as u64)
    }

    /// The first half of the digits, which stands in file names.
    pub(crate) fn short(self) -> String {
        format!("{:016x}", self.0 >> 64)
    }
}

/// Digests of many sections of files at once, in their order.
///
/// Fails if a file is too short for its section.
pub(super) fn of_sections(
    sections: &[(&Path, Range<u64>)],
    task: &Task,
) -> Result<Vec<Digest>, StoreError> {
    let pieces: Vec<(&Path, u64, u64)> = sections
        .iter()
        .flat_map(|(path, section)| {
            let starts = section.clone().step_by(PIECE);
            starts.map(|start| (*path, start, (section.end - start).min(PIECE as u64)))
        })
        .collect();
    let piece = |buffer: &mut Vec<u8>, &(path, start, len): &(&Path, u64, u64)| {
        task.check()?;
        piece_of_file(path, start, len, buffer).map_err(|error| StoreError::io("read", path, error))
    };
    let digests = task.install(|| {
        let pieces = pieces.par_iter().with_max_len(1);
        pieces.map_init(|| vec![0; BUFFER], piece).collect::<Result<Vec<u64>, StoreError>>()
    })?;
    let mut rest = digests.as_slice();
    let file = |(_, section): &(&Path, Range<u64>)| {
        let len = section.end - section.start;
        let (pieces, after) = rest.split_at(len.div_ceil(PIECE as u64) as usize);
        rest = after;
        of_pieces(pieces.iter().copied(), len)
    };
    Ok(sections.iter().map(file).collect())
}

fn piece_of_file(path: &Path, start: u64, len: u64, buffer: &mut [u8]) -> std::io::Result<u64> {
    let mut file = File::open(path)?;
    // Readahead would cache the file in large folios. When the mapped model touches any byte of a folio,
    // all of it becomes resident.
    #[cfg(target_os = "linux")]
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random)?;
    file.seek(SeekFrom::Start(start))?;
    let mut piece = Xxh3Default::new();
    let mut left = len as usize;
    while left > 0 {
        let part = &mut buffer[..left.min(BUFFER)];
        file.read_exact(part)?;
        piece.update(part);
        left -= part.len();
    }
    Ok(piece.digest())
}

fn of_pieces(pieces: impl IntoIterator<Item = u64>, len: u64) -> Digest {
    let words = pieces.into_iter().chain([len]);
    Digest(xxh3_128(&words.flat_map(u64::to_le_bytes).collect::<Vec<u8>>()))
}

/// Computes the digest of bytes that come in pieces of any length.
pub(super) struct Digester {
    piece: Xxh3Default,
    filled: usize,
    pieces: Vec<u64>,
    len: u64,
}

impl Digester {
    pub(super) fn new() -> Self {
        Digester { piece: Xxh3Default::new(), filled: 0, pieces: Vec::new(), len: 0 }
    }

    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        self.len += bytes.len() as u64;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PIECE - self.filled));
            self.piece.update(now);
            self.filled += now.len();
            bytes = later;
            if self.filled == PIECE {
                self.end_piece();
            }
        }
    }

    pub(super) fn finish(mut self) -> Digest {
        if self.filled > 0 {
            self.end_piece();
        }
        of_pieces(self.pieces, self.len)
    }

    fn end_piece(&mut self) {
        self.pieces.push(self.piece.digest());
        self.piece.reset();
        self.filled = 0;
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:032x}", self.0)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = NotADigest;

    fn try_from(text: String) -> Result<Self, NotADigest> {
        let digest = u128::from_str_radix(&text, 16).map(Digest);
        // Capital letters, signs and other lengths are no digests.
        digest.ok().filter(|digest| digest.to_string() == text).ok_or(NotADigest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;

    fn in_parts(bytes: &[u8], part: usize) -> Digest {
        let mut digester = Digester::new();
        bytes.chunks(part).for_each(|part| digester.update(part));
        digester.finish()
    }

    #[test]
    fn memory_parts_and_files_agree_around_piece_ends() {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..2 * PIECE + 5).map(|at| (at % 251) as u8).collect();
        let lens = [0, 1, BUFFER + 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 2 * PIECE + 5];
        let paths = lens.map(|len| folder.path().join(len.to_string()));
        for (path, len) in paths.iter().zip(lens) {
            std::fs::write(path, &bytes[..len]).unwrap();
        }
        let files: Vec<_> =
            paths.iter().zip(lens).map(|(path, len)| (path.as_path(), 0..len as u64)).collect();
        for (digest, len) in
            of_sections(&files, &Pool::new(2).unwrap().task()).unwrap().into_iter().zip(lens)
        {
            assert_eq!(digest, Digest::of(&bytes[..len]), "{len} bytes");
            assert_eq!(digest, Digest::of_many(&bytes[..len]), "{len} bytes");
            assert_eq!(digest, in_parts(&bytes[..len], 1_000_003), "{len} bytes");
        }
    }

    #[test]
    fn the_digest_of_a_given_text_never_changes() {
        assert_eq!(Digest::of(b"labelwood").to_string(), "09e4962681a281cbdaf4ac3834b2b037");
    }

    #[test]
    fn only_lower_case_hexadecimal_digits_are_read() {
        for text in
            ["", "00", "+0000000000000000000000000000000", "0000000000000000000000000000000G"]
        {
            assert_eq!(Digest::try_from(text.to_owned()), Err(NotADigest), "{text}");
        }
    }
}
