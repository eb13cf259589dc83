//! Errors of reading and writing files: one line with the place and the remedy.

use crate::base::run::{Bytes, OutOfMemory, Stopped};
use std::fmt::Display;
use std::io;
use thiserror::Error;

/// The message for a file name that does not show the format.
pub(super) const UNKNOWN_FORMAT: &str = "the ending does not tell the format: name the file .txt (XC repository format), \
    .svm or .libsvm (LIBSVM multi-label format) or .lwd (binary), each also with .gz or .zst, or state the format";

/// Why a file could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The content is at fault.
    #[error("{path}:{line}:{column}: {problem}")]
    Content {
        /// The file as it was named.
        path: String,
        /// The line, counted from 1.
        line: u64,
        /// The byte within the line, counted from 1.
        column: u64,
        /// What is wrong there, and what to do about it.
        problem: String,
    },
    /// The file is at fault as a whole, or its name is.
    #[error("{path}: {problem}")]
    File {
        /// The file as it was named.
        path: String,
        /// What is wrong with it, and what to do about it.
        problem: String,
    },
    /// The file could not be opened or read.
    #[error("{path}: {source}")]
    Io {
        /// The file as it was named.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// The data take more memory than the task allows.
    #[error(
        "{path}: {source}, {} into the data: read fewer rows at a time, or allow more memory",
        Bytes(*read)
    )]
    Memory {
        /// The file as it was named.
        path: String,
        /// How many bytes were read, after decompression.
        read: u64,
        /// The limit.
        source: OutOfMemory,
    },
    /// The task was stopped.
    #[error("{0}")]
    Stopped(#[from] Stopped),
}

/// A line and a column, counted from 1.
pub(super) type Place = (u64, u64);

impl ReadError {
    /// The content of `path` is at fault at a place.
    pub(super) fn content(path: &str, place: Place, problem: impl Into<String>) -> Self {
        let (path, problem) = (path.to_owned(), problem.into());
        ReadError::Content { path, line: place.0, column: place.1, problem }
    }

    /// `path` is at fault as a whole.
    pub(super) fn file(path: impl Display, problem: impl Into<String>) -> Self {
        ReadError::File { path: path.to_string(), problem: problem.into() }
    }

    /// There is nothing in `path`.
    pub(super) fn empty(path: &str, expected: &str) -> Self {
        ReadError::content(path, (1, 1), format!("the file is empty: expected {expected}"))
    }
}

/// The beginning of a piece of a file, fit for one line of a message.
pub(super) fn excerpt(piece: impl AsRef<[u8]>) -> String {
    const LIMIT: usize = 40;
    let piece = piece.as_ref();
    let start = &piece[..piece.len().min(LIMIT)];
    let shown = match std::str::from_utf8(start) {
        Err(error) if error.error_len().is_none() => &start[..error.valid_up_to()],
        _ => start,
    };
    let text = match std::str::from_utf8(shown) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => shown.escape_ascii().to_string(),
    };
    let dots = if shown.len() < piece.len() { "…" } else { "" };
    text + dots
}

/// The error of a field that a file does not have; `what` is a field or a column.
pub(super) fn no_such_field<'a>(
    what: &str,
    name: &str,
    known: impl ExactSizeIterator<Item = &'a str>,
) -> String {
    let (name, known) = (excerpt(name), first_of(known));
    format!("there is no {what} `{name}`: there are {known}; name the {what} to take")
}

/// The first of some names, each cut short.
pub(crate) fn first_of<'a>(known: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 20;
    let more = known.len().saturating_sub(SHOWN);
    let mut shown: Vec<String> =
        known.take(SHOWN).map(|name| format!("`{}`", excerpt(name))).collect();
    match shown.len() {
        0 => shown.push("none".to_owned()),
        _ if more > 0 => shown.push(format!("{more} more")),
        _ => {}
    }
    shown.join(", ")
}

/// The column of an error in one line of JSON, counted from 1, and what is wrong there.
pub(super) fn json_fault(error: &serde_json::Error) -> (usize, String) {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or_default();
    (error.column().max(1), reason.to_owned())
}

/// Adds the remedy to a system error whose text has none.
pub(super) fn with_remedy(error: io::Error) -> io::Error {
    match error.kind() {
        kind @ io::ErrorKind::IsADirectory => io::Error::new(kind, "this is a folder: name a file"),
        _ => error,
    }
}

/// Why a file could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file as it was named.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// There is a file of that name, and it may not be replaced.
    #[error(
        "{path}: the file is already there; add --overwrite to replace it or choose another name"
    )]
    Exists {
        /// The file as it was named.
        path: String,
    },
    /// No file of that name can be written.
    #[error("{path}: {problem}")]
    Name {
        /// The file as it was named.
        path: String,
        /// What is wrong with it, and what to do about it.
        problem: String,
    },
}
