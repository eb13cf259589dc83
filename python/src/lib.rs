//! The native part of the Python package: the library's types, thinly dressed.
//!
//! What users see is Python, in `labelwood/`; this crate moves arrays, settings as JSON and errors
//! across, and holds the interpreter's lock only for that.

mod check;
mod compare;
mod data;
mod errors;
mod explain;
mod log;
mod metrics;
mod model;
mod omikuji;
mod share;
mod plan;
mod report;
mod rows;
mod search;
mod text;
mod training;
mod work;

use labelwood::Settings;
use labelwood::algorithms::Updates;
use labelwood::run;
use pyo3::prelude::*;

use crate::errors::refuse;

/// The names of all algorithms.
#[pyfunction]
fn algorithms() -> Vec<&'static str> {
    Settings::names()
}

/// The names of an algorithm's presets.
#[pyfunction]
fn presets(algorithm: &str) -> Vec<&'static str> {
    let presets = Settings::named(algorithm).map(|known| known.presets()).unwrap_or_default();
    presets.into_iter().map(|(name, _)| name).collect()
}

/// The settings of a preset, as JSON.
#[pyfunction]
fn preset(py: Python<'_>, algorithm: &str, preset: &str) -> PyResult<String> {
    match Settings::preset(algorithm, preset) {
        Some(found) => Ok(found.values().to_string()),
        None => {
            let known = presets(algorithm).join(", ");
            let text = format!("preset is {preset:?}, but those of {algorithm} are {known}");
            Err(refuse(py, text))
        }
    }
}

/// Whether models of an algorithm can be updated: always, with rows or never.
#[pyfunction]
fn updates(algorithm: &str) -> &'static str {
    match Settings::named(algorithm).map(|known| known.facts().updates) {
        Some(Updates::Always(_)) => "always",
        Some(Updates::WithRows) => "with rows",
        Some(Updates::Never) | None => "never",
    }
}

/// The bytes of memory that a container leaves to this process, if it has a limit.
#[pyfunction]
fn group_memory() -> Option<u64> {
    run::group_memory()
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::{
        algorithms,
        check::{check_rows, check_texts, divide, shrink_model},
        compare::{compare_rows, compare_texts},
        data::{generate, profiles, questions, read, read_documents, read_vocabulary, write},
        explain::explain,
        group_memory,
        metrics::{evaluate, inverse_propensity},
        model::{Model, manifest, model_from_files},
        omikuji::{OmikujiTrees, read_omikuji_rows},
        plan::Plan,
        preset, presets,
        report::report,
        rows::{check_indices, check_offsets},
        search::{choose_algorithm, tune_rows, tune_texts},
        share::{Combiner, ModelShare},
        text::{Vectoriser, choose_text_of, vectoriser_defaults},
        updates,
    };
    use pyo3::prelude::*;

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::log::start();
        Ok(())
    }
}
