//! What the training rows that are most like a row say for a label.

use super::index::{ONE, number, stored};
use super::search::{Neighbour, Searcher};
use super::{Neighbours, row_of};
use crate::algorithms::Algorithm;
use crate::algorithms::explain::{
    Contribution, Evidence, Fact, NamedLabel, NearRow, Reasons, Sums,
};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{CsrView, Query, Votes};
use std::collections::BTreeMap;

impl Neighbours {
    /// The reasons of each label for a row, the only one.
    pub(super) fn reasons(
        &self,
        features: CsrView<'_>,
        labels: &[u32],
        task: &Task,
    ) -> Result<Vec<Reasons>, Stopped> {
        let part = self.params.name();
        let Some(index) = &self.index else {
            return Ok(labels.iter().map(|_| Reasons::none(part)).collect());
        };
        let rows = self.weights.apply(features, self.features);
        let (columns, values) = row_of(rows.view(), 0);
        let mut searcher = Searcher::new(index);
        let nearest = searcher.nearest(columns, values, self.params.neighbours, task)?;
        let mut votes = Votes::new(self.labels);
        self.vote(index, &nearest, Query::top(1), &mut votes);
        let votes = votes.take();
        let shared = self.shared(columns, values, &nearest);
        let units = self.shares(&nearest);
        let rows = nearest.iter().zip(&shared).zip(&units);
        let rows: Vec<NearRow> =
            rows.map(|((near, terms), &units)| self.row(near, terms, units)).collect();
        let reasons = |&label: &u32| {
            let Ok(at) = votes.binary_search_by_key(&label, |vote| vote.0) else {
                return Reasons::none(part);
            };
            let best = Votes::best_of(self.labels, &votes[at..=at], 1, |_| 1);
            let score = best.first().map_or(0.0, |best| best.score);
            let mut rows = rows.clone();
            let mut sums = Sums::default();
            for row in &mut rows {
                row.has_label = row.labels.iter().any(|own| own.id == label);
                if row.has_label {
                    for term in &row.terms {
                        let part = f64::from(term.contribution) / f64::from(row.similarity);
                        sums.add(term.feature, f64::from(row.share) * part);
                    }
                }
            }
            let having = rows.iter().filter(|row| row.has_label).count();
            let (neighbours, terms) = (rows.len(), sums.finish());
            let how = vec![
                Fact::new(format!("{part}: rows with the label among the nearest"), having as f64),
                Fact::new(format!("{part}: their share of the votes"), score),
            ];
            let evidence = Evidence::Neighbours { neighbours, having, rows };
            Reasons { terms, how, ..Reasons::new(part, score, evidence) }
        };
        Ok(labels.iter().map(reasons).collect())
    }

    /// What each feature adds to the similarity of each of some rows.
    fn shared(
        &self,
        columns: &[u32],
        values: &[f32],
        nearest: &[Neighbour],
    ) -> Vec<Vec<Contribution>> {
        let place: BTreeMap<u32, usize> = nearest.iter().map(|near| near.row).zip(0..).collect();
        let mut shared = vec![Vec::new(); nearest.len()];
        let Some(index) = &self.index else { return shared };
        index.each_postings(columns, |position, postings| {
            let weight = i32::from(stored(values[position]));
            for (&row, &at) in &place {
                if let Ok(found) = postings.rows.binary_search(&row) {
                    let product = weight * number(postings.values[found]);
                    if product != 0 {
                        shared[at].push(Contribution::new(columns[position], cosine(product)));
                    }
                }
            }
        });
        shared
    }

    fn row(&self, near: &Neighbour, terms: &[Contribution], units: u64) -> NearRow {
        let mut labels = Vec::new();
        if let Some(index) = &self.index {
            index.each_label(near.row, |label| labels.push(NamedLabel::unnamed(label)));
        }
        let share = Votes::best_of(1, &[(0, units)], 1, |_| 1);
        NearRow {
            row: near.row,
            similarity: cosine(near.score),
            share: share.first().map_or(0.0, |share| share.score),
            has_label: false,
            labels,
            words: Vec::new(),
            terms: terms.to_vec(),
            rest: None,
        }
    }
}

/// A product of stored values as what it stands for.
fn cosine(product: i32) -> f32 {
    (f64::from(product) / (f64::from(ONE) * f64::from(ONE))) as f32
}
