//! `manifest.json`: what a model is and which files it consists of.
//!
//! The same model always gives the same manifest, byte for byte: keys have a fixed order, and
//! nothing in it depends on when, where or how fast the model was trained. Its `model_id` is a
//! digest of everything else in it, the units' digests included, so that a changed manifest is
//! noticed as surely as a changed unit.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use super::archive::Archive;
use super::{Digest, FormatError, StoreError, UnitFile, files};
use crate::base::settings::Favour;

/// The name of the manifest in a model's folder.
pub(super) const MANIFEST: &str = "manifest.json";
/// The format version that this build writes, and the newest that it reads.
pub(crate) const FORMAT: u64 = 1;
/// The largest manifest that is read.
pub(super) const LIMIT: u64 = 64 << 20;

/// What determines a model: two trainings that agree in this give the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// The algorithm's name, as on the command line.
    pub algorithm: String,
    /// All its settings as resolved, the seed included.
    #[serde(serialize_with = "sorted")]
    pub settings: Value,
    /// The digest of the parsed training rows.
    pub data: String,
    /// How text became these rows, if they were text.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "sorted")]
    pub text: Option<Value>,
    /// Whether scores are made probabilities.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub calibrate: bool,
    /// Whether the threshold of scores with the best micro-F1 was learned by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub threshold: bool,
    /// Which labels come before others of a better score.
    #[serde(default, skip_serializing_if = "Favour::is_none")]
    pub favour: Favour,
    /// How the model was made smaller afterwards, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "sorted")]
    pub shrunk: Option<Value>,
    /// Whether the model holds its training rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_rows: bool,
    /// The rows that were added afterwards, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub updates: Vec<Update>,
}

impl Training {
    /// A plain training of an algorithm with these settings on rows of this digest.
    pub fn of(algorithm: &str, settings: Value, data: String) -> Self {
        Training {
            algorithm: algorithm.to_owned(),
            settings,
            data,
            text: None,
            calibrate: false,
            threshold: false,
            favour: Favour::None,
            shrunk: None,
            keep_rows: false,
            updates: Vec::new(),
        }
    }
}

/// Rows that were added to a trained model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// The id of the model that they were added to.
    pub from: String,
    /// The digest of the parsed rows.
    pub data: String,
    /// How many they are.
    pub rows: u64,
    /// The digest of the names of all labels, if a vocabulary came with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<String>,
}

/// What a model consists of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// What the model was trained with.
    pub training: Training,
    /// The number of training rows.
    pub instances: u64,
    /// The number of features.
    pub features: u64,
    /// The number of labels.
    pub labels: u64,
    /// The model's files, in the algorithm's order.
    pub units: Vec<UnitFile>,
}

/// The manifest as it is in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: u64,
    #[serde(flatten)]
    training: Training,
    instances: u64,
    features: u64,
    labels: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_id: Option<Digest>,
    units: Vec<UnitFile>,
}

/// The part of a manifest that is the same in every version.
#[derive(Deserialize)]
struct Version {
    format: u64,
}

impl Manifest {
    /// Reads the manifest of a model, which is a folder or one file.
    pub fn read(place: &Path) -> Result<Self, StoreError> {
        if place.is_file() {
            return Ok(Archive::open(place)?.1);
        }
        let path = place.join(MANIFEST);
        let no_model = || StoreError::NoModel { folder: place.to_owned() };
        Ok(Self::parse(&path, &read_limited(&path, LIMIT)?.ok_or_else(no_model)?)?)
    }

