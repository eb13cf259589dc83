//! Drawing from a fixed discrete distribution in constant time (Walker's alias method).

/// A distribution over `0..len`.
pub(super) struct Alias {
    /// For each slot: the chance, of 2^32, to keep it, and what is drawn otherwise.
    slots: Vec<(u32, u32)>,
}

impl Alias {
    /// The distribution in which `rank` has the weight `(rank + shift)^-exponent`.
    pub(super) fn power_law(len: usize, shift: f64, exponent: f64) -> Self {
        let weight = |rank: usize| libm::pow(rank as f64 + shift, -exponent);
        Self::new(&(0..len).map(weight).collect::<Vec<f64>>())
    }

    /// The distribution with the given weights: at least one, all positive.
    fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let mut scaled: Vec<f64> =
            weights.iter().map(|weight| weight / total * weights.len() as f64).collect();
        let mut slots: Vec<(u32, u32)> =
            (0..weights.len() as u32).map(|at| (u32::MAX, at)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|&at| scaled[at] < 1.0);
        while let (Some(poor), Some(&rich)) = (small.pop(), large.last()) {
            slots[poor] = ((scaled[poor] * 4_294_967_296.0) as u32, rich as u32);
            scaled[rich] -= 1.0 - scaled[poor];
            if scaled[rich] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        Alias { slots }
    }

    /// What 64 random bits draw.
    #[inline]
    pub(super) fn draw(&self, bits: u64) -> u32 {
        let at = ((bits >> 32) * self.slots.len() as u64) >> 32;
        let (keep, other) = self.slots[at as usize];
        if (bits as u32) < keep { at as u32 } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_weights() {
        let alias = Alias::new(&[1.0, 2.0, 5.0]);
        let mut counts = [0; 3];
        // Evenly spread bits take the place of random ones.
        for slot in 0..300u64 {
            for low in 0..100u64 {
                let bits = ((slot * (1 << 32) / 300) << 32) | (low * (1 << 32) / 100);
                counts[alias.draw(bits) as usize] += 1;
            }
        }
        for (count, share) in counts.into_iter().zip([1.0 / 8.0, 2.0 / 8.0, 5.0 / 8.0]) {
            assert!((f64::from(count) / 30_000.0 - share).abs() < 0.01, "{counts:?}");
        }
    }

    #[test]
    fn a_single_outcome_is_always_drawn() {
        let alias = Alias::power_law(1, 1.0, 1.0);
        assert_eq!([0, 1, u64::MAX].map(|bits| alias.draw(bits)), [0; 3]);
    }
}
