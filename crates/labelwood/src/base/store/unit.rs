//! One unit of a model: a safetensors file of named, typed arrays.
//!
//! The file's name ends in the digest of its content, so that the same unit always has the same
//! name, and two different ones never meet under one name. Sections are ordered by the size of
//! their numbers, so that each starts at a multiple of that size.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, Metadata, SafeTensors, TensorInfo};
use serde::{Deserialize, Serialize};
use zerocopy::IntoBytes;

use super::digest::Digester;
use super::files::{self, open_plain};
use super::{Digest, FormatError, StoreError};
use crate::base::array::{Array, Element, FileBytes, Numbers};

/// How a unit's file name ends, after the digits of its digest.
const ENDING: &str = ".safetensors";
/// Digits of the digest that stand in the name.
const SHORT: usize = 16;
/// The largest header, which holds some hundred bytes for each array.
const HEADER_LIMIT: u64 = 1 << 20;

/// A file of a model: what the manifest says about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitFile {
    /// The file's name in the model's folder, such as `tree-0007-0123456789abcdef.safetensors`.
    pub file: String,
    /// Its length.
    pub bytes: u64,
    /// The digest of its content.
    pub xxh3: Digest,
}

/// An array to write, of any of the types.
#[derive(Clone, Copy)]
pub struct ArrayRef<'a> {
    kind: Dtype,
    len: usize,
    bytes: &'a [u8],
}

/// How a file is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Load {
    /// Map it into memory: nothing is read until it is used. Nobody may change the file meanwhile.
    #[default]
    Map,
    /// Read it into memory, for folders that something may overwrite in place, and network disks.
    Copy,
}

/// An open unit.
#[derive(Clone, Debug)]
pub struct Unit {
    path: PathBuf,
    /// The bytes of the file that holds it, and where in them it lies.
    bytes: FileBytes,
    range: Range<usize>,
    header: Metadata,
    /// Where the sections start in the file.
    start: usize,
    /// Whether this process made it, so that its content need not be checked.
    is_own: bool,
}

impl<'a, T: Element> From<&'a [T]> for ArrayRef<'a> {
    fn from(array: &'a [T]) -> Self {
        ArrayRef { kind: T::TYPE, len: array.len(), bytes: array.as_bytes() }
    }
}

impl<'a, T: Element> From<&'a Array<T>> for ArrayRef<'a> {
    fn from(array: &'a Array<T>) -> Self {
        array[..].into()
    }
}

impl<'a> From<&'a Numbers> for ArrayRef<'a> {
    fn from(numbers: &'a Numbers) -> Self {
        match numbers {
            Numbers::U8(array) => array.into(),
            Numbers::U16(array) => array.into(),
            Numbers::U32(array) => array.into(),
        }
    }
}

impl UnitFile {
    /// The unit's name, which is the file's name without digest and ending: `tree-0007`.
    pub fn name(&self) -> &str {
        unit_name_of(&self.file).unwrap_or(&self.file)
    }

    /// The same content as a unit of another name.
    pub(crate) fn renamed(&self, name: &str) -> Self {
        UnitFile { file: file_name(name, self.xxh3), ..*self }
    }

    /// Whether the name is a plain one that goes with the digest.
    pub(crate) fn has_valid_name(&self) -> bool {
        unit_name_of(&self.file).is_some_and(|name| self.file == file_name(name, self.xxh3))
    }
}

