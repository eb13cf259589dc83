//! The native part of the Python package: the library's types, thinly dressed.
//!
//! What users see is Python, in `labelwood/`; this crate moves arrays, settings as JSON and errors
//! across, and holds the interpreter's lock only for that.

mod data;
mod errors;
mod log;
mod metrics;
mod model;
mod omikuji;
mod part;
mod plan;
mod rows;
mod text;
mod work;

use labelwood::Settings;
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

/// The bytes of memory that a container leaves to this process, if it has a limit.
#[pyfunction]
fn group_memory() -> Option<u64> {
    run::group_memory()
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    log::start();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<model::Model>()?;
    module.add_function(wrap_pyfunction!(model::model_from_files, module)?)?;
    module.add_class::<omikuji::OmikujiTrees>()?;
    module.add_function(wrap_pyfunction!(omikuji::read_omikuji_rows, module)?)?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<part::ModelPart>()?;
    module.add_class::<part::Combiner>()?;
    module.add_class::<text::Vectoriser>()?;
    module.add_function(wrap_pyfunction!(algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(presets, module)?)?;
    module.add_function(wrap_pyfunction!(preset, module)?)?;
    module.add_function(wrap_pyfunction!(group_memory, module)?)?;
    module.add_function(wrap_pyfunction!(rows::check_offsets, module)?)?;
    module.add_function(wrap_pyfunction!(rows::check_indices, module)?)?;
    module.add_function(wrap_pyfunction!(text::vectoriser_defaults, module)?)?;
    module.add_function(wrap_pyfunction!(data::read, module)?)?;
    module.add_function(wrap_pyfunction!(data::write, module)?)?;
    module.add_function(wrap_pyfunction!(data::read_documents, module)?)?;
    module.add_function(wrap_pyfunction!(data::read_vocabulary, module)?)?;
    module.add_function(wrap_pyfunction!(data::questions, module)?)?;
    module.add_function(wrap_pyfunction!(data::profiles, module)?)?;
    module.add_function(wrap_pyfunction!(data::generate, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::inverse_propensity, module)?)
}
