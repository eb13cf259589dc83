//! An algorithm with its settings, whichever it is.

use super::{ALGORITHMS, Algorithm};
use crate::base::settings::ParamError;
use crate::learn::favour::{Favour, Scores};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::fmt::{self, Debug, Formatter};
use std::ops::Deref;

/// An algorithm with its settings.
///
/// ```
/// use labelwood::Settings;
/// use labelwood::algorithms::craftml;
/// let settings = Settings::named("craftml").unwrap().set("trees", 10)?;
/// assert_eq!(settings, craftml::Params { trees: 10, ..Default::default() }.into());
/// assert!(settings.set("branches", 99).is_err());
/// assert!(settings.set("submodels", 9).is_err());
/// # Ok::<(), labelwood::settings::ParamError>(())
/// ```
pub struct Settings(Box<dyn Algorithm>);

/// A setting and the values that tuning tries.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The name; of a part of an algorithm, after that of the part and a point.
    pub setting: String,
    /// The values.
    pub values: Vec<Value>,
}

/// Why a setting was not given a value.
#[derive(Clone, Debug, PartialEq)]
pub enum SetError {
    /// The algorithm has no such setting.
    Unknown,
    /// The value is of another type.
    Wrong(String),
}

impl<P: Algorithm + 'static> From<P> for Settings {
    fn from(params: P) -> Self {
        Settings(Box::new(params))
    }
}

impl Deref for Settings {
    type Target = dyn Algorithm;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl Clone for Settings {
    fn clone(&self) -> Self {
        self.0.to_settings()
    }
}

impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.values() == other.values()
    }
}

impl Debug for Settings {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// The values with the name of the algorithm beside them.
impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut values = self.values();
        values["algorithm"] = self.name().into();
        values.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut values = Map::deserialize(deserializer)?;
        let name = values.remove("algorithm").unwrap_or_default();
        let known = name.as_str().and_then(Settings::named);
        let known = known.ok_or_else(|| D::Error::custom(format!("{name} is no algorithm")))?;
        known.parse(values.into()).map_err(D::Error::custom)
    }
}

impl Default for Settings {
    /// What is trained unless something else is asked for: the first algorithm, with its defaults.
    ///
    /// ```
    /// assert_eq!(labelwood::Settings::default().name(), "grove");
    /// ```
    fn default() -> Self {
        ALGORITHMS[0]()
    }
}

impl Settings {
    /// The default settings of an algorithm by its type; a line of [`ALGORITHMS`].
    pub fn default_of<P: Algorithm + Default + 'static>() -> Settings {
        P::default().into()
    }

    /// The default settings of all algorithms.
    pub fn all() -> impl Iterator<Item = Settings> {
        ALGORITHMS.iter().map(|default| default())
    }

    /// The names of all algorithms.
    pub fn names() -> Vec<&'static str> {
        Self::all().map(|settings| settings.name()).collect()
    }

    /// The default settings of the algorithm of that name.
    pub fn named(name: &str) -> Option<Settings> {
        Self::all().find(|settings| settings.name() == name)
    }

    /// The settings of a preset of an algorithm.
    ///
    /// ```
    /// use labelwood::Settings;
    /// assert!(Settings::preset("label-tree", "bonsai").is_some());
    /// assert!(Settings::preset("craftml", "bonsai").is_none());
    /// ```
    pub fn preset(name: &str, preset: &str) -> Option<Settings> {
        let presets = Self::named(name)?.presets();
        presets.into_iter().find(|(name, _)| *name == preset).map(|(_, settings)| settings)
    }

    /// The settings of the algorithm of that name, with values as [`Values::values`] gives them; else
    /// what is wrong with them.
    ///
    /// [`Values::values`]: super::Values::values
    pub fn from_values(name: &str, values: Value) -> Result<Settings, String> {
        let known = Self::named(name)
            .ok_or_else(|| format!("`{name}` is no algorithm that this version knows"))?;
        let settings = known.parse(values)?;
        settings.check().map_err(|error| error.to_string())?;
        Ok(settings)
    }

    /// The settings with another value of one of them, checked.
    pub fn set(&self, setting: &str, value: impl Into<Value>) -> Result<Settings, ParamError> {
        let value = value.into();
        let refused = |expected| ParamError::new(setting.to_owned(), &value, expected);
        let settings = self.with(setting, &value).map_err(|error| match error {
            SetError::Unknown => refused(format!("left out: {} has no such setting", self.name())),
            SetError::Wrong(reason) => refused(format!("another value: {reason}")),
        })?;
        settings.check()?;
        Ok(settings)
    }

    /// The settings with some of their parts; nothing if no part is kept.
    pub fn keeping(&self, keep: impl Fn(&Settings) -> bool) -> Option<Settings> {
        let kept: Vec<&Settings> = self.parts().iter().filter(|part| keep(part)).collect();
        let mut values = self.values();
        values["parts"] = serde_json::to_value(&kept).ok()?;
        self.parse(values).ok().filter(|_| !kept.is_empty())
    }

    /// The number that every random choice follows from.
    pub fn seed(&self) -> u64 {
        self.find("seed").and_then(|seed| seed.as_u64()).unwrap_or(0)
    }

    /// The settings as they serve what is favoured, where they are left open.
    #[must_use]
    pub fn favour(&self, favour: Favour) -> Settings {
        self.favouring(Some(favour))
    }

    /// What the scores are like, which decides how rare labels are ranked before frequent ones.
    pub fn scores(&self, is_calibrated: bool) -> Scores {
        if is_calibrated { Scores::Probabilities } else { self.facts().scores }
    }

    /// What it is made of, such as `30 trees and 3 label trees`; `a model` if that cannot be counted.
    pub fn describe_size(&self) -> String {
        let size = |size: &super::Size| match size.count {
            1 => format!("one {}", size.noun),
            count => format!("{count} {}s", size.noun),
        };
        let sizes: Vec<String> = self.size().iter().map(size).collect();
        if sizes.is_empty() { "a model".to_owned() } else { sizes.join(" and ") }
    }
}
