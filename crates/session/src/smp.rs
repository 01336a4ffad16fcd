//! Test configurations of Service Mesh Performance as loads to send.

use std::path::Path;

use hoptax_load::{HostPort, without_user};
use hoptax_tools::smp::{Chosen, PlannedLoad, choose};

use crate::failure::Failure;
use crate::input::{read, refused};
use crate::load::Sending;
use crate::update::{Say, Update};

/// What is sent of a test configuration.
#[derive(Clone, Copy, Debug)]
pub struct ChosenTest<'a> {
    /// The file; `-` is stdin.
    pub file: &'a Path,
    /// The number of the only client that sends, from 1; none for all.
    pub client: Option<u32>,
    /// The servers on other machines to which load may go.
    pub targets: &'a [HostPort],
    /// True if the result is written as JSON, to a file or to stdout: one document holds that of one client.
    pub has_json: bool,
}

/// The load of a client of a test configuration.
#[derive(Clone, Debug)]
pub struct ClientLoad {
    /// Its number, from 1.
    number: usize,
    planned: PlannedLoad,
}

impl ClientLoad {
    /// The load.
    pub fn sending(&self) -> Sending<'static> {
        Sending::from(&self.planned)
    }

    /// Says what is sent, and which settings of the client are not used.
    pub fn announce(&self, say: Say<'_>) {
        let Self { number, planned } = self;
        for line in &planned.ignored {
            say(Update::Note(&format!("hoptax: client {number}: not used: {line}")));
        }
        let urls: Vec<String> = planned.urls.iter().map(|url| without_user(url)).collect();
        let text = format!("hoptax: client {number}: {} to {}", planned.summary, urls.join(", "));
        say(Update::Note(&text));
    }
}

/// The loads of a test configuration, one of each client. A note names what of the file is not used.
///
/// # Errors
/// When the file cannot be read or is no test configuration, or a load is refused, with all reasons.
pub fn loads(test: ChosenTest<'_>, say: Say<'_>) -> Result<Vec<ClientLoad>, Failure> {
    let bad = |problems: Vec<String>| refused(test.file, &problems);
    let chosen = choose(&read(test.file)?, test.client).map_err(bad)?;
    let problems = chosen.refused(test.targets);
    let Chosen { loads, unused } = chosen;
    if test.has_json && loads.len() > 1 {
        return Err(bad(vec![format!(
            "it has {} clients, and `--json` holds the result of one: choose it with `--client 1`",
            loads.len()
        )]));
    }
    if !problems.is_empty() {
        return Err(bad(problems));
    }
    if !unused.is_empty() {
        say(Update::Note(&format!("hoptax: `{}`: not used: {}", test.file.display(), unused.join(", "))));
    }
    Ok(loads.into_iter().map(|(number, planned)| ClientLoad { number, planned }).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::update::tests::noted;

    #[test]
    fn loads_of_several_clients_have_one_file_only_if_one_is_chosen_and_each_is_announced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("test.yaml");
        let text = "duration: 10s\nsmp_version: v0.0.1\nclients:\n- endpoint_urls: [\"http://joe:secret@127.0.0.1:1/\"]\n- endpoint_urls: [\"http://a.invalid:81/\"]\n";
        fs::write(&file, text).unwrap();
        let test = ChosenTest { file: &file, client: Some(1), targets: &[], has_json: true };
        let refused = |test: ChosenTest<'_>| loads(test, &|_| ()).unwrap_err().to_string();
        assert!(refused(ChosenTest { client: None, ..test }).contains("`--client 1`"));
        assert!(refused(ChosenTest { client: Some(2), ..test }).contains("`--target a.invalid:81`"));
        let [load]: [ClientLoad; 1] = loads(test, &|_| ()).unwrap().try_into().unwrap();
        let ((), said) = noted(|say| load.announce(say));
        let last = said.last().unwrap();
        assert!(last.starts_with("hoptax: client 1: ") && last.ends_with("127.0.0.1:1/"), "{said:?}");
        assert!(!last.contains("secret"), "{said:?}");
    }
}
