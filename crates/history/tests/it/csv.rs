//! What the fields of CSV mean: blanks and ends of lines are part of them.

use linpoint_history::formats::{Format, problem};
use linpoint_history::{History, Value};

use crate::samples::{read, show, spec, write};

const HEAD: &str = "process,op,arg,ret,call,return,key\n";

fn rows(text: &str) -> History {
    let text = format!("{HEAD}{text}");
    read(&spec("register"), Some(Format::Csv), text.as_bytes()).unwrap_or_else(|problem| panic!("{problem}"))
}

#[test]
fn blanks_are_part_of_a_field() {
    let text = "1,write, a,,1,2,\r\n1,read,,a,3,4,\n1,read,,\" a\",5,6,\r\n1,read,,\"a \",7,8,\"\n\"\n x, read ,, ,9,10,\r\n";
    let expected = [
        "1 null: write(\" a\") -> null [1,2]",
        "1 null: read(null) -> \"a\" [3,4]",
        "1 null: read(null) -> \" a\" [5,6]",
        "1 \"\\n\": read(null) -> \"a \" [7,8]",
        "\" x\" null: read(null) -> \" \" [9,10]",
    ];
    assert_eq!(show(&rows(text), &spec("register")).lines().collect::<Vec<_>>(), expected);
}

/// What would be JSON but for blanks: neither the number nor the text next to it.
#[test]
fn values_with_blanks_around_them_are_refused() {
    for field in [" 5", "5 ", "\" 5\"", " true", "null\t", "\"\n5\"", " [1]", " \"\" 5\"\""] {
        let text = format!("{HEAD}1,write,{field},,1,2,\n");
        let problem = read(&spec("register"), Some(Format::Csv), text.as_bytes()).unwrap_err();
        assert_eq!(problem.code, problem::SYNTAX, "{field:?}: {problem}");
    }
    let text = format!("{HEAD}1,read,,, 1,2,\n");
    assert!(read(&spec("register"), Some(Format::Csv), text.as_bytes()).is_err());
}

#[test]
fn every_text_comes_back_as_it_was() {
    let spec = spec("register");
    let texts =
        ["", " ", "\n", "\r", "\r\n", " a", "a ", "\ta", "5", " 5", "null", "\"", " \"a\"", "a,b", "\u{a0}5"];
    let line = |(index, text): (usize, &&str)| {
        let text = Value::text(text);
        let stamp = 2 * index;
        format!(
            "{{\"process\":{text},\"op\":\"write\",\"arg\":{text},\"call\":{stamp},\"return\":{},\"key\":{text}}}\n",
            stamp + 1
        )
    };
    let lines: String = texts.iter().enumerate().map(line).collect();
    let history = read(&spec, Some(Format::JsonLines), lines.as_bytes()).unwrap();
    let again = read(&spec, Some(Format::Csv), &write(Format::Csv, &history, &spec)).unwrap();
    assert_eq!(show(&again, &spec), show(&history, &spec));
}
