//! Charts as SVG files: lines over a growing size, and bars side by side.
//!
//! Drawn by `plotters` with its SVG backend alone, so that no font of the machine is asked for. Lines have markers of their own shape each and bars their names, so that a chart can be read without
//! colour. The same figures give the same file.

use std::path::Path;

use plotters::coord::ranged1d::{KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

/// A line: a name and its points.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Points, in order of x. Logarithmic scales leave out what is not above zero.
    pub points: Vec<(f64, f64)>,
}

/// How an axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// In equal steps.
    Linear,
    /// In powers of ten.
    Log,
}

/// What stands beside a chart.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    /// Above it.
    pub title: &'a str,
    /// Under the x axis.
    pub x: &'a str,
    /// Beside the y axis.
    pub y: &'a str,
    /// How x counts.
    pub x_scale: Scale,
    /// How y counts.
    pub y_scale: Scale,
}

const SIZE: (u32, u32) = (760, 440);
const INK: RGBColor = RGBColor(28, 29, 33);
const COLOURS: [RGBColor; 8] = [
    RGBColor(43, 95, 184),
    RGBColor(179, 32, 44),
    RGBColor(23, 113, 63),
    RGBColor(138, 90, 0),
    RGBColor(118, 62, 160),
    RGBColor(0, 122, 134),
    RGBColor(190, 70, 130),
    RGBColor(90, 96, 110),
];

/// A chart of lines.
///
/// # Errors
/// With a sentence, where there is nothing to draw or the file cannot be written.
pub fn lines(path: &Path, frame: &Frame<'_>, series: &[Series]) -> Result<(), String> {
    let log_x = frame.x_scale == Scale::Log;
    let log_y = frame.y_scale == Scale::Log;
    let fits =
        |(x, y): &(f64, f64)| x.is_finite() && y.is_finite() && (!log_x || *x > 0.0) && (!log_y || *y > 0.0);
    let drawn: Vec<(&str, Vec<(f64, f64)>)> = series
        .iter()
        .map(|one| {
            let points = one.points.iter().filter(|point| fits(point));
            let place = |v: f64, log: bool| if log { v.log10() } else { v };
            (one.name.as_str(), points.map(|&(x, y)| (place(x, log_x), place(y, log_y))).collect())
        })
        .collect();
    let all = || drawn.iter().flat_map(|(_, points)| points.iter().copied());
    if all().next().is_none() {
        return Err(format!("{}: there is nothing to draw", path.display()));
    }
    let x = Axis::over(all().map(|(x, _)| x), frame.x_scale);
    let y = Axis::over(all().map(|(_, y)| y), frame.y_scale);
    let mut text = String::new();
    draw_lines(&mut text, frame, &drawn, x, y).map_err(|error| format!("{}: {error}", path.display()))?;
    write(path, &text)
}

fn draw_lines(
    text: &mut String,
    frame: &Frame<'_>,
    drawn: &[(&str, Vec<(f64, f64)>)],
    x: Axis,
    y: Axis,
) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(frame.title, ("sans-serif", 18).into_font().color(&INK))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(64)
        .build_cartesian_2d(x, y)?;
    let (x_scale, y_scale) = (frame.x_scale, frame.y_scale);
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(228, 226, 220))
        .axis_style(RGBColor(120, 124, 132))
        .label_style(("sans-serif", 12).into_font().color(&INK))
        .x_desc(frame.x)
        .y_desc(frame.y)
        .x_label_formatter(&|v| number(*v, x_scale))
        .y_label_formatter(&|v| number(*v, y_scale))
        .draw()?;
    for (index, (name, points)) in drawn.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let line = ShapeStyle::from(&colour).stroke_width(2);
        chart
            .draw_series(LineSeries::new(points.iter().copied(), line))?
            .label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], line));
        // A shape a line, for who does not see the colours.
        match index % 3 {
            0 => chart.draw_series(points.iter().map(|&at| Circle::new(at, 4, colour.filled())))?,
            1 => chart.draw_series(points.iter().map(|&at| TriangleMarker::new(at, 6, colour.filled())))?,
            _ => chart.draw_series(points.iter().map(|&at| Cross::new(at, 4, line)))?,
        };
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .border_style(RGBColor(220, 218, 211))
        .label_font(("sans-serif", 12).into_font().color(&INK))
        .draw()?;
    area.present()?;
    Ok(())
}

