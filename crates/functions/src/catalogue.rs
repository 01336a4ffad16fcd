//! The catalogue: loads and checks all function files, and looks functions up by id.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use hoptax_text::nearest::{nearest, suggestion};
use include_dir::{Dir, DirEntry, include_dir};

use crate::call::{CallError, FunctionCall};
use crate::file;
use crate::function::Function;
use crate::knob::Knobs;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/catalogue");

/// All functions that hoptax supports.
#[derive(Clone, Debug)]
pub struct Catalogue {
    functions: BTreeMap<String, Function>,
}

/// Reason why a file of the catalogue is invalid.
#[derive(Debug, thiserror::Error)]
#[error("catalogue file `{path}`: {cause}")]
pub struct CatalogueError {
    /// The file, relative to the catalogue.
    pub path: String,
    /// The cause.
    pub cause: String,
}

impl Catalogue {
    /// The catalogue embedded in the program. Only the first call reads its files.
    ///
    /// # Errors
    /// All invalid files.
    pub fn load() -> Result<&'static Self, &'static [CatalogueError]> {
        static CATALOGUE: OnceLock<Result<Catalogue, Vec<CatalogueError>>> = OnceLock::new();
        let read = CATALOGUE.get_or_init(|| {
            let mut files = Vec::new();
            collect(&FILES, &mut files);
            Self::read(files, file::read)
        });
        read.as_ref().map_err(Vec::as_slice)
    }

    /// The function with this id.
    pub fn get(&self, id: &str) -> Option<&Function> {
        self.functions.get(id)
    }

    /// All functions, sorted by id.
    pub fn iter(&self) -> impl Iterator<Item = &Function> {
        self.functions.values()
    }

    /// The function that a call names, and the values of all its knobs.
    ///
    /// # Errors
    /// Everything that is wrong with the call: an unknown function, or each knob that is unknown or out of range.
    pub fn resolve(&self, call: &FunctionCall) -> Result<(&Function, Knobs), Vec<CallError>> {
        self.resolve_beside(call, &[])
    }

    /// As [`Self::resolve`], for a place that allows these other names, too: an unknown function may be one of them, misspelt.
    ///
    /// # Errors
    /// As for [`Self::resolve`].
    pub fn resolve_beside(
        &self,
        call: &FunctionCall,
        others: &[&str],
    ) -> Result<(&Function, Knobs), Vec<CallError>> {
        let Some(function) = self.get(&call.id) else {
            // Another name is no call: with knobs, it is as unknown as any.
            let others = others.iter().copied().filter(|other| *other != call.id);
            let known = self.functions.keys().map(String::as_str).chain(others);
            let hint = match nearest(&call.id, known).as_slice() {
                [] => "; `hoptax functions` lists them".to_owned(),
                nearest => suggestion(nearest),
            };
            return Err(vec![CallError(format!("unknown function `{}`{hint}", call.id))]);
        };
        Ok((function, function.knobs_of(call)?))
    }

    fn read<'a>(
        files: impl IntoIterator<Item = (&'a Path, &'a [u8])>,
        read: Reader,
    ) -> Result<Self, Vec<CatalogueError>> {
        let mut functions = BTreeMap::new();
        let mut errors = Vec::new();
        for (path, contents) in files {
            match read_file(path, contents, read) {
                Ok(function) => {
                    functions.insert(function.id.clone(), function);
                }
                Err(cause) => errors.push(CatalogueError { path: path.display().to_string(), cause }),
            }
        }
        errors.extend(header_conflicts(&functions));
        if errors.is_empty() { Ok(Self { functions }) } else { Err(errors) }
    }
}

fn collect<'a>(directory: &Dir<'a>, files: &mut Vec<(&'a Path, &'a [u8])>) {
    for entry in directory.entries() {
        match entry {
            DirEntry::Dir(inner) => collect(inner, files),
            DirEntry::File(file) => files.push((file.path(), file.contents())),
        }
    }
}

/// Reads a file with this id.
type Reader = fn(&str, &[u8]) -> Result<Function, String>;

fn read_file(path: &Path, contents: &[u8], read: Reader) -> Result<Function, String> {
    let id = path.to_str().and_then(|path| path.strip_suffix(".yaml"));
    let id = id.ok_or("its name does not end in `.yaml`: the catalogue contains only functions")?;
    read(id, contents)
}

