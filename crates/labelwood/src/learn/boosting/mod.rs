//! Boosted trees for few numbers: what a handful of scores and counts, taken together, say.
//!
//! A tree asks six questions, each whether a number is above a border, and the same six in all its
//! branches: the answers are the bits of the number of a leaf. Such trees are hard to mislead by
//! few examples, and a tree costs six comparisons and one lookup. Each tree corrects the log-odds that
//! the trees before it, and the margins that learning starts from, give to the examples.
//!
//! [`learn`] makes a [`Boosted`]. Sums have one order, so that the same examples give the same trees on
//! any number of threads.

mod learn;

pub(crate) use learn::learn;

/// Questions of a tree.
pub(crate) const DEPTH: usize = 6;
/// Leaves of a tree.
const LEAVES: usize = 1 << DEPTH;

/// Trees whose values add up to log-odds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Boosted {
    questions: Vec<Question>,
    leaves: Vec<f32>,
}

/// Whether a number is above a border.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Question {
    pub number: u32,
    pub border: f32,
    /// How much smaller the loss became by asking.
    pub gain: f32,
}

impl Boosted {
    /// Trees of these questions, [`DEPTH`] a tree, and values of their leaves, about so many numbers;
    /// nothing if they do not fit together.
    pub(crate) fn try_new(
        questions: Vec<Question>,
        leaves: Vec<f32>,
        numbers: usize,
    ) -> Option<Self> {
        let trees = questions.len() / DEPTH;
        let is_whole = questions.len() == trees * DEPTH && leaves.len() == trees * LEAVES;
        let is_known = |question: &Question| {
            (question.number as usize) < numbers
                && question.border.is_finite()
                && question.gain.is_finite()
        };
        let is_sound =
            questions.iter().all(is_known) && leaves.iter().all(|value| value.is_finite());
        (is_whole && is_sound).then_some(Boosted { questions, leaves })
    }

    /// The questions of all trees.
    pub(crate) fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// The values of all leaves.
    pub(crate) fn leaves(&self) -> &[f32] {
        &self.leaves
    }

    /// Adds what the trees say to the log-odds of some examples, of which each number is a column.
    pub(crate) fn add<C: AsRef<[f32]>>(
        &self,
        columns: &[C],
        log_odds: &mut [f64],
        scratch: &mut Vec<u8>,
    ) {
        let trees = self.questions.chunks_exact(DEPTH).zip(self.leaves.chunks_exact(LEAVES));
        for (questions, values) in trees {
            scratch.clear();
            scratch.resize(log_odds.len(), 0);
            for (level, question) in questions.iter().enumerate() {
                let column = columns[question.number as usize].as_ref();
                for (leaf, &number) in scratch.iter_mut().zip(column) {
                    *leaf |= u8::from(number > question.border) << level;
                }
            }
            for (sum, &leaf) in log_odds.iter_mut().zip(&*scratch) {
                *sum += f64::from(values[leaf as usize]);
            }
        }
    }

    /// What the trees say of an example before any of its numbers is known, and what each number adds to that:
    /// by how much each answer changes the mean of the leaves that are left.
    pub(crate) fn summands(&self, numbers: &[f32]) -> (f64, Vec<f64>) {
        let (mut start, mut added) = (0.0, vec![0.0; numbers.len()]);
        let trees = self.questions.chunks_exact(DEPTH).zip(self.leaves.chunks_exact(LEAVES));
        for (questions, values) in trees {
            let mut left: Vec<f64> = values.iter().map(|&value| value.into()).collect();
            let mean = |left: &[f64]| left.iter().sum::<f64>() / left.len() as f64;
            let mut before = mean(&left);
            start += before;
            for question in questions {
                let number = question.number as usize;
                // The first question is the lowest bit of a leaf's number: every second leaf has its answer.
                let answer = usize::from(numbers[number] > question.border);
                left = left.into_iter().skip(answer).step_by(2).collect();
                let after = mean(&left);
                added[number] += after - before;
                before = after;
            }
        }
        (start, added)
    }

    /// How much questions about each of so many numbers made the loss smaller while learning.
    pub(crate) fn gains(&self, numbers: usize) -> Vec<f64> {
        let mut gains = vec![0.0; numbers];
        for question in &self.questions {
            gains[question.number as usize] += f64::from(question.gain);
        }
        gains
    }
}

#[cfg(test)]
mod tests;
