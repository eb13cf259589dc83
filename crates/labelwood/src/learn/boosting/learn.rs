//! Growing boosted trees from counts of the examples on both sides of borders.

use super::{Boosted, DEPTH, LEAVES, Question};
use crate::base::run::{Stopped, Task};
use crate::learn::calibration::logistic::Truth;
use rayon::prelude::*;

/// Trees.
const TREES: usize = 60;
/// How much of its correction a tree makes.
const RATE: f64 = 0.1;
/// How many certain examples' worth each leaf is held to no correction.
const PULL: f64 = 10.0;
/// Borders of a number at most, so that its places among them are bytes.
const BORDERS: usize = 63;
/// Places of a number among its borders.
const PLACES: usize = BORDERS + 1;
/// A question that gains less than this is not worth asking.
const LEAST_GAIN: f64 = 1e-6;

/// How far examples are from the truth, and how sure that is: the slope and the curve of the loss.
type Sums = [f64; 2];

/// A number of all examples, as places among its borders.
struct Column {
    borders: Vec<f32>,
    places: Vec<u8>,
}

/// Learns trees that correct the log-odds `margins` of examples, each number of which is a column.
pub(crate) fn learn<C: AsRef<[f32]> + Sync>(
    columns: &[C],
    truths: &[Truth],
    mut margins: Vec<f64>,
    task: &Task,
) -> Result<Boosted, Stopped> {
    task.install(|| {
        let columns: Vec<Column> =
            columns.par_iter().map(|column| Column::new(column.as_ref())).collect();
        let mut boosted = Boosted::default();
        for _ in 0..TREES {
            task.check()?;
            let slopes = margins.par_iter().zip(truths).map(|(&margin, truth)| truth.slope(margin));
            let slopes: Vec<Sums> = slopes.collect();
            let Some(tree) = Tree::grow(&columns, &slopes) else { break };
            margins
                .par_iter_mut()
                .zip(&tree.leaf_of)
                .for_each(|(margin, &leaf)| *margin += f64::from(tree.values[leaf as usize]));
            boosted.questions.extend(tree.questions);
            boosted.leaves.extend(tree.values);
        }
        Ok(boosted)
    })
}

impl Column {
    /// Chooses borders between which about as many examples lie each.
    fn new(numbers: &[f32]) -> Self {
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable_by(f32::total_cmp);
        let mut borders: Vec<f32> = Vec::new();
        for at in 1..=BORDERS {
            // The border stands before the first number that is larger than the one at the quantile.
            let Some(&below) = sorted.get(at * sorted.len() / (BORDERS + 1)) else { break };
            let above = sorted.partition_point(|&number| number <= below);
            let Some(&above) = sorted.get(above) else { break };
            let middle = below + (above - below) / 2.0;
            let border = if middle < above { middle } else { below };
            if borders.last().is_none_or(|&last| last < border) {
                borders.push(border);
            }
        }
        let place = |&number: &f32| borders.partition_point(|&border| border < number) as u8;
        let places = numbers.iter().map(place).collect();
        Column { borders, places }
    }
}

/// A tree, and the leaf of each example.
struct Tree {
    questions: [Question; DEPTH],
    values: [f32; LEAVES],
    leaf_of: Vec<u8>,
}

