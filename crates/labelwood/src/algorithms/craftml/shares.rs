//! How a row's weight is divided among a node's children.

use crate::learn::cluster::lanes::{LANES, Lanes};

/// How fast a child's share falls with its distance to the nearest child, in standard deviations.
const SHARPNESS: f32 = 3.0;
/// Children with a smaller share of a row's weight are not followed.
const LEAST_SHARE: f32 = 0.1;
/// A child with a lower exponent is left out: it cannot reach [`LEAST_SHARE`].
const LEAST_EXPONENT: f32 = -2.5;
/// If the variance of the nearness is below this fraction of its squared mean, the children differ
/// only by rounding.
pub(super) const ROUNDING: f32 = 1e-12;

/// The share of a row's weight that each of `count` children gets, from the row's nearness to them;
/// `best` is the nearest child. Shares add up to 1 and are 0 for children that are not followed.
///
/// Every lane goes through the same operations, so that they compile to vector instructions.
#[inline(always)]
pub(super) fn shares(near: &Lanes, best: usize, count: usize) -> Lanes {
    let near = near.first(count);
    let mean = near.sum() / count as f32;
    let mut squares = Lanes::ZERO;
    for lane in 0..LANES {
        let off = near.0[lane] - mean;
        squares.0[lane] = if lane < count { off * off } else { 0.0 };
    }
    let variance = squares.sum() / count as f32;
    let differ = variance > ROUNDING * mean * mean;
    let slope = SHARPNESS / variance.sqrt();
    let nearest = near.0[best];
    let mut weights = Lanes::ZERO;
    for lane in 0..LANES {
        let exponent = slope * (near.0[lane] - nearest);
        let counts = differ && exponent > LEAST_EXPONENT && lane < count;
        let weight = if counts { exp(exponent) } else { 0.0 };
        weights.0[lane] = if lane == best { 1.0 } else { weight };
    }
    let least = LEAST_SHARE * weights.sum();
    for (lane, weight) in weights.0.iter_mut().enumerate() {
        // The best child is kept even if there are so many near ones that none has the least share.
        *weight = if *weight < least && lane != best { 0.0 } else { *weight };
    }
    let kept = weights.sum();
    weights.0.iter_mut().for_each(|weight| *weight /= kept);
    weights
}

/// e^x to six digits for x between [`LEAST_EXPONENT`] and 0: the series of e^(x/16), to the sixteenth
/// power. Uses products and sums alone, so that it vectorizes and has the same bits everywhere.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let x = x * (1.0 / 16.0);
    let series =
        1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0 + x * (1.0 / 120.0)))));
    let square = series * series;
    let fourth = square * square;
    let eighth = fourth * fourth;
    eighth * eighth
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::cluster::lanes::best_lane;
    use proptest::prelude::*;

    #[test]
    fn exp_is_accurate_to_six_digits() {
        assert_eq!(exp(0.0), 1.0);
        for step in 0..=2500 {
            let x = -f64::from(step) / 1000.0;
            let error = f64::from(exp(x as f32)) / x.exp() - 1.0;
            assert!(error.abs() < 2e-6, "{x}: {error}");
        }
    }

    #[test]
    fn of_equally_near_children_the_first_gets_all() {
        // The rounded mean of equal values may differ from them, which gives a small variance.
        let near = Lanes([0.1; LANES]);
        for count in 1..=LANES {
            let found = shares(&near, best_lane(&near, count), count);
            assert_eq!((found.nonzero(), found.0[0]), (1, 1.0), "{count}");
        }
    }

    #[test]
    fn the_nearest_is_followed_even_if_none_has_the_least_share() {
        let near = Lanes(std::array::from_fn(|lane| if lane % 2 == 0 { 0.5 } else { 0.51 }));
        let found = shares(&near, 1, LANES);
        assert!(found.nonzero() & 2 != 0 && found.nonzero() & 1 == 0, "{found:?}");
    }

    /// A straightforward computation in double precision.
    fn reference(near: &[f32]) -> Vec<f64> {
        let near: Vec<f64> = near.iter().map(|&near| f64::from(near)).collect();
        let count = near.len() as f64;
        let mean = near.iter().sum::<f64>() / count;
        let deviation = (near.iter().map(|near| (near - mean).powi(2)).sum::<f64>() / count).sqrt();
        let nearest = near.iter().copied().fold(f64::MIN, f64::max);
        let exponents = near.iter().map(|near| 3.0 * (near - nearest) / deviation);
        let weights: Vec<f64> =
            exponents.map(|power| if power > -2.5 { power.exp() } else { 0.0 }).collect();
        let total: f64 = weights.iter().sum();
        let kept: Vec<f64> = weights
            .iter()
            .map(|&weight| if weight < 0.1 * total && weight < 1.0 { 0.0 } else { weight })
            .collect();
        let total: f64 = kept.iter().sum();
        kept.iter().map(|weight| weight / total).collect()
    }

    proptest! {
        #[test]
        fn shares_equal_those_of_a_straightforward_computation(near in proptest::collection::vec(-1.0f32..1.0, 2..=LANES)) {
            let mut lanes = Lanes([7.0; LANES]);
            lanes.0[..near.len()].copy_from_slice(&near);
            let found = shares(&lanes, best_lane(&lanes, near.len()), near.len());
            prop_assert!((found.sum() - 1.0).abs() < 1e-5);
            prop_assert!(found.0[near.len()..].iter().all(|&share| share == 0.0));
            for (&found, expected) in found.0.iter().zip(reference(&near)) {
                // A child right at the least share may be followed or not.
                let at_the_edge = (found == 0.0) != (expected == 0.0);
                prop_assume!(!at_the_edge || expected.max(f64::from(found)) > 0.12);
                prop_assert!((f64::from(found) - expected).abs() < 1e-4, "{} for {}", found, expected);
            }
        }
    }
}
