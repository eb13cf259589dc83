//! Extreme multi-label learning: which few of very many labels fit a row of features.
//!
//! The modules stand in reading order, each depending only on those above it. A tour: draw some
//! rows, train a model into a folder, open it, predict, and measure how good that is.
//!
//! ```
//! use labelwood::Settings;
//! use labelwood::craftml::Params;
//! use labelwood::data::{Dataset, generate::{Generator, Profile, TEST_START}};
//! use labelwood::metrics::{Evaluation, MetricOptions, TrainingCounts};
//! use labelwood::model::{Model, train, store::{Options, Start}};
//! use labelwood::run::Pool;
//! use labelwood::sparse::Query;
//!
//! let run = Pool::new(2)?.task();
//! let profile = Profile { instances: 500, ..Profile::named("eurlex-4k").unwrap() };
//! let generator = Generator::new(profile, 1)?;
//! let (features, labels) = generator.rows(0..500, &run)?;
//! let dataset = Dataset { features, labels, label_names: None };
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("model");
//! let algorithm = Settings::from(Params { trees: 5, ..Params::default() });
//! train(&dataset, &algorithm, &path, Start::default(), &run)?;
//!
//! let model = Model::open(&path, Options::default(), &run)?;
//! let (features, truth) = generator.rows(TEST_START..TEST_START + 50, &run)?;
//! let predictions = model.predict(features.view(), Query::top(5), &run)?;
//! let training = TrainingCounts { instances: dataset.len(), labels: model.labels().counts() };
//! let metrics =
//!     Evaluation::new(truth.view(), &predictions, training, &MetricOptions::default())?.metrics();
//! assert_eq!(metrics.instances, 50);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod base;
pub mod data;
pub mod text;
pub mod learn;
pub mod algorithms;
pub mod model;
pub mod search;
pub mod shard;
pub mod metrics;
pub mod report;
pub mod app;

pub use algorithms::Settings;
pub use algorithms::{craftml, grove, label_forest, label_tree, one_vs_rest};
pub use base::{array, random, run, settings as params, sparse, store};
pub use learn::{calibration, cluster, favour, linear, solver, weighting};
pub use search::{auto, tune};
