//! View data as one SVG picture, for a paper or an issue: the history's bars, and the run's steps under them.
//!
//! The layout is the terminal's: distances mean nothing, order means everything. Plain shapes, black on
//! white, fonts by family only; what is impossible is hatched and has a cross, so nothing depends on colour.

use std::fmt::Write as _;

use crate::columns::Columns;
use crate::page::escape;
use crate::view::{History, Run, StepKind, View};

/// Width of a character of the monospaced font, in units.
const CHAR: f64 = 7.3;
/// From lane to lane.
const LANE: f64 = 44.0;
/// Bars shown at the most: more make no picture.
const MOST_BARS: usize = 200;
/// Steps shown at the most.
const MOST_STEPS: usize = 200;

/// The picture.
pub fn svg(view: &View) -> String {
    let mut body = String::new();
    let mut canvas = Canvas { body: &mut body, y: 16.0, width: 420.0 };
    canvas.line(16.0, "bold", &format!("{}: {}", view.word, view.headline));
    if let Some(history) = &view.history {
        canvas.history(history);
    }
    if let Some(run) = &view.run {
        canvas.run(run);
    }
    if let Some(comparison) = &view.comparison {
        canvas.line(13.0, "bold", &format!("after {}", comparison.after));
        for entry in comparison.entries.iter().filter(|entry| entry.left != entry.right).take(40) {
            let side = |text: &str| if text.is_empty() { "nothing".to_owned() } else { text.to_owned() };
            let (left, right) = (side(&entry.left), side(&entry.right));
            canvas.line(
                12.0,
                "normal",
                &format!("{}: {} {left} ≠ {} {right}", entry.key, comparison.left, comparison.right),
            );
        }
    }
    let (width, height) = (canvas.width + 16.0, canvas.y + 12.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n\
         <title>{}</title>\n\
         <defs><pattern id=\"hatch\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"8\" height=\"8\" fill=\"#fdecec\"/><rect width=\"2\" height=\"8\" fill=\"#e9b0b0\"/></pattern></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n",
        escape(&format!("{}: {}", view.word, view.headline))
    )
}

struct Canvas<'a> {
    body: &'a mut String,
    /// Where the next thing goes.
    y: f64,
    width: f64,
}

