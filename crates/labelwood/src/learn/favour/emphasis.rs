//! How much the positive rows of each label count when its classifier is learned.

use crate::learn::propensity::Propensity;

/// The weights of positive rows: the inverse propensity of their label against that of all positive
/// rows in the mean, to some power.
///
/// Compared with the mean, rare labels weigh more and frequent ones less, and the losses of all
/// labels together stay as large against the length of the weights as they were.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Emphasis {
    instances: usize,
    /// The mean inverse propensity of all positive rows.
    mean: f64,
    power: f64,
}

impl Emphasis {
    /// For labels that so many of `instances` rows have; with a power of 0 all weigh 1.
    pub(crate) fn new(instances: usize, counts: impl Iterator<Item = usize>, power: f32) -> Self {
        let mut emphasis = Emphasis { instances, mean: 1.0, power: f64::from(power) };
        if power == 0.0 {
            return emphasis;
        }
        let (mut sum, mut rows) = (0.0, 0.0);
        for count in counts {
            sum += count as f64 * emphasis.inverse(count);
            rows += count as f64;
        }
        if rows > 0.0 {
            emphasis.mean = sum / rows;
        }
        emphasis
    }

    /// The weight of the positive rows of a label that so many rows have.
    pub(crate) fn of(&self, count: usize) -> f32 {
        if self.power == 0.0 {
            return 1.0;
        }
        libm::pow(self.inverse(count) / self.mean, self.power) as f32
    }

    fn inverse(&self, count: usize) -> f64 {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Propensity::default().inverse(self.instances, [count]).next().unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_of_zero_leaves_every_weight_at_exactly_one() {
        let emphasis = Emphasis::new(1000, [500, 20, 1].into_iter(), 0.0);
        assert_eq!([500, 20, 1, 0].map(|count| emphasis.of(count)), [1.0; 4]);
    }

    #[test]
    fn rare_labels_weigh_more_and_all_positive_rows_as_much_as_before() {
        let counts = [500, 20, 1];
        let emphasis = Emphasis::new(1000, counts.into_iter(), 1.0);
        let weights = counts.map(|count| emphasis.of(count));
        assert!(weights[0] < 1.0 && 1.0 < weights[1] && weights[1] < weights[2], "{weights:?}");
        let total: f32 =
            counts.iter().zip(weights).map(|(&count, weight)| count as f32 * weight).sum();
        assert!((total - 521.0).abs() < 1e-3, "{total}");
        let half = Emphasis::new(1000, counts.into_iter(), 0.5);
        assert!((half.of(20).powi(2) - weights[1]).abs() < 1e-5);
    }

    #[test]
    fn without_rows_there_is_nothing_to_weigh() {
        assert_eq!(Emphasis::new(0, [].into_iter(), 1.0).of(0), 1.0);
    }
}
