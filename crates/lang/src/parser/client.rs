//! Clients: who calls which operations.

use super::{Parsed, Parser};
use crate::ast::{Client, ClientKind, Expr, ExprKind, MemberKind, Name};
use crate::diagnostic::{Diagnostic, code};

/// What a client with threads that each do as many operations has by default.
fn one(span: crate::span::Span) -> Expr {
    Expr { kind: ExprKind::Int(1), span }
}

impl Parser {
    pub(super) fn client(&mut self) -> Parsed<MemberKind> {
        self.word("client")?;
        let name = self.name("the name of the client")?;
        let open = self.sign("{")?;
        let (mut threads, mut ops) = (None, None);
        let mut roles: Vec<(Name, Expr, Vec<Name>)> = Vec::new();
        let mut scenario = Vec::new();
        while !self.eat_sign("}") {
            if self.at_end() || self.member_starts() {
                self.unclosed(open);
                break;
            }
            self.eat_sign(";");
            self.eat_sign(",");
            if self.eat_word("threads") {
                threads = Some(self.sum()?);
            } else if self.eat_word("ops") {
                ops = Some(self.sum()?);
            } else if self.is_word("producers") || self.is_word("consumers") {
                let role = self.name("a role")?;
                let count = self.sum()?;
                self.sign(":")?;
                let mut calls = vec![self.name("an operation")?];
                while self.eat_sign(",") {
                    calls.push(self.name("an operation")?);
                }
                roles.push((role, count, calls));
            } else if self.eat_word("thread") {
                scenario.push(self.calls()?);
            } else {
                let known = ["threads", "ops", "producers", "consumers", "thread"];
                let help = self.nearest(&known);
                return self.expected("`threads`, `ops`, `producers`, `consumers` or `thread`", &help);
            }
        }
        let span = name.span;
        let kinds = [threads.is_some(), !roles.is_empty(), !scenario.is_empty()];
        if kinds.iter().filter(|kind| **kind).count() != 1 || !scenario.is_empty() && ops.is_some() {
            self.complain(
                Diagnostic::error(code::CLIENT, span, "a client is of one kind")
                    .help("write `threads N ops M`, or `producers …: … consumers …: …`, or `thread { … }` for each thread"),
            );
        }
        let ops = ops.unwrap_or_else(|| one(span));
        let kind = if !scenario.is_empty() {
            ClientKind::Scenario(scenario)
        } else if !roles.is_empty() {
            ClientKind::Roles { roles, ops }
        } else {
            ClientKind::General { threads: threads.unwrap_or_else(|| one(span)), ops }
        };
        Ok(MemberKind::Client(Client { name, kind }))
    }

    /// `{ push(1) pop() }`
    fn calls(&mut self) -> Parsed<Vec<(Name, Vec<Expr>)>> {
        let open = self.sign("{")?;
        let mut calls = Vec::new();
        loop {
            while self.eat_sign(";") || self.eat_sign(",") {}
            if self.eat_sign("}") {
                return Ok(calls);
            }
            if self.at_end() {
                self.unclosed(open);
                return Err(super::Failed);
            }
            let name = self.name("a call of an operation")?;
            let open = self.sign("(")?;
            calls.push((name, self.list(open, ")", Parser::expr)?));
        }
    }
}
