//! Models that are one file: what is in it, and what is refused.

use super::tests::{FRESH, OVERWRITE, content, run, save, seed_in, training};
use super::*;
use proptest::prelude::*;
use std::fs;
use std::sync::LazyLock;

const UNVERIFIED: Options = Options { load: Load::Map, verify: false };

/// A folder with the same model as a folder and as a file.
fn both() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (model, file) = (folder.path().join("model"), folder.path().join("model.labelwood"));
    save(&model, 7, FRESH);
    save(&file, 7, FRESH);
    (folder, model, file)
}

#[test]
fn a_file_holds_the_files_of_the_folder_one_after_the_other() {
    let (_folder, model, file) = both();
    let bytes = fs::read(&file).unwrap();
    let files = content(&model);
    let manifest = Manifest::read(&model).unwrap();
    let units = manifest.units.iter().map(|unit| unit.file.as_str());
    let mut rest = &bytes[..];
    for name in [manifest::MANIFEST].into_iter().chain(units) {
        let (header, after) = rest.split_at(512);
        assert!(header.starts_with(name.as_bytes()), "{name}");
        let whole = files[name].len().next_multiple_of(512);
        assert_eq!(&after[..files[name].len()], files[name], "{name}");
        rest = &after[whole..];
    }
    assert_eq!(rest, [0; 1024]);
}

#[test]
fn a_file_opens_mapped_and_copied_verified_or_not_and_is_saved_as_a_folder() {
    let (folder, model, file) = both();
    for load in [Load::Map, Load::Copy] {
        for verify in [false, true] {
            let stored = Stored::open(&file, Options { load, verify }, &run()).unwrap();
            assert_eq!(*stored.units()[1].array::<u32>("numbers").unwrap(), [1, 7]);
            assert_eq!(stored.place(), Some(file.as_path()));
            let again = folder.path().join("again");
            stored.save(&again, true).unwrap();
            assert_eq!(content(&again), content(&model));
        }
    }
    let saved = folder.path().join("saved.labelwood");
    Stored::open(&model, Options::default(), &run()).unwrap().save(&saved, false).unwrap();
    assert_eq!(fs::read(saved).unwrap(), fs::read(file).unwrap());
}

#[test]
fn some_units_of_a_file_are_opened_without_the_others() {
    let (_folder, _, file) = both();
    let second = |manifest: &mut Manifest| manifest.units.retain(|unit| unit.name() == "tree-0001");
    for load in [Load::Map, Load::Copy] {
        let options = Options { load, verify: true };
        let (stored, ()) = Stored::open_some(&file, options, second, &run()).unwrap();
        assert_eq!(stored.units().len(), 1);
        assert_eq!(*stored.unit("tree-0001").unwrap().array::<u32>("numbers").unwrap(), [1, 7]);
    }
}

#[test]
fn every_flipped_byte_of_a_file_is_refused() {
    let (_folder, _, file) = both();
    let good = fs::read(&file).unwrap();
    let task = run();
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&file, &bytes).unwrap();
        for load in [Load::Map, Load::Copy] {
            let error = Stored::open(&file, Options { load, verify: true }, &task).unwrap_err();
            match error {
                StoreError::NoModel { .. } => assert!(at < 512, "byte {at}"),
                StoreError::Format(_) => assert!(at >= 512, "byte {at}"),
                _ => panic!("byte {at}: {error}"),
            }
            assert!(error.to_string().starts_with(&file.display().to_string()), "{error}");
        }
    }
}

#[test]
fn a_file_cut_short_or_grown_is_refused_even_unverified() {
    let (_folder, _, file) = both();
    let good = fs::read(&file).unwrap();
    let task = run();
    let refused = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        match Stored::open(&file, UNVERIFIED, &task).unwrap_err() {
            StoreError::Format(error) => error.reason,
            StoreError::NoModel { .. } => "no model".to_owned(),
            error => panic!("{} bytes: {error}", bytes.len()),
        }
    };
    for len in 0..good.len() {
        refused(&good[..len]);
    }
    assert_eq!(refused(&[&good[..], b"\0"].concat()), "something follows its last file");
    let manifest = good[512..].iter().position(|&byte| byte == 0).unwrap();
    assert_eq!(refused(&good[..512 + manifest - 3]), "it ends within its manifest");
    assert_eq!(refused(b"1 2:3\n"), "no model");
}

