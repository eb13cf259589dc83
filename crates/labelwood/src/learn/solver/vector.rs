//! Arithmetic on all labels of a block at once.
//!
//! Plain loops over the lanes, one for each step, which become a few vector instructions each.
//! Nothing is fused or reordered: each width of vector instruction gives the same bits.

use crate::learn::cluster::lanes::{LANES, Lanes};

/// Lanes filled by a function of the lane's number.
#[inline(always)]
pub(super) fn per_lane(of: impl Fn(usize) -> f32) -> Lanes {
    let mut lanes = Lanes::ZERO;
    for lane in 0..LANES {
        lanes.0[lane] = of(lane);
    }
    lanes
}

/// Adds `factor * lanes`.
#[inline(always)]
pub(super) fn add(to: &mut Lanes, lanes: &Lanes, factor: f32) {
    for lane in 0..LANES {
        to.0[lane] += factor * lanes.0[lane];
    }
}

/// Each lane with its magnitude made smaller by that of `by`, or 0 if it is not larger.
#[inline(always)]
pub(super) fn shrink(lanes: &Lanes, by: &Lanes) -> Lanes {
    per_lane(|lane| lanes.0[lane] - lesser(greater(lanes.0[lane], -by.0[lane]), by.0[lane]))
}

/// A sign for each lane: 1 where its bit is set, else -1.
#[inline(always)]
pub(super) fn to_signs(signs: u16) -> Lanes {
    // Most rows are negative for all labels of a block.
    if signs == 0 {
        return Lanes([-1.0; LANES]);
    }
    per_lane(|lane| if signs >> lane & 1 == 1 { 1.0 } else { -1.0 })
}

/// The greater of two numbers. Unlike `f32::max` it needs no case for NaN, which vectorises better.
#[inline(always)]
pub(super) fn greater(left: f32, right: f32) -> f32 {
    if left > right { left } else { right }
}

/// The lesser of two numbers; see [`greater`].
#[inline(always)]
pub(super) fn lesser(left: f32, right: f32) -> f32 {
    if left < right { left } else { right }
}

/// The greatest value of all lanes, found by halving.
#[inline(always)]
pub(super) fn greatest(lanes: &Lanes) -> f32 {
    let mut lanes = lanes.0;
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            lanes[lane] = greater(lanes[lane], lanes[lane + half]);
        }
    }
    lanes[0]
}

/// The largest magnitude of all lanes.
#[inline(always)]
pub(super) fn largest_magnitude(lanes: &Lanes) -> f32 {
    greatest(&per_lane(|lane| lanes.0[lane].abs()))
}

/// 1 / (1 + exp(-x)) to seven digits.
#[inline(always)]
pub(super) fn sigmoid(x: &Lanes) -> Lanes {
    let power = per_lane(|lane| exp(-x.0[lane]));
    per_lane(|lane| 1.0 / (1.0 + power.0[lane]))
}

/// The exponential function to seven digits, of numbers clamped to [-87, 87].
///
/// Without branches, so that a loop over lanes becomes vector instructions: e^x = 2^n e^r with a
/// whole n and |r| <= ln(2) / 2, where a polynomial is exact enough (Cephes' coefficients).
#[inline(always)]
fn exp(x: f32) -> f32 {
    /// Adding it to a number rounds that to a whole number and leaves it in the last bits of the sum.
    const ROUND: f32 = 12_582_912.0;
    /// ln(2) in two parts: the first times a small whole number is exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    const SERIES: [f32; 6] =
        [1.987_569_2e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5];
    let x = greater(lesser(x, 87.0), -87.0);
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let whole = rounded - ROUND;
    let rest = x - whole * LN_2[0] - whole * LN_2[1];
    let mut sum = SERIES[0];
    for coefficient in &SERIES[1..] {
        sum = sum * rest + coefficient;
    }
    let sum = sum * rest * rest + rest + 1.0;
    let exponent = rounded.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127);
    sum * f32::from_bits(exponent << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_function_has_seven_digits() {
        for step in -8600..=8600 {
            let x = step as f32 / 100.0;
            let right = libm::exp(f64::from(x));
            let error = (f64::from(exp(x)) / right - 1.0).abs();
            assert!(error < 2.5e-7, "exp({x}) is {} and not {right}", exp(x));
        }
    }

    #[test]
    fn far_out_the_sigmoid_stays_within_its_bounds() {
        let x = per_lane(|lane| [f32::MIN, -200.0, 0.0, 200.0, f32::MAX][lane % 5]);
        let shares = sigmoid(&x);
        assert!(shares.0[0] > 0.0 && shares.0[0] < 1e-37);
        assert_eq!(shares.0[2..5], [0.5, 1.0, 1.0]);
    }

    #[test]
    fn the_largest_magnitude_may_be_that_of_a_negative_lane() {
        let mut lanes = Lanes::ZERO;
        (lanes.0[3], lanes.0[9]) = (2.0, -3.0);
        assert_eq!((greatest(&lanes), largest_magnitude(&lanes)), (2.0, 3.0));
    }

    #[test]
    fn bits_become_signs() {
        assert_eq!(to_signs(0), Lanes([-1.0; LANES]));
        assert_eq!(to_signs(0b101).0[..4], [1.0, -1.0, 1.0, -1.0]);
    }
}
