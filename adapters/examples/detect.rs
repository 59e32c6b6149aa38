//! How long until each crate that fails is caught: `cargo run --release --example detect`, in `adapters/`.

use std::time::{Duration, Instant};

use linpoint_adapters::{dashmap, heapless, load, thingbuf};
use linpoint_monitor::{Monitor, MonitorError};

fn show(name: &str, play: impl FnOnce(&Monitor) -> Result<(), MonitorError>) -> Result<(), MonitorError> {
    let monitor = Monitor::start()?;
    let started = Instant::now();
    play(&monitor)?;
    let time = started.elapsed().as_secs_f64();
    println!("{name}: {time:.3} s\n{}", monitor.finish());
    Ok(())
}

fn main() -> Result<(), MonitorError> {
    let time = Duration::from_secs(30);
    show("crossbeam-skiplist", |monitor| load::skip_map(monitor, time))?;
    show("dashmap", |monitor| {
        load::dash_map(&dashmap::Map::watched(monitor)?, monitor, time);
        Ok(())
    })?;
    let strict = "queue";
    show("heapless mpmc", |monitor| {
        load::queue(&heapless::Mpmc::watched(monitor, strict)?, monitor, time);
        Ok(())
    })?;
    show("thingbuf", |monitor| {
        load::queue(&thingbuf::Ring::watched(monitor, 64, strict)?, monitor, time);
        Ok(())
    })?;
    show("crossbeam-deque", |monitor| load::deque(monitor, time))
}
