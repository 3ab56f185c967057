//! `--help` of every command, whole: its flags, their defaults, its examples.

use kiosque_testkit::Ran;

use crate::KIOSQUE;

/// Adds a command and the commands below it, which its help lists, each with its help.
fn add_commands(command: &[&str], all: &mut Vec<(String, String)>) {
    let ran = Ran::of(KIOSQUE.command().args(command).arg("--help")).success();
    assert_eq!(ran.stderr, "");
    let (_, below) = ran.stdout.split_once("\nCommands:\n").unwrap_or_default();
    let below = below.split("\n\n").next().unwrap_or_default();
    // A line that is indented further continues the one before.
    let lines = below.lines().filter_map(|line| line.strip_prefix("  "));
    let names = lines.filter(|line| !line.starts_with(' ')).map(|line| line.split(' ').next());
    for name in names.flatten().filter(|name| *name != "help") {
        add_commands(&[command, &[name]].concat(), all);
    }
    all.push((command.join(" "), ran.stdout));
}

/// Each command has an example, but for those that only have commands below them.
#[test]
fn help_explains_every_command() {
    let mut all = Vec::new();
    add_commands(&[], &mut all);
    assert!(all.len() > 60, "{all:?}");
    for (command, help) in all {
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
        if !help.contains(&format!("\nUsage: kiosque {command} <COMMAND>\n")) {
            let example = format!("\n  kiosque {command}");
            assert!(help.contains("\nExamples:\n"), "{help}");
            assert!(help.contains(&example), "{help}");
        }
        let name = format!("help {command}").trim_end().replace(' ', "_");
        insta::assert_snapshot!(name, help);
    }
}

/// `-h` lists the usual settings of a server, and `--help` all of them.
#[test]
fn short_help_fits_on_a_screen() {
    for command in ["serve", "demo"] {
        let help = |flag| Ran::of(KIOSQUE.command().args([command, flag])).success().stdout;
        let (short, long) = (help("-h"), help("--help"));
        assert!(short.lines().count() <= 60, "{short}");
        for heading in ["Options:", "Network:", "TLS:", "Logins:", "Limits:"] {
            assert!(short.contains(&format!("\n{heading}\n")), "{heading}: {short}");
            assert!(long.contains(&format!("\n{heading}\n")), "{heading}: {long}");
        }
        assert!(!short.contains("--hash-slots") && long.contains("--hash-slots"), "{short}");
        assert!(!short.contains("Cluster:") && long.contains("\nCluster:\n"), "{short}");
        insta::assert_snapshot!(format!("short_help_{command}"), short);
    }
}

/// The help of a command lists the flags that it uses, and the command accepts the others.
#[test]
fn flags_without_effect_are_accepted_and_not_listed() {
    for (args, listed, others) in [
        (&["schema", "--citus"][..], "--citus", &["--data", "--log"][..]),
        (&["openapi"], "--operator", &["--data", "--store", "--config"]),
        (&["config", "print"], "-h, --help", &["--data", "--store"]),
    ] {
        let help = Ran::of(KIOSQUE.command().args(args).arg("--help")).success().stdout;
        assert!(help.contains(listed), "{help}");
        assert!(others.iter().all(|flag| !help.contains(flag)), "{help}");
        let common = ["--data", "nowhere", "--timezone", "UTC", "--log", "info"];
        Ran::of(KIOSQUE.command().args(args).args(common)).success();
        Ran::of(KIOSQUE.command().args(common).args(args)).success();
    }
}

#[test]
fn the_version_is_printed() {
    let ran = Ran::of(KIOSQUE.command().arg("--version")).success();
    assert_eq!(ran.stdout, format!("kiosque {}\n", env!("CARGO_PKG_VERSION")));
}
