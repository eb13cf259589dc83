//! Every example of `examples/` runs to its end; each checks what it shows.

use std::fs;
use std::path::Path;

/// Includes the examples as modules, with a test for each that runs its `main`.
macro_rules! examples {
    ($($name:ident = $path:literal,)*) => {
        $(
            #[path = $path]
            mod $name;

            #[test]
            fn $name() {
                $name::main().unwrap();
            }
        )*

        const PATHS: &[&str] = &[$($path),*];
    };
}

examples! {
    settings = "../examples/settings.rs",
    shards = "../examples/shards.rs",
    stop_and_resume = "../examples/stop_and_resume.rs",
    text = "../examples/text.rs",
    train_and_predict = "../examples/train_and_predict.rs",
}

#[test]
fn every_example_is_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut found: Vec<String> =
        files.map(|name| format!("../examples/{}", name.to_string_lossy())).collect();
    found.sort();
    assert_eq!(found, PATHS);
}
