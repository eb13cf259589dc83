//! The format `npz`: a CSR matrix as `scipy.sparse.save_npz` writes it.
//!
//! A zip file of five arrays in NumPy's npy format: `indices`, `indptr`, `format`, `shape`, `data`.

use super::file_rows::FileRows;
use super::{RowBuilder, by_label, out_of_range};
use crate::base::sparse::Predictions;
use crate::base::words::plural;
use crate::data::error::{ReadError, excerpt};
use crate::data::source::{MemoryMeter, Source, is_of_system};
use flate2::read::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveWriter, ZipSliceArchive};
use std::fmt::Display;
use std::io::{self, Read, Write};

const MAGIC: &[u8] = b"\x93NUMPY";

type Archive<'a> = ZipSliceArchive<&'a [u8]>;

pub(super) fn read(
    source: Source<'_>,
    labels: usize,
    meter: &mut MemoryMeter,
) -> Result<FileRows, ReadError> {
    let path = source.name.clone();
    let bytes = meter.read_all(source.into_reader(), 1)?;
    let refused = |source| ReadError::Io { path: path.clone(), source };
    let archive = open(&bytes).map_err(refused)?;
    let unpacked = unpacked_size(&archive).map_err(refused)?;
    // Held at a time: the bytes of an array, its numbers, which may be twice as wide, and the
    // predictions.
    meter.set(bytes.len().saturating_add(unpacked.saturating_mul(4)))?;
    parse(&archive, labels).map_err(refused)
}

fn open(bytes: &[u8]) -> io::Result<Archive<'_>> {
    ZipArchive::from_slice(bytes)
        .map_err(|_| io::Error::other("not a zip file, as npz files are, or cut short"))
}

/// How many bytes all members have, as the zip directory says. [`unpack`] reads no more.
fn unpacked_size(archive: &Archive) -> io::Result<usize> {
    let mut size = 0usize;
    for entry in archive.entries() {
        let of_member = entry.map_err(damaged_directory)?.uncompressed_size_hint();
        size = size.saturating_add(usize::try_from(of_member).unwrap_or(usize::MAX));
    }
    Ok(size)
}

fn damaged_directory(error: rawzip::Error) -> io::Error {
    io::Error::other(format!("the zip directory is damaged: {error}"))
}

/// The bytes of the named member; `None` if there is no such member.
fn unpack(archive: &Archive, name: &str) -> io::Result<Option<Vec<u8>>> {
    for entry in archive.entries() {
        let entry = entry.map_err(damaged_directory)?;
        if entry.file_path().as_ref() != name.as_bytes() {
            continue;
        }
        let damaged =
            |problem: &dyn Display| io::Error::other(format!("{name} is damaged: {problem}"));
        let packed = archive.get_entry(entry.wayfinder()).map_err(|error| damaged(&error))?;
        let mut bytes = Vec::new();
        // The reader fails at the first byte beyond the size that the directory declares.
        let read = match entry.compression_method() {
            CompressionMethod::STORE => {
                packed.verifying_reader(packed.data()).read_to_end(&mut bytes)
            }
            CompressionMethod::DEFLATE => {
                packed.verifying_reader(DeflateDecoder::new(packed.data())).read_to_end(&mut bytes)
            }
            method => {
                let problem = format!("{name} is compressed by {method}: save it with scipy");
                return Err(io::Error::other(problem));
            }
        };
        read.map_err(|error| if is_of_system(&error) { error } else { damaged(&error) })?;
        return Ok(Some(bytes));
    }
    Ok(None)
}

fn parse(archive: &Archive, labels: usize) -> io::Result<FileRows> {
    let format = Array::of(archive, "format")?.text();
    if format != "csr" {
        return Err(io::Error::other(format!(
            "format is `{}`, not `csr`: save the matrix with `save_npz(path, matrix.tocsr())`",
            excerpt(&format)
        )));
    }
    let shape = Array::of(archive, "shape")?.integers()?;
    let offsets = Array::of(archive, "indptr")?.integers()?;
    let columns = Array::of(archive, "indices")?.integers()?;
    let scores = Array::of(archive, "data")?.floats()?;
    matrix(&shape, &offsets, &columns, &scores, labels).map_err(io::Error::other)
}

