//! A report as view data, for a page: the first finding drawn, the others named.
//!
//! ```no_run
//! # let monitor = linpoint_monitor::Monitor::builder().start().expect("a monitor");
//! let report = monitor.finish();
//! std::fs::write("run.html", report.page()).expect("a file that can be written");
//! ```

use linpoint_report::view::{self, Bar, Comparison, Entry, History, Order, Summary, View, Write};

use crate::content::Content;
use crate::finding::{Blame, Cause, Difference, Found, Refused, Seen};
use crate::report::{Judged, Report};
use crate::setup::Conclusion;

impl Report {
    /// Everything a page shows.
    pub fn view(&self) -> View {
        let (verdict, word) = match self.conclusion() {
            Conclusion::Clean => (view::VerdictKind::Holds, "refines"),
            Conclusion::Violated => (view::VerdictKind::Violated, "does not refine"),
            Conclusion::Mistaken => (view::VerdictKind::Unknown, "unknown: the annotation is wrong"),
            Conclusion::Unknown => (view::VerdictKind::Unknown, "unknown"),
        };
        let worst = self.findings().min_by_key(|(_, finding)| match &finding.found {
            Found::Refused(refused) if matches!(refused.blame, Blame::Object { .. }) => 0,
            Found::View(difference) if difference.cause == Cause::Object => 1,
            Found::Refused(_) | Found::View(_) => 2,
            Found::Mistake(_) => 3,
            Found::Unknown(_) => 4,
        });
        let headline = match worst {
            Some((judged, finding)) => format!("{}: {}", judged.description.name, short(&finding.found)),
            None if self.conclusion() != Conclusion::Clean => {
                let short = self.shortfalls();
                short.first().map_or_else(|| "not everything was judged".to_owned(), ToString::to_string)
            }
            None => format!("every one of {} operations fits the specification", self.operations()),
        };
        let mut view = View::new(verdict, word, &headline);
        view.summary = self.summary(verdict);
        if let Some((judged, finding)) = worst {
            match &finding.found {
                Found::Refused(refused) => view.history = Some(history(refused)),
                Found::View(difference) => view.comparison = Some(comparison(judged, difference)),
                Found::Mistake(_) | Found::Unknown(_) => {}
            }
        }
        view.text = self.to_string();
        view
    }

    /// One page that shows it; it needs nothing but a browser.
    pub fn page(&self) -> String {
        linpoint_report::page::page(&self.view())
    }

    fn summary(&self, verdict: view::VerdictKind) -> Summary {
        let views = self.objects.iter().filter(|judged| judged.description.view != "none").count();
        let mut specs: Vec<&str> =
            self.objects.iter().map(|judged| judged.description.spec.as_str()).collect();
        specs.sort_unstable();
        specs.dedup();
        let unjudged: u64 = self.objects.iter().map(|judged| judged.summary.unjudged).sum();
        let unwatched = self.objects.iter().filter(|judged| !judged.watched).count();
        let mut not_covered = "Runs other than this one.".to_owned();
        for shortfall in self.shortfalls() {
            not_covered += &format!(" {shortfall}.");
        }
        if unjudged > 0 {
            not_covered += &format!(" {unjudged} events were not judged.");
        }
        if unwatched > 0 {
            not_covered += &format!(" {unwatched} objects were not logged to the end.");
        }
        Summary {
            checked: format!(
                "{} operations of {} ({}): each answer against the specification at the operation's commit{}.",
                self.operations(),
                objects(self.objects.len()),
                specs.join(", "),
                if views > 0 { format!("; {}", self.views()) } else { String::new() }
            ),
            rests_on: match verdict {
                view::VerdictKind::Holds => "The order of commits, replayed through the specification one after another.",
                view::VerdictKind::Violated => {
                    "Not the order of commits alone: every other order of the operations that overlap was tried, and none fits; or the implementation's own state differs."
                }
                view::VerdictKind::Unknown => "What was judged before it was found; nothing after.",
            }
            .to_owned(),
            not_covered,
            facts: vec![
                ("events".to_owned(), self.events().to_string()),
                ("findings".to_owned(), self.findings().count().to_string()),
                ("stamps".to_owned(), self.stamps.clone()),
            ],
            again: String::new(),
        }
    }
}

