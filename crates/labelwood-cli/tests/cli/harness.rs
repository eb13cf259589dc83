//! Runs the built command in a folder of its own.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A temporary folder that the command runs in; it is gone when the test ends.
pub struct Folder(TempDir);

impl Folder {
    /// An empty folder.
    pub fn new() -> Self {
        Folder(tempfile::tempdir().expect("a temporary folder can be made"))
    }

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The names of the files in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("the folder can be listed");
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry.expect("the folder can be listed").file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// The command in this folder, not yet started.
    pub fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_labelwood"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// Runs `labelwood` with arguments separated by spaces.
    pub fn run(&self, args: &str) -> Done {
        let output = self.command(args.split_whitespace()).output();
        Done { args: args.to_owned(), output: output.expect("the command can be started") }
    }
}

/// A finished call of the command.
pub struct Done {
    args: String,
    output: Output,
}

impl Done {
    /// Its exit code; -1 if a signal ended it.
    pub fn code(&self) -> i32 {
        self.output.status.code().unwrap_or(-1)
    }

    /// What it printed.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// What it complained about.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// Its output, having checked that it went well and said nothing on stderr.
    #[track_caller]
    pub fn succeeds(&self) -> String {
        assert_eq!((self.code(), self.stderr().as_str()), (0, ""), "labelwood {}", self.args);
        self.stdout()
    }

    /// Its error, having checked the exit code and that the error is one line and the only output.
    #[track_caller]
    pub fn fails(&self, code: i32) -> String {
        let error = self.stderr();
        assert_eq!(self.code(), code, "labelwood {}: {error}", self.args);
        assert!(error.starts_with("error: "), "labelwood {}: {error}", self.args);
        assert_eq!(error.lines().count(), 1, "labelwood {}: {error}", self.args);
        assert_eq!(self.stdout(), "", "labelwood {}", self.args);
        error
    }
}
