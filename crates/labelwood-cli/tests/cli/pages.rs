//! Shell completions and manual pages.

use crate::harness::Folder;

#[test]
fn completions_are_printed_for_every_shell() {
    let folder = Folder::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = folder.run(&format!("completions {shell}")).succeeds();
        assert!(script.contains("labelwood") && script.contains("completions"), "{shell}");
    }
}

#[cfg(unix)]
#[test]
fn the_bash_script_completes_subcommands() {
    let folder = Folder::new();
    let script = folder.run("completions bash").succeeds();
    let ask = "COMP_WORDS=(labelwood compl) COMP_CWORD=1; _labelwood labelwood compl labelwood; \
               echo \"${COMPREPLY[@]}\"";
    let bash = std::process::Command::new("bash").arg("-c").arg(script + "\n" + ask).output();
    match bash {
        Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), "completions\n"),
        Err(_) => println!("skipped: there is no bash here"),
    }
}

#[test]
fn the_manual_page_is_printed() {
    let page = Folder::new().run("man").succeeds();
    assert!(page.contains(".TH labelwood 1"), "{page}");
    assert!(page.contains("Exit codes"), "{page}");
}

#[test]
fn every_subcommand_has_a_manual_page() {
    let folder = Folder::new();
    assert_eq!(folder.run("man --output share/man1").succeeds(), "");
    for page in ["labelwood.1", "labelwood-completions.1", "labelwood-man.1"] {
        assert!(folder.path("share/man1").join(page).is_file(), "{page}");
    }
}
