//! Clients.

use super::Lowerer;
use crate::ast::{self, ClientKind, MemberKind, Name};
use crate::diagnostic::code;
use crate::near;
use crate::program::{Client, ClientThread, Expr, OpId, Program, Type, Word};

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
            let types: Vec<Type> =
                operation.locals[..operation.params].iter().map(|slot| slot.ty.clone()).collect();
            let words: Vec<Word> = args.iter().zip(&types).map(|(arg, ty)| self.argument(arg, ty)).collect();
            lowered.push((op, words));
        }
        ClientThread::Calls(lowered)
    }

    fn argument(&mut self, arg: &ast::Expr, ty: &Type) -> Word {
        match self.initial_value(arg, ty) {
            Expr::Const(word) => word,
            _ => {
                self.error(code::CONSTANT, arg.span, "this must be a plain value", "use a number");
                0
            }
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
