//! How fast is a history read? `cargo run --release --example parse_speed -- queue FILE…` prints, for each
//! file, the nanoseconds an operation and the operations a second, best of five. Time is time on the
//! processor where the system tells (Linux), so that other work does not count.
//!
//! With `--make COUNT OUT` in place of a file it first writes a queue history of COUNT operations with
//! distinct values in order of return, as `OUT.jsonl` and `OUT.lin`.

use std::error::Error;
use std::io::{BufWriter, Write as _};
use std::sync::OnceLock;
use std::time::Instant;

use linpoint_history::formats::{self, Format, Input, ReadOptions};
use linpoint_history::rng::Rng;
use linpoint_history::specs::codes::queue;
use linpoint_history::{History, Operation, Spec, Symbols, Value, specs};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let spec = specs::parse(&arguments.next().ok_or("expected the name of a spec")?)?;
    while let Some(file) = arguments.next() {
        if file == "--make" {
            let count: u64 = arguments.next().ok_or("expected a count")?.parse()?;
            let stem = arguments.next().ok_or("expected a file")?;
            let history = queue_history(count);
            for (format, ending) in [(Format::JsonLines, "jsonl"), (Format::Binary, "lin")] {
                let mut out = BufWriter::new(std::fs::File::create(format!("{stem}.{ending}"))?);
                formats::write(format, &history, spec.signature(), &mut out)?;
                out.flush()?;
            }
            continue;
        }
        let mut best = f64::INFINITY;
        let mut count = 0;
        for _ in 0..5 {
            let start = clock();
            let mut reader =
                formats::open(&Input::File(file.clone().into()), &spec, &ReadOptions::default())?;
            let (mut symbols, mut rows) = (Symbols::new(), Vec::new());
            count = 0;
            loop {
                rows.clear();
                let more = reader.read(&mut symbols, &mut rows, 4096)?;
                count += rows.len();
                if !more {
                    break;
                }
            }
            best = best.min(clock() - start);
        }
        let each = best / count.max(1) as f64;
        println!("{file}: {count} operations, {:.1} ns each, {:.2} M/s", each * 1e9, 1e-6 / each);
    }
    Ok(())
}

/// Seconds this thread has run, or seconds since some moment.
fn clock() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let on_processor = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = on_processor.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| START.get_or_init(Instant::now).elapsed().as_secs_f64(), |ns| ns / 1e9)
}

/// Sixteen processes, values in order of their numbers, operations in order of return.
fn queue_history(count: u64) -> History {
    let (mut history, mut rng) = (History::new(), Rng::new(1));
    let processes: Vec<_> = (0..16).map(|p| history.symbols.process(&Value::Int(p))).collect();
    let mut free = [0i64; 16];
    let (mut entered, mut left) = (0, 0);
    for index in 0..count {
        let lane = rng.below(16) as usize;
        let ret = 2 * index as i64 + 2;
        let inserts = left == entered || rng.chance(0.5);
        let op = if inserts { queue::ENQUEUE } else { queue::DEQUEUE };
        let mut row = Operation::new(processes[lane], op);
        row.call = free[lane].max(ret - 40) + 1;
        row.ret = ret;
        free[lane] = ret;
        let turn = if inserts { &mut entered } else { &mut left };
        let value = history.symbols.intern_int(*turn);
        *turn += 1;
        if inserts {
            row.arg = value;
        } else {
            row.result = value;
        }
        history.operations.push(row);
    }
    history
}
