//! Which orderings of an object are too strong, or as weak as they can be: each is weakened, and all scenarios are explored
//! anew.
//!
//! An ordering is an argument of the operation, and the shim knows the line it is called from; so nothing is compiled anew. What is
//! said holds for these scenarios, under RC11: that no scenario breaks does not show that no other one would. After Oberhauser et al.,
//! *VSync: Push-Button Verification and Optimization for Synchronization Primitives on Weak Memory Models* (ASPLOS 2021).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::Ordering;

use linpoint_sched::weak::{Instead, Part, Spot};

use crate::check::check;
use crate::report::Report;
use crate::spec::Object;

/// Which orderings of `O` are as weak as small scenarios allow? [`crate::Check::orderings`] asks the same of others.
///
/// # Errors
/// With the report, if the object is not found right with the orderings that it has.
pub fn orderings<O: Object>() -> Result<Orderings, Box<Report>> {
    check::<O>().threads(2).ops(2).orderings()
}

/// What came of a weaker ordering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tried {
    /// All scenarios pass.
    Passes,
    /// One does not: what goes wrong.
    Breaks(String),
    /// It was not found out, and why.
    Unknown(String),
}

/// An ordering in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Where it is.
    pub spot: Spot,
    /// What it is.
    pub written: Ordering,
    /// The weaker ones, the weakest first, up to the first that passes.
    pub tried: Vec<(Ordering, Tried)>,
}

impl Row {
    /// The weakest with which all scenarios pass, if everything else is as it is in the source.
    pub fn weakest(&self) -> Ordering {
        let passes = self.tried.iter().find(|tried| tried.1 == Tried::Passes);
        passes.map_or(self.written, |tried| tried.0)
    }
}

/// The orderings of an object.
#[derive(Clone, Debug)]
pub struct Orderings {
    /// Each of them, by its place in the source.
    pub rows: Vec<Row>,
    /// Weaker ones with which all scenarios pass together: those in the source were weakened one after another.
    pub together: BTreeMap<Spot, Ordering>,
    /// What was explored.
    pub scope: String,
}

/// Weaker orderings that make sense there, the weakest first.
fn weaker(spot: &Spot, written: Ordering) -> &'static [Ordering] {
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    let reads_only = spot.operation == "load" || spot.part == Part::Failure;
    let writes_only = spot.operation == "store";
    match written {
        SeqCst if reads_only => &[Relaxed, Acquire],
        SeqCst if writes_only => &[Relaxed, Release],
        SeqCst => &[Relaxed, Acquire, Release, AcqRel],
        AcqRel => &[Relaxed, Acquire, Release],
        Acquire | Release => &[Relaxed],
        _ => &[],
    }
}

impl Orderings {
    /// Weakens each ordering alone, and then all of them that can be, one after another.
    pub(crate) fn audit(
        scope: String,
        written: &BTreeMap<Spot, Ordering>,
        tries: &mut dyn FnMut(&Instead) -> Tried,
    ) -> Orderings {
        let mut rows = Vec::new();
        for (&spot, &ordering) in written {
            let mut tried = Vec::new();
            for &weaker in weaker(&spot, ordering) {
                let outcome = tries(&Instead::from([(spot, weaker)]));
                let passes = outcome == Tried::Passes;
                tried.push((weaker, outcome));
                if passes {
                    break;
                }
            }
            rows.push(Row { spot, written: ordering, tried });
        }
        let mut together = Instead::new();
        for row in &rows {
            let alone = row.weakest();
            let candidates = weaker(&row.spot, row.written).iter().skip_while(|&&weaker| weaker != alone);
            for &candidate in candidates {
                let mut more = together.clone();
                more.insert(row.spot, candidate);
                if tries(&more) == Tried::Passes {
                    together = more;
                    break;
                }
            }
        }
        Orderings { rows, together, scope }
    }
}

impl fmt::Display for Orderings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            let Spot { file, line, operation, part, .. } = row.spot;
            let failure = if part == Part::Failure { " that fails" } else { "" };
            write!(f, "{file}:{line} {operation}{failure}: {:?} as written, ", row.written)?;
            match row.weakest() {
                same if same == row.written => f.write_str("as weak as these scenarios allow")?,
                weaker => write!(f, "{weaker:?} passes alone")?,
            }
            if let Some(together) = self.together.get(&row.spot) {
                write!(f, ", {together:?} together with the others")?;
            }
            writeln!(f)?;
            for (ordering, tried) in &row.tried {
                match tried {
                    Tried::Passes => {}
                    Tried::Breaks(how) => writeln!(f, "    {ordering:?}: {how}")?,
                    Tried::Unknown(why) => writeln!(f, "    {ordering:?}: unknown, {why}")?,
                }
            }
        }
        write!(f, "for these scenarios only: {}", self.scope)
    }
}
