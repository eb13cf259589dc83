//! Results: on standard output, and in files that the user names.

use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::path::{self, Path, PathBuf};

use anyhow::{Result, bail};
use labelwood::data::{check_output, names_beside, write_atomically};
use labelwood::store::Manifest;
use serde::{Serialize, Serializer};

/// Prints a result; an error names standard output.
pub fn print(result: &impl Display) -> Result<()> {
    Ok(write_atomically(Path::new("-"), |output| write!(output, "{result}"))?)
}

/// Prints a result as one line of JSON.
pub fn print_json(result: &impl Serialize) -> Result<()> {
    print(&(serde_json::to_string(result)? + "\n"))
}

/// Prints a result as one line of JSON, or for people.
pub fn print_as(is_json: bool, result: &(impl Display + Serialize)) -> Result<()> {
    if is_json { print_json(result) } else { print(result) }
}

/// Serialises pairs as a JSON object that keeps their order.
pub fn as_object<K: Serialize, V: Serialize, S: Serializer>(
    pairs: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

/// A word as a shell takes it for one.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./@:+,=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A path as a shell takes it for one.
pub fn quoted_path(path: &Path) -> String {
    quoted(&path.display().to_string())
}

/// Writes a file, which takes its place when it is complete. What goes wrong with the output is told
/// with its name, all else as it is.
pub fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut failed = None;
    let written = write_atomically(path, |output| {
        write(output).map_err(|error| {
            error.downcast().unwrap_or_else(|error| {
                failed = Some(error);
                io::Error::other("the content could not be made")
            })
        })
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(written?),
    }
}

/// Refuses files to write that would destroy something, before any work: one that is also read, one
/// that is there already unless it may be replaced, and two that are the same.
///
/// An input may be the folder of a model, and label names beside an input count as read.
pub fn check_outputs<'a>(
    outputs: impl IntoIterator<Item = &'a Path>,
    inputs: impl IntoIterator<Item = &'a Path>,
    overwrite: bool,
) -> Result<()> {
    let inputs: Vec<PathBuf> = inputs.into_iter().flat_map(files_of).collect();
    let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    let mut before: Vec<&Path> = Vec::new();
    for output in outputs {
        check_output(output, &inputs, overwrite)?;
        if let Some(other) = before.iter().find(|other| are_same(other, output)) {
            let (other, output) = (other.display(), output.display());
            bail!("{other} and {output} are the same file to write: give them different names");
        }
        before.push(output);
    }
    Ok(())
}

/// The files that are read if `input` is.
fn files_of(input: &Path) -> Vec<PathBuf> {
    if input.is_dir()
        && let Ok(manifest) = Manifest::read(input)
    {
        let names = manifest.units.iter().map(|unit| unit.file.as_str());
        return names.chain(["manifest.json"]).map(|name| input.join(name)).collect();
    }
    names_beside(input).into_iter().chain([input.to_owned()]).collect()
}

/// Whether two names mean one plain file, be it there or not yet.
fn are_same(one: &Path, other: &Path) -> bool {
    if let Ok(found) = other.metadata() {
        return found.is_file() && check_output(other, &[one], true).is_err();
    }
    destination(one) == destination(other)
}

/// Where a file that is not there yet will be: links that lead nowhere are followed, too.
fn destination(path: &Path) -> PathBuf {
    let mut found = path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // As many links as the system follows.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&found) else { break };
        found = found.with_file_name("").join(target);
    }
    match (found.parent().map(fs::canonicalize), found.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => found,
    }
}

/// Puts a pipe without a reader in the place of a standard output that is closed from the start.
///
/// Rust's start-up code would open `/dev/null` there, and results would vanish with exit code 0.
/// Writing to the pipe fails, as it does when a reader goes away.
#[cfg(target_os = "linux")]
extern "C" fn replace_closed_stdout() {
    const STDOUT: libc::c_int = libc::STDOUT_FILENO;
    // SAFETY: these calls take any number for a file and fail where there is none; `pipe` writes
    // two numbers into the array. Nothing else has opened a file yet that could be closed here.
    unsafe {
        let mut ends = [0; 2];
        if libc::fcntl(STDOUT, libc::F_GETFD) != -1 || libc::pipe(ends.as_mut_ptr()) != 0 {
            return;
        }
        libc::dup2(ends[1], STDOUT);
        for end in ends.into_iter().filter(|&end| end != STDOUT) {
            libc::close(end);
        }
    }
}

/// The functions in this section run before Rust's start-up code.
#[cfg(target_os = "linux")]
#[used]
// SAFETY: the section holds pointers to functions of this type, and the function needs nothing that
// the start-up code sets up.
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = replace_closed_stdout;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        assert_eq!(quoted("out/train-1.txt"), "out/train-1.txt");
        assert_eq!(quoted("my data.txt"), "'my data.txt'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn two_outputs_are_not_one_file() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = |name: &str| folder.path().join(name);
        let check = |one: &Path, other: &Path| check_outputs([one, other], [], true);
        assert!(check(&path("a"), &path("b")).is_ok());
        let error = check(&path("a"), &path("./a")).unwrap_err().to_string();
        assert!(
            error.ends_with("are the same file to write: give them different names"),
            "{error}"
        );
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("a", path("link")).expect("it can be linked");
            assert!(check(&path("a"), &path("link")).is_err(), "the link leads to the first");
            assert!(check(&path("link"), &path("a")).is_err());
            assert!(check(&path("b"), &path("link")).is_ok());
        }
        std::fs::write(path("a"), "").expect("it is writable");
        std::fs::hard_link(path("a"), path("b")).expect("it can be linked");
        assert!(check(&path("a"), &path("b")).is_err());
        assert!(check(Path::new("/dev/null"), Path::new("/dev/null")).is_ok());
        assert!(check(Path::new("-"), Path::new("-")).is_err());
    }

    #[test]
    fn label_names_beside_an_input_are_not_replaced() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = |name: &str| folder.path().join(name);
        for name in ["a.txt", "labels.txt"] {
            std::fs::write(path(name), "").expect("it is writable");
        }
        let check = |output: &Path| check_outputs([output], [path("a.txt").as_path()], true);
        assert!(check(&path("labels.txt")).is_err() && check(&path("a.txt")).is_err());
        assert!(check(&path("b.txt")).is_ok());
    }
}