/// Every arm of a study sends the headers of all functions, so two functions must not need different values of one
/// header.
fn header_conflicts(functions: &BTreeMap<String, Function>) -> Vec<CatalogueError> {
    let mut seen: BTreeMap<&str, &Function> = BTreeMap::new();
    let mut errors = Vec::new();
    for function in functions.values() {
        for (name, value) in &function.request.headers {
            let first = *seen.entry(name).or_insert(function);
            if first.request.headers.get(name) != Some(value) {
                errors.push(CatalogueError {
                    path: format!("{}.yaml", function.id),
                    cause: format!(
                        "its request header `{name}` has a different value than in `{}`: rename one of the two headers",
                        first.id
                    ),
                });
            }
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fragment::Fragment;
    use crate::function::Context;
    use crate::knob::{KnobRange, KnobValue};

    const SOUND: &str = "id: one\nfamily: routing\nsummary: Does one thing\nsource: https://example.org/\nproof: [a.b]\nfragment: |\n  route: {a: 1}\n";

    fn errors(files: &[(&str, String)]) -> Vec<String> {
        let files = files.iter().map(|(path, text)| (Path::new(*path), text.as_bytes()));
        let read = Catalogue::read(files, file::read_and_render);
        read.unwrap_err().iter().map(ToString::to_string).collect()
    }

    fn ends(range: &KnobRange) -> Vec<KnobValue> {
        match range {
            KnobRange::Integer { min, max } => vec![KnobValue::Integer(*min), KnobValue::Integer(*max)],
            KnobRange::Word(choices) => choices.iter().cloned().map(KnobValue::Word).collect(),
        }
    }

    /// The fragment of a call.
    fn rendered(call: &str) -> Fragment {
        let catalogue = Catalogue::load().unwrap_or_else(|errors| panic!("{errors:?}"));
        let (function, knobs) = catalogue.resolve(&FunctionCall::parse(call).unwrap()).unwrap();
        function.render(&knobs, &Context { directory: "/run/arm".as_ref(), companion: None }).unwrap()
    }

    /// The program itself does not render what it does not need.
    #[test]
    fn every_file_of_the_catalogue_is_sound_and_renders() {
        let mut files = Vec::new();
        collect(&FILES, &mut files);
        let read =
            Catalogue::read(files, file::read_and_render).unwrap_or_else(|errors| panic!("{errors:?}"));
        assert_eq!(read.functions.len(), Catalogue::load().unwrap().functions.len());
    }

    #[test]
    fn every_function_of_the_catalogue_renders_at_the_ends_of_its_knobs() {
        let catalogue = Catalogue::load().unwrap_or_else(|errors| panic!("{errors:?}"));
        assert!(catalogue.iter().count() >= 17);
        for function in catalogue.iter() {
            for (name, knob) in &function.knobs {
                for value in ends(&knob.range) {
                    rendered(&format!("{}{{{name}={value}}}", function.id));
                }
            }
        }
    }

    #[test]
    fn requests_are_split_by_share_half_and_half_by_default() {
        for (call, weights) in [("route/weighted", [50, 50]), ("route/weighted{share=1}", [99, 1])] {
            let fragment = rendered(call);
            let clusters = &fragment.route["route"]["weighted_clusters"]["clusters"];
            assert_eq!([0, 1].map(|index| clusters[index]["weight"].as_u64().unwrap()), weights, "{call}");
        }
    }

    #[test]
    fn as_many_keys_are_listed_as_the_knob_says() {
        let fragment = rendered("api-key{keys=11}");
        let keys = fragment.http_filters[0]["typed_config"]["credentials"].as_array().unwrap();
        let of =
            |number: usize| (keys[number]["key"].as_str().unwrap(), keys[number]["client"].as_str().unwrap());
        assert_eq!((keys.len(), of(0), of(10)), (11, ("key-0", "client-0"), ("key-10", "client-10")));
        assert!(keys.iter().all(|key| key.as_object().unwrap().len() == 2), "{keys:?}");
    }

    #[test]
    fn a_known_cpu_time_is_that_of_the_knobs() {
        let catalogue = Catalogue::load().unwrap();
        let known_us = |call: &str| {
            let (function, knobs) = catalogue.resolve(&FunctionCall::parse(call).unwrap()).unwrap();
            function.known_cpu_us(&knobs).unwrap()
        };
        assert_eq!(known_us("control/burn"), Some(5.0));
        assert_eq!(known_us("control/burn{us=0}"), Some(0.0));
        assert_eq!(known_us("control/burn{us=40}"), Some(40.0));
        assert_eq!(known_us("control/delay"), None);
    }

    #[test]
    fn our_code_comes_with_the_fragment_that_names_it() {
        let catalogue = Catalogue::load().unwrap();
        let context = Context { directory: "/run/an \"arm\"".as_ref(), companion: None };
        let (mut modules, mut filters) = (Vec::new(), Vec::new());
        for function in catalogue.iter() {
            let fragment = function.render(&function.default_knobs(), &context).unwrap();
            let named = fragment.http_filters.iter().find_map(|filter| {
                let typed = filter.get("typed_config")?;
                let module = &typed["dynamic_module_config"]["module"]["local"]["filename"];
                module.as_str().or(typed["config"]["vm_config"]["code"]["local"]["filename"].as_str())
            });
            let files: Vec<&Path> = fragment.files.iter().map(|(path, _)| path.as_path()).collect();
            assert_eq!(named.map(Path::new).into_iter().collect::<Vec<_>>(), files, "{}", function.id);
            for (_, bytes) in &fragment.files {
                match bytes {
                    [0x7f, b'E', b'L', b'F', ..] => modules.push(function.id.as_str()),
                    [0, b'a', b's', b'm', ..] => filters.push(function.id.as_str()),
                    _ => panic!("{}: neither a shared object nor WebAssembly", function.id),
                }
            }
        }
        assert_eq!(
            modules,
            [
                "add-header/module",
                "check-token/module",
                "control/burn",
                "plan-limit/module",
                "rewrite-json/module"
            ]
        );
        assert_eq!(filters.len(), 7, "{filters:?}");
    }

    #[test]
    fn an_unknown_function_suggests_the_nearest_name_or_the_list_of_all() {
        let catalogue = Catalogue::load().unwrap();
        for (call, expected) in [
            ("outlier-detectio", "`outlier-detectio`; did you mean `outlier-detection`?"),
            ("baselin", "`baselin`; did you mean `baseline`?"),
            ("baseline{size=1}", "`baseline`; `hoptax functions` lists them"),
            ("nonsense", "`nonsense`; `hoptax functions` lists them"),
        ] {
            let call = FunctionCall::parse(call).unwrap();
            let errors = catalogue.resolve_beside(&call, &["baseline"]).unwrap_err();
            assert_eq!(errors[0].to_string(), format!("unknown function {expected}"));
        }
    }

    #[test]
    fn every_wrong_knob_of_a_call_is_named() {
        let catalogue = Catalogue::load().unwrap();
        let call = FunctionCall::parse("route/path{routse=2,routes=0}").unwrap();
        let errors: Vec<String> =
            catalogue.resolve(&call).unwrap_err().iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn a_description_is_one_paragraph_in_one_line() {
        let with =
            |description: &str| SOUND.replace("\nsource:", &format!("\ndescription: {description}\nsource:"));
        for bad in ["' '", "|-\n  One.\n  Two."] {
            let errors = errors(&[("one.yaml", with(bad))]);
            assert!(
                errors.len() == 1 && errors[0].contains("its description is empty or has several"),
                "{errors:?}"
            );
        }
        let folded = with(">-\n  Nothing: no\n  `a`.");
        let read = Catalogue::read([(Path::new("one.yaml"), folded.as_bytes())], file::read_and_render);
        let read = read.unwrap_or_else(|errors| panic!("{errors:?}"));
        let one = read.iter().next().unwrap();
        assert_eq!(one.description.as_deref(), Some("Nothing: no `a`."));
    }

    #[test]
    fn every_bad_file_is_reported_at_once() {
        let spoilt = |from: &str, to: &str| SOUND.replace(from, to);
        let header = |id: &str, value: &str| {
            spoilt("id: one", &format!("id: {id}")) + &format!("request: {{headers: {{x-a: {value}}}}}\n")
        };
        insta::assert_snapshot!(
            errors(&[
                ("readme.txt", String::new()),
                ("other.yaml", SOUND.to_owned()),
                ("one.yaml", spoilt("summary: Does one thing", "summary: ''")),
                ("one.yaml", spoilt("https:", "ftp:")),
                ("one.yaml", spoilt("a: 1", "a: {{ nowhere }}")),
                ("one.yaml", spoilt("route: {a: 1}", "rout: {a: 1}")),
                ("one.yaml", SOUND.to_owned() + "colour: red\n"),
                ("one.yaml", SOUND.to_owned() + "changes: [{release: 1.40.1, summary: All}]\n"),
                ("one.yaml", SOUND.to_owned() + "changes: [{release: '1.40', summary: ''}]\n"),
                ("one.yaml", SOUND.to_owned() + "upstreams: 0\n"),
                ("one.yaml", SOUND.to_owned() + "request: {headers: {X-A: b}}\n"),
                ("one.yaml", SOUND.to_owned() + "known_answer: {}\n"),
                ("one.yaml", SOUND.to_owned() + "known_answer: {response_p50_us: [1, 2], cpu_us: '3'}\n"),
                ("one.yaml", SOUND.to_owned() + "known_answer: {cpu_us: fast}\n"),
                ("one.yaml", SOUND.to_owned() + "known_answer: {cpu_us: '{{ 0 - 1 }}'}\n"),
                ("one.yaml", SOUND.to_owned() + "knobs: {k: {default: 1, summary: K}}\n"),
                ("one.yaml", SOUND.to_owned() + "listeners: {fit: [colour]}\n"),
                ("one.yaml", SOUND.to_owned() + "listeners: {suits: []}\n"),
                ("one.yaml", SOUND.to_owned() + "points: {colour: [1]}\n"),
                ("one.yaml", SOUND.to_owned() + "points: {headers: [many]}\n"),
                ("one.yaml", SOUND.to_owned() + "points: {headers: [5, 5]}\n"),
                ("three.yaml", header("three", "b")),
                ("two.yaml", header("two", "c")),
            ])
            .join("\n---\n")
        );
    }
}
