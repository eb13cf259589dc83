//! A model as one file: an uncompressed tar archive, which `tar` lists and unpacks.
//!
//! The manifest comes first, then the units in its order. Each has a header of one block before it and is
//! filled up with zeros to whole blocks; two blocks of zeros end the file. Headers hold no times and no
//! owners. So a manifest determines every byte that is not content: nothing in an archive needs to be
//! believed, and what is not as it would be written is refused. Units start at multiples of the
//! block's size, and are mapped where they lie.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::files::open_plain;
use super::manifest::{LIMIT, MANIFEST};
use super::{FormatError, Load, Manifest, StoreError, Unit, UnitFile};
use crate::base::array::FileBytes;

/// How the name of a model ends that is to be one file.
const ENDING: &str = "labelwood";
/// The bytes of one block.
const BLOCK: u64 = 512;
/// The blocks of zeros at the end.
const END: [u8; 2 * BLOCK as usize] = [0; 2 * BLOCK as usize];

/// Whether a model that is written to `target` is one file: what is there decides, else the ending.
///
/// ```
/// use labelwood::store::is_file_target;
/// assert!(is_file_target("new.labelwood".as_ref()));
/// assert!(!is_file_target("new".as_ref()));
/// ```
pub fn is_file_target(target: &Path) -> bool {
    let has_ending = || target.extension().is_some_and(|ending| ending == ENDING);
    target.is_file() || (!target.exists() && has_ending())
}

/// Whether there is a file at `path` that begins as an archive does.
pub(super) fn is_archive(path: &Path) -> bool {
    let size = || manifest_size(path, &mut open_plain(path).ok()?.0).ok();
    size().is_some()
}

/// An open archive.
pub(super) struct Archive {
    path: PathBuf,
    file: File,
    /// Where each unit lies, by the name of its file.
    places: BTreeMap<String, Range<u64>>,
}

impl Archive {
    /// Opens an archive and reads its manifest. Lengths, names and padding are checked; what the units
    /// hold is not read.
    pub(super) fn open(path: &Path) -> Result<(Self, Manifest), StoreError> {
        let (mut file, len) = open_plain(path)?;
        let size = manifest_size(path, &mut file)?;
        let mut text = Vec::new();
        let failed = |error| StoreError::io("read", path, error);
        (&mut file).take(size).read_to_end(&mut text).map_err(failed)?;
        if (text.len() as u64) < size {
            return Err(damaged(path, "it ends within its manifest").into());
        }
        let manifest = Manifest::parse(&path.join(MANIFEST), &text)?;
        let mut archive = Archive { path: path.to_owned(), file, places: BTreeMap::new() };
        let mut at = BLOCK + size;
        for unit in &manifest.units {
            let start = archive.check_gap(at, &header(&unit.file, unit.bytes))?;
            at = start.checked_add(unit.bytes).filter(|&end| end <= len).ok_or_else(|| {
                let reason = format!("its {len} bytes end before or within {}", unit.file);
                damaged(path, &reason)
            })?;
            archive.places.insert(unit.file.clone(), start..at);
        }
        if archive.check_gap(at, &END)? != len {
            return Err(damaged(path, "something follows its last file").into());
        }
        Ok((archive, manifest))
    }

    /// Checks that zeros follow to the end of a block, and then the bytes of `next`; gives the place after
    /// these.
    fn check_gap(&mut self, at: u64, next: &[u8]) -> Result<u64, StoreError> {
        let expected = [padding(at), next].concat();
        let mut found = Vec::new();
        let read = (self.file.seek(SeekFrom::Start(at)))
            .and_then(|_| (&mut self.file).take(expected.len() as u64).read_to_end(&mut found));
        read.map_err(|error| StoreError::io("read", &self.path, error))?;
        if found != expected {
            let reason = format!("bytes {at} to {} are not as expected", at + found.len() as u64);
            return Err(damaged(&self.path, &reason).into());
        }
        Ok(at + expected.len() as u64)
    }

    /// Where the file of a unit lies.
    pub(super) fn place(&self, unit: &UnitFile) -> Range<u64> {
        self.places.get(&unit.file).cloned().unwrap_or_default()
    }

