//! The table of settings: each setting is written once, beside the code that uses it.
//!
//! The `settings!` macro makes a struct of settings and its table from one list:
//! name, type, default, range, help, and the values that tuning tries. The command's flags and help,
//! the checks of values, Python's constructors and the guide's tables are made from the table.

mod favour;
mod shown;

pub use favour::Favour;
pub use shown::{shown_number, with_short_numbers};

use serde::Deserialize as _;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use thiserror::Error;

/// A setting that nothing can be made with.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{setting} is {found}, but must be {expected}")]
pub struct ParamError {
    /// The setting's name, the same in the command, in Rust and in Python.
    pub setting: Cow<'static, str>,
    /// What was given.
    pub found: String,
    /// What is allowed.
    pub expected: String,
}

impl ParamError {
    /// The error of one setting.
    pub fn new(
        setting: impl Into<Cow<'static, str>>,
        found: impl Display,
        expected: impl Into<String>,
    ) -> Self {
        ParamError { setting: setting.into(), found: found.to_string(), expected: expected.into() }
    }
}

/// One row of a table of settings.
///
/// ```
/// use labelwood::Settings;
/// let craftml = Settings::named("craftml").unwrap();
/// let branches = craftml.table().into_iter().find(|setting| setting.name == "branches").unwrap();
/// assert_eq!(branches.kind.to_string(), "from 2 to 16");
/// assert!(branches.check(&20.into()).is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The name in Rust, in Python and in model files; flags have `-` for `_`.
    pub name: &'static str,
    /// What it does, in a sentence or two.
    pub help: String,
    /// Which values are possible.
    pub kind: Kind,
    /// Whether it may be left open, for an automatic choice.
    pub is_optional: bool,
    /// Whether most people want to know of it.
    pub is_common: bool,
    /// Whether the command and Python have a flag and a parameter of their own for it.
    pub is_elsewhere: bool,
    /// For one that is on by default: the command's flag that turns it off, and that flag's help.
    pub off: Option<(&'static str, &'static str)>,
    /// The values that tuning tries, the default among them; none if it leaves the setting alone.
    pub tried: Vec<Value>,
}

/// Which values a setting may have.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// Whole numbers within bounds, both included.
    Whole {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// Finite numbers within bounds.
    Number {
        /// The least.
        least: f64,
        /// Whether the least itself is refused.
        is_above: bool,
        /// The most, included.
        most: f64,
        /// Whether it is kept in single precision.
        is_single: bool,
    },
    /// True or false.
    Flag,
    /// One of some names.
    Choice(&'static [&'static str]),
    /// A list of algorithms with their settings.
    Parts,
    /// From how many to how many in a row, both from 1 to 100.
    Lengths,
    /// A whole number of documents, or a share of them with a decimal point.
    CountOrShare,
    /// A list of words, or the name of one.
    Words,
}

/// What may be typed for a value of this kind.
impl Display for Kind {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Kind::Whole { least: 0, most } if most < MOST_WHOLE => {
                write!(out, "at most {}", digits(most))
            }
            Kind::Whole { least, most } if most < MOST_WHOLE => {
                write!(out, "from {} to {}", digits(least), digits(most))
            }
            Kind::Whole { least: 0, .. } => write!(out, "a whole number"),
            Kind::Whole { least, .. } => write!(out, "at least {}", digits(least)),
            Kind::Number { least, is_above: true, most, .. } if most < f64::MAX => {
                write!(out, "above {least} and at most {}", short(most))
            }
            Kind::Number { least, most, .. } if most < f64::MAX => {
                write!(out, "from {least} to {}", short(most))
            }
            Kind::Number { least, .. } => write!(out, "a number that is at least {least}"),
            Kind::Flag => write!(out, "true or false"),
            Kind::Choice(names) => write!(out, "one of {}", names.join(", ")),
            Kind::Parts => write!(out, "a list of algorithms with their settings"),
            Kind::Lengths => write!(out, "a smaller and a larger length, both from 1 to 100"),
            Kind::CountOrShare => write!(out, "from 0.0 to 1.0, or a whole number"),
            Kind::Words => write!(out, "a language, auto, or a list of words"),
        }
    }
}

/// Larger bounds of whole numbers are as good as none.
const MOST_WHOLE: u64 = i64::MAX as u64;