/// Makes predictions of the arrays of a CSR matrix.
fn matrix(
    shape: &[u64],
    offsets: &[u64],
    columns: &[u64],
    scores: &[f32],
    labels: usize,
) -> Result<FileRows, String> {
    let &[rows, _] = shape else {
        return Err(format!("shape has {} dimensions: a matrix has 2", shape.len()));
    };
    if rows.checked_add(1) != Some(offsets.len() as u64) {
        return Err(format!(
            "{} for {}: one more is due",
            plural(offsets.len(), "row offset"),
            plural(rows, "row")
        ));
    }
    let entries = columns.len() as u64;
    if columns.len() != scores.len() || offsets[0] != 0 || offsets.last() != Some(&entries) {
        return Err("indptr, indices and data do not belong together".to_owned());
    }
    if let Some(at) = offsets.windows(2).position(|range| range[0] > range[1] || range[1] > entries)
    {
        return Err(format!("row {}: indptr decreases", at + 1));
    }
    // Ones in another order than that of the labels are labels without scores, the best first.
    let is_sorted = |range: &[u64]| columns[range[0] as usize..range[1] as usize].is_sorted();
    let has_scores = scores.iter().any(|&score| score != 1.0) || offsets.windows(2).all(is_sorted);
    let (mut predictions, mut row) = (Predictions::default(), RowBuilder::default());
    for (at, range) in offsets.windows(2).enumerate() {
        for entry in range[0] as usize..range[1] as usize {
            let (column, score) = (columns[entry], scores[entry]);
            let label = u32::try_from(column).ok().filter(|&label| (label as usize) < labels);
            let label = label.ok_or_else(|| {
                format!("row {}: {}", at + 1, out_of_range(&column.to_string(), labels))
            })?;
            if !score.is_finite() {
                return Err(format!(
                    "row {}: the score of label {label} is not a finite number",
                    at + 1
                ));
            }
            row.push(label, has_scores.then_some(score), entry).map_err(|(_, problem)| problem)?;
        }
        row.finish(&mut predictions)
            .map_err(|(_, problem)| format!("row {}: {problem}", at + 1))?;
    }
    Ok(FileRows { predictions, has_scores: row.has_scores, ..FileRows::default() })
}

/// One array of the file: its name, NumPy's name of its type, and its bytes.
struct Array {
    name: &'static str,
    kind: String,
    bytes: Vec<u8>,
}

impl Array {
    fn of(archive: &Archive, name: &'static str) -> io::Result<Self> {
        let missing =
            || format!("there is no array `{name}`: save the matrix with scipy's save_npz");
        let refused = io::Error::other::<String>;
        let mut bytes =
            unpack(archive, &format!("{name}.npy"))?.ok_or_else(|| refused(missing()))?;
        let (header, data) =
            split_npy(&bytes).ok_or_else(|| refused(format!("{name} is no NumPy array")))?;
        let kind = header
            .split_once("'descr':")
            .and_then(|(_, rest)| rest.split('\'').nth(1))
            .ok_or_else(|| refused(format!("{name}: the NumPy header is damaged")))?
            .to_owned();
        let data_len = data.len();
        bytes.drain(..bytes.len() - data_len);
        Ok(Array { name, kind, bytes })
    }

    /// The text of an array of one string, bytes or UCS-4.
    fn text(&self) -> String {
        self.bytes.iter().filter(|&&byte| byte != 0).map(|&byte| char::from(byte)).collect()
    }

    fn integers(&self) -> io::Result<Vec<u64>> {
        let numbers: Option<Vec<u64>> = match self.kind.as_str() {
            "<i4" => {
                self.items().map(|item| u64::try_from(i32::from_le_bytes(item)).ok()).collect()
            }
            "<i8" => {
                self.items().map(|item| u64::try_from(i64::from_le_bytes(item)).ok()).collect()
            }
            _ => return Err(self.wrong_kind("int32 or int64")),
        };
        numbers.ok_or_else(|| io::Error::other(format!("{} has a negative number", self.name)))
    }

    fn floats(&self) -> io::Result<Vec<f32>> {
        match self.kind.as_str() {
            "<f4" => Ok(self.items().map(f32::from_le_bytes).collect()),
            "<f8" => Ok(self.items().map(|item| f64::from_le_bytes(item) as f32).collect()),
            _ => Err(self.wrong_kind("float32 or float64")),
        }
    }

    fn items<const N: usize>(&self) -> impl Iterator<Item = [u8; N]> {
        self.bytes.as_chunks().0.iter().copied()
    }

