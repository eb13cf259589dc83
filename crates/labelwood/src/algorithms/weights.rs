//! The unit of the weights of features, which all algorithms have that weight them.

use super::{Role, UnitSink, UnitSpec};
use crate::base::array::Array;
use crate::base::store::{FormatError, StoreError, Stored};
use crate::learn::weighting::FeatureWeights;

const NAME: &str = "features";

/// The unit.
pub(super) fn unit() -> UnitSpec {
    UnitSpec::new(NAME, Role::Prepared)
}

/// Writes the weights, if there are any.
pub(super) fn write(weights: &FeatureWeights, units: &UnitSink<'_>) -> Result<(), StoreError> {
    match &weights.0 {
        Some(weights) if units.lacks(NAME) => units.write(NAME, &[("weights", weights[..].into())]),
        _ => Ok(()),
    }
}

/// The weights of the features, if there are any, and the number of features.
pub(super) fn read(stored: &Stored) -> Result<(FeatureWeights, usize), FormatError> {
    let declared = stored.manifest().features;
    // Columns are 32-bit numbers everywhere; more would ask for memory that no model needs.
    let Ok(features) = u32::try_from(declared) else {
        return Err(stored.refused(format!("{declared} features are too many")));
    };
    let features = features as usize;
    if !stored.manifest().units.iter().any(|unit| unit.name() == NAME) {
        return Ok((FeatureWeights(None), features));
    }
    let unit = stored.unit(NAME)?;
    let weights: Array<f32> = unit.array("weights")?;
    if weights.len() != features || !weights.iter().all(|weight| weight.is_finite()) {
        return Err(unit.refused("its weights do not fit the features"));
    }
    Ok((FeatureWeights(Some(weights)), features))
}