/// A number with a comma between thousands from 10,000 on.
fn digits(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        _ => format!("{},{:03}", digits_above(number / 1000), number % 1000),
    }
}

fn digits_above(number: u64) -> String {
    if number < 1000 {
        number.to_string()
    } else {
        format!("{},{:03}", digits_above(number / 1000), number % 1000)
    }
}

/// A bound as people write it: 1e9, not 1000000000.
fn short(number: f64) -> String {
    if number >= 1e5 { format!("{number:e}") } else { number.to_string() }
}

/// A type that settings may have.
pub trait SettingType {
    /// Its values.
    const KIND: Kind;
    /// Whether a setting of this type may be left open.
    const IS_OPTIONAL: bool = false;

    /// A number that is not finite, as people write it: JSON has none, and would take it for a setting
    /// that is left open.
    fn not_finite(&self) -> Option<String> {
        None
    }
}

impl SettingType for usize {
    const KIND: Kind = Kind::Whole { least: 0, most: u64::MAX };
}

impl SettingType for u64 {
    const KIND: Kind = <usize as SettingType>::KIND;
}

macro_rules! numbers {
    ($($number:ty: $is_single:literal),*) => {
        $(impl SettingType for $number {
            const KIND: Kind =
                Kind::Number { least: 0.0, is_above: false, most: f64::MAX, is_single: $is_single };

            fn not_finite(&self) -> Option<String> {
                (!self.is_finite()).then(|| self.to_string())
            }
        })*
    };
}

numbers!(f32: true, f64: false);

impl SettingType for bool {
    const KIND: Kind = Kind::Flag;
}

impl SettingType for (usize, usize) {
    const KIND: Kind = Kind::Lengths;
}

impl<T: SettingType> SettingType for Option<T> {
    const KIND: Kind = T::KIND;
    const IS_OPTIONAL: bool = true;

    fn not_finite(&self) -> Option<String> {
        self.as_ref().and_then(T::not_finite)
    }
}

impl Setting {
    /// A setting of a type, with any value that the type has.
    pub fn new<T: SettingType>(name: &'static str, help: &str) -> Self {
        Setting {
            name,
            help: help.split_whitespace().collect::<Vec<_>>().join(" "),
            kind: T::KIND,
            is_optional: T::IS_OPTIONAL,
            is_common: false,
            is_elsewhere: false,
            off: None,
            tried: Vec::new(),
        }
    }

    /// Numbers from the one to the other.
    #[must_use]
    pub fn within(mut self, from: f64, to: f64) -> Self {
        match &mut self.kind {
            Kind::Whole { least, most } => (*least, *most) = (from as u64, to as u64),
            Kind::Number { least, most, .. } => (*least, *most) = (from, to),
            _ => {}
        }
        self
    }

    /// Numbers from this one on.
    #[must_use]
    pub fn least(self, from: f64) -> Self {
        self.within(from, f64::MAX)
    }

    /// Numbers above the one and up to the other.
    #[must_use]
    pub fn above(self, from: f64, to: f64) -> Self {
        let mut setting = self.within(from, to);
        if let Kind::Number { is_above, .. } = &mut setting.kind {
            *is_above = true;
        }
        setting
    }

    /// One that most people want to know of.
    #[must_use]
    pub fn common(self) -> Self {
        Setting { is_common: true, ..self }
    }

    /// One that the command and Python have in another place.
    #[must_use]
    pub fn elsewhere(self) -> Self {
        Setting { is_elsewhere: true, ..self }
    }

    /// One that this flag of the command turns off.
    #[must_use]
    pub fn off(self, flag: &'static str, help: &'static str) -> Self {
        Setting { off: Some((flag, help)), ..self }
    }

    /// One that tuning tries these values of.
    #[must_use]
    pub fn tried(self, values: impl IntoIterator<Item = Value>) -> Self {
        Setting { tried: values.into_iter().collect(), ..self }
    }

    /// The name as a flag of the command, without the dashes.
    pub fn flag(&self) -> String {
        self.off.map_or_else(|| self.name.replace('_', "-"), |(flag, _)| flag.to_owned())
    }

