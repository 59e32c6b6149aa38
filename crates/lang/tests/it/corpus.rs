//! Every file of the corpus parses, has sense, lowers, and is written as the printer writes it.

use std::path::{Path, PathBuf};

use linpoint_lang::{compile, parse, print};

/// The programs of the corpus: path and text.
pub fn files() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut files = Vec::new();
    for folder in ["correct", "broken"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("the corpus is there") {
            let path = entry.expect("the folder can be read").path();
            if path.extension().is_some_and(|e| e == "lin") {
                files.push((path.clone(), std::fs::read_to_string(&path).expect("it can be read")));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn every_program_has_sense() {
    for (path, text) in files() {
        let (programs, wrong) = compile(&text);
        let shown: String = wrong.iter().map(|d| d.render(&path.display().to_string(), &text)).collect();
        assert!(wrong.is_empty(), "{shown}");
        assert_eq!(programs.len(), 1, "{}", path.display());
    }
}

#[test]
fn every_program_is_written_as_the_printer_writes_it() {
    for (path, text) in files() {
        let (file, _) = parse(&text);
        let printed = print(&file, &text);
        let (again, wrong) = parse(&printed);
        assert!(wrong.is_empty(), "{}: {wrong:?}\n{printed}", path.display());
        assert_eq!(file.objects, again.objects, "{}", path.display());
        assert_eq!(printed, text, "{}", path.display());
    }
}

#[test]
fn every_header_says_what_to_expect() {
    for (path, text) in files() {
        let header: Vec<&str> = text.lines().take_while(|line| line.starts_with("//")).collect();
        let expects = |engine: &str| {
            let prefix = format!("// expect {engine}: ");
            header.iter().find_map(|line| line.strip_prefix(&prefix).map(str::to_owned))
        };
        let name = path.display();
        for engine in ["explore", "points", "shape", "obligations"] {
            assert!(expects(engine).is_some(), "{name}: what does `{engine}` say?");
        }
        assert!(header.iter().any(|line| line.starts_with("// bounds: ")), "{name}: within which bounds?");
        if path.parent().is_some_and(|p| p.ends_with("broken")) {
            let mutations = header.iter().filter(|line| line.starts_with("// mutation: ")).count();
            assert_eq!(mutations, 1, "{name}: one mutation");
        } else {
            assert_eq!(expects("explore").as_deref(), Some("holds"), "{name}");
        }
    }
}