    /// The bytes of the manifest's file.
    pub fn to_bytes(&self) -> Vec<u8> {
        json_bytes(&self.written(Some(self.model_id()))).expect("a manifest is plain JSON")
    }

    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, FormatError> {
        let refused = |reason: String| invalid(path, reason);
        let damaged = |error: serde_json::Error| refused(error.to_string());
        let Version { format } = serde_json::from_slice(bytes).map_err(damaged)?;
        if !(1..=FORMAT).contains(&format) {
            let here = format!("but this labelwood reads versions 1 to {FORMAT}");
            let reason = format!("format version {format}, {here}");
            return Err(FormatError::new(path, reason, "update labelwood"));
        }
        let written = serde_json::from_slice(bytes).map_err(damaged)?;
        let Written { training, instances, features, labels, units, model_id, .. } = written;
        let manifest = Manifest { training, instances, features, labels, units };
        let mut names = BTreeSet::new();
        for unit in &manifest.units {
            if !unit.has_valid_name() {
                return Err(refused(format!(
                    "`{}` is not a unit's name with the digits of its checksum",
                    unit.file
                )));
            }
            if !names.insert(unit.name()) {
                return Err(refused(format!("it names two units `{}`", unit.name())));
            }
        }
        if model_id != Some(manifest.model_id()) {
            return Err(refused("its content does not give its model_id".to_owned()));
        }
        Ok(manifest)
    }

    /// The digest of all that the manifest says: format, training, sizes and units.
    pub fn model_id(&self) -> Digest {
        let written = self.written(None);
        Digest::of(&serde_json::to_vec(&written).expect("a manifest is plain JSON"))
    }

    /// The size of the units in bytes.
    pub fn bytes(&self) -> u64 {
        self.units.iter().fold(0, |sum, unit| sum.saturating_add(unit.bytes))
    }

    /// Writes the manifest's file, which appears whole.
    pub(super) fn write(&self, folder: &Path) -> Result<(), StoreError> {
        write_json(folder, MANIFEST, &self.written(Some(self.model_id())))
    }

    fn written(&self, model_id: Option<Digest>) -> Written {
        let Manifest { training, instances, features, labels, units } = self.clone();
        Written { format: FORMAT, training, instances, features, labels, model_id, units }
    }
}

impl Training {
    /// Whether some rows were held out to learn what scores mean.
    pub(crate) fn holds_out(&self) -> bool {
        self.calibrate || self.threshold
    }

    /// The differences between this training and another, one clause for each setting.
    pub(crate) fn difference(&self, other: &Training) -> Option<String> {
        let values = |training: &Training| {
            let Training { algorithm, settings, data, text, calibrate, favour, .. } = training;
            let Training { threshold, shrunk, keep_rows, updates, .. } = training;
            [
                ("algorithm", json!(algorithm)),
                ("the digest of the data", json!(data)),
                ("calibrate", json!(calibrate)),
                ("threshold", json!(threshold)),
                ("keep_rows", json!(keep_rows)),
                ("favour", json!(favour)),
                ("updates", json!(updates)),
                ("", settings.clone()),
                ("text", json!(text)),
                ("shrunk", json!(shrunk)),
            ]
        };
        let mut clauses = Vec::new();
        for ((name, there), (_, here)) in values(self).into_iter().zip(values(other)) {
            differences(name, Some(&there), Some(&here), &mut clauses);
        }
        (!clauses.is_empty()).then(|| clauses.join(", "))
    }
}

fn differences(at: &str, there: Option<&Value>, here: Option<&Value>, clauses: &mut Vec<String>) {
    if let Some((there, here)) = there.and_then(parts).zip(here.and_then(parts)) {
        return differences("", Some(&there), Some(&here), clauses);
    }
    match (there, here) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                let inner = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                differences(&inner, left.get(key), right.get(key), clauses);
            }
        }
        (there, here) if there == here => {}
        (there, here) => {
            let show = |value: Option<&Value>| match value {
                None | Some(Value::Null) => "not set".to_owned(),
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            };
            clauses.push(format!("{at} is {} there but {} here", show(there), show(here)));
        }
    }
}

/// The settings of a list of algorithms, by their names.
fn parts(list: &Value) -> Option<Value> {
    let part = |part: &Value| Some((part["algorithm"].as_str()?.to_owned(), part.clone()));
    list.as_array()?.iter().map(part).collect::<Option<_>>().map(Value::Object)
}

