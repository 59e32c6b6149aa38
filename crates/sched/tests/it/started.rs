//! Threads are started in a short way where all is as usual, and in a long one where every step is recorded in words. The
//! record of a run is the same; and so it is in an execution that took over the room of another.

use linpoint_sched::strategy::{Strategy, dfs::Dfs, replay::Replay};
use linpoint_sched::sync::Mutex;
use linpoint_sched::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use linpoint_sched::{Execution, Limits, Run, mark_call, mark_return, thread};

/// Threads that begin with a step, with a lock, with nothing at all, with threads of their own, with a panic.
fn program(first: usize, last: usize) {
    let (counter, lock) = (AtomicUsize::new(0), Mutex::new(0));
    let body = |kind: usize, number: usize| {
        mark_call(number as u32);
        match kind {
            0 => {
                counter.load(SeqCst);
                counter.fetch_add(1, SeqCst);
            }
            1 => *lock.lock().unwrap() += counter.load(SeqCst),
            2 => {}
            3 => thread::run_numbered(2, &|_| {
                counter.fetch_add(1, SeqCst);
            }),
            4 => drop(thread::spawn(|| ()).join()),
            _ => assert!(counter.fetch_add(1, SeqCst) == 0, "not the first"),
        }
        mark_return(number as u32);
    };
    thread::run_numbered(2, &|number| body([first, last][number], number));
    counter.load(SeqCst);
}

fn told(run: &Run) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?}",
        run.steps, run.accesses, run.marks, run.asides, run.threads, run.ending
    )
}

#[test]
fn the_short_way_to_start_threads_leads_to_the_same_runs() {
    let mut runs = 0;
    for (first, last) in (0..6).flat_map(|first| (0..6).map(move |last| (first, last))) {
        let body = || program(first, last);
        let mut execution = Execution::new(Limits::default());
        let mut recording = Execution::new(Limits { stack_size: 128 << 10, ..Limits::default() });
        let (mut dfs, mut again) = (Dfs::bounded(2), Dfs::bounded(2));
        loop {
            let run = told(execution.run(&body, &mut dfs));
            assert_eq!(run, told(recording.trace(&body, &mut again).0), "{first} {last}");
            // An execution of one run, which finds what those before it left.
            let schedule = execution.record().schedule();
            let mut fresh = Execution::new(Limits::default());
            assert_eq!(run, told(fresh.run(&body, &mut Replay::new(schedule))), "{first} {last}");
            runs += 1;
            let more = dfs.advance(execution.record());
            assert_eq!(more, again.advance(recording.record()), "{first} {last}");
            if !more {
                break;
            }
        }
    }
    assert!(runs > 300, "{runs}");
}
