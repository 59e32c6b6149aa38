//! Damaged files: nothing may panic, and what is read in spite of damage must be all there was, but for the damaged record.
//!
//! A byte that is changed may make a record say something else, and no format can tell. But the records around it must be there, and none may
//! disappear without a word.

use linpoint_history::formats::{self, Format, Input, ReadOptions};
use linpoint_history::generate::{self, Plan};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, History, Kind, Spec};

use crate::pack::Round;

/// Damages of one file in a round.
const DAMAGES: u64 = 60;

/// One history in one format, damaged many times.
pub fn round(rng: &mut Rng) -> Round {
    let formats: Vec<Format> = Format::all().filter(|format| format.is_built_in()).collect();
    let format = *rng.pick(&formats);
    let kind = match format {
        Format::KvLog => Kind::Kv,
        Format::EtcdLog => Kind::CasRegister,
        _ => *rng.pick(&[Kind::Queue, Kind::Register, Kind::Set, Kind::Map]),
    };
    let spec = Builtin::new(kind);
    let plan = Plan { processes: 3, operations: 12, seed: rng.bits(), ..Plan::new(spec.clone()) };
    let Ok((history, _)) = generate::history(&plan, None) else { return Round::Agreed(0) };
    let mut bytes = Vec::new();
    if formats::write(format, &history, spec.signature(), &mut bytes).is_err() {
        return Round::Agreed(0);
    }
    let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    let Ok(whole) = formats::read_all(&Input::Bytes(bytes.clone()), &spec, &options) else {
        return Round::disagreed(
            "refused",
            "what was written can be read",
            show(&bytes),
            command(format, &spec),
        );
    };
    let rows = rows(&whole, &spec);
    for _ in 0..DAMAGES {
        let mut damaged = bytes.clone();
        let at = rng.below(damaged.len() as u64) as usize;
        // Without one of its line ends a text has one record less, or one that makes no sense.
        if damaged[at] == b'\n' {
            continue;
        }
        damaged[at] = *rng.pick(b"0:\"}{ ,x\\\xff\x00");
        if damaged[at] == b'\n' {
            continue;
        }
        let Ok(read) = formats::read_all(&Input::Bytes(damaged.clone()), &spec, &options) else { continue };
        let left = self::rows(&read, &spec);
        let lost = rows.iter().filter(|row| !left.contains(row)).count();
        // A process or a key may be named in one record only, so that the numbers of others stay; two records of one operation may be hit by one byte.
        if lost > 2 || left.len() + 1 < rows.len() {
            let said = format!("read, with {lost} of {} operations lost or changed", rows.len());
            return Round::disagreed(said, "one record was damaged", show(&damaged), command(format, &spec));
        }
    }
    Round::Agreed(DAMAGES)
}

/// What a history says, row by row. Stamps are left out: event forms count lines.
fn rows(history: &History, spec: &Builtin) -> Vec<String> {
    let symbols = &history.symbols;
    let row = |op: &linpoint_history::Operation| {
        let name = spec.signature().decl(op.op()).name;
        let (arg, result) = (symbols.value(op.arg), symbols.value(op.result));
        let end = if op.is_pending() { "pending" } else { "returned" };
        format!(
            "{} {} {name} {arg} {result} {end}",
            symbols.process_name(op.process()),
            symbols.key_name(op.key)
        )
    };
    history.operations.iter().map(row).collect()
}

fn show(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn command(format: Format, spec: &Builtin) -> String {
    format!("linpoint check FILE --spec {} --format {}", spec.kind.name(), format.name())
}