    fn wrong_kind(&self, expected: &str) -> io::Error {
        let (name, kind) = (self.name, excerpt(&self.kind));
        io::Error::other(format!(
            "{name} has type `{kind}`: convert it to little-endian {expected}"
        ))
    }
}

/// The header of an npy file, a Python dictionary as text, and the data after it.
fn split_npy(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (len, rest) = match rest {
        [1, _, low, high, rest @ ..] => (u32::from(u16::from_le_bytes([*low, *high])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]), rest),
        _ => return None,
    };
    let (header, data) = rest.split_at_checked(len as usize)?;
    Some((std::str::from_utf8(header).ok()?, data))
}

/// Writes a matrix of scores or, with `labels_only`, of ones that stand in the order of the scores.
pub(super) fn write(
    out: &mut impl Write,
    predictions: &Predictions,
    labels: usize,
    labels_only: bool,
) -> io::Result<()> {
    let (mut offsets, mut columns, mut scores) = (vec![0u64], Vec::new(), Vec::new());
    for row in predictions.rows() {
        if labels_only {
            columns.extend(row.iter().map(|scored| u64::from(scored.id)));
            scores.resize(columns.len(), 1.0);
        } else {
            let by_label = by_label(row);
            columns.extend(by_label.iter().map(|scored| u64::from(scored.id)));
            scores.extend(by_label.iter().map(|scored| scored.score));
        }
        offsets.push(columns.len() as u64);
    }
    // scipy wants the same type for both index arrays.
    let is_narrow = [labels, columns.len()].iter().all(|&size| i32::try_from(size).is_ok());
    let indices = |numbers: &[u64]| match is_narrow {
        true => vector("<i4", numbers, |&number| (number as i32).to_le_bytes()),
        false => vector("<i8", numbers, |&number| (number as i64).to_le_bytes()),
    };
    let shape = [predictions.len() as i64, labels as i64];
    let members = [
        ("indices.npy", indices(&columns)),
        ("indptr.npy", indices(&offsets)),
        ("format.npy", npy("|S3", "()", b"csr")),
        ("shape.npy", vector("<i8", &shape, |size| size.to_le_bytes())),
        ("data.npy", vector("<f4", &scores, |score| score.to_le_bytes())),
    ];
    write_members(out, &members)
}

/// Writes a zip file with these members, uncompressed, without dates: the bytes must not depend on
/// the clock.
fn write_members(out: &mut impl Write, members: &[(&str, Vec<u8>)]) -> io::Result<()> {
    let mut archive = ZipArchiveWriter::new(out);
    for (name, bytes) in members {
        let file = archive.new_file(*name).compression_method(CompressionMethod::STORE);
        let (mut entry, config) = file.start().map_err(io_error)?;
        let mut data = config.wrap(&mut entry);
        data.write_all(bytes)?;
        let (_, descriptor) = data.finish().map_err(io_error)?;
        entry.finish(descriptor).map_err(io_error)?;
    }
    archive.finish().map_err(io_error)?;
    Ok(())
}

/// The system's own error, if it is the cause, so that a full disk is reported as such.
fn io_error(error: rawzip::Error) -> io::Error {
    match error.into_kind() {
        rawzip::ErrorKind::IO(error) => error,
        kind => io::Error::other(rawzip::Error::from(kind)),
    }
}

fn vector<T, const N: usize>(kind: &str, items: &[T], bytes: impl Fn(&T) -> [u8; N]) -> Vec<u8> {
    let data: Vec<u8> = items.iter().flat_map(bytes).collect();
    npy(kind, &format!("({},)", items.len()), &data)
}

