//! Typed arrays that are either owned or lie in a file.
//!
//! A trained model is a few flat arrays. Right after training they are vectors; later they are
//! sections of a memory-mapped file. [`Array`] is either and derefs to a slice, so that the code
//! that uses a model never asks which it is. Nothing else in the library knows about memory maps.
//!
//! `FileBytes` holds the bytes of one file, mapped or copied; `Array::in_file` makes a typed
//! section of it. Types and alignment are checked once, when the array is made.

mod numbers;
mod lazy_per_node;

pub(crate) use lazy_per_node::LazyPerNode;
pub(crate) use numbers::{Numbers, each_pair};

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::{Deref, Range};
use std::sync::Arc;

use memmap2::Mmap;
use safetensors::Dtype;
use zerocopy::{FromBytes, Immutable, IntoBytes};

#[cfg(target_endian = "big")]
compile_error!("labelwood maps little-endian files as they are and needs a little-endian machine");

/// An array of numbers, owned or a section of a file.
///
/// Cloning an array in a file copies a pointer; cloning an owned one copies its numbers.
#[derive(Clone)]
pub struct Array<T: Element>(Storage<T>);

#[derive(Clone)]
enum Storage<T> {
    Owned(Vec<T>),
    File { bytes: FileBytes, range: Range<usize> },
}

/// The bytes of a file, mapped into memory or copied; clones share them.
///
/// Either way they start at an address that is aligned for every [`Element`].
#[derive(Clone)]
pub(crate) struct FileBytes(Arc<Backing>);

enum Backing {
    Mapped(Mmap),
    /// Words, so that they are aligned, and how many of their bytes count.
    Copied(Vec<u64>, usize),
}

/// A number that an [`Array`] can hold.
pub trait Element:
    FromBytes + IntoBytes + Immutable + Copy + PartialEq + fmt::Debug + Send + Sync + 'static
{
    /// Its name in files.
    const TYPE: Dtype;
}

macro_rules! elements {
    ($($number:ty: $name:ident),*) => {
        $(impl Element for $number {
            const TYPE: Dtype = Dtype::$name;
        })*
    };
}

elements!(u8: U8, u16: U16, u32: U32, u64: U64, f32: F32);

impl<T: Element> Array<T> {
    /// The section `range` of a file, as numbers of type `T`.
    ///
    /// An error says what is wrong with the section.
    pub(crate) fn in_file(bytes: &FileBytes, range: Range<usize>) -> Result<Self, String> {
        let Range { start, end } = range;
        let section = bytes.get(range.clone()).ok_or_else(|| {
            format!("bytes {start} to {end} lie outside the file's {} bytes", bytes.len())
        })?;
        match <[T]>::ref_from_bytes(section) {
            Ok(_) => Ok(Array(Storage::File { bytes: bytes.clone(), range })),
            Err(_) => Err(format!(
                "bytes {start} to {end} do not start and end on whole, aligned numbers of type {}",
                T::TYPE
            )),
        }
    }
}

/// The range of one section among `len` elements: `starts` has where each section starts, and last
/// where the last one ends.
///
/// Starts are checked when a model is opened, but a mapped file may change afterwards. The range is
/// empty where starts do not fit.
#[inline(always)]
pub(crate) fn section<T: Copy + Into<u64>>(starts: &[T], at: usize, len: usize) -> Range<usize> {
    match starts.get(at..).and_then(<[T]>::first_chunk) {
        Some(&[start, end]) if start.into() <= end.into() && end.into() <= len as u64 => {
            start.into() as usize..end.into() as usize
        }
        _ => 0..0,
    }
}

impl<T: Element> Array<T> {
    /// The numbers, to change; those of a file are copied first.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if let Storage::File { .. } = self.0 {
            self.0 = Storage::Owned(self.to_vec());
        }
        let Storage::Owned(numbers) = &mut self.0 else { unreachable!("it was just copied") };
        numbers
    }
}

impl<T: Element> Deref for Array<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Storage::Owned(numbers) => numbers,
            Storage::File { bytes, range } => <[T]>::ref_from_bytes(&bytes[range.clone()])
                .expect("length and alignment were checked when the array was made"),
        }
    }
}

impl<T: Element> From<Vec<T>> for Array<T> {
    fn from(numbers: Vec<T>) -> Self {
        Array(Storage::Owned(numbers))
    }
}

impl<T: Element> Default for Array<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: Element> PartialEq for Array<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Element> fmt::Debug for Array<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match &self.0 {
            Storage::Owned(_) => "owned",
            Storage::File { .. } => "in a file",
        };
        write!(out, "Array({} {}, {place})", self.len(), T::TYPE)
    }
}

