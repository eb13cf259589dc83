//! How often the name of each label was found in training rows, and how often the label was right.

use crate::base::array::Array;
use crate::base::sparse::{CsrView, LabelRowsView};
use crate::base::store::{ArrayRef, FormatError, Unit};
use crate::text::Match;

/// The ways in which a name is found: one word, several apart, several in one piece.
const KINDS: usize = 3;
/// How often a label is right whose name was found in each way, before any row has been seen.
const PRIOR: [f64; KINDS] = [0.05, 0.05, 0.3];
/// How many finds' worth that is.
const PULL: f64 = 10.0;

/// What was counted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counts {
    /// In how many rows the name of each label was found.
    found: Array<u32>,
    /// How many of them have the label.
    right: Array<u32>,
    /// How often any name was found in each way, and how often it was right.
    kinds: Array<u64>,
}

impl Counts {
    /// Counts the rows, whose names of labels were found already.
    pub(super) fn new(matches: CsrView<'_, u32>, labels: LabelRowsView<'_>) -> Self {
        let width = labels.columns().max(matches.columns());
        let (mut found, mut right) = (vec![0u32; width], vec![0u32; width]);
        let mut kinds = vec![0u64; 2 * KINDS];
        for (matches, labels) in matches.rows().zip(labels.rows()) {
            for (label, packed) in matches.iter() {
                let is_right = labels.indices.binary_search(&label).is_ok();
                let kind = kind(Match::unpack(packed));
                found[label as usize] += 1;
                right[label as usize] += u32::from(is_right);
                kinds[kind] += 1;
                kinds[KINDS + kind] += u64::from(is_right);
            }
        }
        Counts { found: found.into(), right: right.into(), kinds: kinds.into() }
    }

    /// These counts and those of other rows.
    pub(super) fn joined(&self, more: &Counts) -> Self {
        let sum = |one: &Array<u32>, other: &Array<u32>| -> Array<u32> {
            let at = |counts: &Array<u32>, label: usize| counts.get(label).copied().unwrap_or(0);
            let labels = 0..one.len().max(other.len());
            let sums = labels.map(|label| at(one, label).saturating_add(at(other, label)));
            sums.collect::<Vec<_>>().into()
        };
        let kinds = self.kinds.iter().zip(&*more.kinds);
        Counts {
            found: sum(&self.found, &more.found),
            right: sum(&self.right, &more.right),
            kinds: kinds.map(|(one, other)| one.saturating_add(*other)).collect::<Vec<_>>().into(),
        }
    }

    /// The share of texts with the name of this label, found in this way, that have the label.
    pub(super) fn share(&self, label: u32, found: Match, smoothing: f32) -> f32 {
        let kind = kind(found);
        let [seen, right] = [kind, KINDS + kind].map(|at| self.kinds[at] as f64);
        let usual = (right + PULL * PRIOR[kind]) / (seen + PULL);
        let [seen, right] = [&self.found, &self.right]
            .map(|counts| f64::from(counts.get(label as usize).copied().unwrap_or(0)));
        let smoothing = f64::from(smoothing);
        ((right + smoothing * usual) / (seen + smoothing)) as f32
    }

    /// In how many training rows the name of a label was found.
    pub(super) fn found(&self, label: u32) -> u32 {
        self.found.get(label as usize).copied().unwrap_or(0)
    }

    /// How many labels' names were found at all, how often, and how often they were right.
    pub(super) fn totals(&self) -> [u64; 3] {
        let labels = self.found.iter().filter(|&&count| count > 0).count() as u64;
        let sum = |kinds: &[u64]| kinds.iter().fold(0u64, |sum, &count| sum.saturating_add(count));
        [labels, sum(&self.kinds[..KINDS]), sum(&self.kinds[KINDS..])]
    }

    /// The arrays by their names.
    pub(super) fn arrays(&self) -> [(&'static str, ArrayRef<'_>); 3] {
        [
            ("found", self.found[..].into()),
            ("right", self.right[..].into()),
            ("kinds", self.kinds[..].into()),
        ]
    }

    /// Reads counts back.
    pub(super) fn read(unit: &Unit) -> Result<Self, FormatError> {
        let counts = Counts {
            found: unit.array("found")?,
            right: unit.array("right")?,
            kinds: unit.array("kinds")?,
        };
        let fit = counts.kinds.len() == 2 * KINDS && counts.found.len() == counts.right.len();
        let is_less = |(right, found): (&u32, &u32)| right <= found;
        match fit && counts.right.iter().zip(&*counts.found).all(is_less) {
            true => Ok(counts),
            false => Err(unit.refused("its counts do not fit together")),
        }
    }
}

fn kind(found: Match) -> usize {
    match (found.stems, found.is_phrase) {
        (0 | 1, _) => 0,
        (_, false) => 1,
        (_, true) => 2,
    }
}
