//! Running a process on one core, and what it cost: wall time, CPU time, peak memory.
//!
//! Linux keeps a finished process's CPU time readable in `/proc` until its parent collects it, so the figures are exact without
//! any foreign call; the peak of memory (`VmHWM`) is gone by then and is read while the process runs, each millisecond.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What a process cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// From start to end.
    pub wall_s: f64,
    /// On the processor, in the program and in the kernel.
    pub cpu_s: f64,
    /// The most memory resident at one time, mapped files included.
    pub peak_bytes: u64,
    /// Was it ended, and over which limit?
    pub ended: Option<&'static str>,
}

/// A process that holds more than this is ended: other checkers take all there is.
const MOST_BYTES: u64 = 6 << 30;

/// The program, to be run on one core if `taskset` is there to see to it.
pub fn pinned(program: impl AsRef<OsStr>) -> Command {
    let taskset = Command::new("taskset").arg("--version").stdout(Stdio::null()).status();
    if !taskset.is_ok_and(|status| status.success()) {
        return Command::new(program);
    }
    let core = std::thread::available_parallelism().map_or(0, |cores| cores.get() - 1);
    let mut command = Command::new("taskset");
    command.args(["-c", &core.to_string()]).arg(program);
    command
}

/// Runs it, for at most `limit_s` seconds and in at most [`MOST_BYTES`]; what it cost and what it printed.
pub fn run(command: Command, limit_s: u32) -> Result<(Usage, String), String> {
    run_while(command, |_, wall_s| wall_s < f64::from(limit_s))
}

/// As [`run`], for at most so many seconds of processor time, and ten times as many on the clock: other work on the machine does not count.
pub fn run_busy(command: Command, limit_s: u32) -> Result<(Usage, String), String> {
    let limit_s = f64::from(limit_s);
    run_while(command, |pid, wall_s| {
        wall_s < 10.0 * limit_s && (wall_s < limit_s || cpu_seconds(pid).is_none_or(|cpu_s| cpu_s < limit_s))
    })
}

/// Runs it while `may`, which is told its number and for how long it has been running, allows it.
fn run_while(mut command: Command, may: impl Fn(u32, f64) -> bool) -> Result<(Usage, String), String> {
    let started = Instant::now();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot run {command:?}: {error}"))?;
    let mut usage = Usage::default();
    while !is_finished(&mut child) {
        usage.peak_bytes = usage.peak_bytes.max(peak_bytes(child.id()));
        let late = !may(child.id(), started.elapsed().as_secs_f64());
        if late || usage.peak_bytes > MOST_BYTES {
            usage.ended = Some(if late { "too slow" } else { "over 6 GiB" });
            // It may have finished by itself in the meantime, which is as well.
            let _ = child.kill();
        }
        sleep(Duration::from_millis(1));
    }
    usage.wall_s = started.elapsed().as_secs_f64();
    usage.cpu_s = cpu_seconds(child.id()).unwrap_or(usage.wall_s);
    let mut text = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut text).map_err(|error| format!("{command:?}: {error}"))?;
    }
    child.wait().map_err(|error| format!("{command:?}: {error}"))?;
    Ok((usage, text))
}

/// Has it ended? Without collecting it, where `/proc` can tell.
fn is_finished(child: &mut Child) -> bool {
    match fields(child.id()) {
        Some(fields) => fields.first().is_some_and(|state| state == "Z"),
        None => !matches!(child.try_wait(), Ok(None)),
    }
}

/// The fields of `/proc/PID/stat` from the state on: what comes before may hold spaces.
fn fields(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

/// CPU time: of all threads in hundredths, or of the first thread in nanoseconds, whichever says more.
fn cpu_seconds(pid: u32) -> Option<f64> {
    let fields = fields(pid)?;
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    let fine = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    let fine = fine.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9;
    // A tick may be charged to whoever runs when it comes: trust it only where it says much more.
    Some(if ticks / 100.0 > 1.1 * fine + 0.02 { ticks / 100.0 } else { fine })
}

fn peak_bytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
