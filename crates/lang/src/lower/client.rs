//! Clients.

use super::Lowerer;
use crate::ast::{self, BinOp, ClientKind, MemberKind, Name};
use crate::diagnostic::code;
use crate::near;
use crate::program::{Client, ClientThread, Expr, OpId, Program, Slot, Type, Word};
use crate::span::Span;

impl Lowerer<'_> {
    pub(super) fn clients(&mut self, object: &ast::Object, program: &Program) -> Vec<Client> {
        let mut clients: Vec<Client> = Vec::new();
        for member in &object.members {
            let MemberKind::Client(client) = &member.kind else { continue };
            if clients.iter().any(|other| other.name == client.name.text) {
                let message = format!("two clients are called `{}`", client.name.text);
                self.error(code::TWICE, client.name.span, message, "give one of them another name");
            }
            let threads = match &client.kind {
                ClientKind::General { threads, ops } => {
                    let all: Vec<OpId> = (0..program.operations.len()).map(|i| OpId(i as u16)).collect();
                    let (threads, ops) = (self.count(threads), self.count(ops));
                    vec![ClientThread::Any(all, ops); threads as usize]
                }
                ClientKind::Roles { roles, ops } => {
                    let ops = self.count(ops);
                    let mut threads = Vec::new();
                    for (_, count, calls) in roles {
                        let calls: Vec<OpId> =
                            calls.iter().filter_map(|name| self.operation_named(name, program)).collect();
                        for _ in 0..self.count(count) {
                            threads.push(ClientThread::Any(calls.clone(), ops));
                        }
                    }
                    threads
                }
                ClientKind::Scenario(threads) => {
                    threads.iter().map(|calls| self.scenario(calls, program)).collect()
                }
            };
            if threads.len() > 16 {
                self.error(code::CLIENT, client.name.span, "a client has at most 16 threads", "use fewer");
            }
            clients.push(Client { name: client.name.text.clone(), threads });
        }
        clients
    }

    fn scenario(&mut self, calls: &[(Name, Vec<ast::Expr>)], program: &Program) -> ClientThread {
        let mut lowered = Vec::new();
        for (name, args) in calls {
            let Some(op) = self.operation_named(name, program) else { continue };
            let operation = program.operation(op);
            if args.len() != operation.params {
                let message =
                    format!("`{}` takes {} arguments, not {}", name.text, operation.params, args.len());
                self.error(code::ARGUMENTS, name.span, message, "give as many as it has parameters");
                continue;
            }
            let params = &operation.locals[..operation.params];
            let words = args.iter().zip(params).map(|(arg, slot)| self.argument(arg, slot)).collect();
            lowered.push((op, words));
        }
        ClientThread::Calls(lowered)
    }

    fn argument(&mut self, arg: &ast::Expr, param: &Slot) -> Word {
        match self.initial_value(arg, &param.ty) {
            Expr::Const(word) => {
                self.refuse_out_of_range(word, param, arg.span);
                word
            }
            _ => {
                self.error(code::CONSTANT, arg.span, "this must be a plain value", "use a number");
                0
            }
        }
    }

    /// Complains about an argument that the parameter cannot have, with sizes as usual.
    fn refuse_out_of_range(&mut self, word: Word, param: &Slot, span: Span) {
        let Some((lo, hi)) = &param.bounds else { return };
        let (Some(lo), Some(hi)) = (self.usual(lo), self.usual(hi)) else { return };
        if !(lo..=hi).contains(&i64::from(word)) {
            let message = format!("`{}` is a number from {lo} to {hi}, and this is {word}", param.name);
            self.error(code::CLIENT, span, message, "call it with a number of the parameter's range");
        }
    }

    /// A number of numbers and sizes, with sizes as usual.
    fn usual(&self, expr: &Expr) -> Option<i64> {
        match expr {
            Expr::Const(n) => Some(i64::from(*n)),
            Expr::Size(id) => Some(i64::from(self.sizes[id.index()].usual)),
            Expr::Neg(e) => self.usual(e)?.checked_neg(),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.usual(a)?, self.usual(b)?);
                match op {
                    BinOp::Add => a.checked_add(b),
                    BinOp::Sub => a.checked_sub(b),
                    BinOp::Mul => a.checked_mul(b),
                    BinOp::Rem
                    | BinOp::Implies
                    | BinOp::Or
                    | BinOp::And
                    | BinOp::Eq
                    | BinOp::Ne
                    | BinOp::Lt
                    | BinOp::Le
                    | BinOp::Gt
                    | BinOp::Ge => None,
                }
            }
            Expr::Me
            | Expr::Read(_)
            | Expr::Not(_)
            | Expr::Quantified { .. }
            | Expr::Unwrap(_)
            | Expr::Term(_) => None,
        }
    }

    fn count(&mut self, expr: &ast::Expr) -> u32 {
        match self.initial_value(expr, &Type::Int) {
            Expr::Const(n) if (0..=16).contains(&n) => n as u32,
            _ => {
                self.error(code::CLIENT, expr.span, "expected a number from 0 to 16", "");
                0
            }
        }
    }

    fn operation_named(&mut self, name: &Name, program: &Program) -> Option<OpId> {
        let found = program.find(&name.text);
        if found.is_none() {
            let known = program.operations.iter().map(|op| op.name.as_str());
            let near = near::did_you_mean(&name.text, known);
            let help = if near.is_empty() {
                let names: Vec<&str> = program.operations.iter().map(|op| op.name.as_str()).collect();
                format!("the object has {}", names.join(", "))
            } else {
                near
            };
            self.error(code::UNKNOWN, name.span, format!("unknown operation `{}`", name.text), help);
        }
        found
    }
}
