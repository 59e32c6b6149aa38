//! Odd names for everything that a text declares, put in word by word.

use std::collections::{BTreeMap, BTreeSet};

use linpoint_history::rng::Rng;
use linpoint_lang::ast::{Expr, ExprKind, File, Member, MemberKind, RoutineKind, Stmt, StmtKind};
use linpoint_lang::token::{TokenKind, tokens};

use super::{objects, shuffle};

/// Names that mean something to somebody, or look made up by somebody.
const ODD: &[&str] = &[
    "result",
    "result_",
    "result_0",
    "result_1",
    "Result",
    "_",
    "__",
    "x_0",
    "x__0",
    "state",
    "frame",
    "pc_",
    "heap",
    "holder_",
    "op_result",
    "spec_x",
    "a_b",
    "a__b",
    "ghost_",
    "size_",
    "bool_",
    "int_",
    "null_",
    "none_",
    "some_1",
];

/// Words of the language. Some may be names as well, and cannot be told from words by looking at one.
const LANGUAGE: &str = "object struct pooled enum const size shared ghost init op proc atomic spec client threads ops \
    producers consumers thread abs for inv at disjoint status in out inout track list via sorted by if else loop while \
    break continue return choose or assume assert tressa var data int bool lock unlock try_lock cas dcas swap fetch_add \
    new free null none some unwrap me true false all any first last exit rd wr rw others lin query of";

/// The text with other names.
pub(super) fn with_odd_names(text: &str, file: &File, rng: &mut Rng) -> String {
    let mut declared = Declared::default();
    for object in objects(file) {
        declared.names.insert(object.name.text.clone());
        object.members.iter().for_each(|member| declared.member(member, object.spec.is_none()));
    }
    let mut odd: Vec<String> = ODD.iter().map(|name| (*name).to_owned()).collect();
    odd.extend((0..declared.names.len()).map(|number| format!("result_{number}_")));
    shuffle(&mut odd[..ODD.len()], rng);
    let (all, ..) = tokens(text);
    let used: BTreeSet<&str> = all.iter().filter_map(word).collect();
    let kept = |name: &String| {
        !declared.kept.contains(name) && !LANGUAGE.split_whitespace().any(|word| word == name)
    };
    let free = odd.into_iter().filter(|name| !used.contains(name.as_str()));
    let new: BTreeMap<&str, String> =
        declared.names.iter().filter(|name| kept(name)).map(String::as_str).zip(free).collect();
    let mut told = String::new();
    let mut at = 0;
    let mut in_header = false;
    for token in &all {
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        told.push_str(&text[at..start]);
        match (&token.kind, word(token).and_then(|word| new.get(word))) {
            // What stands between `:` and `{` of an object is a specification, and not the program's.
            (TokenKind::Word(_), Some(name)) if !in_header => told.push_str(name),
            _ => told.push_str(&text[start..end]),
        }
        match &token.kind {
            TokenKind::Word(word) if word == "object" => in_header = false,
            TokenKind::Sign(":") if file_says_spec_at(file, start) => in_header = true,
            TokenKind::Sign("{") => in_header = false,
            TokenKind::Word(_) | TokenKind::Number(_) | TokenKind::Sign(_) | TokenKind::End => {}
        }
        at = end;
    }
    told.push_str(&text[at..]);
    told
}

fn word(token: &linpoint_lang::token::Token) -> Option<&str> {
    match &token.kind {
        TokenKind::Word(word) => Some(word),
        TokenKind::Number(_) | TokenKind::Sign(_) | TokenKind::End => None,
    }
}

/// Is this the colon before the specification of an object?
fn file_says_spec_at(file: &File, at: usize) -> bool {
    objects(file).any(|object| {
        object
            .spec
            .as_ref()
            .is_some_and(|spec| object.name.span.end as usize <= at && at < spec.span.start as usize)
    })
}

#[derive(Default)]
struct Declared {
    names: BTreeSet<String>,
    /// Names that must stay: operations that a built-in specification knows.
    kept: BTreeSet<String>,
}

impl Declared {
    fn member(&mut self, member: &Member, may_rename_operations: bool) {
        let mut add = |name: &str| self.names.extend([name.to_owned()]);
        match &member.kind {
            MemberKind::Struct { name, fields, .. } => {
                add(&name.text);
                fields.iter().for_each(|field| add(&field.name.text));
            }
            MemberKind::Enum { name, variants } => {
                add(&name.text);
                variants.iter().for_each(|variant| add(&variant.text));
            }
            MemberKind::Const { name, .. }
            | MemberKind::Size { name, .. }
            | MemberKind::Shared { name, .. } => {
                add(&name.text);
            }
            MemberKind::Init(block) => block.statements.iter().for_each(|stmt| self.statement(stmt)),
            MemberKind::Routine(routine) => {
                if routine.kind == RoutineKind::Op && !may_rename_operations {
                    self.kept.insert(routine.name.text.clone());
                } else {
                    add(&routine.name.text);
                }
                self.names.extend(routine.params.iter().map(|(name, _)| name.text.clone()));
                routine.body.statements.iter().for_each(|stmt| self.statement(stmt));
            }
            MemberKind::Spec(members) => {
                members.iter().for_each(|member| self.member(member, may_rename_operations))
            }
            MemberKind::Client(client) => add(&client.name.text),
            MemberKind::Abs { .. }
            | MemberKind::Inv { .. }
            | MemberKind::Disjoint(_)
            | MemberKind::Status { .. }
            | MemberKind::Track(_) => {}
        }
    }

    fn statement(&mut self, stmt: &Stmt) {
        self.names.extend(stmt.label.iter().map(|label| label.text.clone()));
        let mut inside = Vec::new();
        match &stmt.kind {
            StmtKind::Var { name, .. } | StmtKind::Prophecy { name, .. } => {
                self.names.extend([name.text.clone()])
            }
            StmtKind::Assign { target, .. } => self.target(target),
            StmtKind::For { var, body, .. } => {
                self.names.insert(var.text.clone());
                inside.push(body);
            }
            StmtKind::Atomic(body) | StmtKind::Loop(body) | StmtKind::While { body, .. } => inside.push(body),
            StmtKind::If { then, otherwise, .. } => {
                inside.push(then);
                inside.extend(otherwise);
            }
            StmtKind::Choose(blocks) => inside.extend(blocks),
            StmtKind::Call(_)
            | StmtKind::Break(_)
            | StmtKind::Continue(_)
            | StmtKind::Return(_)
            | StmtKind::Assume(_)
            | StmtKind::Assert(_)
            | StmtKind::Tressa(_) => {}
        }
        inside.into_iter().flat_map(|block| &block.statements).for_each(|stmt| self.statement(stmt));
    }

    fn target(&mut self, target: &Expr) {
        match &target.kind {
            ExprKind::Name(name) => self.names.extend([name.clone()]),
            ExprKind::Tuple(parts) => parts.iter().for_each(|part| self.target(part)),
            _ => {}
        }
    }
}
