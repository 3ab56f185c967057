//! A configuration file with every key, its meaning and its default.

use kiosque_model::setting::{Configurable, Notation, Setting, SettingDefault, Topic};
use toml::Value;

use super::{CommonSettings, serve_settings};

/// Longest line of a comment, in columns.
const WIDTH: usize = 96;

const HEAD: &str = "\
# Settings of kiosque, read with --config FILE or KIOSQUE_CONFIG=FILE.
#
# Each key is also a flag (--token-validity) and a variable (KIOSQUE_TOKEN_VALIDITY). Flags take
# precedence over variables, and variables over this file. An unknown key is an error.
#
# Every key is commented out. The value after it is the default, or a placeholder in capitals if
# the default is not a value. To change a setting, remove the # in front of its key.
# Durations are written like 250ms, 2s, 2h or 90d. Sizes are in bytes.
";

/// Returns a configuration file in which every key is commented out.
pub(crate) fn template() -> String {
    let mut text = HEAD.to_owned();
    text.push_str("\n# ===== Every command that opens the data\n");
    text.extend(CommonSettings::SETTINGS.iter().map(entry));
    for topic in Topic::ALL {
        text.push_str(&format!("\n# ===== Servers: {}\n", topic.heading()));
        text.extend(serve_settings().filter(|setting| setting.topic == topic).map(entry));
    }
    text
}

fn entry(setting: &Setting) -> String {
    let default = (setting.default)();
    let mut text = "\n".to_owned();
    for (number, paragraph) in setting.doc.split("\n\n").enumerate() {
        if number > 0 {
            text.push_str("#\n");
        }
        comment(&mut text, paragraph);
    }
    let value = match default {
        SettingDefault::Value(value) => literal(setting.notation, value),
        SettingDefault::Described(description) => {
            comment(&mut text, &format!("Default: {description}."));
            literal(setting.notation, setting.placeholder.to_owned())
        }
        SettingDefault::Absent => {
            comment(&mut text, "No default.");
            literal(setting.notation, setting.placeholder.to_owned())
        }
    };
    text + &format!("#{} = {value}\n", setting.name)
}

/// Appends a paragraph as comments, wrapped at [`WIDTH`] columns.
fn comment(text: &mut String, paragraph: &str) {
    let mut line = "#".to_owned();
    for word in paragraph.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line.truncate(1);
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

/// Returns a value as a configuration file writes it.
fn literal(notation: Notation, value: String) -> String {
    match notation {
        Notation::Integer => value,
        Notation::Text => Value::String(value).to_string(),
        Notation::List => {
            let values = value.split(',').map(|one| Value::String(one.to_owned()));
            Value::Array(values.collect()).to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use kiosque_model::Limits;
    use kiosque_server::Settings as ServerSettings;

    use super::super::{Given, ServeSettings, all_settings};
    use super::*;

    /// Returns the settings of a machine with three cores, as far as `given` does not change them.
    fn settings(given: &Given) -> String {
        let (mut common, mut serve) = (CommonSettings::for_cores(3), ServeSettings::for_cores(3));
        let (mut server, mut limits) = (ServerSettings::for_cores(3), Limits::for_cores(3));
        given.assign_to(&mut common).unwrap();
        given.assign_to(&mut serve).unwrap();
        given.assign_to(&mut server).unwrap();
        given.assign_to(&mut limits).unwrap();
        format!("{common:?} {serve:?} {server:?} {limits:?}")
    }

    #[test]
    fn the_printed_file_changes_no_setting_and_has_every_key() {
        let given = Given::default().or_text(&template(), "it").unwrap();
        assert_eq!(settings(&given), settings(&Given::default()));
        for setting in all_settings() {
            let key = format!("\n#{} = ", setting.name);
            assert_eq!(template().matches(&key).count(), 1, "{}", setting.name);
        }
        assert!(template().lines().all(|line| line.len() <= WIDTH));
    }

    #[test]
    fn the_printed_values_are_the_defaults() {
        let mut text = template();
        let mut values = 0;
        for setting in all_settings() {
            if matches!((setting.default)(), SettingDefault::Value(_)) {
                let key = format!("\n#{} = ", setting.name);
                text = text.replace(&key, &key.replace('#', ""));
                values += 1;
            }
        }
        let given = Given::default().or_text(&text, "it").unwrap();
        assert!(
            values > 30 && all_settings().filter(|it| given.contains(it.name)).count() == values
        );
        assert_eq!(settings(&given), settings(&Given::default()));
    }

    #[test]
    fn a_default_that_is_no_value_has_a_placeholder() {
        assert!(template().contains("\n#trusted_proxies = [\"A\", \"B\"]\n"), "{}", template());
        assert!(template().contains("\n#hash_slots = N\n"));
    }
}
