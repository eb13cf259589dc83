//! Logistic regression with few weights: most are exactly zero.
//!
//! The weights minimise the sum of their magnitudes plus `cost` times the summed loss
//! ln(1 + exp(-margin)). A feature that every row has, of value 1, gives the bias, which counts as a weight.
//!
//! Each step minimises a bound of that sum which touches it at the weights so far: a row's loss lies
//! below the parabola of curvature tanh(m / 2) / 2m through its margin m (Jaakkola and Jordan, 2000). So
//! every step is downhill, whole or cut short, and no line needs to be searched. The bound is minimised
//! weight by weight, over the columns whose weight is not zero or would not stay so; the gradient of all
//! columns, taken by row, says which these are. Of a node's thousands of columns they are some dozens, so
//! several steps are made with them before all are looked at again.

use crate::base::sparse::Entries;

/// How sparse weights are learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SparseParams {
    /// The weight of the loss against the magnitudes of the weights (LIBLINEAR's C).
    pub cost: f64,
    /// How often all columns are looked at for those that should have a weight.
    pub iterations: usize,
    /// The weights are done when no gradient breaks the conditions of a minimum by more than this share
    /// of what the worst did at the start.
    pub tolerance: f64,
}

/// Bounds that are minimised with the same columns, at most.
const STEPS: usize = 2;

/// Passes over the chosen columns in one step, at most.
const PASSES: usize = 3;

/// A step ends when a pass finds its gradients this much nearer to a minimum than they were.
const PASS_TOLERANCE: f64 = 0.1;

/// Memory that is reused from one classifier to the next.
#[derive(Default)]
pub(crate) struct SparseWorkspace {
    /// The weight of each column, and last that of the bias.
    weights: Vec<f64>,
    /// The gradient of the loss by each weight.
    gradients: Vec<f64>,
    /// The margin of each row.
    margins: Vec<f64>,
    /// The derivative of each row's loss by its margin, and the curvature of its bound.
    bounds: Vec<Bound>,
    /// How many entries each column has; of a chosen one, where its next entry goes.
    counts: Vec<u32>,
    /// Whether a column is chosen.
    is_chosen: Vec<bool>,
    /// The columns that may get a weight, in order.
    chosen: Vec<ChosenColumn>,
    /// Their entries.
    entries: Vec<ColumnEntry>,
}

/// The parabola that lies above a row's loss, where the margins are.
#[derive(Clone, Copy)]
struct Bound {
    slope: f64,
    curvature: f64,
}

/// A column that may get a weight.
#[derive(Clone, Copy)]
struct ChosenColumn {
    column: u32,
    /// Where its entries end; they start where those of the column before it do.
    end: u32,
}

#[derive(Clone, Copy)]
struct ColumnEntry {
    row: u32,
    value: f32,
}

impl SparseWorkspace {
    /// The weight of each column and, last, the bias, for rows on the positive side or not.
    ///
    /// # Panics
    ///
    /// Unless there are as many sides as rows.
    pub(crate) fn solve(
        &mut self,
        rows: Entries<'_>,
        columns: usize,
        is_positive: &[bool],
        params: &SparseParams,
    ) -> &[f64] {
        assert_eq!(rows.offsets.len(), is_positive.len() + 1, "one side for each row");
        self.start(rows, columns);
        let mut allowed = 0.0;
        for iteration in 0..params.iterations {
            self.bound(is_positive, params.cost);
            self.differentiate(rows);
            let worst = self.worst();
            if iteration == 0 {
                allowed = params.tolerance * worst;
            }
            if worst <= allowed {
                break;
            }
            self.choose(rows);
            for step in 0..STEPS {
                if step > 0 {
                    self.bound(is_positive, params.cost);
                }
                if self.descend(PASS_TOLERANCE * worst) <= allowed {
                    break;
                }
            }
        }
        &self.weights
    }

    fn start(&mut self, rows: Entries<'_>, columns: usize) {
        fn fill<T: Clone>(array: &mut Vec<T>, len: usize, with: T) {
            array.clear();
            array.resize(len, with);
        }
        fill(&mut self.weights, columns + 1, 0.0);
        fill(&mut self.margins, rows.offsets.len() - 1, 0.0);
        fill(&mut self.is_chosen, columns, false);
        self.chosen.clear();
        self.entries.clear();
    }

    /// The bound of each row's loss.
    fn bound(&mut self, is_positive: &[bool], cost: f64) {
        let of_row = |(&margin, &is_positive): (&f64, &bool)| {
            let small = 1.0 / (1.0 + libm::exp(margin.abs()));
            let chance = if margin > 0.0 { 1.0 - small } else { small };
            let slope = if is_positive { chance - 1.0 } else { chance };
            // The curvature near 0, where its formula loses its digits.
            let curvature = if margin.abs() < 1e-4 { 0.25 } else { (0.5 - small) / margin.abs() };
            Bound { slope: cost * slope, curvature: cost * curvature }
        };
        self.bounds.clear();
        self.bounds.extend(self.margins.iter().zip(is_positive).map(of_row));
    }

