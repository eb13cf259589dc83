//! Writes data files, whole or not at all.

use super::Dataset;
use super::binary::write_binary;
use super::error::{UNKNOWN_FORMAT, WriteError, with_remedy};
use super::read::Format;
use crate::base::sparse::Row;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a data set to a file, or to standard output for `-`; gzip or zstd with `.gz` or `.zst`.
///
/// Without a format, the ending decides. Values are written with the fewest digits that
/// read back to the same number. LIBSVM does not keep widths: features and labels beyond the last
/// used ones come back only if [`ReadOptions`](super::ReadOptions) names the widths. Label names
/// are a file of their own, [`LabelIndex::write`](super::LabelIndex::write), except in binary data,
/// which hold them. A file that is there is replaced; [`check_output`] refuses that.
///
/// ```
/// use labelwood::{data, run::Pool};
/// let folder = tempfile::tempdir()?;
/// let (task, options) = (Pool::new(1)?.task(), data::ReadOptions::default());
/// let text = "2 4 3\n0,2 0:0.5 3:1\n 1:2\n";
/// let dataset = data::read_bytes(text.as_bytes(), "a.txt", &options, &task)?.dataset;
/// let path = folder.path().join("b.txt");
/// data::write(&path, &dataset, None)?;
/// assert_eq!(std::fs::read_to_string(&path)?, text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(path: &Path, dataset: &Dataset, format: Option<Format>) -> Result<(), WriteError> {
    let Some(format) = format.or_else(|| Format::of_path(path)) else {
        let (path, problem) = (path.display().to_string(), UNKNOWN_FORMAT.to_owned());
        return Err(WriteError::Name { path, problem });
    };
    if format == Format::Binary {
        return write_binary(path, dataset.view());
    }
    write_atomically(path, |output| {
        let widths = (dataset.features.columns(), dataset.labels.columns());
        write_header(output, format, dataset.len(), widths)?;
        let mut rows = dataset.labels.rows().zip(dataset.features.rows());
        rows.try_for_each(|(labels, row)| write_row(output, format, labels.indices, row))
    })
}

/// Writes the first line of a text format: in XC the numbers of rows, features and labels, else nothing.
pub fn write_header(
    output: &mut dyn Write,
    format: Format,
    rows: usize,
    (features, labels): (usize, usize),
) -> io::Result<()> {
    match format {
        Format::Xc => writeln!(output, "{rows} {features} {labels}"),
        Format::Libsvm | Format::Binary => Ok(()),
    }
}

/// Writes one row as text: in the XC format, or for all other formats as LIBSVM. With [`write_header`] and
/// [`write_atomically`] it writes a file row by row.
///
/// ```
/// use labelwood::data::{Format, write_row};
/// use labelwood::sparse::Row;
/// let mut text = Vec::new();
/// write_row(&mut text, Format::Libsvm, &[2, 5], Row { indices: &[0, 3], values: &[0.5, 1.0] })?;
/// assert_eq!(text, b"2,5 1:0.5 4:1\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_row(
    output: &mut dyn Write,
    format: Format,
    labels: &[u32],
    features: Row<'_>,
) -> io::Result<()> {
    let first_feature = u64::from(format != Format::Xc);
    for (at, label) in labels.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        write!(output, "{comma}{label}")?;
    }
    for (index, value) in features.iter() {
        write!(output, " {}:{value}", u64::from(index) + first_feature)?;
    }
    // Readers ignore empty lines at the end of a file, so an empty row is a space.
    let end = if labels.is_empty() && features.is_empty() { " \n" } else { "\n" };
    output.write_all(end.as_bytes())
}

/// Refuses an output file that exists and may not be replaced, or that is also an input, by whatever name
/// or link. Call it before any work.
///
/// `-` is standard input or output. Pipes, `/dev/null` and whatever else is not a plain file are allowed:
/// they hold nothing that could be lost.
///
/// ```
/// use labelwood::data::check_output;
/// let folder = tempfile::tempdir()?;
/// let (old, new) = (folder.path().join("old.txt"), folder.path().join("new.txt"));
/// std::fs::write(&old, "rows")?;
/// assert!(check_output(&new, &[&old], false).is_ok());
/// assert!(check_output(&old, &[], false).is_err());
/// assert!(check_output(&old, &[], true).is_ok());
/// assert!(check_output(&old, &[&old], true).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_output(path: &Path, inputs: &[&Path], overwrite: bool) -> Result<(), WriteError> {
    let Some(found) = PlainFile::find(path, &io::stdout()) else { return Ok(()) };
    let name = || path.display().to_string();
    let is_same = |input: &&&Path| PlainFile::find(input, &io::stdin()).as_ref() == Some(&found);
    if let Some(input) = inputs.iter().find(is_same) {
        let input = input.display();
        let problem =
            format!("this is also a file to read ({input}); choose another name to write to");
        return Err(WriteError::Name { path: name(), problem });
    }
    if !overwrite && path.as_os_str() != "-" {
        return Err(WriteError::Exists { path: name() });
    }
    Ok(())
}

/// Identifies a plain file, whatever names and links it has.
#[derive(PartialEq)]
struct PlainFile(#[cfg(unix)] (u64, u64), #[cfg(not(unix))] PathBuf);

impl PlainFile {
    /// The file of a name, or the one that `stream` is connected to for `-`; nothing if there is
    /// none or it is no plain file.
    #[cfg(unix)]
    fn find(path: &Path, stream: &impl std::os::fd::AsFd) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let found = match path.as_os_str() == "-" {
            true => File::from(stream.as_fd().try_clone_to_owned().ok()?).metadata(),
            false => fs::metadata(path),
        };
        let found = found.ok().filter(fs::Metadata::is_file)?;
        Some(PlainFile((found.dev(), found.ino())))
    }

    #[cfg(not(unix))]
    fn find<S>(path: &Path, _stream: &S) -> Option<Self> {
        let path = fs::canonicalize(path).ok().filter(|path| path.is_file())?;
        Some(PlainFile(path))
    }
}

