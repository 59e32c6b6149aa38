//! Objects that come while other threads log. Who is right is a matter of counting: the program knows what it did.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use linpoint_history::rng::Rng;
use linpoint_monitor::replay::{Refine, refine};
use linpoint_monitor::{Conclusion, Monitor, MonitorError, Object, Report};

use crate::pack::Round;

/// One run with some settings.
pub fn round(rng: &mut Rng) -> Round {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let log =
        std::env::temp_dir().join(format!("linpoint-attack-{}-{number}-late.linlog", std::process::id()));
    let (file, spill, verifiers) = (rng.chance(0.5), rng.chance(0.3), 1 + rng.below(3) as usize);
    let (words, each) = (*rng.pick(&[64, 1 << 10, 1 << 16]), 5 + rng.below(40));
    let rows = Arc::new(Mutex::new(0));
    let into = Arc::clone(&rows);
    let mut settings = Monitor::builder().verifiers(verifiers).ring_words(words).stream(move |streamed| {
        *into.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += streamed.rows.len() as u64;
    });
    if file || spill {
        settings = settings.log_file(&log);
    }
    if spill {
        settings = settings.spill();
    }
    let said = settings.start().and_then(|monitor| use_it(monitor, each));
    let (report, made) = match said {
        Ok(said) => said,
        Err(error) => return Round::disagreed(error.to_string(), "a run", "", "late objects"),
    };
    let streamed = *rows.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut trouble = wrong(&report, made, each);
    if streamed != made {
        trouble = trouble.or(Some(format!("{streamed} rows were streamed")));
    }
    if file || spill {
        let read =
            refine(&log, &Refine::default(), &mut |_| {}).map(|refined| wrong(&refined.report, made, each));
        trouble = trouble.or(read.unwrap_or_else(|error| Some(error.to_string())));
        // Left behind it harms nobody.
        let _ = std::fs::remove_file(&log);
    }
    match trouble {
        None => Round::Agreed(2 * each),
        Some(trouble) => {
            let input =
                format!("file {file}, spill {spill}, verifiers {verifiers}, ring {words}, objects {each}");
            Round::disagreed(
                format!("{trouble}: {report}"),
                format!("{made} operations, all right"),
                input,
                "late objects",
            )
        }
    }
}

/// Two threads log on one object; two others make objects, use each at once, and drop it. Operations made.
fn use_it(monitor: Monitor, each: u64) -> Result<(Report, u64), MonitorError> {
    let register = |number: u64| -> Result<Object, MonitorError> {
        monitor.object(&format!("register {number}"), "register")?.without_commits().watch()
    };
    let busy = register(1 << 40)?;
    let (over, made) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    busy.call(busy.op("write"), 1u64).returns(());
                    made.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let makers = [0, each].map(|from| {
            let (register, made) = (&register, &made);
            scope.spawn(move || {
                for number in from..from + each {
                    if let Ok(object) = register(number) {
                        object.call(object.op("write"), number).returns(());
                        object.call(object.op("read"), ()).returns(number);
                        made.fetch_add(2, Ordering::Relaxed);
                    }
                }
            })
        });
        makers.into_iter().for_each(|maker| drop(maker.join()));
        over.store(true, Ordering::Relaxed);
    });
    drop(busy);
    let made = made.load(Ordering::Relaxed);
    Ok((monitor.finish(), made))
}

fn wrong(report: &Report, made: u64, each: u64) -> Option<String> {
    let objects = report.objects.len() as u64;
    let right = report.conclusion() == Conclusion::Clean
        && report.lost == 0
        && report.operations() == made
        && objects == 2 * each + 1;
    (!right)
        .then(|| format!("{:?}, {} operations, {objects} objects", report.conclusion(), report.operations()))
}