impl Canvas<'_> {
    fn text(&mut self, x: f64, y: f64, size: f64, weight: &str, text: &str) {
        let shown = shorten(text, 160);
        self.width = self.width.max(x + shown.chars().count() as f64 * size * 0.61);
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-family=\"monospace\" font-size=\"{size}\" font-weight=\"{weight}\" fill=\"#1c1d21\">{}</text>",
            escape(&shown)
        );
    }

    fn line(&mut self, size: f64, weight: &str, text: &str) {
        self.y += size + 6.0;
        self.text(12.0, self.y, size, weight, text);
        self.y += 4.0;
    }

    /// The core where there is one, else as many bars as make a picture.
    fn history(&mut self, history: &History) {
        let core = history.bars.iter().any(|bar| bar.core);
        let which: Vec<usize> =
            (0..history.bars.len()).filter(|&bar| !core || history.bars[bar].core).take(MOST_BARS).collect();
        let bars: Vec<_> = which.iter().map(|&bar| history.bars[bar].clone()).collect();
        let labels: Vec<String> = bars.iter().map(|bar| shorten(&bar.label(), 48)).collect();
        let widths: Vec<usize> = labels.iter().map(|label| label.chars().count() + 3).collect();
        let columns = Columns::new(&bars, &widths);
        let mut lanes: Vec<usize> = bars.iter().map(|bar| bar.lane).collect();
        lanes.sort_unstable();
        lanes.dedup();
        let margin = lanes.iter().map(|lane| history.lanes[*lane].chars().count().min(24)).max().unwrap_or(0)
            as f64
            * CHAR
            + 24.0;
        let top = self.y + 10.0;
        for (row, lane) in lanes.iter().enumerate() {
            self.text(
                12.0,
                top + row as f64 * LANE + 20.0,
                12.0,
                "bold",
                &shorten(&history.lanes[*lane], 24),
            );
        }
        for (index, bar) in bars.iter().enumerate() {
            let row = lanes.iter().position(|lane| *lane == bar.lane).unwrap_or(0);
            let (x, y) = (margin + columns.call[index] as f64 * CHAR, top + row as f64 * LANE + 4.0);
            let wide = (columns.ret[index] - columns.call[index]) as f64 * CHAR;
            self.width = self.width.max(x + wide + 24.0);
            let bad = history.impossible == Some(which[index]);
            let (fill, stroke) = if bad { ("url(#hatch)", "#b3202c") } else { ("#eef2f9", "#5a7199") };
            let dash = if bar.ret.is_none() { " stroke-dasharray=\"5 4\"" } else { "" };
            let _ = writeln!(
                self.body,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"22\" rx=\"4\" fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"{}\"{dash}/>",
                if bad { 2.5 } else { 1.2 }
            );
            let room = wide - labels[index].chars().count() as f64 * CHAR;
            self.text(
                x + (room / 2.0).max(4.0),
                y + 15.0,
                12.0,
                if bad { "bold" } else { "normal" },
                &labels[index],
            );
            if bad {
                self.text(x + wide + 6.0, y + 16.0, 15.0, "bold", "✗");
            }
            let (call, ret) = (bar.call.to_string(), bar.ret.map_or_else(String::new, |ret| ret.to_string()));
            if (call.len() + ret.len() + 1) as f64 * 6.2 < wide {
                self.text(x, y + 33.0, 9.5, "normal", &call);
                self.text(x + wide - ret.len() as f64 * 5.8, y + 33.0, 9.5, "normal", &ret);
            }
        }
        self.y = top + lanes.len() as f64 * LANE;
        if !history.start.is_empty() {
            self.line(12.0, "normal", &format!("from {}", history.start));
        }
        if let Some(order) = history.orders.first().filter(|order| order.bars.len() <= 40) {
            let names: Vec<String> = order
                .bars
                .iter()
                .filter_map(|&bar| history.bars.get(bar))
                .map(|bar| shorten(&bar.label(), 32))
                .collect();
            self.line(12.0, "normal", &format!("{}: {}", order.title, names.join(", ")));
        }
    }

    /// A column a thread, a row a step.
    fn run(&mut self, run: &Run) {
        let shown: Vec<usize> =
            (0..run.steps.len()).filter(|&step| !run.steps[step].aside).take(MOST_STEPS).collect();
        let text = |step: usize| {
            let step = &run.steps[step];
            let line = if step.line > 0 && step.kind == StepKind::Step {
                format!("{}  ", step.line)
            } else {
                String::new()
            };
            shorten(&format!("{line}{}", step.text), 60)
        };
        let wide: Vec<f64> = (0..run.threads.len())
            .map(|thread| {
                let of = shown.iter().filter(|&&step| run.steps[step].thread == thread);
                let most = of.map(|&step| text(step).chars().count()).max().unwrap_or(0);
                (most.max(run.threads[thread].chars().count()) + 4) as f64 * CHAR
            })
            .collect();
        let at = |thread: usize| 52.0 + wide[..thread].iter().sum::<f64>();
        self.y += 22.0;
        for (thread, name) in run.threads.iter().enumerate() {
            self.text(at(thread), self.y, 12.0, "bold", &shorten(name, 40));
        }
        for &step in &shown {
            self.y += 17.0;
            let wrong = run.wrong == Some(step);
            let kind = run.steps[step].kind;
            let weight = if wrong || kind != StepKind::Step { "bold" } else { "normal" };
            let (x, y) = (at(run.steps[step].thread), self.y);
            if wrong {
                let wide = (text(step).chars().count() + 3) as f64 * CHAR;
                let _ = writeln!(
                    self.body,
                    "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"17\" rx=\"3\" fill=\"url(#hatch)\" stroke=\"#b3202c\"/>",
                    x - 4.0,
                    y - 12.5
                );
            }
            self.text(16.0, y, 11.0, "normal", &format!("{:>3}", step + 1));
            let cross = if wrong { " ✗" } else { "" };
            self.text(x, y, 12.0, weight, &format!("{}{cross}", text(step)));
        }
        if shown.len() < run.steps.iter().filter(|step| !step.aside).count() {
            self.line(12.0, "normal", &format!("… {} steps in all", run.steps.len()));
        }
    }
}

fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
