//! JSON as its schema means it: numbers are whole however they are written (`5` and `5.0` are the same), and a
//! list is no object, though serde would take its items for the fields.

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;

/// Something with named fields.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) T);

struct ObjectVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with named fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor(std::marker::PhantomData))
    }
}

/// A whole number, from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Whole<T>(pub(crate) T);

struct WholeVisitor<T>(std::marker::PhantomData<T>);

impl<T: TryFrom<u64>> Visitor<'_> for WholeVisitor<T> {
    type Value = Whole<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a whole number from 0 (of {} bits)", 8 * size_of::<T>())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        let refused = |_| E::invalid_value(de::Unexpected::Unsigned(number), &self);
        T::try_from(number).map(Whole).map_err(refused)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        // From here on there are no whole numbers between others.
        let most = 2f64.powi(53);
        if (0.0..=most).contains(&number) && number.fract() == 0.0 {
            return self.visit_u64(number as u64);
        }
        Err(E::invalid_value(de::Unexpected::Float(number), &self))
    }
}

impl<'de, T: TryFrom<u64>> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WholeVisitor(std::marker::PhantomData))
    }
}

/// Reads a number that may be left out.
pub(crate) fn optional<'de, D: Deserializer<'de>, T: TryFrom<u64>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(Option::<Whole<T>>::deserialize(deserializer)?.map(|Whole(number)| number))
}

/// Reads a list of numbers.
pub(crate) fn list<'de, D: Deserializer<'de>, T: TryFrom<u64>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let all = Vec::<Whole<T>>::deserialize(deserializer)?;
    Ok(all.into_iter().map(|Whole(number)| number).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_no_object() {
        #[derive(serde::Deserialize)]
        struct Pair {
            left: u8,
            right: u8,
        }
        let read = |text: &str| serde_json::from_str::<Object<Pair>>(text);
        let Object(Pair { left, right }) = read("{\"right\":2,\"left\":1}").unwrap();
        assert_eq!((left, right), (1, 2));
        for text in ["[1,2]", "null", "1", "{\"left\":1}"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_without_a_fraction_are_whole_however_they_are_written() {
        let read = |text: &str| serde_json::from_str::<Whole<u32>>(text).map(|it| it.0).ok();
        for (text, number) in
            [("0", 0), ("5.0", 5), ("5e1", 50), ("4294967295", u32::MAX), ("-0.0", 0)]
        {
            assert_eq!(read(text), Some(number), "{text}");
        }
        for text in
            ["0.5", "-1", "-1.0", "4294967296", "4294967296.0", "1e300", "\"5\"", "null", "[5]"]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
