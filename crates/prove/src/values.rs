//! Values as words: what is the same in a formula must be the same in a history.
//!
//! A built-in specification knows values, and a program has words of different types: the word 1 is `true`,
//! the second variant of an enum, or the number 1, and these are three different values
//! (`linpoint_model::result_value`). A word stands for a value as long as all values that go into an object
//! and come out of it are of one class. Otherwise there is no verdict: a register that takes truth values and
//! gives numbers would be proved, and is wrong.
//!
//! Results of operations are lists of words: [`result_types`] says of which types, one to one. A tuple that
//! may be `none` has a truth value in front that says whether it is, because no word of its parts is left for
//! that: `some((none, 0))` is not `none`.

use linpoint_history::{Builtin, Shape, Spec as _, Value};
use linpoint_lang::Program;
use linpoint_lang::program::{EnumId, ResultType, Type};

use crate::term::Term;
use crate::world::{World, sort_of};

/// Types whose words stand for different values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// `false` and `true`.
    Truth,
    /// The names of variants.
    Variant(EnumId),
    /// Numbers; threads, pointers and data are written as such.
    Number,
}

fn class(ty: &Type) -> Class {
    match ty {
        Type::Bool => Class::Truth,
        Type::Enum(id) => Class::Variant(*id),
        Type::Data | Type::Int | Type::Thread | Type::Lock | Type::Pointer(_) => Class::Number,
        Type::Option(inner) => class(inner),
    }
}

/// Do words stand for values of this specification, one to one?
pub fn fit(program: &Program, spec: &Builtin) -> Result<(), String> {
    let mut values: Vec<(&Type, Shape)> = Vec::new();
    for operation in &program.operations {
        let Some(code) = spec.signature().find(&operation.name) else { continue };
        let decl = spec.signature().decl(code);
        values.extend(operation.locals[..operation.params].iter().map(|slot| (&slot.ty, decl.arg)));
        let is_value = match decl.result {
            Shape::Unit | Shape::Bool | Shape::Done => false,
            Shape::Item
            | Shape::Any
            | Shape::Int
            | Shape::OptionalInt
            | Shape::Text
            | Shape::Pair
            | Shape::Cell
            | Shape::List
            | Shape::Own(_) => true,
        };
        if is_value {
            values.extend(operation.result.parts.iter().map(|part| (part, decl.result)));
        }
    }
    for (ty, shape) in &values {
        let optional = matches!(ty, Type::Option(_));
        let fits = match shape {
            Shape::Int => class(ty) == Class::Number && !optional,
            Shape::OptionalInt => class(ty) == Class::Number,
            Shape::Item => !optional,
            Shape::Unit
            | Shape::Any
            | Shape::Bool
            | Shape::Done
            | Shape::Text
            | Shape::Pair
            | Shape::Cell
            | Shape::List => true,
            // A program of the language names built-in specifications only, or brings its own block.
            Shape::Own(_) => false,
        };
        if !fits {
            let wanted = shape.expected();
            return Err(format!("the specification takes {wanted}, which a value of this type need not be"));
        }
    }
    let number = matches!(spec.initial, Value::Int(_)).then_some(Class::Number);
    let mut classes = values.iter().map(|(ty, _)| class(ty)).chain(number);
    let first = classes.next();
    match classes.all(|class| Some(class) == first) {
        true => Ok(()),
        false => Err("values of different types go in and come out: no word stands for one value".into()),
    }
}

/// The types of the words that a result is made of.
pub fn result_types(ty: &ResultType) -> Vec<Type> {
    match (ty.optional, ty.tuple) {
        (false, _) => ty.parts.clone(),
        (true, true) => std::iter::once(Type::Bool).chain(ty.parts.iter().cloned()).collect(),
        (true, false) => ty.parts.iter().map(|part| Type::Option(Box::new(part.clone()))).collect(),
    }
}

impl World<'_> {
    /// A result as a list of words, from the values of its parts; one value alone is `none`, where a tuple is
    /// due.
    pub fn result(&mut self, ty: &ResultType, values: Vec<Term>) -> Vec<Term> {
        let types = result_types(ty);
        let whole = values.len() == ty.parts.len();
        let values: Vec<Term> = match (ty.optional && ty.tuple, whole) {
            (true, true) => std::iter::once(self.terms.bool(true)).chain(values).collect(),
            (true, false) => {
                let nothing = self.terms.int(0);
                std::iter::once(self.terms.bool(false)).chain(ty.parts.iter().map(|_| nothing)).collect()
            }
            (false, _) => values,
        };
        if values.len() != types.len() {
            self.refuse("a result with another number of parts");
        }
        let missing = self.terms.int(0);
        let values = values.into_iter().chain(std::iter::repeat(missing));
        values.zip(&types).map(|(value, ty)| self.fit(value, sort_of(ty))).collect()
    }
}