/// Writes indented JSON to a file that appears whole.
pub(crate) fn write_json(
    folder: &Path,
    name: &str,
    content: &impl Serialize,
) -> Result<(), StoreError> {
    files::write_whole(folder, name, |out| {
        out.write_all(&json_bytes(content)?)?;
        Ok((name.to_owned(), ()))
    })
}

fn json_bytes(content: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(content)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads a whole file that is no longer than `limit`; none if there is no such file.
pub(crate) fn read_limited(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let failed = |error: io::Error| StoreError::io("read", path, error);
    let size = match fs::metadata(path) {
        Err(error) if is_absence(&error) => return Ok(None),
        other => other.map_err(failed)?,
    };
    if !size.is_file() {
        return Err(invalid(path, "it is not an ordinary file".to_owned()).into());
    }
    let mut bytes = Vec::new();
    if size.len() <= limit {
        let file = File::open(path).map_err(failed)?;
        file.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    }
    // The file may have grown since its size was read.
    let found = size.len().max(bytes.len() as u64);
    if found > limit {
        let reason = format!("{found} bytes, but at most {limit} are allowed here");
        return Err(FormatError::new(path, reason, "this is not a model's file").into());
    }
    Ok(Some(bytes))
}

/// The error of a manifest that is none.
pub(super) fn invalid(path: &Path, reason: String) -> FormatError {
    let reason = format!("not a valid manifest: {reason}");
    FormatError::new(path, reason, "restore the model from a copy or train it again")
}

/// Whether opening failed because there is no file or folder of that name.
pub(super) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Writes values with the keys of every object sorted, whatever order the map type keeps.
fn sorted<S: Serializer>(value: &impl Serialize, serializer: S) -> Result<S::Ok, S::Error> {
    let mut value = serde_json::to_value(value).map_err(serde::ser::Error::custom)?;
    value.sort_all_objects();
    value.serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Manifest {
        let xxh3 = Digest::of(b"content");
        let file = format!("tree-0000-{}.safetensors", xxh3.short());
        Manifest {
            training: Training::of(
                "craftml",
                json!({"trees": 50, "seed": 42, "shrink": 0.1, "inner": {"b": 1, "a": [2]}}),
                "d1".into(),
            ),
            instances: 10,
            features: 20,
            labels: 30,
            units: vec![UnitFile { file, bytes: 7, xxh3 }],
        }
    }

    fn text(manifest: &Manifest) -> String {
        let folder = tempfile::tempdir().unwrap();
        manifest.write(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), *manifest);
        fs::read_to_string(folder.path().join(MANIFEST)).unwrap()
    }

    fn parse(text: &[u8]) -> Result<Manifest, FormatError> {
        Manifest::parse(Path::new(MANIFEST), text)
    }

    #[test]
    fn keys_stand_in_their_order_and_settings_are_sorted() {
        let text = text(&example());
        let keys = [
            "format",
            "algorithm",
            "settings",
            "data",
            "instances",
            "features",
            "labels",
            "model_id",
            "units",
        ];
        let places: Vec<usize> =
            keys.map(|key| text.find(&format!("\n  \"{key}\":")).unwrap()).into();
        assert!(places.is_sorted(), "{text}");
        let inner = ["\"inner\"", "\"a\"", "\"b\"", "\"seed\"", "\"shrink\"", "\"trees\""];
        assert!(inner.map(|key| text.find(key).unwrap()).is_sorted(), "{text}");
    }

    #[test]
    fn every_flipped_byte_is_refused_or_changes_nothing() {
        let manifest = example();
        let text = text(&manifest).into_bytes();
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut flipped = text.clone();
                flipped[at] ^= 1 << bit;
                if let Ok(read) = parse(&flipped) {
                    assert_eq!(read, manifest, "byte {at}, bit {bit}");
                }
            }
        }
    }

    #[test]
    fn a_manifest_cut_short_is_refused() {
        let text = text(&example());
        for len in 0..text.len() - 1 {
            assert!(parse(&text.as_bytes()[..len]).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn a_later_version_is_named_even_when_the_rest_is_unknown() {
        let error = parse(br#"{"format": 7, "shape": "other"}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "manifest.json: format version 7, but this labelwood reads versions 1 to 1; update labelwood"
        );
        let error = parse(br#"{"format": 0}"#).unwrap_err().to_string();
        assert!(error.contains("format version 0"), "{error}");
    }

    #[test]
    fn hostile_manifests_are_refused() {
        for text in [
            &b""[..],
            b"\xff\xfe",
            b"null",
            b"[1]",
            b"{}",
            br#"{"format": -1}"#,
            br#"{"format": 1}"#,
        ] {
            assert!(parse(text).unwrap_err().to_string().contains("not a valid manifest"));
        }
        assert!(parse("[".repeat(100_000).as_bytes()).is_err());
        let mut nested = r#"{"format":1,"settings":"#.to_owned();
        nested.push_str(&"[".repeat(100_000));
        assert!(parse(nested.as_bytes()).is_err());
        let good = example();
        let names =
            ["../tree-0000-0123456789abcdef.safetensors", "/etc/passwd", "", "manifest.json", ".."];
        for name in names {
            let mut hostile = good.clone();
            hostile.units[0].file = name.into();
            let text = serde_json::to_vec(&hostile.written(Some(hostile.model_id()))).unwrap();
            let error = parse(&text).unwrap_err().to_string();
            assert!(error.contains("is not a unit's name"), "{error}");
        }
        let mut twice = good.clone();
        twice.units.push(good.units[0].clone());
        let text = serde_json::to_vec(&twice.written(Some(twice.model_id()))).unwrap();
        assert!(parse(&text).unwrap_err().to_string().contains("two units `tree-0000`"));
        let text = serde_json::to_vec(&good.written(None)).unwrap();
        assert!(parse(&text).is_err());
    }

    #[test]
    fn a_manifest_over_the_limit_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        fs::write(&path, [b' '; 11]).unwrap();
        let error = read_limited(&path, 10).unwrap_err();
        assert!(error.to_string().contains("11 bytes, but at most 10 are allowed"), "{error}");
        assert_eq!(read_limited(&path, 11).unwrap().unwrap().len(), 11);
        assert_eq!(read_limited(&folder.path().join("none"), 11).unwrap(), None);
    }

    #[test]
    fn the_model_id_covers_every_field() {
        let base = example();
        let changes: [fn(&mut Manifest); 8] = [
            |manifest| manifest.training.algorithm.push('x'),
            |manifest| manifest.training.settings["trees"] = json!(51),
            |manifest| manifest.training.data.push('x'),
            |manifest| manifest.training.text = Some(json!({"vectoriser": {"min_df": 1}})),
            |manifest| manifest.instances += 1,
            |manifest| manifest.features += 1,
            |manifest| manifest.labels += 1,
            |manifest| manifest.units[0].xxh3 = Digest::of(b"other"),
        ];
        for change in changes {
            let mut other = base.clone();
            change(&mut other);
            assert_ne!(other.model_id(), base.model_id());
        }
    }

    #[test]
    fn differences_are_named() {
        let there = example().training;
        let mut here = there.clone();
        assert_eq!(there.difference(&here), None);
        here.settings =
            json!({"trees": 60, "seed": 42, "shrink": 0.1, "inner": {"a": [2]}, "leaf": 9});
        let part = |trees| json!([{"algorithm": "craftml", "trees": trees}]);
        let mut there = there;
        there.settings["parts"] = part(5);
        here.settings["parts"] = part(6);
        here.data = "d2".into();
        here.text = Some(json!({"min_df": 1}));
        assert_eq!(
            there.difference(&here).unwrap(),
            "the digest of the data is d1 there but d2 here, inner.b is 1 there but not set here, \
             leaf is not set there but 9 here, craftml.trees is 5 there but 6 here, trees is 50 there but 60 here, text is not set there \
             but {\"min_df\":1} here"
        );
    }
}
