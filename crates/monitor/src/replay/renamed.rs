//! A log checked with a specification that it was not logged with.
//!
//! Records know an operation by its position in the specification of the object. In another specification the
//! same position is another operation; so operations are found by their names there, and one that it does not
//! have is an error: what it did cannot be judged.

use linpoint_history::Signature;

use super::{Refine, RefineError};
use crate::drain::Sink;
use crate::event::{Event, ObjectId, ThreadId, What};
use crate::file::Counts;
use crate::registry::Entrant;
use crate::verifier::Checkers;

/// Checkers that are told of operations by the numbers they know.
pub(super) struct Renamed {
    pub checkers: Checkers,
    objects: Vec<Option<Names>>,
    /// The specification that was asked for.
    spec: String,
    /// The first operation that nobody knows.
    pub trouble: Option<RefineError>,
}

/// An object whose operations have other numbers in its specification.
struct Names {
    object: String,
    /// Each operation's number in the specification, or its name where it has none.
    codes: Vec<Result<u8, String>>,
}

/// What the operations are called, by position.
pub(super) fn names(signature: &Signature) -> Vec<String> {
    signature.operations.iter().map(|op| op.name.to_owned()).collect()
}

impl Renamed {
    pub fn new(checkers: Checkers, how: &Refine) -> Renamed {
        let spec = how.spec.as_ref().map_or_else(String::new, |spec| spec.name().to_owned());
        Renamed { checkers, objects: Vec::new(), spec, trouble: None }
    }
}

impl Sink for Renamed {
    fn object(&mut self, entrant: Entrant) {
        let signature = entrant.setup.model.signature();
        let logged = &entrant.description.operations;
        let at = usize::from(entrant.watched.id.0);
        if self.objects.len() <= at {
            self.objects.resize_with(at + 1, || None);
        }
        self.objects[at] = (*logged != names(signature)).then(|| {
            let code = |name: &String| signature.find(name).map(|code| code.0).ok_or_else(|| name.clone());
            Names { object: entrant.description.name.clone(), codes: logged.iter().map(code).collect() }
        });
        self.checkers.object(entrant);
    }

    #[inline]
    fn event(&mut self, mut event: Event) {
        if let What::Call { op, .. } = &mut event.what
            && let Some(Some(names)) = self.objects.get(usize::from(event.object.0))
        {
            let operation = match names.codes.get(usize::from(*op)) {
                Some(Ok(code)) => {
                    *op = *code;
                    return self.checkers.event(event);
                }
                Some(Err(name)) => name.clone(),
                None => format!("operation {op}"),
            };
            let (object, spec) = (names.object.clone(), self.spec.clone());
            self.trouble.get_or_insert(RefineError::NoOperation { object, operation, spec });
            return;
        }
        self.checkers.event(event);
    }

    fn seal(&mut self, object: ObjectId, number: u64) {
        self.checkers.seal(object, number);
    }

    fn lost(&mut self, object: ObjectId, count: u64) {
        self.checkers.lost(object, count);
    }

    fn counted(&mut self, object: ObjectId, counts: Counts) {
        self.checkers.counted(object, counts);
    }

    fn running(&mut self, thread: ThreadId) {
        self.checkers.running(thread);
    }

    fn pause(&mut self) {
        self.checkers.pause();
    }
}
