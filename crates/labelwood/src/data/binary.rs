//! Binary data files (`.lwd`), which are mapped into memory instead of parsed.
//!
//! The file is one safetensors file of the arrays of a [`Dataset`], names of labels included.
//! Workers on one machine that open the same file share its pages. Opening checks that the arrays form
//! rows, and that their digest is the one that was written.

use super::error::{ReadError, WriteError};
use super::source::{Source, is_of_system};
use super::write::{write_atomically, write_own};
use super::{Dataset, DatasetView, LabelIndex, Named, NamedView, update};
use crate::base::array::{Array, FileBytes};
use crate::base::run::Memory;
use crate::base::sparse::{Csr, SparseError};
use crate::base::store::{FormatError, Unit, write_arrays};
use crate::base::words::plural;
use std::fs::File;
use std::io;
use std::io::Read;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// The version of the format that is written, and the newest that is read.
const VERSION: u64 = 1;
/// The first bytes of compressed files, which are not mapped.
const COMPRESSED: [&[u8]; 2] = [&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd]];

/// Writes a data set, label names included, as a file that is mapped rather than read.
///
/// ```
/// use labelwood::{data, run::Pool};
/// let (folder, task, options) = (tempfile::tempdir()?, Pool::new(1)?.task(), data::ReadOptions::default());
/// let dataset = data::read_bytes(b"2 4 3\n0,2 0:0.5 3:1\n 1:2\n", "a.txt", &options, &task)?.dataset;
/// let path = folder.path().join("a.lwd");
/// data::write_binary(&path, dataset.view())?;
/// let again = data::read(&path, &options, &task)?.dataset;
/// assert_eq!((again.digest(), again), (dataset.digest(), dataset));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_binary(path: &Path, dataset: DatasetView<'_>) -> Result<(), WriteError> {
    write_atomically(path, |output| write_to(output, dataset))
}

/// Writes binary data like [`write_binary`]; a symbolic link at `path` is replaced, not followed.
pub(crate) fn write_own_binary(path: &Path, dataset: DatasetView<'_>) -> Result<(), WriteError> {
    write_own(path, |output| write_to(output, dataset))
}

fn write_to(output: &mut dyn io::Write, dataset: DatasetView<'_>) -> io::Result<()> {
    let DatasetView { features, labels, label_names, named } = dataset;
    let sizes = [VERSION, features.columns() as u64, labels.columns() as u64];
    let check = check_of(dataset);
    let mut arrays = vec![
        ("sizes", sizes[..].into()),
        ("check", check[..].into()),
        ("feature_offsets", features.offsets().into()),
        ("features", features.indices().into()),
        ("values", features.values().into()),
        ("label_offsets", labels.offsets().into()),
        ("labels", labels.indices().into()),
    ];
    let names = label_names.map(LabelIndex::to_arrays).unwrap_or_default();
    arrays.extend(names.iter().map(|(name, array)| (&**name, *array)));
    if let Some(NamedView { names, matches }) = named {
        arrays.extend([
            ("name_offsets", names.offsets().into()),
            ("name_features", names.indices().into()),
            ("name_values", names.values().into()),
            ("match_offsets", matches.offsets().into()),
            ("match_labels", matches.indices().into()),
            ("matches", matches.values().into()),
        ]);
    }
    write_arrays(output, "data", &arrays).map(drop)
}

/// The digest of rows and label names, which is written into the file.
fn check_of(dataset: DatasetView<'_>) -> [u64; 2] {
    let mut hasher = Xxh3::new();
    hasher.update(&dataset.digest().to_le_bytes());
    if let Some(names) = dataset.label_names {
        names.hash(&mut hasher);
    }
    if let Some(NamedView { names, matches }) = dataset.named {
        update(&mut hasher, names.offsets(), u64::to_le_bytes);
        update(&mut hasher, names.indices(), u32::to_le_bytes);
        update(&mut hasher, matches.offsets(), u64::to_le_bytes);
        update(&mut hasher, matches.indices(), u32::to_le_bytes);
        update(&mut hasher, matches.values(), u32::to_le_bytes);
    }
    let check = hasher.digest128();
    [check as u64, (check >> 64) as u64]
}

