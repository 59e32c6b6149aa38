//! Fields that are nearly named as one that is missing, or by another word for it: `retrun`, or `end`, where
//! there is no `return`.
//!
//! Fields that nobody knows are allowed, for what else a log may hold. But an operation whose `return` is
//! misspelt would pass for one that never returned, and one whose `ret` is for one that found nothing: a
//! wrong verdict without a word. So where a field is missing and another one looks like it, the record is
//! refused.

use super::problem;
use crate::diagnostic::Diagnostic;

/// Other words for fields, by which they are missed.
const WORDS: [(&str, &str); 26] = [
    ("result", "ret"),
    ("res", "ret"),
    ("response", "ret"),
    ("output", "ret"),
    ("out", "ret"),
    ("answer", "ret"),
    ("returned", "return"),
    ("end", "return"),
    ("ended", "return"),
    ("finish", "return"),
    ("completed", "return"),
    ("return_time", "return"),
    ("call_time", "call"),
    ("start", "call"),
    ("invoke", "call"),
    ("args", "arg"),
    ("argument", "arg"),
    ("value", "arg"),
    ("input", "arg"),
    ("fail", "failed"),
    ("proc", "process"),
    ("values", "value"),
    ("arg", "value"),
    ("ret", "value"),
    ("result", "value"),
    ("res", "value"),
];

/// Names of one's own fields that are one letter from a short one, and are not mistaken for it: requests,
/// revisions, references, round trips.
const EXTRAS: [&str; 9] = ["req", "rev", "ref", "rep", "rt", "set", "get", "net", "org"];

/// What is wrong if a record has a field `name` that nobody knows, and the fields `missing` could stand there
/// but do not.
pub(super) fn check<'a>(name: &str, missing: impl IntoIterator<Item = &'a str>) -> Option<Diagnostic> {
    check_as(name, name, "", missing)
}

/// As [`check`], of a name that is `written` with more than its letters, where known ones have `sign` before
/// theirs.
pub(super) fn check_as<'a>(
    name: &str,
    written: &str,
    sign: &str,
    missing: impl IntoIterator<Item = &'a str>,
) -> Option<Diagnostic> {
    let meant = missing.into_iter().find(|known| looks_like(name, known))?;
    Some(Diagnostic::new(
        problem::MISSPELT,
        format!("there is a field `{written}`, and none `{sign}{meant}`"),
        format!("`{sign}{meant}` if that is meant; if it is not, another name, or the field left out"),
    ))
}

/// Is it the same but for capitals, one letter, or two neighbours that changed places? Of a name of one
/// letter or two, only if it has the same letters.
fn looks_like(name: &str, known: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if name == known || WORDS.contains(&(&name, known)) {
        return true;
    }
    if EXTRAS.contains(&&*name) {
        return false;
    }
    let (a, b) = (name.as_bytes(), known.as_bytes());
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[same..], &b[same..]);
    let swapped = a.len() == b.len() && a.len() >= 2 && a[0] == b[1] && a[1] == b[0] && a[2..] == b[2..];
    let one_more = a.split_first().is_some_and(|(_, rest)| rest == b);
    let one_less = b.split_first().is_some_and(|(_, rest)| rest == a);
    let another = a.len() == b.len() && !a.is_empty() && a[1..] == b[1..];
    swapped || known.len() >= 3 && (one_more || one_less || another)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_seen_and_other_words_are_not() {
        for (name, known) in [
            ("retrun", "return"),
            ("retun", "return"),
            ("returns", "return"),
            ("rturn", "return"),
            ("Return", "return"),
            ("rte", "ret"),
            ("RET", "ret"),
            ("result", "ret"),
            ("agr", "arg"),
            ("proces", "process"),
            ("vlaue", "value"),
            ("end", "return"),
            ("res", "ret"),
            ("value", "arg"),
            ("ret", "value"),
            ("rets", "ret"),
            ("rett", "ret"),
            ("retv", "ret"),
            ("re", "ret"),
            ("keys", "key"),
            ("kee", "key"),
            ("ag", "arg"),
        ] {
            assert!(looks_like(name, known), "{name}");
        }
        for (name, known) in [
            ("set", "ret"),
            ("rev", "ret"),
            ("o", "op"),
            ("up", "op"),
            ("retry", "return"),
            ("time", "type"),
            ("key", "ret"),
            ("wall", "cal"),
            ("", "ret"),
            ("index", "arg"),
            ("rows", "process"),
        ] {
            assert!(!looks_like(name, known), "{name}");
        }
        assert!(check("retrun", ["arg", "return"]).is_some());
        assert!(check("retrun", ["arg"]).is_none());
    }
}
