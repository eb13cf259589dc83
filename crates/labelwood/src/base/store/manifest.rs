//! `manifest.json`: what a model is and which files it consists of.
//!
//! The same model always gives the same manifest, byte for byte: keys have a fixed order, and
//! nothing in it depends on when, where or how fast the model was trained. Its `model_id` is a
//! digest of everything else in it, the units' digests included, so that a changed manifest is
//! noticed as surely as a changed unit.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::{Digest, FormatError, StoreError, UnitFile, Update, files};
use crate::base::settings::Favour;

/// The name of the manifest in a model's folder.
pub(super) const MANIFEST: &str = "manifest.json";
/// The format version that this build writes, and the newest that it reads.
pub(crate) const FORMAT: u64 = 1;
/// The largest manifest that is read.
const LIMIT: u64 = 64 << 20;

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
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "sorted_if_any")]
    pub text: Option<Value>,
    /// Whether scores are made probabilities.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub calibrate: bool,
    /// Which labels come before others of a better score.
    #[serde(default, skip_serializing_if = "Favour::is_none")]
    pub favour: Favour,
    /// How the model was made smaller afterwards, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "sorted_if_any")]
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
            favour: Favour::None,
            shrunk: None,
            keep_rows: false,
            updates: Vec::new(),
        }
    }
}

/// What a model consists of.
#[derive(Clone, Debug, PartialEq)]
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
    /// Reads a model folder's manifest.
    pub fn read(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(MANIFEST);
        let bytes = match read_limited(&path, LIMIT) {
            Err(StoreError::Io { source, .. }) if is_absence(&source) => {
                return Err(StoreError::NoModel { folder: folder.to_owned() });
            }
            other => other?,
        };
        Ok(Self::parse(&path, &bytes)?)
    }

    /// The bytes of the manifest's file.
    pub fn to_bytes(&self) -> Vec<u8> {
        json(&self.written(Some(self.model_id()))).expect("a manifest is plain JSON")
    }

    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, FormatError> {
        let refused = |reason: String| FormatError::Manifest { path: path.to_owned(), reason };
        let Version { format } =
            serde_json::from_slice(bytes).map_err(|error| refused(error.to_string()))?;
        if !(1..=FORMAT).contains(&format) {
            let path = path.to_owned();
            return Err(FormatError::Version { path, found: format, newest: FORMAT });
        }
        let written: Written =
            serde_json::from_slice(bytes).map_err(|error| refused(error.to_string()))?;
        let model_id = written.model_id;
        let Written { training, instances, features, labels, units, .. } = written;
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
    /// The differences between this training and another, one clause for each setting.
    pub(crate) fn difference(&self, other: &Training) -> Option<String> {
        let mut clauses = Vec::new();
        let mut compare = |what: &str, there: &str, here: &str| {
            if there != here {
                clauses.push(format!("{what} is {there} there but {here} here"));
            }
        };
        compare("algorithm", &self.algorithm, &other.algorithm);
        compare("the digest of the data", &self.data, &other.data);
        compare("calibrate", &self.calibrate.to_string(), &other.calibrate.to_string());
        compare("keep_rows", &self.keep_rows.to_string(), &other.keep_rows.to_string());
        let favour = |training: &Training| serde_json::to_value(training.favour).ok();
        differences("favour", favour(self).as_ref(), favour(other).as_ref(), &mut clauses);
        let updates = |training: &Training| serde_json::to_value(&training.updates).ok();
        differences("updates", updates(self).as_ref(), updates(other).as_ref(), &mut clauses);
        differences("", Some(&self.settings), Some(&other.settings), &mut clauses);
        differences("text", self.text.as_ref(), other.text.as_ref(), &mut clauses);
        differences("shrunk", self.shrunk.as_ref(), other.shrunk.as_ref(), &mut clauses);
        (!clauses.is_empty()).then(|| clauses.join(", "))
    }
}

fn differences(at: &str, there: Option<&Value>, here: Option<&Value>, clauses: &mut Vec<String>) {
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
            let show = |value: Option<&Value>| value.map_or("not set".into(), Value::to_string);
            clauses.push(format!("{at} is {} there but {} here", show(there), show(here)));
        }
    }
}

/// Writes indented JSON to a file that appears whole.
pub(crate) fn write_json(
    folder: &Path,
    name: &str,
    content: &impl Serialize,
) -> Result<(), StoreError> {
    files::write_whole(folder, name, |out| {
        out.write_all(&json(content)?)?;
        Ok((name.to_owned(), ()))
    })
}

fn json(content: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(content)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads a whole file that is no longer than `limit`.
pub(crate) fn read_limited(path: &Path, limit: u64) -> Result<Vec<u8>, StoreError> {
    let failed = |error: io::Error| StoreError::io("read", path, error);
    let size = fs::metadata(path).map_err(failed)?;
    let too_large = |found| FormatError::TooLarge { path: PathBuf::from(path), found, limit };
    if !size.is_file() {
        let reason = "it is not an ordinary file".to_owned();
        return Err(FormatError::Manifest { path: path.to_owned(), reason }.into());
    }
    if size.len() > limit {
        return Err(too_large(size.len()).into());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    // The file may have grown since its size was read.
    if bytes.len() as u64 > limit { Err(too_large(bytes.len() as u64).into()) } else { Ok(bytes) }
}

/// Whether opening failed because there is no file or folder of that name.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Writes a value with the keys of every object sorted, whatever order the map type keeps.
fn sorted<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    sort(value).serialize(serializer)
}

fn sorted_if_any<S: Serializer>(value: &Option<Value>, serializer: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(sort).serialize(serializer)
}

fn sort(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_unstable_by_key(|&(key, _)| key);
            entries.into_iter().map(|(key, value)| (key.clone(), sort(value))).collect()
        }
        Value::Array(list) => list.iter().map(sort).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn example() -> Manifest {
        let xxh3 = Digest::of(b"content");
        let file = format!("tree-0000-{}.safetensors", xxh3.short());
        Manifest {
            training: Training {
                algorithm: "craftml".into(),
                settings: json!({"trees": 50, "seed": 42, "shrink": 0.1, "inner": {"b": 1, "a": [2]}}),
                data: "d1".into(),
                text: None,
                calibrate: false,
                favour: Favour::None,
                shrunk: None,
                keep_rows: false,
                updates: Vec::new(),
            },
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
        assert!(matches!(parse(br#"{"format": 0}"#), Err(FormatError::Version { found: 0, .. })));
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
            assert!(matches!(parse(text), Err(FormatError::Manifest { .. })));
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
        assert!(matches!(
            error,
            StoreError::Format(FormatError::TooLarge { found: 11, limit: 10, .. })
        ));
        assert_eq!(read_limited(&path, 11).unwrap().len(), 11);
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
        here.data = "d2".into();
        here.text = Some(json!({"min_df": 1}));
        assert_eq!(
            there.difference(&here).unwrap(),
            "the digest of the data is d1 there but d2 here, inner.b is 1 there but not set here, \
             leaf is not set there but 9 here, trees is 50 there but 60 here, text is not set there \
             but {\"min_df\":1} here"
        );
    }
}
