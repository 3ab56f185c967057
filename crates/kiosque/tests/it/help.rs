//! `--help` of every command, whole: its flags, their defaults, its examples.

use kiosque_testkit::Ran;

use crate::KIOSQUE;

const COMMANDS: [&[&str]; 68] = [
    &[],
    &["demo"],
    &["serve"],
    &["check"],
    &["fault-proxy"],
    &["init"],
    &["apply"],
    &["import"],
    &["import", "list"],
    &["import", "orders"],
    &["import", "rates"],
    &["status"],
    &["group"],
    &["group", "list"],
    &["account"],
    &["account", "list"],
    &["device"],
    &["device", "delete"],
    &["device", "list"],
    &["device", "show"],
    &["product"],
    &["product", "list"],
    &["session"],
    &["session", "list"],
    &["session", "end"],
    &["rates"],
    &["rates", "list"],
    &["audit"],
    &["fleet"],
    &["fleet", "export"],
    &["orders"],
    &["orders", "export"],
    &["archive"],
    &["verify"],
    &["backup"],
    &["restore"],
    &["operator-key"],
    &["operator-key", "create"],
    &["operator-key", "list"],
    &["operator-key", "revoke"],
    &["console-link"],
    &["broker"],
    &["broker", "status"],
    &["remote"],
    &["remote", "login"],
    &["remote", "logout"],
    &["remote", "whoami"],
    &["remote", "profiles"],
    &["remote", "groups"],
    &["remote", "devices"],
    &["remote", "orders"],
    &["remote", "order"],
    &["remote", "changes"],
    &["remote", "mirror"],
    &["remote", "summary"],
    &["remote", "trend"],
    &["remote", "best-sellers"],
    &["remote", "by-device"],
    &["remote", "aisles"],
    &["remote", "online"],
    &["remote", "call"],
    &["openapi"],
    &["move"],
    &["schema"],
    &["config"],
    &["config", "print"],
    &["completions"],
    &["man"],
];

#[test]
fn help_explains_every_command() {
    for command in COMMANDS {
        let ran = Ran::of(KIOSQUE.command().args(command).arg("--help")).success();
        assert_eq!(ran.stderr, "");
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= 100), "{}", ran.stdout);
        let has_commands = [
            "config",
            "import",
            "operator-key",
            "group",
            "account",
            "device",
            "product",
            "fleet",
            "orders",
            "session",
            "rates",
            "remote",
        ];
        if !(command.len() == 1 && has_commands.contains(&command[0])) {
            let example = format!("\n  kiosque {}", command.join(" "));
            assert!(ran.stdout.contains("\nExamples:\n"), "{}", ran.stdout);
            assert!(ran.stdout.contains(&example), "{}", ran.stdout);
        }
        let name = ["help"].iter().chain(command).copied().collect::<Vec<_>>().join("_");
        insta::assert_snapshot!(name, ran.stdout);
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
