//! Help, exit codes and the flags that every subcommand shares.

use crate::harness::{Folder, XC};

/// The subcommands that `labelwood --help` lists.
fn subcommands(folder: &Folder) -> Vec<String> {
    let help = folder.run("--help").succeeds();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let name = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    listed.take_while(|line| line.starts_with("  ")).map(name).collect()
}

#[test]
fn help_is_there_for_the_command_and_every_subcommand() {
    let folder = Folder::new();
    let names = subcommands(&folder);
    assert!(names.contains(&"completions".to_owned()), "{names:?}");
    for name in names.iter().filter(|name| *name != "help") {
        for flag in ["-h", "--help"] {
            let help = folder.run(&format!("{name} {flag}")).succeeds();
            for common in ["--seed", "--threads", "--quiet", "--verbose"] {
                assert!(help.contains(common), "{name} {flag}: {help}");
            }
        }
    }
}

#[test]
fn help_names_the_exit_codes() {
    assert!(Folder::new().run("--help").succeeds().contains("Exit codes: 0 done, 1 "));
}

#[test]
fn the_version_is_printed() {
    let printed = Folder::new().run("--version").succeeds();
    assert_eq!(printed, format!("labelwood {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_usage_exits_with_2() {
    let folder = Folder::new();
    for args in [
        "",
        "chop",
        "--chop",
        "man --chop",
        "completions",
        "completions abacus",
        "man --seed x",
        "man --threads -1",
        "man --quiet --verbose",
    ] {
        let done = folder.run(args);
        assert_eq!((done.code(), done.stdout().as_str()), (2, ""), "labelwood {args}");
        assert!(done.stderr().contains("--help"), "labelwood {args}: {}", done.stderr());
    }
}

#[test]
fn common_flags_may_stand_before_or_after_the_subcommand() {
    let folder = Folder::new();
    let page = folder.run("man").succeeds();
    assert_eq!(folder.run("--seed 7 --threads 2 --quiet man").succeeds(), page);
    assert_eq!(folder.run("man --seed 7 --threads 0 -q").succeeds(), page);
}

#[test]
fn verbose_says_what_was_used_and_lists_the_causes_of_an_error() {
    let folder = Folder::new();
    let done = folder.run("-v man");
    assert_eq!(done.code(), 0);
    assert!(done.stderr().contains("peak memory "), "{}", done.stderr());

    folder.write("taken", "");
    let error = folder.run("man --output taken").fails(1);
    assert!(error.contains("taken"), "{error}");
    let chain = folder.run("man --output taken -v").stderr();
    assert!(chain.contains("\n  caused by: "), "{chain}");
}

#[test]
fn colours_are_for_terminals_unless_the_environment_says_otherwise() {
    let folder = Folder::new();
    let help = |variables: &[(&str, &str)]| {
        let mut command = folder.command(["--help"]);
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR"] {
            command.env_remove(name);
        }
        let output = command.envs(variables.iter().copied()).output().expect("it can be started");
        output.stdout.contains(&0x1b)
    };
    assert!(!help(&[]), "a pipe has no colours");
    assert!(help(&[("CLICOLOR_FORCE", "1")]));
    assert!(!help(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

#[test]
fn suggested_commands_can_be_typed_whatever_folders_are_called() {
    let folder = Folder::new();
    folder.write("my data.txt", XC);
    let next = |args: &[&str]| {
        let output = folder.command(args).output().expect("it can be started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        told.lines().find_map(|line| line.strip_prefix("next: ")).expect("a command").to_owned()
    };
    let train =
        ["train", "my data.txt", "--algorithm", "craftml", "--trees", "1", "-m", "my books"];
    let trained = "labelwood evaluate 'my books' DATA, labelwood predict 'my books' DATA";
    assert_eq!(next(&train), trained);
    let split = next(&["split", "my data.txt", "--test", "0.5"]);
    assert!(split.starts_with("labelwood train 'my data-train.txt' "), "{split}");
}
