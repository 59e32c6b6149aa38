//! What a monitored run came to.

use std::fmt;

use crate::checker::{Conclusion, Summary};
use crate::event::ObjectId;
use crate::file::Description;
use crate::finding::Finding;
use linpoint_history::confidence;

/// What was found about one object.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Its number in the log.
    pub object: ObjectId,
    /// What it was registered as.
    pub description: Description,
    /// The verdict and the counts.
    pub summary: Summary,
    /// Everything found about it.
    pub findings: Vec<Finding>,
    /// Was it logged to the end? Sampling, a budget or a lost record may have left it out, from the beginning or from some moment on.
    pub watched: bool,
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One an object, in the order in which they came.
    pub objects: Vec<Judged>,
    /// Records that found no room.
    pub lost: u64,
    /// Which stamps were used: `numbers`, or `ticks` with the error bound.
    pub stamps: String,
    /// Why the log file is not complete, if it is not.
    pub log_trouble: Option<String>,
}

impl Report {
    /// Violated if any object is; unknown if anything was not judged, or an annotation is wrong; clean only if all of it is.
    pub fn conclusion(&self) -> Conclusion {
        let worst = |conclusion: Conclusion| match conclusion {
            Conclusion::Clean => 0,
            Conclusion::Unknown => 1,
            Conclusion::Mistaken => 2,
            Conclusion::Violated => 3,
        };
        self.objects
            .iter()
            .map(|judged| judged.summary.conclusion)
            .max_by_key(|conclusion| worst(*conclusion))
            .unwrap_or(Conclusion::Clean)
    }

    /// Events judged.
    pub fn events(&self) -> u64 {
        self.objects.iter().map(|judged| judged.summary.events).sum()
    }

    /// Operations judged.
    pub fn operations(&self) -> u64 {
        self.objects.iter().map(|judged| judged.summary.operations).sum()
    }

    /// Everything found.
    pub fn findings(&self) -> impl Iterator<Item = (&Judged, &Finding)> {
        self.objects.iter().flat_map(|judged| judged.findings.iter().map(move |finding| (judged, finding)))
    }

    /// Panics with the report unless everything is clean.
    ///
    /// # Panics
    /// If anything was found, or not everything could be judged.
    #[track_caller]
    pub fn assert_clean(&self) {
        assert!(self.conclusion() == Conclusion::Clean, "{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = match self.conclusion() {
            Conclusion::Clean => "refines",
            Conclusion::Violated => "does not refine",
            Conclusion::Mistaken => "unknown: the annotation is wrong",
            Conclusion::Unknown => "unknown",
        };
        let (events, operations) = (self.events(), self.operations());
        writeln!(f, "{head}: {operations} operations, {events} events, {} objects", self.objects.len())?;
        let views = self.objects.iter().filter(|judged| judged.description.view != "none").count();
        writeln!(
            f,
            "  return values compared at each commit; views of {views} objects compared; stamps: {}",
            self.stamps
        )?;
        for (judged, finding) in self.findings() {
            writeln!(f, "  {}: {}", judged.description.name, finding.found)?;
        }
        let unjudged: u64 = self.objects.iter().map(|judged| judged.summary.unjudged).sum();
        if unjudged > 0 {
            writeln!(f, "  {unjudged} events were not judged")?;
        }
        let unwatched = self.objects.iter().filter(|judged| !judged.watched).count();
        if unwatched > 0 {
            writeln!(
                f,
                "  {unwatched} objects were not logged to the end: the verdict is about what was logged"
            )?;
        }
        if let Some(trouble) = &self.log_trouble {
            writeln!(f, "  the log file is not complete: {trouble}")?;
        }
        if self.conclusion() == Conclusion::Clean && operations > 0 {
            writeln!(f, "  {}", confidence::Worth::of(operations))?;
        }
        Ok(())
    }
}