/// Writes a file under a temporary name in its folder and renames it when `fill` is done. So readers see
/// the whole old file or the whole new one.
///
/// The ending `.gz` or `.zst` compresses. `-` is standard output; what is not a plain file, such as
/// a pipe, is written directly.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.txt");
/// labelwood::data::write_atomically(&path, |output| writeln!(output, "hello"))?;
/// assert_eq!(std::fs::read_to_string(&path)?, "hello\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_atomically(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), WriteError> {
    let written = if path.as_os_str() == "-" {
        fill_buffered(path, io::stdout().lock(), fill).map(drop)
    } else if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let file = OpenOptions::new().write(true).open(path);
        file.and_then(|file| fill_buffered(path, file, fill)).map(drop)
    } else {
        // The file that a link points to is replaced, not the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        replace_file(&target, path, fill)
    };
    written.map_err(|source| {
        let is_stdout = path.as_os_str() == "-";
        let path = if is_stdout { "standard output".into() } else { path.display().to_string() };
        WriteError::Io { path, source: with_remedy(source) }
    })
}

/// Writes a file like [`write_atomically`], for files in a folder that labelwood made, such as a plan. A
/// symbolic link at `path` is replaced and not followed.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("page.md");
/// labelwood::data::write_own(&path, |output| writeln!(output, "hello"))?;
/// assert_eq!(std::fs::read_to_string(&path)?, "hello\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_own(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), WriteError> {
    replace_file(path, path, fill).map_err(|source| WriteError::Io {
        path: path.display().to_string(),
        source: with_remedy(source),
    })
}

/// Replaces the file `target`, compressing as the name of `path` says.
fn replace_file(
    target: &Path,
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let (temporary, file) = create_beside(target)?;
    let written = fill_buffered(path, file, fill)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(&temporary, target));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Creates a file with a new name in the folder of `target`.
fn create_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    loop {
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary =
            target.with_file_name(format!(".{name}.{}-{count}.tmp", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            opened => return opened.map(|file| (temporary, file)),
        }
    }
}

/// Fills `output`, compressing as the name of `path` says, and gives it back flushed.
fn fill_buffered<W: Write>(
    path: &Path,
    output: W,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<W> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("gz") => {
            let encoder = flate2::write::GzEncoder::new(output, flate2::Compression::default());
            let mut buffered = BufWriter::with_capacity(1 << 16, encoder);
            fill(&mut buffered)?;
            buffered.into_inner()?.finish()
        }
        Some("zst") => {
            let mut buffered = BufWriter::with_capacity(1 << 16, zstd::Encoder::new(output, 0)?);
            fill(&mut buffered)?;
            buffered.into_inner().map_err(|error| error.into_error())?.finish()
        }
        _ => {
            let mut buffered = BufWriter::with_capacity(1 << 16, output);
            fill(&mut buffered)?;
            buffered.into_inner().map_err(|error| error.into_error())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt.zst");
        write_atomically(&path, |output| output.write_all(b"old")).unwrap();
        let before = fs::read(&path).unwrap();
        let failed = write_atomically(&path, |output| {
            output.write_all(b"new")?;
            Err(io::Error::other("disk on fire"))
        });
        assert!(failed.unwrap_err().to_string().ends_with("a.txt.zst: disk on fire"));
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_row_with_nothing_in_it_is_a_space() {
        let mut text = Vec::new();
        write_row(&mut text, Format::Xc, &[], Row { indices: &[], values: &[] }).unwrap();
        assert_eq!(text, b" \n");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_to_read_is_never_written_whatever_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let [input, soft, hard, other] = ["in.txt", "soft.txt", "hard.txt", "other.txt"].map(path);
        fs::write(&input, "rows").unwrap();
        fs::write(&other, "rows").unwrap();
        std::os::unix::fs::symlink("in.txt", &soft).unwrap();
        fs::hard_link(&input, &hard).unwrap();
        let refused = |output: &Path, overwrite| {
            check_output(output, &[&other, &input], overwrite).map_err(|error| error.to_string())
        };
        for output in [&input, &soft, &hard] {
            let expected = format!("this is also a file to read ({})", input.display());
            for overwrite in [false, true] {
                assert!(refused(output, overwrite).unwrap_err().contains(&expected));
            }
        }
        assert!(check_output(&other, &[&input], true).is_ok());
        let exists = check_output(&other, &[&input], false).unwrap_err().to_string();
        assert!(exists.ends_with("add --overwrite to replace it or choose another name"));
        assert!(check_output(&path("new.txt"), &[&input], false).is_ok());
        // Devices and folders hold no file; what cannot be written to is said when it is tried.
        assert!(check_output(Path::new("/dev/null"), &[Path::new("/dev/null")], false).is_ok());
        assert!(check_output(folder.path(), &[], false).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_unless_the_name_is_ours_and_devices_are_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("real.txt"), folder.path().join("link.txt"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write_atomically(&link, |output| output.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        write_own(&link, |output| output.write_all(b"newest")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_file());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        write_atomically(Path::new("/dev/null"), |output| output.write_all(b"x")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
