//! Numbers as people write them, though JSON keeps them in double precision.

use serde_json::Value;

/// A number as people write it: 0.1 where single precision has 0.10000000149.
///
/// ```
/// use labelwood::settings::shown_number;
/// assert_eq!(shown_number(f64::from(0.1f32)), "0.1");
/// assert_eq!(shown_number(0.1), "0.1");
/// assert_eq!(shown_number(1.0 / 3.0), "0.3333333333333333");
/// ```
pub fn shown_number(number: f64) -> String {
    let single = number as f32;
    if f64::from(single) == number { single.to_string() } else { number.to_string() }
}

/// The same value with numbers of single precision written as such. They are the same when they are read
/// in single precision again.
///
/// ```
/// use labelwood::settings::with_short_numbers;
/// use serde_json::json;
/// let settings = json!({"tolerance": 0.1f32, "trees": [3, 0.25]});
/// assert_eq!(with_short_numbers(&settings).to_string(), r#"{"tolerance":0.1,"trees":[3,0.25]}"#);
/// ```
pub fn with_short_numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let short = number.as_f64().and_then(|number| shown_number(number).parse::<f64>().ok());
            short.map_or_else(|| value.clone(), Value::from)
        }
        Value::Array(values) => values.iter().map(with_short_numbers).collect(),
        Value::Object(map) => {
            let short =
                |(name, value): (&String, &Value)| (name.clone(), with_short_numbers(value));
            Value::Object(map.iter().map(short).collect())
        }
        other => other.clone(),
    }
}
