//! Neighbours: the labels of the training rows that are most like a row.
//!
//! Nothing is learned but the weights of features. The training rows themselves are the model: for
//! each feature the rows that have it, and the labels of each row. A new row looks for the rows of the
//! smallest angle to its own, and these vote for their labels. That is strongest where texts are short
//! and labels many, and it knows a label from its first row on.
//!
//! The search is exact (`search.rs`), and values are whole numbers (`index.rs`), so that a sum is the same
//! in any order.
//!
//! ```
//! use labelwood::algorithms::neighbours::Params;
//! use labelwood::data::{self, ReadOptions};
//! use labelwood::model::Model;
//! use labelwood::run::Pool;
//! use labelwood::sparse::Query;
//! let task = Pool::new(1)?.task();
//! let text = b"3 3 2\n0 0:1 1:1\n0 0:1\n1 2:1\n";
//! let read = data::read_bytes(text, "a.txt", &ReadOptions::default(), &task)?;
//! let settings = Params { neighbours: 2, ..Params::default() }.into();
//! let model = Model::train(read.dataset.view(), Default::default(), &settings, &task)?;
//! let found = model.predict(read.dataset.features.view(), Query::top(1), &task)?;
//! assert_eq!((found.row(1)[0].id, found.row(2)[0].id), (0, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod explain;
mod estimate;
mod index;
mod params;
mod search;

pub use params::Params;

use crate::base::run::{Stopped, Task};
use crate::base::sparse::{CsrView, Entries, Query, Votes};
use crate::learn::weighting::FeatureWeights;
use index::Index;
use rayon::prelude::*;
use search::{Neighbour, Searcher};

/// The most rows that are weighted together, which bounds the memory that takes.
const BLOCK: usize = 4096;

/// The training rows, ready to be searched.
#[derive(Clone, Debug, PartialEq)]
struct Neighbours {
    params: Params,
    weights: FeatureWeights,
    features: usize,
    labels: usize,
    /// Nothing where another worker has it.
    index: Option<Index>,
}

impl Neighbours {
    /// Counts the votes of the nearest rows of each row; returns what `finish` makes of the votes.
    fn count<R: Send>(
        &self,
        features: CsrView<'_>,
        query: Query<'_>,
        task: &Task,
        finish: impl Fn(&mut Votes) -> R + Sync,
    ) -> Result<Vec<R>, Stopped> {
        let rows = self.weights.apply(features, self.features);
        let count = |searcher: &mut Option<Searcher<'_>>, votes: &mut Votes, row| {
            if let Some(searcher) = searcher {
                let (columns, values) = row_of(rows.view(), row);
                let nearest = searcher.nearest(columns, values, self.params.neighbours, task)?;
                self.vote(searcher.index(), &nearest, query, votes);
            }
            Ok(finish(votes))
        };
        let start = || (self.index.as_ref().map(Searcher::new), Votes::new(self.labels));
        (0..features.len())
            .into_par_iter()
            .map_init(start, |(searcher, votes), row| count(searcher, votes, row))
            .collect()
    }

    /// The votes of each neighbour: its share of the weights of all.
    fn shares(&self, nearest: &[Neighbour]) -> Vec<u64> {
        let Some(best) = nearest.first() else { return Vec::new() };
        // Only shares count, and near 1 no power makes them vanish.
        let weight = |near: &Neighbour| {
            libm::pow(f64::from(near.score) / f64::from(best.score), self.params.power.into())
        };
        let total: f64 = nearest.iter().map(weight).sum();
        nearest.iter().map(|near| Votes::units(weight(near) / total)).collect()
    }

    /// Adds a vote of each neighbour for each of its labels: its share of the weights of all.
    fn vote(&self, index: &Index, nearest: &[Neighbour], query: Query<'_>, votes: &mut Votes) {
        for (near, units) in nearest.iter().zip(self.shares(nearest)) {
            index.each_label(near.row, |label| {
                if query.allows(label) {
                    votes.add(label, units);
                }
            });
        }
    }
}

fn row_of(rows: Entries<'_>, row: usize) -> (&[u32], &[f32]) {
    rows.row(row as u32)
}

#[cfg(test)]
mod tests;
