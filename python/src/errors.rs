//! Errors of the library as Python's.
//!
//! The classes are `labelwood.InputError`, a `ValueError`, and `labelwood.MachineError`, an
//! `OSError`; the text is the library's.

use std::error::Error;
use std::io;

use labelwood::data::ReadError;
use labelwood::model::TrainError;
use labelwood::model::store::StoreError;
use labelwood::run::{Cancelled, ThreadError};
use labelwood::shard::{PartError, ShardError};
use labelwood::text::{FitError, TextError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// What an error is, told while the library's type is still known.
#[derive(Debug)]
pub enum Fault {
    /// A file, a value or a setting.
    Input(String),
    /// Disk, memory, threads.
    Machine(String),
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
            if this.is::<io::Error>() || this.is::<ThreadError>() {
                return Fault::Machine(text);
            }
            cause = this.source();
        }
        Fault::Input(text)
    }
}

/// Whether the run was cancelled. An error that is transparent for another hides it from the chain.
fn is_cancelled(cause: &(dyn Error + 'static)) -> bool {
    let store = |error: &StoreError| matches!(error, StoreError::Cancelled(_));
    let read = |error: &ReadError| matches!(error, ReadError::Cancelled(_));
    cause.is::<Cancelled>()
        || cause.downcast_ref().is_some_and(store)
        || cause.downcast_ref().is_some_and(read)
        || cause.downcast_ref().is_some_and(|error| match error {
            TrainError::Cancelled { .. } => true,
            TrainError::Store(error) => store(error),
            _ => false,
        })
        || cause.downcast_ref().is_some_and(|error| match error {
            TextError::Cancelled(_) | TextError::Fit(FitError::Cancelled(_)) => true,
            TextError::Read(error) => read(error),
            _ => false,
        })
        || matches!(cause.downcast_ref(), Some(FitError::Cancelled(_)))
        || cause.downcast_ref().is_some_and(ShardError::is_cancelled)
        || cause.downcast_ref().is_some_and(PartError::is_cancelled)
}

impl Fault {
    /// The exception to raise.
    pub fn raise(self, py: Python<'_>) -> PyErr {
        static INPUT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        static MACHINE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let (class, name, text) = match self {
            Fault::Input(text) => (&INPUT, "InputError", text),
            Fault::Machine(text) => (&MACHINE, "MachineError", text),
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