/// An npy file of version 1: magic, header padded with spaces to a multiple of 64, data.
fn npy(kind: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let len = (MAGIC.len() + 4 + header.len() + 1).next_multiple_of(64) - MAGIC.len() - 4;
    let header = format!("{header:<width$}\n", width = len - 1);
    let len = (len as u16).to_le_bytes();
    [MAGIC, &[1, 0], &len, header.as_bytes(), data].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parse of a file of these arrays, whose container is sound.
    fn parsed(
        format: &[u8],
        shape: &[i64],
        indptr: &[i64],
        indices: &[i32],
        data: &[f64],
    ) -> Result<FileRows, String> {
        let members = [
            ("indices.npy", vector("<i4", indices, |index| index.to_le_bytes())),
            ("indptr.npy", vector("<i8", indptr, |offset| offset.to_le_bytes())),
            ("format.npy", npy("|S3", "()", format)),
            ("shape.npy", vector("<i8", shape, |size| size.to_le_bytes())),
            ("data.npy", vector("<f8", data, |score| score.to_le_bytes())),
        ];
        let mut archive = Vec::new();
        write_members(&mut archive, &members).unwrap();
        parse_bytes(&archive, 4).map_err(|error| error.to_string())
    }

    fn parse_bytes(bytes: &[u8], labels: usize) -> io::Result<FileRows> {
        parse(&open(bytes)?, labels)
    }

    #[test]
    fn arrays_that_do_not_form_a_matrix_are_refused() {
        let refused = |shape: &[i64], indptr: &[i64], indices: &[i32], data: &[f64]| {
            parsed(b"csr", shape, indptr, indices, data).unwrap_err()
        };
        assert!(parsed(b"csr", &[2, 4], &[0, 2, 2], &[3, 1], &[0.5, 0.25]).is_ok());
        assert!(parsed(b"csc", &[0, 4], &[0], &[], &[]).unwrap_err().contains("not `csr`"));
        assert!(refused(&[2, 4, 1], &[0, 0, 0], &[], &[]).contains("3 dimensions"));
        assert!(refused(&[i64::MAX, 4], &[0], &[], &[]).contains("1 row offset "));
        assert!(refused(&[0, 4], &[], &[], &[]).contains("0 row offsets"));
        assert!(refused(&[-1, 4], &[0], &[], &[]).contains("negative"));
        assert!(refused(&[2, 4], &[0, 9, 1], &[1], &[0.5]).contains("row 1: indptr"));
        assert!(refused(&[3, 4], &[0, 1, 0, 1], &[1], &[0.5]).contains("row 2: indptr"));
        assert!(refused(&[1, 4], &[0, 2], &[1], &[0.5]).contains("belong together"));
        assert!(refused(&[1, 4], &[0, 1], &[1], &[]).contains("belong together"));
        assert!(refused(&[1, 4], &[0, 1], &[4], &[0.5]).contains("out of range"));
        assert!(refused(&[1, 4], &[0, 1], &[1], &[1e99]).contains("not a finite"));
        assert!(refused(&[1, 4], &[0, 2], &[1, 1], &[0.5, 0.5]).contains("stands twice"));
    }

    #[test]
    fn a_zip_directory_that_lies_about_sizes_is_refused() {
        let mut archive = Vec::new();
        write_members(&mut archive, &[("a", vec![0; 5]), ("bcd", vec![0; 70])]).unwrap();
        assert_eq!(unpacked_size(&open(&archive).unwrap()).unwrap(), 75);
        let size_of_a = archive.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap() + 24;
        for size in [4, 6, u32::MAX - 1] {
            archive[size_of_a..][..4].copy_from_slice(&size.to_le_bytes());
            let archive = open(&archive).unwrap();
            assert_eq!(unpacked_size(&archive).unwrap(), size as usize + 70);
            assert!(unpack(&archive, "a").unwrap_err().to_string().contains("a is damaged"));
        }
        // A second entry that is cut off leaves the size unknown, so nothing is unpacked.
        let second = archive.windows(3).rposition(|bytes| bytes == b"bcd").unwrap() - 46;
        archive[second] = 0;
        let unknown = unpacked_size(&open(&archive).unwrap()).unwrap_err();
        assert!(unknown.to_string().contains("directory is damaged"));
    }

    #[test]
    fn other_types_and_missing_arrays_are_refused() {
        let mut archive = Vec::new();
        let format = ("format.npy", npy("|S3", "()", b"csr"));
        write_members(&mut archive, std::slice::from_ref(&format)).unwrap();
        assert!(parse_bytes(&archive, 4).unwrap_err().to_string().contains("no array `shape`"));
        archive.clear();
        let shape = ("shape.npy", npy(">i8", "(2,)", &[0; 16]));
        write_members(&mut archive, &[format, shape]).unwrap();
        assert!(
            parse_bytes(&archive, 4).unwrap_err().to_string().starts_with("shape has type `>i8`")
        );
        archive.clear();
        write_members(&mut archive, &[("format.npy", b"\x93NUMPY\x01\x00\xff\xff".to_vec())])
            .unwrap();
        assert!(parse_bytes(&archive, 4).unwrap_err().to_string().contains("no NumPy array"));
    }
}
