//! Prediction: the trees vote as in a CRAFTML forest, rare labels weigh more, and means have a say.
//!
//! A label's score is P^(1 - s) T^s, where P is the mean share of its rows in the leaves, times what it
//! gains, and T the sigmoid of minus half gamma times the squared distance to its mean row; s is
//! [`Params::tail_share`].
//!
//! [`Params::tail_share`]: super::Params::tail_share

use super::FastXml;
use super::means::Means;
use crate::algorithms::{Predict, RowVotes};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{Query, RowsView, Scored, Votes, top_k};
use rayon::prelude::*;

impl FastXml {
    /// The votes of the trees for each row, and the bits of what the means say of the same labels.
    pub(super) fn all_votes(
        &self,
        rows: RowsView<'_>,
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<RowVotes>>, Stopped> {
        let mut votes = self.forest.votes(rows, query, task)?;
        if let Some(means) = &self.means {
            task.check()?;
            let say = task.install(|| self.say(means, rows, &votes[0]));
            votes.push(say);
        }
        Ok(votes)
    }

    /// The bits of the logarithm of each label's nearness, for the labels that got votes.
    fn say(&self, means: &Means, rows: RowsView<'_>, votes: &[RowVotes]) -> Vec<RowVotes> {
        let weighted = self.forest.weights.apply(rows.features, self.forest.features);
        let half_gamma = 0.5 * f64::from(self.params.tail_gamma);
        let of_row = |products: &mut Vec<f64>, (row, votes): (usize, &RowVotes)| {
            let row = weighted.view().row(row as u32);
            products.fill(0.0);
            means.add_products(row, products);
            let square = row.1.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
            let nearness = |&(label, _): &(u32, u64)| {
                let count = self.counts.get(label as usize).copied().unwrap_or(0);
                let product = products.get(label as usize).copied().unwrap_or(0.0);
                let distance = means.distance(label, count, square, product);
                let power = half_gamma * distance;
                // ln(1 / (1 + e^power)), with no overflow.
                let log = -(power + libm::log1p(libm::exp(-power)));
                (label, u64::from((log as f32).to_bits()))
            };
            votes.iter().map(nearness).collect()
        };
        let begin = || vec![0.0; self.counts.len()];
        votes
            .par_iter()
            .enumerate()
            .map_init(begin, |products, row| of_row(products, row))
            .collect()
    }

    /// The best labels of a row.
    pub(super) fn ranked(&self, votes: &[RowVotes], query: Query<'_>) -> Vec<Scored> {
        let labels = self.counts.len();
        let mut scored = Votes::best_of(labels, &votes[0], labels, |_| self.params.trees);
        for scored in &mut scored {
            scored.score *= self.gains.get(scored.id as usize).copied().unwrap_or(1.0);
        }
        if let Some(said) = votes.get(1) {
            let mut said: Vec<(u32, u64)> = said.clone();
            said.sort_unstable();
            let share = f64::from(self.params.tail_share);
            for scored in &mut scored {
                let at = said.partition_point(|&(label, _)| label < scored.id);
                let bits = said.get(at).map_or(0, |&(_, bits)| bits);
                let nearness = f64::from(f32::from_bits(bits as u32));
                let votes = libm::log(f64::from(scored.score));
                let log = (1.0 - share) * votes + share * nearness;
                scored.score = libm::exp(log) as f32;
            }
        }
        top_k(&mut scored, query.k);
        scored
    }
}