/// The bytes of an archive whose manifest says what `change` made of it.
fn forged(good: &[u8], change: impl Fn(&mut Manifest)) -> Vec<u8> {
    let len = good[512..].iter().position(|&byte| byte == 0).unwrap();
    let mut manifest = Manifest::parse(Path::new("m"), &good[512..512 + len]).unwrap();
    let rest = &good[512 + len.next_multiple_of(512)..];
    change(&mut manifest);
    let text = manifest.to_bytes();
    let mut bytes = archive::header(manifest::MANIFEST, text.len() as u64).to_vec();
    bytes.extend_from_slice(&text);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes.extend_from_slice(rest);
    bytes
}

#[test]
fn manifests_that_lie_about_lengths_names_and_order_are_refused_even_unverified() {
    let (_folder, _, file) = both();
    let good = fs::read(&file).unwrap();
    assert_eq!(forged(&good, |_| ()), good);
    let lies: [fn(&mut Manifest); 6] = [
        |manifest| manifest.units[0].bytes = u64::MAX,
        |manifest| manifest.units[1].bytes = u64::MAX - 600,
        |manifest| manifest.units[0].bytes += 1,
        |manifest| manifest.units[1].bytes -= 1,
        |manifest| manifest.units.reverse(),
        |manifest| drop(manifest.units.pop()),
    ];
    for (at, lie) in lies.into_iter().enumerate() {
        fs::write(&file, forged(&good, lie)).unwrap();
        for load in [Load::Map, Load::Copy] {
            let opened = Stored::open(&file, Options { load, verify: false }, &run());
            assert!(matches!(opened, Err(StoreError::Format(_))), "lie {at}: {opened:?}");
        }
    }
}

#[test]
fn a_header_says_what_posix_wants() {
    let small = archive::header("manifest.json", 83);
    assert_eq!(&small[..16], b"manifest.json\0\0\0");
    assert_eq!(&small[124..136], b"00000000123\0");
    // As Python's tarfile counts them.
    assert_eq!(&small[148..156], b"010442\0 ");
    let large = archive::header("rows", 1 << 33);
    assert_eq!(large[124..136], [0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]);
}

#[test]
fn what_is_there_decides_whether_a_model_becomes_a_file() {
    let (folder, model, file) = both();
    let place = |name: &str| folder.path().join(name);
    // A model may be given another name.
    fs::rename(&file, place("renamed")).unwrap();
    assert!(matches!(check_target(&place("renamed"), false), Err(StoreError::Exists { .. })));
    save(&place("renamed"), 8, OVERWRITE);
    assert!(place("renamed").is_file());
    fs::rename(&model, place("folder.labelwood")).unwrap();
    save(&place("folder.labelwood"), 9, OVERWRITE);
    assert_eq!(
        [seed_in(&place("renamed")), seed_in(&place("folder.labelwood"))],
        [Some(8), Some(9)]
    );
    // Other files are never replaced.
    fs::write(place("thesis.labelwood"), "years").unwrap();
    let error = check_target(&place("thesis.labelwood"), true).unwrap_err().to_string();
    assert!(error.ends_with("not a model but holds a file; choose another folder"), "{error}");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("renamed", place("link.labelwood")).unwrap();
        save(&place("link.labelwood"), 10, OVERWRITE);
        assert!(place("link.labelwood").is_symlink());
        assert_eq!(seed_in(&place("renamed")), Some(10));
    }
}

#[cfg(unix)]
#[test]
fn a_mapped_file_survives_its_replacement() {
    let (_folder, _, file) = both();
    let old = Stored::open(&file, Options::default(), &run()).unwrap();
    save(&file, 8, OVERWRITE);
    assert_eq!(*old.unit("tree-0001").unwrap().array::<u32>("numbers").unwrap(), [1, 7]);
    assert_eq!(Manifest::read(&file).unwrap().training, training(8));
}

proptest! {
    #[test]
    fn no_bytes_make_opening_a_file_panic(
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        static GOOD: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let (_folder, _, file) = both();
            fs::read(file).unwrap()
        });
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("model.labelwood");
        let mut bytes = GOOD.clone();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(&file, &bytes).unwrap();
        if let Ok(stored) = Stored::open(&file, UNVERIFIED, &run()) {
            for unit in stored.units() {
                let _ = (unit.array::<u32>("numbers"), unit.bytes().len());
            }
        }
    }
}
