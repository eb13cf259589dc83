//! What the command, Python and a server share on top of the library: files of rows for a model,
//! files of labels, scores that are high enough, and whose fault an error is.
//!
//! - [`RowOptions`] says how a file is read for a model; [`RowSource`] gives its rows in batches.
//! - [`LabelFiles`] names the labels that a model may name.
//! - [`at_least`] and [`predict_at_least`] keep the labels whose score reaches a threshold.
//! - [`TrainingNeed`] and [`update_bytes`] say how much memory a training or an update needs.
//! - [`Checked`] tells what is odd about data, and what to do about it.
//! - [`Alike`] divides rows into some for training and some for testing, as a [`Division`] says.
//! - [`Fault`] tells whether an error is the user's to mend or the machine's.
//!
//! ```
//! use labelwood::Settings;
//! use labelwood::app::{LabelFiles, RowOptions, at_least};
//! use labelwood::model::Model;
//! use labelwood::run::Pool;
//! use labelwood::sparse::Query;
//! let (folder, task) = (tempfile::tempdir()?, Pool::new(1)?.task());
//! let rows = labelwood::data::read_bytes(
//!     b"2 2 2\n0 0:1\n1 1:1\n", "a.txt", &Default::default(), &task)?.dataset;
//! let settings = Settings::named("one-vs-rest").expect("it is an algorithm");
//! let model = Model::train(rows.view(), Default::default(), &settings, &task)?;
//!
//! let (data, labels) = (folder.path().join("rows.svm"), folder.path().join("allowed.txt"));
//! std::fs::write(&data, " 1:1\n 2:1\n")?;
//! std::fs::write(&labels, "1\n")?;
//! let allowed = LabelFiles { only: Some(&labels), without: None }.allowed(&model, &task)?;
//! let query = Query { allowed: allowed.as_ref(), ..Query::top(2) };
//! let mut source = RowOptions::default().open(&data, &model, &task)?;
//! while let Some(batch) = source.next_batch()? {
//!     let best = at_least(&model.predict(batch.rows.view(), query, &task)?, 0.5, 0);
//!     assert_eq!((best.row(0).len(), best.row(1)[0].id), (0, 1));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alike;
mod check;
mod error;
mod fault;
mod kind;
mod labels;
mod memory;
mod rows;
mod source;
mod threshold;

pub use alike::{Alike, Division, row_key, text_key, value_key};
pub use check::{Check, Checked, Finding};
pub use error::InputError;
pub use fault::{Fault, MachineFault};
pub use kind::Kind;
pub use labels::{LabelFiles, find_label, known_labels, names_in};
pub use memory::{Remedy, TrainingNeed, update_bytes};
pub use rows::{Fields, RowOptions, read_vectors};
pub use source::{RowBatch, RowSource};
pub use threshold::{at_least, predict_at_least};