/// Bars: for each row of `rows` (its name, and one value a series; `None` where there is none) a group of bars, from left to right.
///
/// # Errors
/// As [`lines`].
pub fn bars(
    path: &Path,
    frame: &Frame<'_>,
    series: &[&str],
    rows: &[(String, Vec<Option<f64>>)],
) -> Result<(), String> {
    let log = frame.x_scale == Scale::Log;
    let place = |v: f64| if log { v.max(f64::MIN_POSITIVE).log10() } else { v };
    let values: Vec<f64> = rows.iter().flat_map(|(_, values)| values.iter().flatten()).copied().collect();
    let shown: Vec<f64> = values.iter().copied().filter(|v| v.is_finite() && (!log || *v > 0.0)).collect();
    if shown.is_empty() {
        return Err(format!("{}: there is nothing to draw", path.display()));
    }
    let least = shown.iter().copied().fold(f64::INFINITY, f64::min);
    let most = shown.iter().copied().fold(0.0_f64, f64::max);
    let from = if log { place(least).floor() - 0.3 } else { 0.0 };
    let upto = (if log { place(most) + 0.4 } else { most * 1.12 }).max(from + 1e-9);
    let mut text = String::new();
    let canvas = BarCanvas { frame, series, from, upto, place: &place };
    canvas.draw(&mut text, rows).map_err(|error| format!("{}: {error}", path.display()))?;
    write(path, &text)
}

struct BarCanvas<'a> {
    frame: &'a Frame<'a>,
    series: &'a [&'a str],
    from: f64,
    upto: f64,
    place: &'a dyn Fn(f64) -> f64,
}

impl BarCanvas<'_> {
    /// Names on the left, bars to the right of them, the value at the end of each.
    fn draw(
        &self,
        text: &mut String,
        rows: &[(String, Vec<Option<f64>>)],
    ) -> Result<(), Box<dyn std::error::Error>> {
        let bar = 14;
        let group = bar * self.series.len() as i32 + 10;
        let (top, left) = (64, 230);
        let width = SIZE.0 as i32;
        let height = top + group * rows.len() as i32 + 34;
        let area = SVGBackend::with_string(text, (SIZE.0, height as u32)).into_drawing_area();
        area.fill(&WHITE)?;
        let style = |size: i32| ("sans-serif", size).into_font().color(&INK);
        area.draw(&Text::new(self.frame.title.to_owned(), (12, 10), style(18)))?;
        let mut at = 12;
        for (index, name) in self.series.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            area.draw(&Rectangle::new([(at, 40), (at + 12, 52)], colour.filled()))?;
            area.draw(&Text::new((*name).to_owned(), (at + 17, 39), style(12)))?;
            at += 34 + 7 * name.chars().count() as i32;
        }
        let room = f64::from(width - left - 90);
        let x = |v: f64| left + (room * ((self.place)(v) - self.from) / (self.upto - self.from)) as i32;
        for (row, (name, values)) in rows.iter().enumerate() {
            let y = top + group * row as i32;
            let short: String = name.chars().take(32).collect();
            area.draw(&Text::new(short, (12, y + (group - 24) / 2), style(12)))?;
            for (index, value) in values.iter().enumerate() {
                let y = y + bar * index as i32;
                let Some(value) = value.filter(|v| v.is_finite()) else {
                    area.draw(&Text::new("–".to_owned(), (left + 4, y), style(12)))?;
                    continue;
                };
                let colour = COLOURS[index % COLOURS.len()];
                let end = x(value).max(left + 1);
                area.draw(&Rectangle::new([(left, y + 1), (end, y + bar - 2)], colour.filled()))?;
                area.draw(&Text::new(plain(value), (end + 5, y), style(12)))?;
            }
        }
        let line = PathElement::new([(left, top - 4), (left, height - 30)], RGBColor(120, 124, 132));
        area.draw(&line)?;
        let scale = if self.frame.x_scale == Scale::Log { ", logarithmic" } else { "" };
        area.draw(&Text::new(format!("{}{scale}", self.frame.x), (left, height - 22), style(12)))?;
        area.present()?;
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// A range with marks at round places; on a logarithmic scale places are exponents.
#[derive(Clone)]
struct Axis {
    inner: RangedCoordf64,
    scale: Scale,
    from: f64,
    upto: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, scale: Scale) -> Axis {
        let (mut from, mut upto) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            from = from.min(value);
            upto = upto.max(value);
        }
        match scale {
            Scale::Linear => (from, upto) = (from.min(0.0), upto + (upto - from.min(0.0)) * 0.06 + 1e-9),
            Scale::Log => (from, upto) = ((from - 0.05).floor(), (upto + 0.05).ceil()),
        }
        Axis { inner: (from..upto).into(), scale, from, upto }
    }
}

