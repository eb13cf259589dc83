//! Errors of the library as Python's.
//!
//! The classes are `labelwood.InputError`, a `ValueError`, and `labelwood.MachineError`, an
//! `OSError`; the text is the library's. What is wrong with settings that came as JSON is said in
//! the words of people who wrote Python.

use std::error::Error;
use std::{io, iter};

use labelwood::app;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use serde_json::Value;

/// What an error is to Python, told while the library's type is still known.
#[derive(Debug)]
pub enum Fault {
    /// A file, a value or a setting.
    Input(String),
    /// Disk, memory, threads.
    Machine(String),
    /// A file or folder that is not there.
    Missing(String),
    /// Nothing: the work was stopped on request.
    Stopped,
}

impl<E: Error + 'static> From<E> for Fault {
    fn from(error: E) -> Self {
        let text = with_parameters(&error.to_string());
        match app::Fault::of(&error) {
            app::Fault::Stopped => Fault::Stopped,
            app::Fault::Machine | app::Fault::OutputClosed => Fault::Machine(text),
            app::Fault::Input if is_missing(&error) => Fault::Missing(text),
            app::Fault::Input => Fault::Input(text),
        }
    }
}

/// The command's flags, and the parameters of Python that do the same.
const PARAMETERS: [(&str, &str); 15] = [
    ("--overwrite without --resume", "overwrite=True"),
    ("--overwrite", "overwrite=True"),
    ("--again", "again=True"),
    ("--keep-rows", "keep_rows=True"),
    ("--text-column ", "text="),
    ("--text-column", "text"),
    ("--label-column ", "labels="),
    ("--label-separator ", "separator="),
    ("--id-column ", "id="),
    ("--from ", "format="),
    ("--vocabulary", "vocabulary"),
    ("--min-df ", "min_df="),
    ("--stem ", "stem="),
    ("--char-ngrams 3,5", "char_ngrams=(3, 5)"),
    ("--threads ", "n_jobs="),
];

/// Advice with the parameters of Python where it names flags of the command.
pub fn with_parameters(advice: &str) -> String {
    PARAMETERS.iter().fold(advice.to_owned(), |text, (flag, parameter)| {
        // A flag stands by itself; paths may have dashes, too.
        text.replace(&format!(" {flag}"), &format!(" {parameter}"))
    })
}

/// Whether the system said that a file or folder is not there.
fn is_missing(error: &(dyn Error + 'static)) -> bool {
    let mut causes = iter::successors(Some(error), |&cause| cause.source());
    let io = causes.find_map(|cause| cause.downcast_ref::<io::Error>());
    io.is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

impl Fault {
    /// The exception to raise.
    pub fn raise(self, py: Python<'_>) -> PyErr {
        static INPUT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        static MACHINE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        static MISSING: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let (class, name, text) = match self {
            Fault::Input(text) => (&INPUT, "InputError", text),
            Fault::Machine(text) => (&MACHINE, "MachineError", text),
            Fault::Missing(text) => (&MISSING, "MissingError", text),
            Fault::Stopped => return PyKeyboardInterrupt::new_err(()),
        };
        match class.import(py, "labelwood._errors", name) {
            Ok(class) => PyErr::from_type(class.clone(), (text,)),
            Err(error) => error,
        }
    }
}

/// Raises whatever the library says.
pub trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Into<Fault>> OrRaise<T> for Result<T, E> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| error.into().raise(py))
    }
}

/// An error that is the caller's to mend.
pub fn refuse(py: Python<'_>, text: impl Into<String>) -> PyErr {
    Fault::Input(text.into()).raise(py)
}

/// What settings in JSON mean. If nothing, the error names the first at fault, its value and what is
/// allowed; `defaults` are settings that mean something.
pub fn meaning<T>(
    py: Python<'_>,
    settings: &str,
    defaults: &Value,
    parse: impl Fn(Value) -> Result<T, String>,
) -> PyResult<T> {
    let settings: Value = serde_json::from_str(settings).or_raise(py)?;
    parse(settings.clone()).map_err(|reason| {
        let fault = |settings| parse(settings).err();
        refuse(py, at_fault(&settings, defaults, "", &fault).unwrap_or(reason))
    })
}

/// The first setting that means nothing among defaults, put into words. `whose` tells of which part.
fn at_fault(
    settings: &Value,
    defaults: &Value,
    whose: &str,
    fault: &dyn Fn(Value) -> Option<String>,
) -> Option<String> {
    settings.as_object()?.iter().find_map(|(name, value)| {
        let fault_of = |value: Value| {
            let mut all = defaults.clone();
            all[name] = value;
            fault(all)
        };
        let reason = fault_of(value.clone())?;
        if defaults[name].is_object() {
            return at_fault(value, &defaults[name], &format!(" of {name}"), &fault_of);
        }
        // What is no name at all is answered without the names that there are.
        let names = fault_of(Value::from("")).filter(|reason| reason.contains("variant"));
        let found = in_python(value);
        let allowed = allowed(names.as_deref().unwrap_or(&reason));
        Some(format!("{name}{whose} is {found}, but must be {allowed}"))
    })
}

/// A value as it is written in Python.
pub fn in_python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => other.to_string(),
    }
}

/// What is allowed where serde gives this reason.
fn allowed(reason: &str) -> String {
    if reason.contains("untagged enum Frequency") {
        return "a number of documents, such as 2, or a share of them, such as 0.5".to_owned();
    }
    if reason.contains("untagged enum Names") {
        return "a string or a list of strings".to_owned();
    }
    let expected = reason.rsplit_once("expected ").map_or(reason, |(_, expected)| expected);
    match expected {
        "usize" | "u64" => "a whole number of at least 0".to_owned(),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "True or False".to_owned(),
        "a tuple of size 2" => "two whole numbers".to_owned(),
        other => other.replace('`', ""),
    }
}
