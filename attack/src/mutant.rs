//! Programs with one place changed. Some are still right; whatever an engine says of one must be so.

use linpoint_lang::ast::{BinOp, Block, Expr, ExprKind, File, MemberKind, RoutineKind, Stmt, StmtKind};
use linpoint_lang::{compile, parse, print};

/// Every mutant of a text that is a program: what was done, and the text. A statement of an operation or a procedure is left out, comes one later, or twice; a condition is turned around; a sign or a number
/// is another; an atomic block falls apart.
#[must_use]
pub fn mutants(text: &str) -> Vec<(String, String)> {
    let (mut file, wrong) = parse(text);
    if wrong.iter().any(|diagnostic| diagnostic.is_error()) {
        return Vec::new();
    }
    file.comments.clear();
    let mut found = Vec::new();
    // Places are numbered in the order of a walk; each number changes one place.
    for number in 0.. {
        let mut mutant = file.clone();
        let mut change = Change { left: number, done: None };
        change.file(&mut mutant);
        let Some(what) = change.done else { break };
        let told = print(&mutant, text);
        let (programs, wrong) = compile(&told);
        if !programs.is_empty() && wrong.iter().all(|diagnostic| !diagnostic.is_error()) {
            found.push((what, told));
        }
    }
    found
}

struct Change {
    /// How many places to pass before the one that is changed.
    left: usize,
    done: Option<String>,
}

impl Change {
    /// Is it this place's turn?
    fn here(&mut self, what: &str) -> bool {
        if self.done.is_some() {
            return false;
        }
        if self.left == 0 {
            self.done = Some(what.to_owned());
            return true;
        }
        self.left -= 1;
        false
    }

    fn file(&mut self, file: &mut File) {
        for member in file.objects.iter_mut().flat_map(|object| &mut object.members) {
            if let MemberKind::Routine(routine) = &mut member.kind {
                let kinds = [RoutineKind::Op, RoutineKind::Proc, RoutineKind::AtomicProc];
                if kinds.contains(&routine.kind) {
                    self.block(&mut routine.body);
                }
            }
        }
    }

    fn block(&mut self, block: &mut Block) {
        let mut at = 0;
        while at < block.statements.len() && self.done.is_none() {
            let line = at + 1;
            if self.here(&format!("statement {line} of a block left out")) {
                block.statements.remove(at);
                return;
            }
            if at + 1 < block.statements.len() && self.here(&format!("statement {line} one later")) {
                block.statements.swap(at, at + 1);
                return;
            }
            if self.here(&format!("statement {line} twice")) {
                let mut again = block.statements[at].clone();
                again.label = None;
                block.statements.insert(at, again);
                return;
            }
            if let StmtKind::Atomic(inner) = &block.statements[at].kind
                && self.here("an atomic block in pieces")
            {
                let inner = inner.statements.clone();
                block.statements.splice(at..=at, inner);
                return;
            }
            self.statement(&mut block.statements[at]);
            at += 1;
        }
    }

    fn statement(&mut self, stmt: &mut Stmt) {
        if !stmt.notes.is_empty() && self.here("an annotation left out") {
            stmt.notes.pop();
            return;
        }
        match &mut stmt.kind {
            StmtKind::Var { value, .. } => value.iter_mut().for_each(|value| self.expr(value)),
            StmtKind::Assign { target, value } => {
                self.expr(target);
                self.expr(value);
            }
            StmtKind::Call(e) => self.expr(e),
            StmtKind::Assume(e) | StmtKind::Assert(e) => {
                self.turn(e);
                self.expr(e);
            }
            StmtKind::Atomic(body) | StmtKind::Loop(body) | StmtKind::For { body, .. } => self.block(body),
            StmtKind::If { cond, then, otherwise } => {
                self.turn(cond);
                self.expr(cond);
                self.block(then);
                otherwise.iter_mut().for_each(|block| self.block(block));
            }
            StmtKind::While { cond, body } => {
                self.turn(cond);
                self.expr(cond);
                self.block(body);
            }
            StmtKind::Return(value) => value.iter_mut().for_each(|value| self.expr(value)),
            StmtKind::Choose(blocks) => blocks.iter_mut().for_each(|block| self.block(block)),
            StmtKind::Break(_) | StmtKind::Continue(_) | StmtKind::Tressa(_) | StmtKind::Prophecy { .. } => {}
        }
    }

    fn turn(&mut self, cond: &mut Expr) {
        if self.here("a condition turned around") {
            let span = cond.span;
            let inner = std::mem::replace(cond, Expr { kind: ExprKind::Null, span });
            cond.kind = ExprKind::Not(Box::new(inner));
        }
    }

    fn expr(&mut self, e: &mut Expr) {
        match &mut e.kind {
            ExprKind::Int(value) => {
                if self.here("a number one larger") {
                    *value += 1;
                }
            }
            ExprKind::Bool(value) => {
                if self.here("a truth turned around") {
                    *value = !*value;
                }
            }
            ExprKind::Binary(op, a, b) => {
                if let Some(other) = other(*op)
                    && self.here(&format!("`{}` for `{}`", other.sign(), op.sign()))
                {
                    *op = other;
                }
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Field(of, _) | ExprKind::Not(of) | ExprKind::Neg(of) => self.expr(of),
            ExprKind::Index(of, at) => {
                self.expr(of);
                self.expr(at);
            }
            ExprKind::Call(name, args) => {
                if args.len() >= 2 && self.here(&format!("two arguments of `{}` swapped", name.text)) {
                    let last = args.len() - 1;
                    args.swap(last - 1, last);
                }
                args.iter_mut().for_each(|arg| self.expr(arg));
            }
            ExprKind::New(_, fields) => {
                for at in 0..fields.len() {
                    if self.here("a field without its value") {
                        fields.remove(at);
                        return;
                    }
                    self.expr(&mut fields[at].1);
                }
            }
            ExprKind::Tuple(parts) => parts.iter_mut().for_each(|part| self.expr(part)),
            ExprKind::Quantified { body, .. } => self.expr(body),
            ExprKind::Null | ExprKind::None | ExprKind::Me | ExprKind::Name(_) | ExprKind::Choose(_) => {}
        }
    }
}

fn other(op: BinOp) -> Option<BinOp> {
    Some(match op {
        BinOp::Implies => BinOp::And,
        BinOp::Or => BinOp::And,
        BinOp::And => BinOp::Or,
        BinOp::Eq => BinOp::Ne,
        BinOp::Ne => BinOp::Eq,
        BinOp::Lt => BinOp::Le,
        BinOp::Le => BinOp::Lt,
        BinOp::Gt => BinOp::Ge,
        BinOp::Ge => BinOp::Gt,
        BinOp::Add => BinOp::Sub,
        BinOp::Sub => BinOp::Add,
        BinOp::Mul | BinOp::Rem => return None,
    })
}