    /// Refuses a value that the setting may not have.
    pub fn check(&self, value: &Value) -> Result<(), ParamError> {
        let is_right = match (&self.kind, value) {
            (_, Value::Null) => self.is_optional,
            (Kind::Whole { least, most }, _) => {
                value.as_u64().is_some_and(|value| (*least..=*most).contains(&value))
            }
            (&Kind::Number { least, is_above, most, .. }, _) => {
                value.as_f64().is_some_and(|value| {
                    (if is_above { value > least } else { value >= least }) && value <= most
                })
            }
            (Kind::Flag, _) => value.is_boolean(),
            (Kind::Choice(names), _) => value.as_str().is_some_and(|name| names.contains(&name)),
            (Kind::Parts, _) => value.is_array(),
            (Kind::Lengths, _) => <(u64, u64)>::deserialize(value)
                .is_ok_and(|(least, most)| 1 <= least && least <= most && most <= 100),
            (Kind::CountOrShare, _) => {
                value.is_u64() || value.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share))
            }
            (Kind::Words, _) => value.is_string() || value.is_object(),
        };
        if is_right {
            return Ok(());
        }
        Err(ParamError::new(self.name, self.shown(value), self.kind.to_string()))
    }

    /// A value as people write it: 0.1 where single precision has 0.10000000149.
    pub fn shown(&self, value: &Value) -> String {
        match (&self.kind, value) {
            (_, Value::String(text)) => text.clone(),
            (Kind::Number { .. }, Value::Null) if !self.is_optional => {
                "no finite number".to_owned()
            }
            (&Kind::Number { is_single, .. }, Value::Number(number)) => match number.as_f64() {
                Some(value) if is_single => (value as f32).to_string(),
                Some(value) => shown_number(value),
                None => number.to_string(),
            },
            (_, Value::Null) => "auto".to_owned(),
            (Kind::Lengths, Value::Array(lengths)) => {
                lengths.iter().map(Value::to_string).collect::<Vec<_>>().join(",")
            }
            (_, other) => other.to_string(),
        }
    }
}

/// Refuses the first value that its setting may not have.
pub(crate) fn check_all(table: &[Setting], values: &Value) -> Result<(), ParamError> {
    table.iter().try_for_each(|setting| setting.check(&values[setting.name]))
}