impl Tree {
    /// Asks the questions that gain the most, one after the other; nothing if no question gains anything.
    fn grow(columns: &[Column], slopes: &[Sums]) -> Option<Self> {
        // A question that no example passes: the levels below the last one that gains anything.
        let mut questions = [Question { number: 0, border: f32::MAX, gain: 0.0 }; DEPTH];
        let mut leaf_of = vec![0u8; slopes.len()];
        let mut sums: Vec<Vec<Sums>> = columns
            .par_iter()
            .map(|column| {
                let mut sums = vec![[0.0; 2]; PLACES];
                column.places.iter().zip(slopes).for_each(|(&place, slope)| {
                    add(&mut sums[place as usize], slope);
                });
                sums
            })
            .collect();
        for (level, question) in questions.iter_mut().enumerate() {
            let best: Vec<(f64, usize)> =
                columns.par_iter().zip(&sums).map(|(column, sums)| best(column, sums)).collect();
            let mut chosen = (LEAST_GAIN, None);
            for (number, &(gain, border)) in best.iter().enumerate() {
                if gain > chosen.0 {
                    chosen = (gain, Some((number, border)));
                }
            }
            let Some((number, border)) = chosen.1 else { break };
            let asked = &columns[number];
            *question = Question {
                number: number as u32,
                border: asked.borders[border],
                gain: chosen.0 as f32,
            };
            let is_above = |place: u8| u8::from(place as usize > border);
            leaf_of
                .par_iter_mut()
                .zip(&asked.places)
                .for_each(|(leaf, &place)| *leaf |= is_above(place) << level);
            if level + 1 < DEPTH {
                sums = divide(columns, slopes, &leaf_of, level, &sums);
            }
        }
        (questions[0].border < f32::MAX).then(|| {
            let mut totals = [[0.0; 2]; LEAVES];
            leaf_of
                .iter()
                .zip(slopes)
                .for_each(|(&leaf, slope)| add(&mut totals[leaf as usize], slope));
            let values = totals.map(|[slope, curve]| (-RATE * slope / (curve + PULL)) as f32);
            Tree { questions, values, leaf_of }
        })
    }
}

/// The sums of each place of each leaf after one more question. Only the smaller half of each leaf is
/// added up; the other is what is left.
fn divide(
    columns: &[Column],
    slopes: &[Sums],
    leaf_of: &[u8],
    level: usize,
    sums: &[Vec<Sums>],
) -> Vec<Vec<Sums>> {
    let (before, bit) = (1 << level, 1u8 << level);
    let mut sizes = [0usize; LEAVES];
    leaf_of.iter().for_each(|&leaf| sizes[leaf as usize] += 1);
    let is_smaller: Vec<bool> = (0..2 * before)
        .map(|leaf| match leaf < before {
            true => sizes[leaf] < sizes[leaf | before],
            false => sizes[leaf] <= sizes[leaf ^ before],
        })
        .collect();
    let smaller: Vec<(u32, Sums)> = (0..)
        .zip(leaf_of.iter().zip(slopes))
        .filter(|(_, (leaf, _))| is_smaller[**leaf as usize])
        .map(|(example, (_, &slope))| (example, slope))
        .collect();
    columns
        .par_iter()
        .zip(sums)
        .map(|(column, sums)| {
            let mut halves = vec![[0.0; 2]; 2 * before * PLACES];
            for (example, slope) in &smaller {
                let example = *example as usize;
                let at = leaf_of[example] as usize * PLACES + column.places[example] as usize;
                add(&mut halves[at], slope);
            }
            for (leaf, &is_smaller) in is_smaller[..before].iter().enumerate() {
                let (one, other) = (leaf * PLACES, (leaf | bit as usize) * PLACES);
                let (from, to) = if is_smaller { (one, other) } else { (other, one) };
                for place in 0..PLACES {
                    let [slope, curve] = sums[one + place];
                    let [taken_slope, taken_curve] = halves[from + place];
                    halves[to + place] = [slope - taken_slope, curve - taken_curve];
                }
            }
            halves
        })
        .collect()
}

/// The border of a number at which dividing every leaf gains the most, and how much that is.
fn best(column: &Column, sums: &[Sums]) -> (f64, usize) {
    let mut gains = vec![0.0; column.borders.len()];
    for places in sums.chunks_exact(PLACES) {
        let mut total = [0.0; 2];
        places.iter().for_each(|place| add(&mut total, place));
        let whole = worth(total);
        let mut below = [0.0; 2];
        for (gain, place) in gains.iter_mut().zip(places) {
            add(&mut below, place);
            *gain += worth(below) + worth([total[0] - below[0], total[1] - below[1]]) - whole;
        }
    }
    let mut best = (0.0, 0);
    for (border, &gain) in gains.iter().enumerate() {
        if gain > best.0 {
            best = (gain, border);
        }
    }
    best
}

/// How much smaller the loss becomes by the correction of a leaf.
fn worth([slope, curve]: Sums) -> f64 {
    slope * slope / (curve.max(0.0) + PULL)
}

fn add(sum: &mut Sums, slope: &Sums) {
    sum[0] += slope[0];
    sum[1] += slope[1];
}
