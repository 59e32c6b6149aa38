//! An execution graph as a person reads it: for each thread its events, what each read read, and why that could be an
//! older value.

use std::fmt::Write as _;

use linpoint_sched::weak::{EventId, Graph, Kind, Line, Location, Seen};

/// A graph in words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drawn {
    pub(crate) text: String,
    pub(crate) notes: Vec<String>,
}

/// What an operation is called, and what it answered, where that is known.
pub(crate) type Operations<'a> = dyn Fn(&Mark) -> Option<String> + 'a;

/// The begin or the end of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    Call(u32),
    Return(u32, i64),
}

/// Draws the graph.
pub(crate) fn draw(seen: &Seen<'_>, name: &dyn Fn(usize) -> String, operations: &Operations<'_>) -> Drawn {
    let graph = seen.graph;
    let mut pen = Pen { graph, lines: seen.lines, seen, name, locations: Vec::new(), older: false };
    let mut text = String::new();
    for thread in 0..seen.graph.thread_count() {
        if seen.graph.thread(thread).is_empty() {
            continue;
        }
        let _ = writeln!(text, "{}:", name(thread));
        pen.thread(thread, operations, &mut text);
    }
    let mut notes = Vec::new();
    if pen.older {
        notes.push(
            "an older value may be read where no happens-before leads from the newer write to the read: a release \
             write that an acquire read reads from makes one, and so do locks, channels, and joining a thread"
                .to_owned(),
        );
    }
    Drawn { text, notes }
}

struct Pen<'a> {
    graph: &'a Graph,
    lines: &'a [&'a [Line]],
    seen: &'a Seen<'a>,
    name: &'a dyn Fn(usize) -> String,
    locations: Vec<Location>,
    older: bool,
}

impl Pen<'_> {
    fn thread(&mut self, thread: usize, operations: &Operations<'_>, text: &mut String) {
        let mut lines = self.lines.get(thread).copied().unwrap_or_default().iter();
        let mut open = 0;
        let ids: Vec<EventId> = self.graph.thread(thread).to_vec();
        for id in ids {
            let event = *self.graph.event(id);
            if event.kind == Kind::Write && event.exclusive {
                continue;
            }
            let line = lines.next();
            let mark = match event.kind {
                Kind::Call(operation) => {
                    open = operation;
                    operations(&Mark::Call(operation))
                }
                Kind::Return => operations(&Mark::Return(open, event.value)),
                _ => None,
            };
            let what = mark.unwrap_or_else(|| self.what(id, line));
            let site = line.map(|line| format!("{}:{}", line.site.file(), line.site.line()));
            let _ = writeln!(text, "  {:>3}  {what:<44}  {}", id.number() + 1, site.unwrap_or_default());
            for more in self.why(id, line) {
                let _ = writeln!(text, "       {more}");
            }
        }
    }

    /// What an event does.
    fn what(&mut self, id: EventId, line: Option<&Line>) -> String {
        let event = *self.graph.event(id);
        let action = line.map_or("", |line| line.action.name());
        match event.kind {
            Kind::Fence => format!("fence ({:?})", event.ordering),
            Kind::Create(thread) => format!("start {}", (self.name)(thread as usize)),
            Kind::Join(thread) => format!("join {}", (self.name)(thread as usize)),
            Kind::Choice(of) => format!("choose {} of {of}", event.value),
            Kind::Call(operation) => format!("operation {operation} begins"),
            Kind::Return => "the operation returns".to_owned(),
            Kind::Read | Kind::Write if !line.is_some_and(|line| line.action.is_atomic()) => {
                action.to_owned()
            }
            Kind::Write => {
                let value = self.value(event.value);
                format!("store {} ← {value} ({:?})", self.letter(id), event.ordering)
            }
            Kind::Read if event.exclusive => {
                let after = self.graph.thread(event.thread).get(event.index + 1);
                let after = after.map_or(event.value, |&write| self.graph.event(write).value);
                let (before, after) = (self.value(event.value), self.value(after));
                format!("{action} {}: {before} → {after} ({:?})", self.letter(id), event.ordering)
            }
            Kind::Read => {
                let value = self.value(event.value);
                format!("{action} {} = {value} ({:?})", self.letter(id), event.ordering)
            }
        }
    }

    /// What a read read, and why that is not the newest.
    fn why(&mut self, id: EventId, line: Option<&Line>) -> Vec<String> {
        let event = *self.graph.event(id);
        if event.kind != Kind::Read || !line.is_some_and(|line| line.action.is_atomic()) {
            return Vec::new();
        }
        let Some(location) = self.graph.location(id) else { return Vec::new() };
        let from = match event.source {
            None => "the initial value".to_owned(),
            Some(write) => self.write(write),
        };
        let mut all = vec![format!("reads {from}")];
        let order = self.graph.modification_order(location);
        let after = event.source.map_or(0, |source| {
            order.iter().position(|&write| write == source).map_or(order.len(), |at| at + 1)
        });
        let newer = order[after..].iter().find(|&&write| self.graph.event(write).thread != event.thread);
        if let Some(&newer) = newer
            && !event.exclusive
        {
            self.older = true;
            all.push(format!("an older value: nothing orders {} before this", self.write(newer)));
        }
        all
    }

    /// A write, with who made it.
    fn write(&self, id: EventId) -> String {
        let event = self.graph.event(id);
        let number = if event.exclusive { id.number() } else { id.number() + 1 };
        format!("{}'s write of {} ({number})", (self.name)(event.thread), self.value(event.value))
    }

    /// A value; a pointer into the heap is not told by its address, which is another one in each execution.
    fn value(&self, value: i64) -> String {
        match self.seen.pointer(value) {
            None => value.to_string(),
            Some(pointer) => {
                let offset =
                    if pointer.offset == 0 { String::new() } else { format!(" + {}", pointer.offset) };
                format!("&{}.{}{offset}", pointer.thread.0, pointer.number)
            }
        }
    }

    fn letter(&mut self, id: EventId) -> String {
        let Some(location) = self.graph.location(id) else { return String::new() };
        let at = self.locations.iter().position(|&known| known == location).unwrap_or_else(|| {
            self.locations.push(location);
            self.locations.len() - 1
        });
        match at {
            0..26 => char::from(b'a' + at as u8).to_string(),
            _ => format!("x{at}"),
        }
    }
}
