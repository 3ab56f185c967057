//! The files of the package, below a directory that represents the root of the target system.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{output, program, root};

use super::notices;

/// Directory of the documents, which has the layout of the repository, so that links work.
const DOCUMENTS: &str = "usr/share/doc/kiosque";
/// The documents: files and directories of the repository.
const SOURCES: [&str; 6] =
    ["docs", "examples", "README.md", "SECURITY.md", "deploy/prometheus", "deploy/grafana"];

/// Files of the repository, and their destinations.
const FILES: [(&str, &str); 7] = [
    ("deploy/systemd/kiosque.service", "usr/lib/systemd/system/kiosque.service"),
    ("deploy/systemd/kiosque-backup.service", "usr/lib/systemd/system/kiosque-backup.service"),
    ("deploy/systemd/kiosque-backup.timer", "usr/lib/systemd/system/kiosque-backup.timer"),
    ("deploy/systemd/kiosque.sysusers.conf", "usr/lib/sysusers.d/kiosque.conf"),
    ("deploy/debian/copyright", "usr/share/doc/kiosque/copyright"),
    ("deploy/debian/lintian-overrides", "usr/share/lintian/overrides/kiosque"),
    ("deploy/debian/README.Debian", "usr/share/doc/kiosque/README.Debian"),
];

/// Shells, and the files in which they look for completions of the program.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/kiosque"),
    ("zsh", "usr/share/zsh/vendor-completions/_kiosque"),
    ("fish", "usr/share/fish/vendor_completions.d/kiosque.fish"),
];

/// The settings file. The package sets the directory of the data in it.
pub(super) const SETTINGS: &str = "etc/kiosque/kiosque.toml";
const NO_DATA: &str = "\n#data = \"DIR\"\n";
const DATA: &str = "\ndata = \"/var/lib/kiosque\"\n";

/// The directory.
pub(super) struct Tree {
    pub(super) root: PathBuf,
}

impl Tree {
    /// Fills a new directory; an earlier one is removed.
    pub(super) fn create(root: PathBuf, program_file: &Path) -> Result<Tree> {
        if root.exists() {
            fs::remove_dir_all(&root)?;
        }
        let tree = Tree { root };
        tree.add("usr/bin/kiosque", &fs::read(program_file)?, 0o755)?;
        for (source, place) in FILES {
            tree.copy(source, place)?;
        }
        tree.documents()?;
        tree.printed_by(program_file)?;
        Ok(tree)
    }

    /// Adds a file with these permissions, and its directories.
    pub(super) fn add(&self, place: &str, content: &[u8], mode: u32) -> Result<()> {
        let file = self.root.join(place);
        let directory = file.parent().context("a file is in a directory")?;
        fs::create_dir_all(directory)?;
        // Directories have these permissions regardless of the umask.
        let parents = directory.ancestors().take_while(|parent| parent.starts_with(&self.root));
        for parent in parents {
            fs::set_permissions(parent, fs::Permissions::from_mode(0o755))?;
        }
        fs::write(&file, content).with_context(|| file.display().to_string())?;
        fs::set_permissions(&file, fs::Permissions::from_mode(mode))?;
        Ok(())
    }

    /// Adds a file, compressed without its name and time.
    pub(super) fn add_compressed(&self, place: &str, content: &[u8]) -> Result<()> {
        self.add(place, content, 0o644)?;
        run_quietly(program("gzip")?.args(["-9", "-n"]).arg(self.root.join(place)))
    }

    fn copy(&self, source: &str, place: &str) -> Result<()> {
        let content = fs::read(root()?.join(source)).with_context(|| source.to_owned())?;
        self.add(place, &content, 0o644)
    }

    /// Adds the documents, the changelog and the notices of libraries.
    fn documents(&self) -> Result<()> {
        let mut list = program("git")?;
        let listed = String::from_utf8(output(list.args(["ls-files", "-z"]).args(SOURCES))?)?;
        for source in listed.split_terminator('\0') {
            self.copy(source, &format!("{DOCUMENTS}/{source}"))?;
        }
        let changes = fs::read(root()?.join("CHANGELOG.md"))?;
        self.add_compressed(&format!("{DOCUMENTS}/changelog"), &changes)?;
        let notices = notices::collect()?;
        self.add_compressed(&format!("{DOCUMENTS}/third-party-notices"), notices.as_bytes())
    }

    /// Adds the files that the program prints: completions, manual pages, the settings file.
    fn printed_by(&self, program_file: &Path) -> Result<()> {
        let print = |arguments: &[&str]| output(plain(program_file)?.args(arguments));
        for (shell, place) in COMPLETIONS {
            self.add(place, &print(&["completions", shell])?, 0o644)?;
        }
        let settings = String::from_utf8(print(&["config", "print"])?)?;
        if settings.matches(NO_DATA).count() != 1 {
            bail!("`kiosque config print` has no line {NO_DATA:?}");
        }
        self.add(SETTINGS, settings.replace(NO_DATA, DATA).as_bytes(), 0o644)?;
        let pages = self.root.join("pages");
        run_quietly(plain(program_file)?.arg("man").arg(&pages))?;
        for page in fs::read_dir(&pages)? {
            let page = page?;
            let name = page.file_name().to_string_lossy().into_owned();
            self.add_compressed(&format!("usr/share/man/man1/{name}"), &fs::read(page.path())?)?;
        }
        fs::remove_dir_all(pages)?;
        Ok(())
    }

    /// Returns the paths of all files, sorted and relative to the root.
    pub(super) fn files(&self) -> Result<Vec<String>> {
        let find = ["-type", "f", "-printf", "%P\n"];
        let found = String::from_utf8(output(program("find")?.arg(&self.root).args(find))?)?;
        let mut files: Vec<String> = found.lines().map(str::to_owned).collect();
        files.sort();
        Ok(files)
    }
}

/// Returns the packaged program, without settings of the environment.
fn plain(program_file: &Path) -> Result<Command> {
    let mut command = program(program_file)?;
    command.env("COLUMNS", "100").env_remove("KIOSQUE_CONFIG");
    Ok(command)
}

fn run_quietly(command: &mut Command) -> Result<()> {
    output(command).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_package_are_in_the_repository() {
        for (source, _) in FILES {
            assert!(root().unwrap().join(source).is_file(), "{source}");
        }
    }
}
