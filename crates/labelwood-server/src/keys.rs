//! The keys of clients.
//!
//! A file has a key a line, and before it a name and a space if that is to stand in the access log. Keys
//! are compared in a time that does not tell how much of one was right.

use axum::http::{HeaderMap, header};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use subtle::ConstantTimeEq;
use thiserror::Error;

/// Keys that are shorter can be guessed.
const SHORTEST: usize = 16;

/// Which keys open the service.
#[derive(Clone)]
pub(crate) struct Keys(Vec<Key>);

#[derive(Clone)]
struct Key {
    name: String,
    key: Vec<u8>,
}

/// What is wrong with a file of keys.
#[derive(Debug, Error)]
pub enum KeyError {
    /// It cannot be read.
    #[error("{}: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It has no key.
    #[error("{}: there is no key in it: write one a line, of {SHORTEST} characters or more", .0.display())]
    Empty(PathBuf),
    /// A key is too short, or is none.
    #[error(
        "{}:{line}: a line is a key of {SHORTEST} visible ASCII characters or more, or a name, a space and \
         such a key", file.display()
    )]
    NoKey {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
    },
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} keys", self.0.len())
    }
}

impl Keys {
    /// Reads a file; blank lines and lines that start with `#` do not count.
    pub(crate) fn read(file: &Path) -> Result<Self, KeyError> {
        let text = fs::read_to_string(file)
            .map_err(|source| KeyError::Unreadable { file: file.to_owned(), source })?;
        let mut keys = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, key) = line.split_once(char::is_whitespace).unwrap_or(("", line));
            let key = key.trim_start();
            if key.len() < SHORTEST || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(KeyError::NoKey { file: file.to_owned(), line: at + 1 });
            }
            keys.push(Key { name: name.to_owned(), key: key.into() });
        }
        if keys.is_empty() { Err(KeyError::Empty(file.to_owned())) } else { Ok(Keys(keys)) }
    }

    /// The name of the key that comes with a request; nothing if none does.
    pub(crate) fn find(&self, headers: &HeaderMap) -> Option<&str> {
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| {
            let value = value.as_bytes();
            let (scheme, key) = value.split_at_checked(7)?;
            scheme.eq_ignore_ascii_case(b"bearer ").then_some(key)
        });
        let given = bearer.or_else(|| headers.get("x-api-key").map(|value| value.as_bytes()))?;
        let mut found = None;
        for key in &self.0 {
            if bool::from(key.key.ct_eq(given)) {
                found = Some(&*key.name);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Keys, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys");
        fs::write(&file, text).unwrap();
        let shown = format!("{}/", folder.path().display());
        Keys::read(&file).map_err(|error| error.to_string().replace(&shown, ""))
    }

    #[test]
    fn a_key_opens_in_either_header_and_only_as_a_whole() {
        let keys = read("# ours\n\n0123456789abcdef\ncatalogue fedcba9876543210\n").unwrap();
        let find = |name: &'static str, value: &str| {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
            keys.find(&headers).map(str::to_owned)
        };
        assert_eq!(find("x-api-key", "0123456789abcdef"), Some(String::new()));
        assert_eq!(find("authorization", "bearer fedcba9876543210"), Some("catalogue".into()));
        for wrong in ["0123456789abcde", "0123456789abcdef0", "", "0123456789abcdeF"] {
            assert_eq!(find("x-api-key", wrong), None, "{wrong}");
            assert_eq!(find("authorization", &format!("Bearer {wrong}")), None, "{wrong}");
        }
        assert_eq!(find("authorization", "Basic 0123456789abcdef"), None);
        assert_eq!(keys.find(&HeaderMap::new()), None);
    }

    #[test]
    fn files_without_a_good_key_are_refused() {
        assert!(read("# none\n").unwrap_err().starts_with("keys: there is no key in it"));
        assert!(read("\ntoo-short\n").unwrap_err().starts_with("keys:2: a line is a key of 16"));
        assert!(Keys::read(Path::new("/nowhere/keys")).is_err());
    }
}
