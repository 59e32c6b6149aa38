//! A program without its ghosts and annotations: what runs must be the same.

use std::collections::BTreeSet;

use linpoint_lang::ast::{Block, Expr, ExprKind, Member, MemberKind, Object, Stmt, StmtKind};

/// Takes everything out that only proofs need.
pub(super) fn ghosts(object: &mut Object) {
    let mut names = BTreeSet::new();
    let mut fields = BTreeSet::new();
    let mut real_fields = BTreeSet::new();
    for member in &object.members {
        match &member.kind {
            MemberKind::Shared { ghost: true, name, .. } => names.extend([name.text.clone()]),
            MemberKind::Struct { fields: declared, .. } => {
                for field in declared {
                    let set = if field.ghost { &mut fields } else { &mut real_fields };
                    set.insert(field.name.text.clone());
                }
            }
            _ => {}
        }
    }
    // A field that some record has for real cannot be told from a ghost by its name alone.
    fields.retain(|field| !real_fields.contains(field));
    let ghosts = Ghosts { names, fields };
    object.members.retain(|member| !is_annotation(member, &ghosts));
    for member in &mut object.members {
        match &mut member.kind {
            MemberKind::Struct { fields, .. } => {
                fields.retain(|field| !(field.ghost && ghosts.fields.contains(&field.name.text)));
            }
            MemberKind::Init(block) => ghosts.clone().block(block),
            MemberKind::Routine(routine) => ghosts.clone().block(&mut routine.body),
            _ => {}
        }
    }
}

fn is_annotation(member: &Member, ghosts: &Ghosts) -> bool {
    match &member.kind {
        MemberKind::Shared { ghost, name, .. } => *ghost && ghosts.names.contains(&name.text),
        MemberKind::Abs { .. }
        | MemberKind::Inv { .. }
        | MemberKind::Disjoint(_)
        | MemberKind::Status { .. }
        | MemberKind::Track(_) => true,
        MemberKind::Struct { .. }
        | MemberKind::Enum { .. }
        | MemberKind::Const { .. }
        | MemberKind::Size { .. }
        | MemberKind::Init(_)
        | MemberKind::Routine(_)
        | MemberKind::Spec(_)
        | MemberKind::Client(_) => false,
    }
}

#[derive(Clone)]
struct Ghosts {
    names: BTreeSet<String>,
    fields: BTreeSet<String>,
}

impl Ghosts {
    fn block(&mut self, block: &mut Block) {
        block.statements.retain_mut(|stmt| self.keeps(stmt));
    }

    /// Is the statement one of the program? What is ghost inside it goes.
    fn keeps(&mut self, stmt: &mut Stmt) -> bool {
        stmt.notes.clear();
        match &mut stmt.kind {
            StmtKind::Var { ghost: true, name, .. } | StmtKind::Prophecy { name, .. } => {
                self.names.insert(name.text.clone());
                return false;
            }
            StmtKind::Assign { target, value } => {
                if self.is_ghost(target) {
                    return false;
                }
                self.value(value);
            }
            StmtKind::Var { value: Some(value), .. } => self.value(value),
            StmtKind::Tressa(_) => return false,
            StmtKind::Atomic(body)
            | StmtKind::Loop(body)
            | StmtKind::While { body, .. }
            | StmtKind::For { body, .. } => self.block(body),
            StmtKind::If { then, otherwise, .. } => {
                self.block(then);
                if let Some(otherwise) = otherwise {
                    self.block(otherwise);
                }
            }
            StmtKind::Choose(blocks) => blocks.iter_mut().for_each(|block| self.block(block)),
            StmtKind::Var { .. }
            | StmtKind::Call(_)
            | StmtKind::Break(_)
            | StmtKind::Continue(_)
            | StmtKind::Return(_)
            | StmtKind::Assume(_)
            | StmtKind::Assert(_) => {}
        }
        true
    }

    fn value(&self, value: &mut Expr) {
        if let ExprKind::New(_, fields) = &mut value.kind {
            fields.retain(|(name, _)| !self.fields.contains(&name.text));
        }
    }

    fn is_ghost(&self, target: &Expr) -> bool {
        match &target.kind {
            ExprKind::Name(name) => self.names.contains(name),
            ExprKind::Field(of, field) => self.fields.contains(&field.text) || self.is_ghost(of),
            ExprKind::Index(of, _) => self.is_ghost(of),
            _ => false,
        }
    }
}