/// Makes a struct of settings, its defaults and its table from one list.
///
/// Each line is a setting: its help as a doc comment, its name, type and default, and then rules,
/// which are methods of [`Setting`]. A last line that starts with `..` takes in the settings of
/// another such struct.
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $Params:ident {
            $(
                $(#[doc = $help:literal])*
                $(#[serde($($serde:tt)*)])?
                $name:ident: $type:ty = $default:expr $(, $rule:ident($($args:tt)*))*;
            )*
            $(
                .. $(#[doc = $inner_help:literal])*
                $inner:ident: $Inner:ty = $inner_default:expr;
            )?
        }
    ) => {
        $(#[$meta])*
        pub struct $Params {
            $(
                $(#[doc = $help])*
                $(#[serde($($serde)*)])?
                pub $name: $type,
            )*
            $(
                $(#[doc = $inner_help])*
                #[serde(flatten)]
                pub $inner: $Inner,
            )?
        }

        impl Default for $Params {
            fn default() -> Self {
                $Params { $($name: $default,)* $($inner: $inner_default,)? }
            }
        }

        impl $Params {
            /// The table of these settings, in the order in which help and docs list them.
            pub fn table() -> Vec<$crate::base::settings::Setting> {
                #[allow(unused_mut)]
                let mut table = vec![$(
                    $crate::base::settings::Setting::new::<$type>(
                        stringify!($name),
                        concat!($($help, "\n"),*),
                    )$(.$rule($($args)*))*,
                )*];
                $(table.extend(<$Inner>::table());)?
                table
            }

            /// Refuses the first value that its setting may not have.
            pub(crate) fn check_values(&self) -> Result<(), $crate::base::settings::ParamError> {
                let mut values = serde_json::to_value(self).expect("settings are plain JSON");
                self.tell_not_finite(&mut values);
                $crate::base::settings::check_all(&Self::table(), &values)
            }

            /// Writes what JSON has no number for as text.
            pub(crate) fn tell_not_finite(&self, values: &mut serde_json::Value) {
                $(
                    if let Some(text) = $crate::base::settings::SettingType::not_finite(&self.$name) {
                        values[stringify!($name)] = text.into();
                    }
                )*
                $(self.$inner.tell_not_finite(values);)?
            }
        }
    };
}

/// Makes an enum that a setting chooses from, with the names that flags and files have for it.
macro_rules! choices {
    (
        $(#[$meta:meta])*
        pub enum $Name:ident {
            $($(#[$variant_meta:meta])* $Variant:ident = $name:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $Name {
            $($(#[$variant_meta])* #[serde(rename = $name)] $Variant,)*
        }

        impl $Name {
            /// The names of all values.
            pub const NAMES: &'static [&'static str] = &[$($name),*];
        }

        impl $crate::base::settings::SettingType for $Name {
            const KIND: $crate::base::settings::Kind =
                $crate::base::settings::Kind::Choice($Name::NAMES);
        }
    };
}

pub(crate) use {choices, settings};

#[cfg(test)]
#[allow(unreachable_pub)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    choices! {
        /// A colour.
        pub enum Colour {
            /// Like grass.
            Green = "green",
            /// Like snow.
            White = "white",
        }
    }

    settings! {
        /// Settings of a garden.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub struct Garden {
            /// How many
            /// beds there are.
            beds: usize = 12, within(1.0, 40_000.0), tried([json!(12), json!(6)]), common();
            /// The share of it that is lawn.
            lawn: Option<f32> = Some(0.5), above(0.0, 1.0);
            /// Its colour.
            colour: Colour = Colour::Green;
            /// Whether it has a fence.
            fence: bool = true;
            /// How deep its well is.
            depth: f64 = 3.0;
            ..
            /// The shed.
            shed: Shed = Shed { doors: 2 };
        }
    }

    settings! {
        /// Settings of a shed.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub struct Shed {
            /// How many doors it has.
            doors: u64 = 1, least(1.0);
        }
    }

    fn refused(name: &str, value: Value) -> String {
        let table = Garden::table();
        let setting = table.iter().find(|setting| setting.name == name).unwrap();
        setting.check(&value).unwrap_err().to_string()
    }

    #[test]
    fn the_struct_its_defaults_and_its_table_come_from_one_list() {
        let garden = Garden { beds: 6, ..Garden::default() };
        assert_eq!((garden.shed.doors, garden.lawn), (2, Some(0.5)));
        let table = Garden::table();
        let names: Vec<_> = table.iter().map(|setting| setting.name).collect();
        assert_eq!(names, ["beds", "lawn", "colour", "fence", "depth", "doors"]);
        assert_eq!(table[0].help, "How many beds there are.");
        assert_eq!((table[0].is_common, table[0].tried.len()), (true, 2));
        assert!(table[1].is_optional && !table[2].is_optional);
        check_all(&table, &serde_json::to_value(&garden).unwrap()).unwrap();
    }

    #[test]
    fn a_wrong_value_is_refused_with_what_is_right() {
        assert_eq!(refused("beds", json!(0)), "beds is 0, but must be from 1 to 40,000");
        assert_eq!(refused("lawn", json!(0.0)), "lawn is 0, but must be above 0 and at most 1");
        let ten = json!(f64::from(1.1f32));
        assert_eq!(refused("lawn", ten), "lawn is 1.1, but must be above 0 and at most 1");
        assert_eq!(
            refused("colour", json!("red")),
            "colour is red, but must be one of green, white"
        );
        assert_eq!(refused("fence", json!(1)), "fence is 1, but must be true or false");
        assert_eq!(refused("doors", json!(0)), "doors is 0, but must be at least 1");
        let nan = serde_json::to_value(f64::NAN).unwrap();
        let expected = "depth is no finite number, but must be a number that is at least 0";
        assert_eq!(refused("depth", nan), expected);
    }

    #[test]
    fn what_is_no_finite_number_is_not_left_open() {
        let garden = |lawn, depth| Garden { lawn, depth, ..Garden::default() };
        garden(None, 3.0).check_values().unwrap();
        let refused = |garden: Garden| garden.check_values().unwrap_err().to_string();
        let lawn = "but must be above 0 and at most 1";
        assert_eq!(refused(garden(Some(f32::NAN), 3.0)), format!("lawn is NaN, {lawn}"));
        assert_eq!(refused(garden(Some(f32::INFINITY), 3.0)), format!("lawn is inf, {lawn}"));
        let depth = "depth is NaN, but must be a number that is at least 0";
        assert_eq!(refused(garden(None, f64::NAN)), depth);
        garden(None, 3.0).shed.check_values().unwrap();
    }
}