fn objects(count: usize) -> String {
    if count == 1 { "one object".to_owned() } else { format!("{count} objects") }
}

/// What was found, without the lists that are drawn.
fn short(found: &Found) -> String {
    match found {
        Found::Refused(refused) => match &refused.blame {
            Blame::Object { reason, .. } => reason.clone(),
            Blame::Annotation { .. } => format!(
                "{} does not fit the order of commits, but another order of the same operations does",
                refused.operation
            ),
            Blame::Open { .. } => format!("{} does not fit the order of commits", refused.operation),
        },
        Found::View(difference) => {
            let after = difference.after.as_ref().map_or_else(|| difference.moment(), Seen::to_string);
            match difference.cause {
                Cause::Object => format!("the views differ after {after}"),
                Cause::Annotation { .. } => {
                    format!(
                        "the views differ after {after}, but in another order of the same operations they agree"
                    )
                }
                Cause::Open { .. } => {
                    format!("the views differ after {after}, by the order of commits")
                }
            }
        }
        other => other.to_string(),
    }
}

fn history(refused: &Refused) -> History {
    let mut history = match &refused.blame {
        Blame::Object { core, start, reason, .. } => {
            History { start: start.clone(), reason: reason.clone(), ..lanes(core) }
        }
        Blame::Annotation { order, .. } if !order.is_empty() => {
            let mut by_call: Vec<Seen> = order.clone();
            by_call.sort_by_key(|seen| (seen.call, seen.ret));
            let bars = order.iter().filter_map(|seen| by_call.iter().position(|other| other == seen));
            let fits = Order {
                title: "this order fits; the order of commits does not".to_owned(),
                bars: bars.collect(),
                ..Order::default()
            };
            History { orders: vec![fits], ..lanes(&by_call) }
        }
        _ => lanes(std::slice::from_ref(&refused.operation)),
    };
    if history.reason.is_empty() {
        history.reason = format!("expected {} in the state {}", refused.expected, refused.state);
    }
    let wanted = bar(&refused.operation);
    if !matches!(refused.blame, Blame::Annotation { .. }) {
        history.impossible =
            history.bars.iter().position(|bar| (bar.call, bar.ret) == (wanted.call, wanted.ret));
    }
    history
}

fn lanes(operations: &[Seen]) -> History {
    let mut threads: Vec<u32> = operations.iter().map(|seen| seen.thread.0).collect();
    threads.sort_unstable();
    threads.dedup();
    let mut operations: Vec<&Seen> = operations.iter().collect();
    operations.sort_by_key(|seen| (seen.call, seen.ret));
    let lane = |seen: &Seen| threads.iter().position(|thread| *thread == seen.thread.0).unwrap_or(0);
    History {
        lanes: threads.iter().map(|thread| format!("thread {thread}")).collect(),
        bars: operations.into_iter().map(|seen| Bar { lane: lane(seen), ..bar(seen) }).collect(),
        ..History::default()
    }
}

fn bar(seen: &Seen) -> Bar {
    let stamp = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    Bar {
        name: seen.name.to_owned(),
        arg: if seen.arg.is_null() { String::new() } else { seen.arg.to_string() },
        result: seen.result.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string),
        call: stamp(seen.call),
        ret: seen.ret.map(stamp),
        point: seen.commit.map(stamp),
        core: true,
        ..Bar::default()
    }
}

fn comparison(judged: &Judged, difference: &Difference) -> Comparison {
    let side = |content: &Content| match content {
        Content::Nothing => String::new(),
        content => content.to_string(),
    };
    Comparison {
        object: judged.description.name.clone(),
        left: "specification".to_owned(),
        right: "implementation".to_owned(),
        entries: difference
            .keys
            .iter()
            .map(|key| Entry {
                key: key.key.to_string(),
                left: side(&key.specification),
                right: side(&key.implementation),
            })
            .collect(),
        different: difference.count,
        after: difference.after.as_ref().map_or_else(|| difference.moment(), Seen::to_string),
        writes: difference
            .writes
            .iter()
            .map(|write| Write {
                number: write.number,
                thread: format!("thread {}", write.thread.0),
                location: format!("location {}", write.location.0),
                value: write.value.to_string(),
            })
            .collect(),
    }
}