    /// The gradients of all columns and of the bias, and the numbers of the columns' entries.
    fn differentiate(&mut self, rows: Entries<'_>) {
        let Self { gradients, counts, bounds, weights, is_chosen, .. } = self;
        gradients.clear();
        gradients.resize(weights.len(), 0.0);
        counts.clear();
        counts.resize(is_chosen.len(), 0);
        let mut total = 0.0;
        for (row, bound) in (0..).zip(bounds) {
            let (columns, values) = rows.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                gradients[column as usize] += bound.slope * f64::from(value);
                counts[column as usize] += 1;
            }
            total += bound.slope;
        }
        gradients[weights.len() - 1] = total;
    }

    /// How far the worst gradient is from what it is at a minimum.
    fn worst(&self) -> f64 {
        let all = self.weights.iter().zip(&self.gradients);
        all.map(|(&weight, &gradient)| violation(weight, gradient)).fold(0.0, f64::max)
    }

    /// Copies the columns that have a weight or would get one, unless all of them are copied already.
    fn choose(&mut self, rows: Entries<'_>) {
        let Self { weights, gradients, is_chosen, counts, chosen, entries, .. } = self;
        let is_wanted = |column: usize| weights[column] != 0.0 || gradients[column].abs() > 1.0;
        if (0..is_chosen.len()).all(|column| is_chosen[column] || !is_wanted(column)) {
            return;
        }
        (0..is_chosen.len()).for_each(|column| is_chosen[column] = is_wanted(column));
        chosen.clear();
        let mut end = 0;
        for (column, count) in counts.iter_mut().enumerate().filter(|(at, _)| is_chosen[*at]) {
            let start = end;
            end += std::mem::replace(count, start);
            chosen.push(ChosenColumn { column: column as u32, end });
        }
        entries.clear();
        entries.resize(end as usize, ColumnEntry { row: 0, value: 0.0 });
        for row in 0..rows.offsets.len() as u32 - 1 {
            let (columns, values) = rows.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                if is_chosen[column as usize] {
                    let next = &mut counts[column as usize];
                    entries[*next as usize] = ColumnEntry { row, value };
                    *next += 1;
                }
            }
        }
    }

    /// Minimises the bound weight by weight, until a pass finds no gradient further off than `enough`. How
    /// far off the worst was in the first pass.
    fn descend(&mut self, enough: f64) -> f64 {
        let Self { weights, bounds, margins, chosen, entries, .. } = self;
        let last = weights.len() - 1;
        let mut first = 0.0;
        for pass in 0..PASSES {
            // The bias. Slopes are kept up to date: they are those of the bound at the weights so far.
            let (mut gradient, mut curvature) = (0.0, 0.0);
            for bound in bounds.iter() {
                gradient += bound.slope;
                curvature += bound.curvature;
            }
            let mut worst = violation(weights[last], gradient);
            let change = best_change(weights[last], gradient, curvature);
            if change != 0.0 {
                weights[last] += change;
                for (bound, margin) in bounds.iter_mut().zip(margins.iter_mut()) {
                    bound.slope += change * bound.curvature;
                    *margin += change;
                }
            }
            let mut start = 0;
            for &ChosenColumn { column, end } in chosen.iter() {
                let entries = &entries[start..end as usize];
                start = end as usize;
                let (mut gradient, mut curvature) = (0.0, 0.0);
                for entry in entries {
                    let (bound, value) = (bounds[entry.row as usize], f64::from(entry.value));
                    gradient += bound.slope * value;
                    curvature += bound.curvature * value * value;
                }
                let weight = &mut weights[column as usize];
                worst = violation(*weight, gradient).max(worst);
                let change = best_change(*weight, gradient, curvature);
                if change != 0.0 {
                    *weight += change;
                    for entry in entries {
                        let (row, moved) = (entry.row as usize, change * f64::from(entry.value));
                        bounds[row].slope += moved * bounds[row].curvature;
                        margins[row] += moved;
                    }
                }
            }
            if pass == 0 {
                first = worst;
            }
            if worst <= enough {
                break;
            }
        }
        first
    }
}

/// How far a gradient of the loss is from what it is at a minimum: within 1 of zero where the weight is
/// zero, else of magnitude 1 against the weight.
fn violation(weight: f64, gradient: f64) -> f64 {
    if weight == 0.0 { (gradient.abs() - 1.0).max(0.0) } else { (gradient + weight.signum()).abs() }
}

/// The change of a weight that minimises its magnitude plus a parabola with this gradient and curvature.
fn best_change(weight: f64, gradient: f64, curvature: f64) -> f64 {
    if curvature <= 0.0 {
        return 0.0;
    }
    let free = weight * curvature - gradient;
    // Exactly zero where the parabola is not steep enough.
    let best = if free.abs() <= 1.0 { 0.0 } else { (free - free.signum()) / curvature };
    best - weight
}
