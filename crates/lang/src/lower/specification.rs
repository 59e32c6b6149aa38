//! Specifications that are used without the algorithm beside them: to check recorded histories.
//!
//! Such a specification is `spec Name { … }` alone in a file, the `spec` block of an object, or the built-in
//! one that an object names. A block becomes a [`Program`] of its own whose operations run one at a time. An
//! object that has nothing but a `spec` block is accepted here, though there is no algorithm to explore.

use super::{Lowerer, lower};
use crate::ast::{File, Member, MemberKind, Object, RoutineKind};
use crate::diagnostic::{Diagnostic, code};
use crate::program::{Program, SpecSource};

/// A sequential object.
#[derive(Clone, Debug)]
pub enum Specification {
    /// A built-in one.
    Builtin(Box<linpoint_history::Builtin>),
    /// One in the language.
    Block(Box<Program>),
}

/// The specifications of a file by the names of their objects, and everything that is wrong with it.
pub fn specifications(file: &File) -> (Vec<(String, Specification)>, Vec<Diagnostic>) {
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    let mut rest = file.clone();
    rest.objects.retain(|object| !is_alone(object) || object.is_spec);
    let (programs, of_programs) = lower(&rest);
    wrong.extend(of_programs);
    let mut programs = programs.into_iter();
    for object in &file.objects {
        let specification = if object.is_spec {
            // Its mistakes were found when the rest was lowered.
            lower_alone(object, &mut Vec::new())
        } else if is_alone(object) {
            lower_alone(object, &mut wrong)
        } else if let Some(program) = programs.as_slice().first().filter(|p| p.name == object.name.text) {
            let specification = of_program(program);
            programs.next();
            specification
        } else {
            None
        };
        found.extend(specification.map(|specification| (object.name.text.clone(), specification)));
    }
    wrong.sort_by_key(|d| (d.span.start, d.code));
    (found, wrong)
}

fn of_program(program: &Program) -> Option<Specification> {
    match &program.spec {
        SpecSource::Nothing => None,
        SpecSource::Builtin(builtin) => Some(Specification::Builtin(builtin.clone())),
        SpecSource::Block(block) => Some(Specification::Block(block.clone())),
    }
}

/// Has an object a `spec` block and no operations of its own?
fn is_alone(object: &Object) -> bool {
    let is_op = |member: &Member| matches!(&member.kind, MemberKind::Routine(r) if r.kind == RoutineKind::Op);
    let has_block = object.members.iter().any(|member| matches!(member.kind, MemberKind::Spec(_)));
    object.is_spec || has_block && !object.members.iter().any(is_op)
}

/// Lowers a specification that stands alone, if it can be understood.
pub(super) fn lower_alone(object: &Object, wrong: &mut Vec<Diagnostic>) -> Option<Specification> {
    let flat = flattened(object);
    let mut lowerer = Lowerer::default();
    for member in &flat.members {
        if !may_stand_in_a_specification(&member.kind) {
            let help =
                "a `spec` has types, constants, sizes, shared variables, `init`, operations and procedures";
            lowerer.error(code::SPEC, member.span, "this has no place in a specification", help);
        }
    }
    let program = lowerer.object(&flat);
    crate::prophecy::refuse(&program, &mut lowerer.wrong);
    lowerer.refuse_claims(&program);
    let is_bad = lowerer.wrong.iter().any(Diagnostic::is_error);
    wrong.append(&mut lowerer.wrong);
    (!is_bad).then(|| Specification::Block(Box::new(program)))
}

fn may_stand_in_a_specification(kind: &MemberKind) -> bool {
    match kind {
        MemberKind::Shared { ghost, .. } => !ghost,
        MemberKind::Struct { .. }
        | MemberKind::Enum { .. }
        | MemberKind::Const { .. }
        | MemberKind::Size { .. }
        | MemberKind::Init(_)
        | MemberKind::Routine(_) => true,
        MemberKind::Spec(_)
        | MemberKind::Client(_)
        | MemberKind::Abs { .. }
        | MemberKind::Inv { .. }
        | MemberKind::Disjoint(_)
        | MemberKind::Status { .. }
        | MemberKind::Track(_) => false,
    }
}

/// The object with what stands in its `spec` block put beside the block's surroundings.
fn flattened(object: &Object) -> Object {
    let mut flat = Object { spec: None, members: Vec::new(), ..object.clone() };
    for member in &object.members {
        match &member.kind {
            MemberKind::Spec(inner) if !object.is_spec => flat.members.extend(inner.iter().cloned()),
            _ => flat.members.push(member.clone()),
        }
    }
    flat
}