impl Ranged for Axis {
    type FormatOption = plotters::coord::ranged1d::DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.inner.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match self.scale {
            Scale::Linear => self.inner.key_points(hint),
            Scale::Log => (self.from as i32..=self.upto as i32).map(f64::from).collect(),
        }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.from..self.upto
    }
}

/// A mark of an axis.
fn number(value: f64, scale: Scale) -> String {
    match scale {
        Scale::Linear => plain(value),
        Scale::Log => plain(10_f64.powf(value)),
    }
}

/// `1.5M`, `20k`, `0.003`.
fn plain(value: f64) -> String {
    let trim = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v >= 1e9 => trim(format!("{:.1}", value / 1e9)) + "G",
        v if v >= 1e6 => trim(format!("{:.1}", value / 1e6)) + "M",
        v if v >= 1e4 => trim(format!("{:.1}", value / 1e3)) + "k",
        v if v >= 10.0 => trim(format!("{value:.1}")),
        v if v >= 0.01 => trim(format!("{value:.3}")),
        _ => format!("{value:.0e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame<'static> {
        Frame { title: "a < b", x: "n", y: "s", x_scale: Scale::Log, y_scale: Scale::Log }
    }

    #[test]
    fn a_chart_has_its_lines_and_names() {
        let path = std::env::temp_dir().join(format!("linpoint-plot-{}.svg", std::process::id()));
        let series = [
            Series { name: "ours".into(), points: vec![(10.0, 0.1), (1000.0, 3.0), (5.0, 0.0)] },
            Series { name: "theirs".into(), points: vec![(10.0, 1.0), (100.0, f64::NAN)] },
        ];
        lines(&path, &frame(), &series).expect("a chart");
        let text = std::fs::read_to_string(&path).expect("a file");
        for word in ["<svg", "ours", "theirs", "a &lt; b", "1000", "polyline"] {
            assert!(text.contains(word), "{word}");
        }
        let rows =
            [("one".to_owned(), vec![Some(2.0), None]), ("two".to_owned(), vec![Some(0.5), Some(7.0)])];
        bars(&path, &frame(), &["a", "b"], &rows).expect("bars");
        let text = std::fs::read_to_string(&path).expect("a file");
        assert!(text.contains("two") && text.contains("0.5") && text.contains('–'));
        let _ = std::fs::remove_file(&path);
        assert!(lines(&path, &frame(), &[]).is_err(), "nothing to draw");
    }

    #[test]
    fn numbers_are_short() {
        let shown: Vec<String> = [0.0, 0.003, 0.25, 12.0, 1500.0, 20_000.0, 1_500_000.0].map(plain).to_vec();
        assert_eq!(shown, ["0", "3e-3", "0.25", "12", "1500", "20k", "1.5M"]);
    }
}
