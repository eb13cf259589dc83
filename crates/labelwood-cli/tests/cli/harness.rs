//! Runs the built command in a folder of its own.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

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
        self.run_with_input(args, b"")
    }

    /// Runs `labelwood` with arguments separated by spaces and this on standard input.
    pub fn run_with_input(&self, args: &str, input: &[u8]) -> Done {
        let mut child = self.start(args);
        let mut stdin = child.stdin.take().expect("it is a pipe");
        // A command that does not read its input may be gone already.
        let _ = stdin.write_all(input);
        drop(stdin);
        let output = child.wait_with_output().expect("the command ends");
        Done { args: args.to_owned(), output }
    }

    /// Starts `labelwood` with pipes at its standard input, output and error.
    pub fn start(&self, args: &str) -> Child {
        let mut command = self.command(args.split_whitespace());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the command can be started")
    }

    /// Writes a file into the folder.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("the folder is writable");
    }

    /// The text of a file in the folder.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

/// A corpus small enough to check by hand, in XC format: a row without labels and one without
/// features, an unused last feature.
pub const XC: &str = "4 5 3
0,2 0:0.5 3:1
1 1:2 2:0.25
 0:1
2
";

/// The same rows in LIBSVM format.
pub const LIBSVM: &str = "0,2 1:0.5 4:1
1 2:2 3:0.25
 1:1
2
";

/// A finished call of the command.
pub struct Done {
    args: String,
    output: Output,
}

impl Done {
    /// Runs a command to its end.
    pub fn of(command: &mut Command) -> Self {
        let output = command.output().expect("the command can be started");
        Done { args: format!("{:?}", command.get_args()), output }
    }

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
