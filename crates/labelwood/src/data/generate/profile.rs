//! The shapes of public data sets.

use crate::base::settings::ParamError;

/// The shape of a synthetic data set.
///
/// ```
/// use labelwood::data::generate::Profile;
/// let profile = Profile::named("amazon-670k").unwrap();
/// assert_eq!(profile.labels, 670_091);
/// let smaller = Profile { instances: 1000, ..profile };
/// smaller.check()?;
/// # Ok::<(), labelwood::settings::ParamError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Training rows. Rows do not depend on it: fewer rows are the first of more.
    pub instances: u64,
    /// Test rows.
    pub test_instances: u64,
    /// Features.
    pub features: u32,
    /// Labels.
    pub labels: u32,
    /// Mean number of features of a row.
    pub entries_per_row: f64,
    /// Mean number of labels of a row.
    pub labels_per_row: f64,
    /// How unequal labels are: the label of rank r has a weight of about r to the power of minus
    /// this. 0.5 is mild, 1 is Zipf's law.
    pub skew: f64,
}

impl Profile {
    /// The names that [`Profile::named`] knows.
    pub const NAMES: [&'static str; 5] =
        ["eurlex-4k", "wiki10-31k", "delicious-200k", "amazon-670k", "amazon-3m"];

    /// The shape of a public data set.
    pub fn named(name: &str) -> Option<Self> {
        let (instances, test_instances, features, labels, entries_per_row, labels_per_row, skew) =
            match name {
                "eurlex-4k" => (15_539, 3_809, 5_000, 3_993, 237.0, 5.3, 0.75),
                "wiki10-31k" => (14_146, 6_616, 101_938, 30_938, 673.0, 18.6, 1.0),
                "delicious-200k" => (196_606, 100_095, 782_585, 205_443, 302.0, 75.5, 0.75),
                "amazon-670k" => (490_449, 153_025, 135_909, 670_091, 76.0, 5.45, 0.55),
                "amazon-3m" => (1_717_899, 742_507, 337_067, 2_812_281, 50.0, 36.0, 0.5),
                _ => return None,
            };
        Some(Profile {
            instances,
            test_instances,
            features,
            labels,
            entries_per_row,
            labels_per_row,
            skew,
        })
    }

    /// Refuses shapes that no rows can have.
    pub fn check(&self) -> Result<(), ParamError> {
        let within = |setting, found: f64, least: f64, most: f64| {
            if (least..=most).contains(&found) {
                return Ok(());
            }
            Err(ParamError::new(setting, found, format!("from {least} to {most}")))
        };
        let (features, labels) = (f64::from(self.features), f64::from(self.labels));
        let rows = super::TEST_START as f64;
        within("instances", self.instances as f64, 0.0, rows)?;
        within("test_instances", self.test_instances as f64, 0.0, rows)?;
        within("features", features, 2.0, f64::from(i32::MAX))?;
        within("labels", labels, 2.0, f64::from(i32::MAX))?;
        // At most half of all: drawing more distinct ones would take too many draws.
        within("entries_per_row", self.entries_per_row, 1.0, features / 2.0)?;
        within("labels_per_row", self.labels_per_row, 1.0, labels / 2.0)?;
        within("skew", self.skew, 0.0, 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_profile_can_be_drawn() {
        for name in Profile::NAMES {
            Profile::named(name).unwrap().check().unwrap();
        }
        assert_eq!(Profile::named("amazon"), None);
    }

    #[test]
    fn impossible_shapes_name_the_setting() {
        let good = Profile::named("eurlex-4k").unwrap();
        let refused = |profile: Profile| profile.check().unwrap_err().to_string();
        assert_eq!(
            refused(Profile { labels_per_row: 9000.0, ..good }),
            "labels_per_row is 9000, but must be from 1 to 1996.5"
        );
        assert!(refused(Profile { features: 1, ..good }).starts_with("features is 1,"));
        assert!(refused(Profile { skew: f64::NAN, ..good }).starts_with("skew is NaN,"));
    }
}
