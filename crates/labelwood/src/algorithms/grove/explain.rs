//! What the parts of a grove say for a label, and what the ranker makes of it.

use super::answers::Answers;
use super::ranker::{Candidates, Columns, NO_RANK, OF_PART, Ranker, Said, count};
use super::{CANDIDATES, Grove, RANKER, known};
use crate::algorithms::Predict;
use crate::algorithms::explain::{Contribution, Evidence, Fact, Reasons};
use crate::base::run::{Stopped, Task};
use crate::base::sparse::{Query, RowsView};
use crate::learn::calibration::logistic::probability;

impl Grove {
    /// The reasons of each label for a row, the only one: those of each part, then those of the ranker.
    pub(super) fn reasons(
        &self,
        row: RowsView<'_>,
        labels: &[u32],
        query: Query<'_>,
        task: &Task,
    ) -> Result<Vec<Vec<Reasons>>, Stopped> {
        let (known, task) = (known(query), &task.quiet());
        let mut reasons: Vec<Vec<Reasons>> = vec![Vec::new(); labels.len()];
        let mut answers = Vec::with_capacity(self.parts.len());
        for part in self.parts.iter().map(Box::as_ref) {
            let own: &dyn Predict = part;
            for (all, own) in reasons.iter_mut().zip(own.explain(row, labels, known, task)?) {
                all.extend(own);
            }
            answers.push(Answers::new(own, row, known, task)?);
        }
        let said: Vec<Said<'_>> = answers.iter().map(|part| part.of_row(0)).collect();
        let names: Vec<&str> = self.parts.iter().map(|part| part.settings().name()).collect();
        for (&label, all) in labels.iter().zip(&mut reasons) {
            let Some(ranked) = self.ranker.explain(&said, &names, &self.counts, label, query.k)
            else {
                all.push(Reasons::none(RANKER));
                continue;
            };
            for (own, weight) in all.iter_mut().zip(ranked.weights) {
                own.weight = Some(weight);
            }
            all.push(ranked.reasons);
        }
        Ok(reasons)
    }
}

/// What a ranker makes of what the parts say of a label.
struct Ranked {
    reasons: Reasons,
    /// By how much the log-odds would fall without each part.
    weights: Vec<f32>,
}

/// All that a ranker goes by for one label.
#[derive(Clone)]
struct Known {
    scores: Vec<f32>,
    count: u32,
    /// The numbers that the trees know, a column each.
    numbers: Vec<[f32; 1]>,
}

impl Ranker {
    /// What makes the probability of a label; nothing if no part names it among its best.
    fn explain(
        &self,
        said: &[Said<'_>],
        parts: &[&'static str],
        counts: &[u32],
        label: u32,
        k: usize,
    ) -> Option<Ranked> {
        let known = self.known(said, counts, label, k)?;
        let odds = self.log_odds(&known);
        let without = |part| (odds - self.log_odds(&known.without(part, &self.columns))) as f32;
        let weights = (0..parts.len()).map(without).collect();
        let blend = self.blend.summands(&known.scores, known.count);
        let numbers: Vec<f32> = known.numbers.iter().map(|&[number]| number).collect();
        let (start, added) = self.trees.summands(&numbers);
        let mut terms = Vec::new();
        let mut add = |name: String, sum: f64| {
            let term = Contribution::new(terms.len() as u32, sum as f32);
            terms.push(Contribution { term: Some(name), ..term });
        };
        for ((part, name), &added) in self.columns.names().zip(&added) {
            let of_part = |part: usize| if name == OF_PART[0] { blend.scores[part] } else { 0.0 };
            let blended = part.map_or(blend.often, of_part);
            let whose = part.map_or("label", |part| parts[part]);
            add(format!("{whose}: {}", name.replace('_', " ")), added + blended);
        }
        let pairs =
            (0..parts.len()).flat_map(|one| (one + 1..parts.len()).map(move |it| (one, it)));
        for ((one, other), &sum) in pairs.zip(&blend.pairs) {
            add(format!("{} and {}", parts[one], parts[other]), sum);
        }
        terms.retain(|term| term.contribution != 0.0);
        let score = probability(odds) as f32;
        let blended =
            blend.constant + blend.often + blend.scores.iter().chain(&blend.pairs).sum::<f64>();
        let how = vec![
            Fact::new("ranker: weighted sum of the parts' scores", blended),
            Fact::new("ranker: what its trees correct that by", odds - blended),
            Fact::new("ranker: log-odds, the sum of both", odds),
            Fact::new("ranker: what that makes of a probability", score),
        ];
        let own = Reasons::new(RANKER, score, Evidence::Ranker { log_odds: odds as f32 });
        let bias = Some((blend.constant + start) as f32);
        Some(Ranked { reasons: Reasons { bias, terms, how, ..own }, weights })
    }

    fn known(&self, said: &[Said<'_>], counts: &[u32], label: u32, k: usize) -> Option<Known> {
        let mut candidates = Candidates::default();
        candidates.set(said.iter().copied(), k.max(CANDIDATES));
        let at = candidates.ids.binary_search(&label).ok()?;
        let (_, scores) = candidates.iter().nth(at)?;
        let mut columns = vec![Vec::new(); self.columns.len()];
        candidates.append_to(&mut columns, said, &self.columns, counts);
        let numbers = columns.iter().map(|column| [column[at]]).collect();
        Some(Known { scores: scores.to_vec(), count: count(counts, label), numbers })
    }

    fn log_odds(&self, known: &Known) -> f64 {
        let mut odds = [self.blend.log_odds(&known.scores, known.count, &mut Vec::new())];
        self.trees.add(&known.numbers, &mut odds, &mut Vec::new());
        odds[0]
    }
}

impl Known {
    /// The same if a part named no label.
    fn without(&self, part: usize, columns: &Columns) -> Self {
        let mut left = self.clone();
        left.scores[part] = 0.0;
        for (number, (own, name)) in left.numbers.iter_mut().zip(columns.names()) {
            if own == Some(part) {
                *number = [if name == OF_PART[1] { NO_RANK } else { 0.0 }];
            }
        }
        left
    }
}
