//! What a model can be divided into: trees, submodels or blocks of labels, its members.

use super::Algorithm;
use super::store::Manifest;
use crate::algorithms::one_vs_rest::BLOCK;
use std::ops::Range;

/// Some members of a model, by their numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Members {
    /// The trees, submodels or blocks; of a grove, the trees of its forest.
    pub first: Range<usize>,
    /// The label trees of a grove.
    pub second: Range<usize>,
}

impl Members {
    /// All members of a model.
    pub fn all(algorithm: &Algorithm, manifest: &Manifest) -> Self {
        let (first, second) = match algorithm {
            Algorithm::CraftMl(params) => (params.trees, 0),
            Algorithm::LabelTree(params) => (params.trees, 0),
            Algorithm::OneVsRest(_) => ((manifest.labels as usize).div_ceil(BLOCK), 0),
            Algorithm::LabelForest(params) => (params.submodels, 0),
            Algorithm::Grove(params) => (params.forest.trees, params.label_tree.trees),
        };
        // Each has a unit of its own, at least: what is missing is named when they are read, and a
        // number in the manifest takes no memory before.
        let most = manifest.units.len();
        Members { first: 0..first.min(most), second: 0..second.min(most) }
    }

    /// No members.
    pub const NONE: Members = Members { first: 0..0, second: 0..0 };

    /// Those of part `index` of `of`: parts follow each other and have files of about the same size.
    pub fn share(&self, manifest: &Manifest, index: usize, of: usize) -> Self {
        let (first, second) = (self.first.len(), self.second.len());
        let mut bytes = vec![0u64; first + second];
        for unit in &manifest.units {
            let at = match member_of(unit.name()) {
                Some((Kind::Second, number)) if number < second => first + number,
                Some((Kind::First, number)) if number < first => number,
                _ => continue,
            };
            bytes[at] += unit.bytes;
        }
        let total = bytes.iter().map(|&bytes| u128::from(bytes)).sum::<u128>().max(1);
        let mut before = 0u128;
        // The part that the middle of a member's bytes falls into.
        let parts = bytes.iter().map(|&bytes| {
            let middle = 2 * before + u128::from(bytes);
            before += u128::from(bytes);
            ((middle * of as u128 / (2 * total)) as usize).min(of - 1)
        });
        let parts: Vec<usize> = parts.collect();
        let range = |parts: &[usize]| {
            let start = parts.partition_point(|&part| part < index);
            start..parts.partition_point(|&part| part <= index)
        };
        Members { first: range(&parts[..first]), second: range(&parts[first..]) }
    }

    /// Whether a unit of this name is part of one of these members, or of none in particular.
    pub fn need(&self, stem: &str) -> bool {
        match member_of(stem) {
            Some((Kind::First, number)) => self.first.contains(&number),
            Some((Kind::Second, number)) => self.second.contains(&number),
            None => true,
        }
    }
}

enum Kind {
    First,
    Second,
}

/// Which member a unit of this name belongs to.
fn member_of(stem: &str) -> Option<(Kind, usize)> {
    let names = [
        ("label-tree-", Kind::Second),
        ("tree-", Kind::First),
        ("submodel-", Kind::First),
        ("block-", Kind::First),
    ];
    names.into_iter().find_map(|(name, kind)| {
        let number = stem.strip_prefix(name)?.split('-').next()?;
        Some((kind, number.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::super::store::{Digest, Training, UnitFile};
    use super::*;
    use crate::learn::favour::Favour;

    fn manifest(units: &[(&str, u64)]) -> Manifest {
        let xxh3 = Digest::of(b"");
        let file = |stem: &str| format!("{stem}-{}.safetensors", xxh3.short());
        let unit = |&(stem, bytes): &(&str, u64)| UnitFile { file: file(stem), bytes, xxh3 };
        let training = Training {
            algorithm: String::new(),
            settings: serde_json::Value::Null,
            data: String::new(),
            text: None,
            calibrate: false,
            favour: Favour::None,
            shrunk: None,
            keep_rows: false,
            updates: Vec::new(),
        };
        let units = units.iter().map(unit).collect();
        Manifest { training, instances: 0, features: 0, labels: 0, units }
    }

    #[test]
    fn parts_have_files_of_about_the_same_size() {
        let manifest = manifest(&[
            ("tree-0000", 10),
            ("tree-0001", 10),
            ("tree-0002", 10),
            ("label-tree-0000-root", 10),
            ("label-tree-0000-part-00000", 10),
            ("label-tree-0000-part-00001", 10),
            ("labels", 1000),
        ]);
        let all = Members { first: 0..3, second: 0..1 };
        let share = |index, of| all.share(&manifest, index, of);
        assert_eq!(share(0, 1), all);
        assert_eq!(share(0, 2), Members { first: 0..3, second: 0..0 });
        assert_eq!(share(1, 2), Members { first: 3..3, second: 0..1 });
        assert!(share(1, 2).need("label-tree-0000-part-00001") && share(1, 2).need("labels"));
        assert!(!share(1, 2).need("tree-0002") && share(0, 2).need("tree-0002"));
        for of in 1..9 {
            let members = (0..of).map(|index| share(index, of));
            let counts: Vec<_> = members.map(|own| own.first.len() + own.second.len()).collect();
            assert_eq!(counts.iter().sum::<usize>(), 4, "{of} parts: {counts:?}");
        }
    }
}
