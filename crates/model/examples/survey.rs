//! Explores programs with their clients and says what came out: `survey [--points] [--plain] [--threads N
//! --ops N] [--workers N] [--time S] FILE…`.

use std::time::Duration;

use linpoint_lang::compile;
use linpoint_model::{Bounds, Mode, Verdict, Workload, explore};

fn main() {
    let mut args = std::env::args().skip(1);
    let (mut mode, mut threads, mut ops, mut time) = (Mode::Anywhere, None, 2, 60);
    let (mut plain, mut workers) = (false, 1);
    let mut files = Vec::new();
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|n| n.parse().ok()).unwrap_or(2);
        match arg.as_str() {
            "--points" => mode = Mode::AtPoints,
            // Data keeps its names, and every read of what others can get at is a step.
            "--plain" => plain = true,
            "--workers" => workers = number(),
            "--threads" => threads = Some(number()),
            "--ops" => ops = number() as u32,
            "--time" => time = number() as u64,
            _ => files.push(arg),
        }
    }
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let (programs, _) = compile(&text);
        for program in &programs {
            let workload = match (threads, program.clients.first()) {
                (Some(threads), _) => Workload::general(program, threads, ops),
                (None, Some(client)) => Workload::of(client),
                (None, None) => Workload::general(program, 2, 2),
            };
            let mut bounds = Bounds { time: Some(Duration::from_secs(time)), workers, ..Bounds::default() };
            if plain {
                (bounds.reductions.data, bounds.reductions.fixed) = (false, false);
            }
            let explored = explore(program, &workload, mode, &bounds);
            let verdict = match &explored.verdict {
                Verdict::Holds(_) => "holds".to_owned(),
                Verdict::Violated(v) => {
                    format!("violated: {:?}, {} steps, rechecked {}", v.wrong, v.steps.len(), v.rechecked)
                }
                Verdict::Unknown(limit) => format!("unknown: {limit:?}"),
            };
            let seconds = explored.elapsed.as_secs_f64();
            let name = path.rsplit('/').next().unwrap_or("");
            println!(
                "{name:<36} {:>9} states {:>10} steps {:>3} deep {:>7.2} s {:>8.0}/s {:>4} MB {:>4} B/state  {verdict}",
                explored.states,
                explored.transitions,
                explored.depth,
                seconds,
                explored.states as f64 / seconds,
                explored.memory >> 20,
                explored.memory / explored.states.max(1),
            );
        }
    }
}
