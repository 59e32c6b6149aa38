//! Specifications by name: the built-in ones, and those that a program brings.

use std::sync::Arc;

use super::{Builtin, Kind, SpecError, parse};
use crate::own::OwnSpec;

/// What a name such as `queue:capacity=64` or `job-queue` means.
///
/// Whoever reads the name of a specification (the command line, a log, a message of another host) asks a
/// catalog. [`Catalog::default`] knows the built-in ones.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    own: Vec<Arc<dyn OwnSpec>>,
}

impl Catalog {
    /// Adds a specification under its name.
    ///
    /// # Errors
    /// Where the name is taken, is empty, or has a colon in it, behind which settings stand.
    pub fn add(&mut self, spec: Arc<dyn OwnSpec>) -> Result<(), SpecError> {
        let name = spec.name();
        let is_taken = Kind::all().any(|kind| kind.name() == name) || self.find(name).is_some();
        if is_taken || name.is_empty() || name.contains(':') {
            return Err(SpecError::Name { name: name.to_owned() });
        }
        self.own.push(spec);
        Ok(())
    }

    /// The specification that `text` names, with its settings.
    ///
    /// # Errors
    /// Where there is none.
    pub fn parse(&self, text: &str) -> Result<Builtin, SpecError> {
        match self.find(text) {
            Some(own) => Ok(Builtin::own(Arc::clone(own))),
            None => parse(text),
        }
    }

    /// The specifications that were added, in that order.
    pub fn own(&self) -> impl Iterator<Item = &dyn OwnSpec> {
        self.own.iter().map(|own| &**own)
    }

    /// All names.
    pub fn names<'a>(&'a self) -> impl Iterator<Item = &'a str> {
        let built_in = Kind::all().map(|kind| -> &'a str { kind.name() });
        built_in.chain(self.own.iter().map(|own| own.name()))
    }

    fn find(&self, name: &str) -> Option<&Arc<dyn OwnSpec>> {
        self.own.iter().find(|own| own.name() == name)
    }
}