/// What the names of labels tell of the rows, if the file says.
fn named_of(unit: &Unit, features: usize, labels: usize) -> Result<Option<Named>, String> {
    if !unit.names().iter().any(|name| name == "matches") {
        return Ok(None);
    }
    let names = Csr::try_from_arrays(
        features,
        unit.array("name_offsets").map_err(reason)?,
        unit.array("name_features").map_err(reason)?,
        unit.array("name_values").map_err(reason)?,
    );
    let matches = Csr::try_from_arrays(
        labels,
        unit.array("match_offsets").map_err(reason)?,
        unit.array("match_labels").map_err(reason)?,
        unit.array("matches").map_err(reason)?,
    );
    let refused = |error: SparseError| format!("names of labels: {error}");
    Ok(Some(Named { names: names.map_err(refused)?, matches: matches.map_err(refused)? }))
}

/// Opens a file of binary data: maps it, unless it is compressed or standard input.
pub(super) fn open(path: &Path, memory: &Memory) -> Result<Dataset, ReadError> {
    let name = path.display().to_string();
    let failed = |source| ReadError::Io { path: name.clone(), source };
    if path.as_os_str() == "-" || !path.is_file() {
        return from_source(Source::open(path, memory)?);
    }
    let mut file = File::open(path).map_err(failed)?;
    let mut first = Vec::new();
    file.by_ref().take(4).read_to_end(&mut first).map_err(failed)?;
    if COMPRESSED.iter().any(|magic| first.starts_with(magic)) {
        return from_source(Source::open(path, memory)?);
    }
    open_bytes(&name, FileBytes::map(&file).map_err(failed)?)
}

/// Reads binary data from a source that cannot be mapped.
pub(super) fn from_source(source: Source<'_>) -> Result<Dataset, ReadError> {
    let (name, mut meter) = (source.name.clone(), source.meter());
    // Counted twice, because the bytes are copied once more to an aligned address.
    let bytes = meter.read_all(source.into_reader(), 2).map_err(|error| match error {
        ReadError::Io { path, source } if !is_of_system(&source) => {
            refused(&path, source.to_string())
        }
        other => other,
    })?;
    let copy = FileBytes::copy(&bytes[..], bytes.len())
        .map_err(|source| ReadError::Io { path: name.clone(), source })?;
    drop(bytes);
    meter.set(copy.len())?;
    let dataset = open_bytes(&name, copy)?;
    meter.keep();
    Ok(dataset)
}

fn open_bytes(name: &str, bytes: FileBytes) -> Result<Dataset, ReadError> {
    dataset_of(bytes).map_err(|reason| refused(name, reason))
}

fn refused(path: &str, reason: String) -> ReadError {
    let problem =
        format!("these are not labelwood's binary data: {reason}; convert the data again");
    ReadError::file(path, problem)
}

/// Makes a data set of the bytes of a file; an error says what is wrong with them.
fn dataset_of(bytes: FileBytes) -> Result<Dataset, String> {
    let unit = Unit::from_file_bytes(PathBuf::new(), bytes).map_err(reason)?;
    let sizes: Array<u64> = unit.array("sizes").map_err(reason)?;
    let &[version, features, labels] = &sizes[..] else {
        return Err(format!("{} sizes where 3 should be", sizes.len()));
    };
    if version != VERSION {
        return Err(format!("it has format version {version}, but this labelwood reads {VERSION}"));
    }
    let width = |what, width: u64| {
        let width = u32::try_from(width).map_err(|_| format!("{width} {what} are too many"))?;
        Ok::<_, String>(width as usize)
    };
    let offsets = unit.array("feature_offsets").map_err(reason)?;
    let indices = unit.array("features").map_err(reason)?;
    let values = unit.array("values").map_err(reason)?;
    let features = Csr::try_from_arrays(width("features", features)?, offsets, indices, values)
        .map_err(|error| format!("features: {error}"))?;
    let offsets = unit.array("label_offsets").map_err(reason)?;
    let indices: Array<u32> = unit.array("labels").map_err(reason)?;
    let no_values = vec![(); indices.len()];
    let labels = Csr::try_from_arrays(width("labels", labels)?, offsets, indices, no_values)
        .map_err(|error| format!("labels: {error}"))?;
    if features.len() != labels.len() {
        return Err(format!(
            "{} of features but {} of labels",
            plural(features.len(), "row"),
            labels.len()
        ));
    }
    let label_names = names_of(&unit, labels.columns())?;
    let named = named_of(&unit, features.columns(), labels.columns())?;
    if let Some(Named { names, matches }) = &named
        && (matches.len() != features.len() || names.len() > labels.columns())
    {
        return Err("its names of labels are not those of its rows".to_owned());
    }
    let dataset = Dataset { features, labels, label_names, named };
    let check: Array<u64> = unit.array("check").map_err(reason)?;
    if *check != check_of(dataset.view()) {
        return Err("its content is not what was written".to_owned());
    }
    Ok(dataset)
}

