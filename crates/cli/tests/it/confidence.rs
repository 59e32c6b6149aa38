//! `linpoint confidence`, and the sentence at the end of a clean check.

use crate::run::linpoint;

#[test]
fn one_rate() {
    let ran = linpoint(&["confidence", "--operations", "3M", "--error-rate", "1/1000000"], b"");
    let expected = "\
3,000,000 clean operations: an error of rate 1/1,000,000 would have shown with probability 95.0 %; rates above 1/1,001,425 are excluded at 95 %
  rate 1/1,000,000: shown with probability 95.0 %; 2,995,731 clean operations exclude it at 95 %, 4,605,168 at 99 %
  for operations like these, if errors are independent of each other
";
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, expected, ""));
}

/// Dragicevic 2011, figure 6.13 and table 6.3: y operations against errors of one in y.
#[test]
fn table() {
    let ran = linpoint(&["confidence", "--operations", "1_000_000"], b"");
    assert_eq!(ran.out.lines().count(), 7, "{}", ran.out);
    assert!(ran.out.contains("rate 1/1,000,000: shown with probability 63.2 %"), "{}", ran.out);
    assert!(ran.out.contains("rate 1/100,000,000: shown with probability 1.00 %"), "{}", ran.out);
}

#[test]
fn as_json() {
    let ran = linpoint(&["confidence", "--operations", "0", "--error-rate", "0.5", "--json"], b"");
    let object: serde_json::Value = serde_json::from_str(&ran.out).expect("one object");
    assert_eq!(object["detection"], 0.0);
    assert_eq!(object["excluded_rate_95"], 1.0);
    assert_eq!(object["operations_needed_95"], 5);
}

#[test]
fn bad_rates_are_bad_use() {
    for rate in ["0", "2", "-1/5", "1/0", "x", "1/"] {
        let ran = linpoint(&["confidence", "--operations", "9", &format!("--error-rate={rate}")], b"");
        assert_eq!(ran.code, 2, "{rate}");
    }
    assert_eq!(linpoint(&["confidence", "--operations", "99999999999999999999"], b"").code, 2);
}

#[test]
fn a_clean_check_says_what_it_is_worth() {
    let history = br#"{"process":1,"op":"enqueue","arg":5,"ret":null,"call":1,"return":2}
{"process":1,"op":"dequeue","arg":null,"ret":5,"call":3,"return":4}
{"process":2,"op":"dequeue","arg":null,"call":3}
"#;
    let ran = linpoint(&["check", "-", "--spec", "queue"], history);
    // The pending operation gave no answer, so it is worth nothing.
    let last = "  an error of rate 1/1,000,000 would have shown with probability 2.0e-4 %; rates above 1/1.2 are excluded at 95 %";
    assert_eq!((ran.code, ran.out.lines().last()), (0, Some(last)), "{}", ran.out);
    let wrong = br#"{"process":1,"op":"dequeue","arg":null,"ret":5,"call":3,"return":4}"#;
    assert!(!linpoint(&["check", "-", "--spec", "queue"], wrong).out.contains("95 %"));
}
