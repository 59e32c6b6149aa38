//! The specification an object names or carries, and whether its operations fit.

use linpoint_history::specs::{self, SpecError};
use linpoint_history::{Builtin, Kind, Shape, Spec as _};

use super::{Item, Lowerer};
use crate::ast::{self, MemberKind};
use crate::diagnostic::{Diagnostic, code};
use crate::program::{Expr, Operation, Program, SpecSource, Type};

impl<'a> Lowerer<'a> {
    pub(super) fn spec(&mut self, object: &'a ast::Object, program: &Program) -> SpecSource {
        let blocks: Vec<_> = object
            .members
            .iter()
            .filter_map(|member| match &member.kind {
                MemberKind::Spec(members) => Some((members, member.span)),
                _ => None,
            })
            .collect();
        if let Some((_, span)) = blocks.get(1).or(blocks.first().filter(|_| object.spec.is_some())) {
            self.error(
                code::SPEC,
                *span,
                "an object has one specification",
                "name a built-in one, or write a `spec`",
            );
        }
        if let Some((members, _)) = blocks.first() {
            return self.spec_block(members, program);
        }
        match &object.spec {
            Some(name) => self.builtin(name, program),
            None => SpecSource::Nothing,
        }
    }

    fn builtin(&mut self, name: &ast::Name, program: &Program) -> SpecSource {
        match specs::parse(&name.text) {
            Ok(builtin) => {
                for operation in &program.operations {
                    self.fits_builtin(operation, &builtin);
                }
                SpecSource::Builtin(Box::new(builtin))
            }
            Err(error) => {
                let help = match &error {
                    SpecError::Unknown { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
                    SpecError::Unknown { .. } => {
                        format!("known: {}", Kind::all().map(Kind::name).collect::<Vec<_>>().join(", "))
                    }
                    _ => "collections take `capacity=N` and `spurious`, a semaphore takes `capacity=N`"
                        .to_owned(),
                };
                self.error(code::SPEC, name.span, error.to_string(), help);
                SpecSource::Nothing
            }
        }
    }

    /// A specification has no future to claim anything of: it does one operation at a time.
    pub(super) fn refuse_claims(&mut self, spec: &Program) {
        for claim in &spec.claims {
            let help = "claims are about runs of the object: put it into an operation of the object";
            self.error(code::SPEC, claim.span, "this has no place in a specification", help);
        }
    }

    fn fits_builtin(&mut self, operation: &Operation, spec: &Builtin) {
        let name_span = match self.items.get(&operation.name) {
            Some((Item::Routine(routine), _)) => routine.name.span,
            _ => operation.span,
        };
        let Some(op) = spec.signature().find(&operation.name) else {
            let known = spec.signature().names();
            let message = format!("`{}` has no operation `{}`", spec.kind.name(), operation.name);
            return self.error(code::SIGNATURE, name_span, message, format!("it has {known}"));
        };
        let decl = spec.signature().decl(op);
        let wanted = match decl.arg {
            Shape::Unit => 0,
            Shape::Pair | Shape::Cell => 2,
            Shape::OptionalInt if operation.params == 0 => 0,
            _ => 1,
        };
        if operation.params != wanted {
            let message = format!("`{}` of `{}` takes {wanted} arguments", operation.name, spec.kind.name());
            return self.error(code::SIGNATURE, name_span, message, "give the operation as many parameters");
        }
        let result = &operation.result;
        let plain = |ty: &Type| result.parts.as_slice() == [ty.clone()] && !result.optional && !result.tuple;
        let fits = match decl.result {
            Shape::Unit => result.parts.is_empty(),
            Shape::Bool => plain(&Type::Bool),
            Shape::Done => result.parts.is_empty() || plain(&Type::Bool),
            Shape::List | Shape::Pair | Shape::Cell => result.tuple && !result.optional,
            Shape::Int => plain(&Type::Int),
            _ => result.parts.len() == 1 && !result.tuple,
        };
        if !fits {
            let message =
                format!("`{}` of `{}` answers {}", operation.name, spec.kind.name(), decl.result.expected());
            let help = match decl.result {
                Shape::Unit => "leave the result out",
                Shape::Bool => "declare the result `-> bool`",
                Shape::Any => "declare a result, such as `-> data?`",
                _ => "declare such a result",
            };
            self.error(code::SIGNATURE, name_span, message, help);
        }
    }

    /// A specification in the same language: a sequential object that knows the enums, records, constants and
    /// sizes around it.
    fn spec_block(&mut self, members: &'a [ast::Member], program: &Program) -> SpecSource {
        let mut inner =
            Lowerer { records: self.records.clone(), enums: self.enums.clone(), ..Lowerer::default() };
        inner.sizes = self.sizes.clone();
        for (name, (item, span)) in &self.items {
            if !matches!(item, Item::Global(_) | Item::Routine(_)) {
                inner.items.insert(name.clone(), (*item, *span));
            }
        }
        for member in members {
            let allowed = matches!(
                member.kind,
                MemberKind::Shared { .. }
                    | MemberKind::Routine(_)
                    | MemberKind::Init(_)
                    | MemberKind::Struct { .. }
                    | MemberKind::Enum { .. }
                    | MemberKind::Const { .. }
            );
            if !allowed {
                let help = "a `spec` has shared variables, `init`, operations and procedures";
                inner.error(code::SPEC, member.span, "this has no place in a specification", help);
            }
        }
        inner.declare(members);
        let (operations, init) = inner.routines(members);
        let mut spec = inner.assemble(&program.name, operations, init);
        inner.check_flow(&spec);
        crate::prophecy::refuse(&spec, &mut inner.wrong);
        inner.refuse_claims(&spec);
        self.wrong.append(&mut inner.wrong);
        let mut ordered = Vec::new();
        for operation in &program.operations {
            let span = match self.items.get(&operation.name) {
                Some((Item::Routine(routine), _)) => routine.name.span,
                _ => operation.span,
            };
            let Some(reference) = spec.operations.iter().find(|op| op.name == operation.name) else {
                let message = format!("the specification has no operation `{}`", operation.name);
                self.error(code::SIGNATURE, span, message, "add it to the `spec`");
                continue;
            };
            let types = |op: &Operation| {
                op.locals[..op.params].iter().map(|slot| slot.ty.clone()).collect::<Vec<_>>()
            };
            if types(operation) != types(reference) || operation.result != reference.result {
                let message = format!("`{}` has another type in the specification", operation.name);
                self.error(code::SIGNATURE, span, message, "give both the same parameters and result");
            }
            for (own, other) in operation.locals[..operation.params].iter().zip(&reference.locals) {
                if !includes(other.bounds.as_ref(), own.bounds.as_ref()) {
                    let message = format!("the range of `{}` is narrower in the specification", other.name);
                    let diagnostic = Diagnostic::error(code::SIGNATURE, other.span, message)
                        .also(own.span, "the object may be called with more")
                        .help("give both the same range, or the specification none");
                    self.complain(diagnostic);
                }
            }
            ordered.push(reference.clone());
        }
        if self.wrong.iter().any(crate::Diagnostic::is_error) {
            return SpecSource::Nothing;
        }
        // Those that the object does not have are never called, but their nodes are there.
        let has = |name: &str| program.operations.iter().any(|op| op.name == name);
        for extra in spec.operations.iter().filter(|op| !has(&op.name)) {
            let message = format!("the object has no operation `{}`: it is never called here", extra.name);
            let help = "add it to the object, or make it a `proc`";
            self.complain(Diagnostic::warning(code::SIGNATURE, extra.span, message).help(help));
        }
        ordered.extend(spec.operations.iter().filter(|op| !has(&op.name)).cloned());
        // Operations in the object's order; nodes keep the number of their operation.
        let order: Vec<usize> = ordered
            .iter()
            .map(|op| spec.operations.iter().position(|other| other.name == op.name).unwrap_or(0))
            .collect();
        for node in &mut spec.nodes {
            let old = node.op.index();
            node.op.0 = match order.iter().position(|o| *o == old) {
                Some(new) => new as u16,
                // The code of the initial state.
                None => ordered.len() as u16,
            };
        }
        spec.operations = ordered;
        SpecSource::Block(Box::new(spec))
    }
}

/// Is each number of `inner` one of `outer`? Where sizes are in them, only what is the same is known to be.
fn includes(outer: Option<&(Expr, Expr)>, inner: Option<&(Expr, Expr)>) -> bool {
    let at_most = |a: &Expr, b: &Expr| match (a, b) {
        (Expr::Const(a), Expr::Const(b)) => a <= b,
        (a, b) => a == b,
    };
    match (outer, inner) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some((outer_lo, outer_hi)), Some((lo, hi))) => at_most(outer_lo, lo) && at_most(hi, outer_hi),
    }
}