/// Writes arrays as one unit, such as `tree-0007`, into a folder.
///
/// The file appears under its final name only when it is complete and on disk. Array names must
/// differ; their order does not matter.
///
/// # Panics
///
/// When two arrays have the same name, or the name has other characters than lower-case letters,
/// digits and inner hyphens.
pub(crate) fn write_unit(
    folder: &Path,
    name: &str,
    arrays: &[(&str, ArrayRef<'_>)],
) -> Result<UnitFile, StoreError> {
    files::write_whole(folder, name, |out| {
        let unit = write_arrays(out, name, arrays)?;
        Ok((unit.file.clone(), unit))
    })
}

/// Writes a unit's content; gives its file name, length and digest.
pub(crate) fn write_arrays(
    out: &mut (impl Write + ?Sized),
    name: &str,
    arrays: &[(&str, ArrayRef<'_>)],
) -> io::Result<UnitFile> {
    assert!(is_unit_name(name), "`{name}` cannot name a unit");
    let mut sections = arrays.to_vec();
    sections.sort_by_key(|&(name, array)| (std::cmp::Reverse(array.kind.bitsize()), name));
    let mut digester = Digester::new();
    let mut bytes = 0;
    let mut write = |part: &[u8]| {
        digester.update(part);
        bytes += part.len() as u64;
        out.write_all(part)
    };
    write(&header_of(&sections))?;
    for (_, section) in &sections {
        write(section.bytes)?;
    }
    let xxh3 = digester.finish();
    Ok(UnitFile { file: file_name(name, xxh3), bytes, xxh3 })
}

/// The length of the header, then the header, padded so that the sections start aligned.
fn header_of(sections: &[(&str, ArrayRef<'_>)]) -> Vec<u8> {
    let mut end = 0;
    let mut infos: Vec<(String, TensorInfo)> = Vec::new();
    for &(name, array) in sections {
        assert!(infos.iter().all(|(other, _)| other != name), "two arrays are called `{name}`");
        let data_offsets = (end, end + array.bytes.len());
        end = data_offsets.1;
        let info = TensorInfo { dtype: array.kind, shape: vec![array.len], data_offsets };
        infos.push((name.to_owned(), info));
    }
    let header = Metadata::new(None, infos).expect("sections follow each other without gaps");
    let mut text = serde_json::to_vec(&header).expect("a header is plain JSON");
    text.resize(text.len().next_multiple_of(size_of::<u64>()), b' ');
    let mut whole = (text.len() as u64).to_le_bytes().to_vec();
    whole.append(&mut text);
    whole
}

impl Unit {
    /// Opens a unit's file. Its header is checked, its content is not read yet.
    pub(crate) fn open(path: &Path, load: Load) -> Result<Self, StoreError> {
        let (file, len) = open_plain(path)?;
        Self::from_file(path, &file, len, load)
    }

    /// Opens a unit as the manifest describes it; its length must agree.
    pub(super) fn open_listed(
        folder: &Path,
        unit: &UnitFile,
        load: Load,
    ) -> Result<Self, StoreError> {
        let path = folder.join(&unit.file);
        let (file, found) = open_plain(&path)?;
        if found != unit.bytes {
            return Err(FormatError::length(&path, unit.bytes, found).into());
        }
        Self::from_file(&path, &file, found, load)
    }

    fn from_file(path: &Path, file: &File, len: u64, load: Load) -> Result<Self, StoreError> {
        let bytes = match load {
            Load::Map => FileBytes::map_random_access(file),
            Load::Copy => FileBytes::copy(file, len as usize),
        };
        let bytes = bytes.map_err(|error| StoreError::io("load", path, error))?;
        Ok(Self::from_file_bytes(path.to_owned(), bytes)?)
    }

    /// A unit in memory, and the file that it would be written to.
    pub(crate) fn in_memory(
        name: &str,
        arrays: &[(&str, ArrayRef<'_>)],
    ) -> Result<(UnitFile, Self), StoreError> {
        let mut content = Vec::new();
        let file = write_arrays(&mut content, name, arrays);
        let file = file.map_err(|error| StoreError::io("keep", Path::new(name), error))?;
        let unit = Self::from_bytes(&file.file, &content)?;
        Ok((file, Unit { is_own: true, ..unit }))
    }

    /// A unit over a copy of the bytes of its file.
    pub(crate) fn from_bytes(file: &str, content: &[u8]) -> Result<Self, StoreError> {
        let path = PathBuf::from(file);
        let bytes = FileBytes::copy(content, content.len())
            .map_err(|error| StoreError::io("keep", &path, error))?;
        Ok(Self::from_file_bytes(path, bytes)?)
    }

    /// A unit over the bytes of its file.
    pub(crate) fn from_file_bytes(path: PathBuf, bytes: FileBytes) -> Result<Self, FormatError> {
        let range = 0..bytes.len();
        Self::from_section(path, bytes, range)
    }

    /// A unit over a section of the bytes of a file.
    pub(super) fn from_section(
        path: PathBuf,
        bytes: FileBytes,
        range: Range<usize>,
    ) -> Result<Self, FormatError> {
        let refused = |reason: String| not_a_unit(&path, &reason);
        let own = bytes.get(range.clone()).ok_or_else(|| refused("it was cut short".to_owned()))?;
        if let Some(first) = own.first_chunk()
            && u64::from_le_bytes(*first) > HEADER_LIMIT
        {
            return Err(refused(format!("its header is over {HEADER_LIMIT} bytes")));
        }
        let (header_len, header) =
            SafeTensors::read_metadata(own).map_err(|error| refused(error.to_string()))?;
        let start = range.start + size_of::<u64>() + header_len;
        Ok(Unit { path, start, range, bytes, header, is_own: false })
    }

    /// Whether this process made the unit in memory: what comes from outside is checked when it is
    /// opened, what was just learned is not.
    pub(crate) fn is_own(&self) -> bool {
        self.is_own
    }

    /// One array, which must be a list of numbers of type `T`.
    pub fn array<T: Element>(&self, name: &str) -> Result<Array<T>, FormatError> {
        let refused = |reason, advice| FormatError::new(&self.path, reason, advice);
        let info = self.header.info(name).ok_or_else(|| {
            let reason = format!("no array `{name}`, only {:?}", self.names());
            refused(reason, "the model is incomplete: train it again")
        })?;
        if info.dtype != T::TYPE || info.shape.len() != 1 {
            let found = format!("{} of shape {:?}", info.dtype, info.shape);
            let reason = format!("array `{name}` should be a list of {}, but is {found}", T::TYPE);
            return Err(refused(reason, "train the model again"));
        }
        let (from, to) = info.data_offsets;
        Array::in_file(&self.bytes, self.start + from..self.start + to).map_err(|reason| {
            let advice = "load the model with labelwood that wrote it and save it again";
            refused(format!("array `{name}`: {reason}"), advice)
        })
    }

    /// One array of whole numbers, of whichever width it was stored in.
    pub(crate) fn numbers(&self, name: &str) -> Result<Numbers, FormatError> {
        match self.header.info(name).map(|info| info.dtype) {
            Some(Dtype::U8) => self.array(name).map(Numbers::U8),
            Some(Dtype::U16) => self.array(name).map(Numbers::U16),
            _ => self.array(name).map(Numbers::U32),
        }
    }

    /// The names of the arrays, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names = self.header.offset_keys();
        names.sort_unstable();
        names
    }

    /// The file that this unit was opened from; in an archive, the archive's name and the unit's.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// An error for arrays of this unit that do not fit together.
    pub fn refused(&self, reason: impl Into<String>) -> FormatError {
        let advice = "the model is damaged: copy it again or train it again";
        FormatError::new(&self.path, reason, advice)
    }

    /// The bytes of the unit's file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }
}

fn not_a_unit(path: &Path, reason: &str) -> FormatError {
    let reason = format!("not a valid safetensors file: {reason}");
    FormatError::new(path, reason, "copy the model again")
}

fn file_name(name: &str, digest: Digest) -> String {
    format!("{name}-{}{ENDING}", digest.short())
}

/// The name of the unit in `file`; nothing if no unit has such a file name.
pub(super) fn unit_name_of(file: &str) -> Option<&str> {
    let (name, digits) = file.strip_suffix(ENDING)?.rsplit_once('-')?;
    (is_unit_name(name) && is_short(digits)).then_some(name)
}

/// The prefix of the names of a plan's units. No unit of a model has it.
pub(crate) fn plan_prefix(plan: Digest) -> String {
    format!("{}-", plan.short())
}

/// Whether a unit of this name belongs to a plan.
pub(super) fn is_of_plan(name: &str) -> bool {
    name.split_once('-').is_some_and(|(plan, _)| is_short(plan))
}

/// Whether these are the digits of [`Digest::short`].
fn is_short(digits: &str) -> bool {
    let is_hex = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
    digits.len() == SHORT && digits.bytes().all(is_hex)
}

fn is_unit_name(name: &str) -> bool {
    let is_inner = |at: u8| at.is_ascii_lowercase() || at.is_ascii_digit() || at == b'-';
    !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(is_inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn write(folder: &Path) -> UnitFile {
        let arrays = [
            ("bytes", [1u8, 2, 3].as_slice().into()),
            ("halves", [5u16].as_slice().into()),
            ("offsets", [0u64, 9].as_slice().into()),
            ("none", <&[u32]>::default().into()),
            ("values", [1.5f32, -0.0, f32::NAN].as_slice().into()),
        ];
        write_unit(folder, "tree-0007", &arrays).unwrap()
    }

    #[test]
    fn arrays_come_back_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let written = write(folder.path());
        let path = folder.path().join(&written.file);
        assert_eq!(written.bytes, fs::metadata(&path).unwrap().len());
        assert_eq!(written.xxh3, Digest::of(&fs::read(&path).unwrap()));
        assert_eq!(written.name(), "tree-0007");
        assert!(written.has_valid_name());
        for load in [Load::Map, Load::Copy] {
            let unit = Unit::open(&path, load).unwrap();
            assert_eq!(unit.names(), ["bytes", "halves", "none", "offsets", "values"]);
            assert_eq!(*unit.array::<u8>("bytes").unwrap(), [1, 2, 3]);
            assert_eq!(*unit.array::<u16>("halves").unwrap(), [5]);
            assert_eq!(*unit.array::<u64>("offsets").unwrap(), [0, 9]);
            assert!(unit.array::<u32>("none").unwrap().is_empty());
            let values = unit.array::<f32>("values").unwrap();
            let bits: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
            assert_eq!(bits, [1.5f32, -0.0, f32::NAN].map(f32::to_bits));
        }
    }

    #[test]
    fn the_order_of_the_arrays_does_not_reach_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two): (ArrayRef, ArrayRef) = ([1u8].as_slice().into(), [2u64].as_slice().into());
        let first = write_unit(folder.path(), "a", &[("one", one), ("two", two)]).unwrap();
        let second = write_unit(folder.path(), "a", &[("two", two), ("one", one)]).unwrap();
        assert_eq!(first, second);
        let other = write_unit(folder.path(), "a", &[("two", one), ("one", two)]).unwrap();
        assert_ne!(first.file, other.file);
    }

    #[test]
    fn another_type_name_or_shape_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let written = write(folder.path());
        let unit = Unit::open(&folder.path().join(written.file), Load::Map).unwrap();
        let text = unit.array::<u32>("values").unwrap_err().to_string();
        assert!(text.contains("array `values` should be a list of U32, but is F32"), "{text}");
        assert!(unit.array::<u8>("byte").unwrap_err().reason.contains("no array `byte`"));
        let square = br#"{"a":{"dtype":"U8","shape":[2,2],"data_offsets":[0,4]}}"#;
        let unit = open_raw(folder.path(), square, &[0; 4]).unwrap();
        assert!(unit.array::<u8>("a").unwrap_err().reason.contains("is U8 of shape [2, 2]"));
        let crooked = br#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U32","shape":[1],"data_offsets":[1,5]}}"#;
        let unit = open_raw(folder.path(), crooked, &[0; 5]).unwrap();
        assert!(unit.array::<u32>("b").unwrap_err().reason.contains("aligned numbers"));
    }

    /// Opens a file with the given header and sections.
    fn open_raw(folder: &Path, header: &[u8], sections: &[u8]) -> Result<Unit, StoreError> {
        let path = folder.join("raw");
        let len = (header.len() as u64).to_le_bytes();
        fs::write(&path, [&len, header, sections].concat()).unwrap();
        Unit::open(&path, Load::Map)
    }

    #[test]
    fn hostile_headers_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let headers: [&[u8]; 8] = [
            b"",
            b"[]",
            b"\xff\xff",
            br#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,5]}}"#,
            br#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}}"#,
            br#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,18446744073709551615]}}"#,
            br#"{"a":{"dtype":"U64","shape":[4611686018427387904,4],"data_offsets":[0,4]}}"#,
            br#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#,
        ];
        for header in headers {
            let error = open_raw(folder.path(), header, &[0; 4]).unwrap_err().to_string();
            assert!(error.contains("not a valid safetensors file"), "{error}");
        }
        fs::write(folder.path().join("long"), u64::MAX.to_le_bytes()).unwrap();
        assert!(Unit::open(&folder.path().join("long"), Load::Map).is_err());
        assert!(Unit::open(folder.path(), Load::Map).is_err());
    }

    #[test]
    fn a_unit_cut_short_at_any_length_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let written = write(folder.path());
        let whole = fs::read(folder.path().join(written.file)).unwrap();
        let path = folder.path().join("cut");
        for len in 0..whole.len() {
            fs::write(&path, &whole[..len]).unwrap();
            for load in [Load::Map, Load::Copy] {
                assert!(Unit::open(&path, load).is_err(), "{len} bytes");
            }
        }
    }

    #[test]
    fn only_plain_names_with_a_digest_are_unit_names() {
        let good = "label-names-0123456789abcdef.safetensors";
        assert_eq!(unit_name_of(good), Some("label-names"));
        for bad in [
            "",
            "tree.safetensors",
            "-0123456789abcdef.safetensors",
            "../a-0123456789abcdef.safetensors",
            "a/b-0123456789abcdef.safetensors",
            ".a-0123456789abcdef.safetensors",
            "a-0123456789abcdeF.safetensors",
            "a-123456789abcdef.safetensors",
            "a-0123456789abcdef.safetensors.gz",
        ] {
            assert_eq!(unit_name_of(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_opening_panic(
            header in ".{0,60}|\\{\"a\":\\{\"dtype\":\"(U8|F32|U64)\",\"shape\":\\[[0-9]{0,3}\\],\"data_offsets\":\\[[0-9],[0-9]{1,2}\\]\\}\\}",
            sections in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let folder = tempfile::tempdir().unwrap();
            if let Ok(unit) = open_raw(folder.path(), header.as_bytes(), &sections) {
                for name in unit.names() {
                    let _ = (unit.array::<u8>(&name), unit.array::<f32>(&name), unit.array::<u64>(&name));
                }
            }
        }
    }
}
