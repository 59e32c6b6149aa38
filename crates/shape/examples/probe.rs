use linpoint_shape::*;
fn main() {
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).unwrap();
        let (programs, _) = linpoint_lang::compile(&text);
        let program = &programs[0];
        let layout = match layout::Layout::new(program) { Ok(l) => l, Err(e) => { println!("{file}: refused {e}"); continue } };
        let points = exec::Points::Given;
        let steps = run::Steps { layout: &layout, points: &points };
        let t = std::time::Instant::now();
        let b = budget::Budget::new(Some(std::time::Duration::from_secs(20)), 2 << 30);
        let start = match initial::initial(&layout, 1) { Ok(l) => l, Err(e) => { println!("{file}: refused {e}"); continue } };
        let found = views::analyse(&steps, start.clone(), &b);
        let end = match &found.end { threads::End::Proved => "proved".into(), threads::End::Limit(l) => l.clone(), threads::End::Halt(h) => format!("{} at {:?} line {}", threads::trouble(h), h.at, linpoint_lang::span::line_column(&text, program.nodes[h.at.0 as usize].edges[h.at.1 as usize].span.start as usize).0) };
        println!("{file}: any: {end} views {} records {} merges {} {:?}", found.views.all.len(), found.records.all.len(), found.merges, t.elapsed());
        for (threads, calls) in [(2, 1), (2, 2), (3, 1)] {
            let world = concrete::World::new(&layout, &points, threads, calls);
            let whole = if threads == 2 && layout.object != layout::Object::Set { Some(threads::analyse(&steps, initial::initial(&layout, threads).unwrap(), &threads::Client::general(&layout, threads), store::Domain::Joined, &b)) } else { None };
            let t = std::time::Instant::now();
            println!("  {threads}x{calls} {:?} {:?}", cover::cover(&steps, &world, threads, std::env::var("MOST").map_or(100000, |m| m.parse().unwrap()), Some(&found.views), whole.as_ref().map(|f| &f.store)), t.elapsed());
        }
        if std::env::var("K").is_err() { continue }
        for k in 1..=2 {
            let t = std::time::Instant::now();
            let start = initial::initial(&layout, k).unwrap();
            let client = threads::Client::general(&layout, k);
            let found = threads::analyse(&steps, start, &client, store::Domain::Joined, &b);
            let end = match &found.end { threads::End::Proved => "proved".into(), threads::End::Limit(l) => l.clone(), threads::End::Halt(h) => format!("{} at {:?}", threads::trouble(h), h.at) };
            println!("{file}: {k}: {end} structures {} steps {} {:?}", found.store.all.len(), found.steps, t.elapsed());
        }
    }
}