fn names_of(unit: &Unit, labels: usize) -> Result<Option<LabelIndex>, String> {
    let names = LabelIndex::from_unit(unit).map_err(reason)?;
    match &names {
        Some(names) if names.len() < labels => {
            Err(format!("{} for {}", plural(names.len(), "name"), plural(labels, "label")))
        }
        _ => Ok(names),
    }
}

/// The text of an error without its advice, which is about models.
fn reason(error: FormatError) -> String {
    error.reason
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;
    use crate::data::{ReadOptions, read, read_bytes};
    use std::fs;

    fn example() -> Dataset {
        let text = b"3 4 3\n0,2 0:0.5 3:1\n 1:2\n1\n";
        let read =
            read_bytes(text, "a.txt", &ReadOptions::default(), &Pool::new(1).unwrap().task());
        let label_names = Some(LabelIndex::from_lines(["owls", "maps", "p3\tatlases"]));
        Dataset { label_names, ..read.unwrap().dataset }
    }

    fn bytes_of(dataset: &Dataset) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lwd");
        write_binary(&path, dataset.view()).unwrap();
        fs::read(path).unwrap()
    }

    #[test]
    fn what_was_written_is_mapped_with_its_names() {
        let (folder, task) = (tempfile::tempdir().unwrap(), Pool::new(1).unwrap().task());
        for (name, place) in [("a.lwd", "in a file"), ("a.lwd.zst", "in a file")] {
            let path = folder.path().join(name);
            write_binary(&path, example().view()).unwrap();
            let found = read(&path, &ReadOptions::default(), &task).unwrap();
            assert_eq!(found.dataset, example());
            assert!(format!("{:?}", found.dataset.features).contains(place));
        }
    }

    #[test]
    fn rows_that_are_changed_no_longer_lie_in_the_file() {
        let task = Pool::new(1).unwrap().task();
        let bytes = bytes_of(&example());
        let read = read_bytes(&bytes, "a.lwd", &ReadOptions::default(), &task).unwrap();
        let mut features = read.dataset.features.clone();
        features.push_row(&[1], &[3.0]).unwrap();
        features.values_mut()[0] = 9.0;
        assert_eq!((features.len(), features.row(0).values[0]), (4, 9.0));
        assert_eq!(read.dataset, example());
    }

    #[test]
    fn every_flipped_or_missing_byte_is_refused_or_changes_nothing() {
        let task = Pool::new(1).unwrap().task();
        let bytes = bytes_of(&example());
        let read = |bytes: &[u8]| read_bytes(bytes, "a.lwd", &ReadOptions::default(), &task);
        for len in 0..bytes.len() {
            assert!(read(&bytes[..len]).is_err(), "{len} bytes");
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                if let Ok(read) = read(&flipped) {
                    assert_eq!(read.dataset, example(), "byte {at}, bit {bit}");
                }
            }
        }
        let error = read(b"2 4 3\n").unwrap_err().to_string();
        assert!(error.starts_with("a.lwd: these are not labelwood's binary data: "), "{error}");
    }
}