    /// Opens some of the units: maps the file once, or copies each unit.
    pub(super) fn units(
        &mut self,
        listed: &[UnitFile],
        load: Load,
    ) -> Result<Vec<Unit>, StoreError> {
        let mapped = match load {
            Load::Map => Some(FileBytes::map_random_access(&self.file).map_err(self.not_loaded())?),
            Load::Copy => None,
        };
        let mut units = Vec::with_capacity(listed.len());
        for unit in listed {
            let place = self.place(unit);
            let (bytes, range) = match &mapped {
                Some(bytes) => (bytes.clone(), place.start as usize..place.end as usize),
                None => {
                    let copied = (self.file.seek(SeekFrom::Start(place.start)))
                        .and_then(|_| FileBytes::copy(&self.file, unit.bytes as usize));
                    (copied.map_err(self.not_loaded())?, 0..unit.bytes as usize)
                }
            };
            units.push(Unit::from_section(self.path.join(&unit.file), bytes, range)?);
        }
        Ok(units)
    }

    fn not_loaded(&self) -> impl Fn(io::Error) -> StoreError + use<'_> {
        |error| StoreError::io("load", &self.path, error)
    }
}

/// Reads the first header, which must be that of a manifest, and gives the manifest's length.
fn manifest_size(path: &Path, file: &mut File) -> Result<u64, StoreError> {
    let mut block = Vec::new();
    let failed = |error| StoreError::io("read", path, error);
    file.take(BLOCK).read_to_end(&mut block).map_err(failed)?;
    let digits = block.get(SIZE).and_then(|digits| str::from_utf8(digits).ok());
    let size = digits.and_then(|text| u64::from_str_radix(text.strip_suffix('\0')?, 8).ok());
    size.filter(|&size| size <= LIMIT && header(MANIFEST, size)[..] == block)
        .ok_or_else(|| StoreError::NoModel { folder: path.to_owned() })
}

/// Writes an archive; `content` writes what each unit holds and says how many bytes that was.
pub(super) fn write(
    out: &mut dyn Write,
    manifest: &Manifest,
    content: impl Fn(&UnitFile, &mut dyn Write) -> io::Result<u64>,
) -> io::Result<()> {
    let text = manifest.to_bytes();
    out.write_all(&header(MANIFEST, text.len() as u64))?;
    out.write_all(&text)?;
    out.write_all(padding(text.len() as u64))?;
    for unit in &manifest.units {
        out.write_all(&header(&unit.file, unit.bytes))?;
        if content(unit, out)? != unit.bytes {
            return Err(io::Error::other(format!("{} was changed meanwhile", unit.file)));
        }
        out.write_all(padding(unit.bytes))?;
    }
    out.write_all(&END)
}

/// What follows so many bytes up to the end of a block.
fn padding(bytes: u64) -> &'static [u8] {
    &END[..(bytes.next_multiple_of(BLOCK) - bytes) as usize]
}

/// Where the length stands in a header.
const SIZE: Range<usize> = 124..136;
/// The first length that has more than eleven octal digits.
const LARGE: u64 = 1 << 33;

/// The header of an ordinary file, as POSIX (ustar) has it.
pub(super) fn header(name: &str, bytes: u64) -> [u8; BLOCK as usize] {
    let mut block = [0; BLOCK as usize];
    let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, b"0000644\0"); // permissions
    put(108, b"0000000\0"); // owner
    put(116, b"0000000\0"); // group
    match bytes {
        // What all readers of tar archives know beyond POSIX: a mark, then the number itself.
        LARGE.. => {
            put(SIZE.start, &[0x80]);
            put(SIZE.end - size_of::<u64>(), &bytes.to_be_bytes());
        }
        _ => put(SIZE.start, format!("{bytes:011o}\0").as_bytes()),
    }
    put(136, b"00000000000\0"); // time
    put(148, b"        "); // the sum counts its own place as blanks
    put(156, b"0"); // an ordinary file
    put(257, b"ustar\x0000");
    let sum: u32 = block.iter().copied().map(u32::from).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

fn damaged(path: &Path, reason: &str) -> FormatError {
    FormatError::new(path, reason, "the file was damaged: copy the model again")
}