impl FileBytes {
    /// Maps a file into memory; the system reads a page when it is first used.
    ///
    /// The file must stay as it is while the bytes are in use. Where something may cut it short or
    /// write into it (a network disk, a folder that is copied over), use [`FileBytes::copy`]:
    /// reading a mapped page that the file no longer has kills the process.
    pub(crate) fn map(file: &File) -> io::Result<Self> {
        // SAFETY: the map is read-only and private to this type, which hands out shared slices of
        // plain numbers, for which every bit pattern is valid. What remains is that another process
        // may change the file underneath; labelwood itself only ever renames whole new files into
        // place, and callers who cannot rule it out are told above to copy.
        let map = unsafe { Mmap::map(file)? };
        Ok(FileBytes(Arc::new(Backing::Mapped(map))))
    }

    /// [`FileBytes::map`] for random access (`MADV_RANDOM`).
    pub(crate) fn map_random_access(file: &File) -> io::Result<Self> {
        let bytes = Self::map(file)?;
        // Prediction reads a few places all over a model. Without this, the system also loads the
        // neighbours of each page, and one prediction makes a quarter of a large model resident.
        #[cfg(unix)]
        if let Backing::Mapped(map) = &*bytes.0 {
            map.advise(memmap2::Advice::Random)?;
        }
        Ok(bytes)
    }

    /// Reads exactly `len` bytes into memory.
    pub(crate) fn copy(mut from: impl Read, len: usize) -> io::Result<Self> {
        let count = len.div_ceil(size_of::<u64>());
        let mut words: Vec<u64> = Vec::new();
        words.try_reserve_exact(count).map_err(|_| io::ErrorKind::OutOfMemory)?;
        words.resize(count, 0);
        from.read_exact(&mut words.as_mut_bytes()[..len])?;
        Ok(FileBytes(Arc::new(Backing::Copied(words, len))))
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &*self.0 {
            Backing::Mapped(map) => map,
            Backing::Copied(words, len) => &words.as_bytes()[..*len],
        }
    }
}

impl fmt::Debug for FileBytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match *self.0 {
            Backing::Mapped(_) => "mapped",
            Backing::Copied(..) => "copied",
        };
        write!(out, "FileBytes({}, {how})", self.len())
    }
}

/// Prefetches the cache line of an element; a position beyond the slice is allowed.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of every x86-64; a prefetch is a hint that reads nothing a program
        // can see and faults on no address, and the pointer is not dereferenced.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().wrapping_add(at).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, at);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn both_ways(content: &[u8]) -> [FileBytes; 2] {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        [FileBytes::map(&file).unwrap(), FileBytes::copy(content, content.len()).unwrap()]
    }

    #[test]
    fn a_section_of_a_file_reads_like_a_vector() {
        let numbers = vec![7u64, u64::MAX, 0];
        for bytes in both_ways(numbers.as_bytes()) {
            let array = Array::<u64>::in_file(&bytes, 0..24).unwrap();
            drop(bytes);
            assert_eq!(array, Array::from(numbers.clone()));
            assert_eq!(array.clone()[1], u64::MAX);
            let mut changed = array.clone();
            changed.to_mut().push(3);
            assert_eq!((&changed[..], array.len()), (&[7, u64::MAX, 0, 3][..], 3));
        }
    }

    #[test]
    fn empty_files_and_sections_are_empty_arrays() {
        for bytes in both_ways(&[]) {
            assert!(Array::<f32>::in_file(&bytes, 0..0).unwrap().is_empty());
        }
    }

    #[test]
    fn sections_that_are_cut_misaligned_or_outside_are_refused() {
        for bytes in both_ways(&[0; 13]) {
            let refused = |range| Array::<u32>::in_file(&bytes, range).unwrap_err();
            assert_eq!(
                refused(1..9),
                "bytes 1 to 9 do not start and end on whole, aligned numbers of type U32"
            );
            assert!(refused(4..9).contains("whole, aligned numbers"));
            assert_eq!(refused(12..16), "bytes 12 to 16 lie outside the file's 13 bytes");
            #[expect(clippy::reversed_empty_ranges)]
            let backwards = 8..4;
            assert!(refused(backwards).contains("lie outside"));
            assert_eq!(Array::<u8>::in_file(&bytes, 1..13).unwrap().len(), 12);
        }
    }

    #[test]
    fn copying_a_file_that_is_too_short_fails() {
        let error = FileBytes::copy(&[1u8, 2][..], 3).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn debug_output_is_short() {
        let [mapped, copied] = both_ways(&[0; 1000]);
        assert_eq!(
            format!("{mapped:?} {copied:?}"),
            "FileBytes(1000, mapped) FileBytes(1000, copied)"
        );
        let array = Array::<f32>::in_file(&mapped, 0..1000).unwrap();
        assert_eq!(format!("{array:?}"), "Array(250 F32, in a file)");
        assert_eq!(format!("{:?}", Array::from(vec![1u8])), "Array(1 U8, owned)");
    }
}
