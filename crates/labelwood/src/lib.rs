//! Extreme multi-label learning: which few of very many labels fit a row of features.
//!
//! The modules stand in reading order, each depending only on those above it. A tour: draw some
//! rows, train a model into a folder, open it, predict, and measure how good that is.
//!
//! ```
//! use labelwood::Settings;
//! use labelwood::algorithms::craftml::Params;
//! use labelwood::data::{Dataset, generate::{Generator, Profile, TEST_START}};
//! use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
//! use labelwood::model::{Model, train};
//! use labelwood::run::Pool;
//! use labelwood::store::{Options, Start};
//! use labelwood::sparse::Query;
//!
//! let task = Pool::new(2)?.task();
//! let profile = Profile { instances: 500, ..Profile::named("eurlex-4k").unwrap() };
//! let generator = Generator::new(profile, 1)?;
//! let (features, labels) = generator.rows(0..500, &task)?;
//! let dataset = Dataset { features, labels, label_names: None, named: None };
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("model");
//! let algorithm = Settings::from(Params { trees: 5, ..Params::default() });
//! train(&dataset, &algorithm, &path, Start::default(), &task)?;
//!
//! let model = Model::open(&path, Options::default(), &task)?;
//! let (features, truth) = generator.rows(TEST_START..TEST_START + 50, &task)?;
//! let predictions = model.predict(features.view(), Query::top(5), &task)?;
//! let training = TrainingCounts { instances: dataset.len(), labels: model.labels().counts() };
//! let metrics =
//!     Evaluation::new(truth.view(), &predictions, training, &MetricOptions::default())?.metrics();
//! assert_eq!(metrics.instances, 50);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(unreachable_pub)]

mod base;
pub mod data;
pub mod text;
mod learn;
pub mod metrics;
pub mod algorithms;
pub mod model;
mod search;
pub mod shard;
pub mod report;
pub mod app;

pub use algorithms::Settings;
pub use search::{auto, compare, tune};

/// Threads, tasks, progress and limits.
pub mod run {
    pub use crate::base::run::{
        Bytes, Canceller, Clock, Estimate, Memory, OutOfMemory, Pool, Progress, Spent, Stage,
        Stopped, Task, ThreadError, group_memory, memory_limit,
    };
}

/// Sparse rows, and what is asked and answered about them.
pub mod sparse {
    pub use crate::base::sparse::{
        Csr, CsrView, LabelRows, LabelRowsView, LabelSet, Predictions, Query, Row, Rows, RowsView,
        Scored, SparseError, top_k,
    };
}

/// The files of a model.
pub mod store {
    pub use crate::base::store::{
        Digest, FormatError, Load, Manifest, Options, Start, StoreError, Stored, Training, Update,
        check_target, is_file_target, is_model, manifest_file, staging_folder,
    };
}

/// Counts with their nouns, as people write them.
pub mod words {
    pub use crate::base::words::{counted, plural};
}

/// The table of settings, and the types that settings of several algorithms have.
pub mod settings {
    pub use crate::base::settings::{Kind, ParamError, Setting, shown_number, with_short_numbers};
    pub use crate::learn::favour::{Favour, Scores};
    pub use crate::learn::linear::{Link, Precision};
    pub use crate::learn::solver::{Loss, Params as SolverParams};
    pub use crate::learn::weighting::Weighting;
}
