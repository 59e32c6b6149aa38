use linpoint_shape::prove::*;
fn main() {
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).unwrap();
        let (programs, _) = linpoint_lang::compile(&text);
        let report = prove(&programs[0], &Settings { time: Some(std::time::Duration::from_secs(60)), points: if std::env::var("INFER").is_ok() { Choice::Inferred } else { Choice::Auto }, ..Settings::default() });
        let what = match &report.verdict { Verdict::Proved(p) => format!("proved {:?} given failed {}", p.points, p.given_failed), Verdict::Refuted(r) => format!("refuted {} states {:?}", r.explored.states, r.workload.threads.len()), Verdict::NotProved(g) => format!("not proved: {} {:?}", g.reason, g.halt.as_ref().map(|h| h.at)) };
        println!("{file}: {what} tried {} structures {} {:?}", report.tried, report.structures, report.elapsed);
    }
}
