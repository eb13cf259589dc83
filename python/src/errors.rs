//! Errors of the library as Python's.
//!
//! The classes are `labelwood.InputError`, a `ValueError`, and `labelwood.MachineError`, an
//! `OSError`; the text is the library's. What is wrong with settings that came as JSON is said in
//! the words of people who wrote Python.

use std::error::Error;
use std::io;

use labelwood::data::ReadError;
use labelwood::model::TrainError;
use labelwood::model::store::StoreError;
use labelwood::run::{OutOfMemory, Stopped, ThreadError};
use labelwood::shard::{PartError, ShardError};
use labelwood::text::{FitError, TextError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use serde_json::Value;

/// What an error is, told while the library's type is still known.
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
        let text = error.to_string();
        let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
        while let Some(this) = cause {
            if is_cancelled(this) {
                return Fault::Stopped;
            }
            if this.is::<io::Error>() || this.is::<ThreadError>() || this.is::<OutOfMemory>() {
                let kind = this.downcast_ref().map(io::Error::kind);
                let is_missing = kind == Some(io::ErrorKind::NotFound);
                return if is_missing { Fault::Missing(text) } else { Fault::Machine(text) };
            }
            cause = this.source();
        }
        Fault::Input(text)
    }
}

/// Whether the run was cancelled. An error that is transparent for another hides it from the chain.
fn is_cancelled(cause: &(dyn Error + 'static)) -> bool {
    let store = |error: &StoreError| matches!(error, StoreError::Stopped(_));
    let read = |error: &ReadError| matches!(error, ReadError::Stopped(_));
    cause.is::<Stopped>()
        || cause.downcast_ref().is_some_and(store)
        || cause.downcast_ref().is_some_and(read)
        || cause.downcast_ref().is_some_and(|error| match error {
            TrainError::Stopped { .. } => true,
            TrainError::Store(error) => store(error),
            _ => false,
        })
        || cause.downcast_ref().is_some_and(|error| match error {
            TextError::Stopped(_) | TextError::Fit(FitError::Stopped(_)) => true,
            TextError::Read(error) => read(error),
            _ => false,
        })
        || matches!(cause.downcast_ref(), Some(FitError::Stopped(_)))
        || cause.downcast_ref().is_some_and(ShardError::is_cancelled)
        || cause.downcast_ref().is_some_and(PartError::is_cancelled)
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
        let found = match value {
            Value::Null => "None".to_owned(),
            Value::Bool(true) => "True".to_owned(),
            Value::Bool(false) => "False".to_owned(),
            other => other.to_string(),
        };
        let allowed = allowed(names.as_deref().unwrap_or(&reason));
        Some(format!("{name}{whose} is {found}, but must be {allowed}"))
    })
}

/// What is allowed where serde gives this reason.
fn allowed(reason: &str) -> String {
    if reason.contains("untagged enum Frequency") {
        return "a number of documents, such as 2, or a share of them, such as 0.5".to_owned();
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
