//! A settings file with every key, its meaning and its default.

use clap::Arg;
use toml::Value;

use super::{
    DEFAULT, INTEGER, LIST, TOPICS, common_settings, default_value, details, documentation,
    placeholder, server_settings, topic,
};

/// Maximum length of a comment line, in columns.
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

/// Returns a settings file in which every key is commented out.
pub(crate) fn template() -> String {
    let mut text = HEAD.to_owned();
    text.push_str("\n# ===== Every command that opens the data\n");
    text.extend(common_settings().iter().map(entry));
    for name in TOPICS {
        text.push_str(&format!("\n# ===== Servers: {name}\n"));
        text.extend(server_settings().iter().filter(|it| topic(it) == name).map(entry));
    }
    text
}

fn entry(setting: &Arg) -> String {
    let mut text = "\n".to_owned();
    let documentation = documentation(setting);
    let (summary, described) = match documentation.split_once(DEFAULT) {
        Some((summary, default)) => {
            (summary, format!("Default: {}.", default.trim_end_matches(']')))
        }
        None => (documentation.as_str(), "No default.".to_owned()),
    };
    comment(&mut text, &format!("{summary}."));
    for paragraph in details(setting) {
        text.push_str("#\n");
        comment(&mut text, &paragraph);
    }
    let default = default_value(setting);
    if default.is_none() {
        comment(&mut text, &described);
    }
    let value = literal(setting, default.unwrap_or(placeholder(setting)));
    text + &format!("#{} = {value}\n", setting.get_id())
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

/// Returns a value as it is written in a settings file.
fn literal(setting: &Arg, value: &str) -> String {
    match placeholder(setting) {
        INTEGER => value.to_owned(),
        LIST => Value::from(value.split(',').collect::<Vec<_>>()).to_string(),
        _ => Value::from(value).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use kiosque_server::Settings as ServerSettings;

    use super::super::{CommonSettings, Given, ServeSettings, all_settings};
    use super::*;

    fn settings(given: &Given) -> String {
        let common: CommonSettings = given.parse().unwrap();
        let (serve, server): (ServeSettings, ServerSettings) =
            (given.parse().unwrap(), given.parse().unwrap());
        format!("{common:?} {serve:?} {server:?}")
    }

    #[test]
    fn the_printed_file_changes_no_setting_and_has_every_key() {
        let given = Given::default().or_text(&template(), "it").unwrap();
        assert_eq!(settings(&given), settings(&Given::default()));
        for setting in all_settings() {
            let key = format!("\n#{} = ", setting.get_id());
            assert_eq!(template().matches(&key).count(), 1, "{key}");
        }
        assert!(template().lines().all(|line| line.len() <= WIDTH));
    }

    #[test]
    fn the_printed_values_are_the_defaults() {
        let mut text = template();
        let mut values = 0;
        for setting in all_settings() {
            if default_value(&setting).is_some() {
                let key = format!("\n#{} = ", setting.get_id());
                text = text.replace(&key, &key.replace('#', ""));
                values += 1;
            }
        }
        let given = Given::default().or_text(&text, "it").unwrap();
        let is_given = |setting: &Arg| given.contains(setting.get_id().as_str());
        assert!(values > 30 && all_settings().filter(is_given).count() == values);
        assert_eq!(settings(&given), settings(&Given::default()));
    }

    #[test]
    fn a_default_that_is_no_value_has_a_placeholder() {
        assert!(template().contains("\n#trusted_proxies = [\"A\", \"B\"]\n"), "{}", template());
        assert!(template().contains("\n#hash_slots = N\n"));
    }
}
