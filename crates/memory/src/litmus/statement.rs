//! Statements of a litmus test, their conditions and expressions.

use super::Diagnostic;
use super::words::Text;
use crate::event::{Location, Value};
use crate::machine::{Change, Expression, Instruction, Operator, REGISTERS, Register};
use crate::ordering::Ordering;

/// Where a value goes if no register is named: `h`.
const DEFAULT: Register = Register::number(7);

const ORDERINGS: &str = "an ordering: na, rlx, acq, rel, ar or sc";
const EXPRESSION: &str = "an expression: a number, a register a to p, or several with +, -, * and no spaces";
const REGISTER: &str = "a register: one letter, a to p";
const CONDITION: &str = "a condition such as a==1, with ==, !=, <, >, <= or >=";
const STATEMENT: &str = "R, W, U, X, C, B, F, A, S, J, T or N";

/// What the statements of a program name.
pub(super) struct Names<'a> {
    locations: Vec<&'a str>,
    /// How many threads there are.
    threads: usize,
    /// The threads that are created by others.
    pub(super) created: Vec<usize>,
}

impl<'a> Names<'a> {
    pub(super) fn new(threads: usize) -> Names<'a> {
        Names { locations: Vec::new(), threads, created: Vec::new() }
    }

    pub(super) fn has_thread(&self, thread: usize) -> bool {
        thread < self.threads
    }

    /// The location of that name, if there is one.
    pub(super) fn known(&self, name: &str) -> Option<Location> {
        let index = self.locations.iter().position(|known| *known == name)?;
        Some(Location(index as u64))
    }

    fn location(&mut self, name: &'a str) -> Value {
        let known = self.locations.iter().position(|known| *known == name);
        let index = known.unwrap_or_else(|| {
            self.locations.push(name);
            self.locations.len() - 1
        });
        index as Value
    }
}

/// Reads a statement with the conditions before it, if there is one.
pub(super) fn read_statement<'a>(
    text: Text<'a>,
    names: &mut Names<'a>,
    code: &mut Vec<Instruction>,
) -> Result<(), Diagnostic> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Ok(());
    }
    let mut conditions = Vec::new();
    while let Some(found) = rest.enclosed('[', ']') {
        let (inside, after) = found?;
        conditions.push(condition(inside)?);
        rest = after;
    }
    let (name, operands) = rest.word();
    let instruction = Operands { rest: operands, names }.instruction(name)?;
    // A statement whose conditions do not all hold is skipped.
    let end = code.len() + conditions.len() + 1;
    code.extend(conditions.into_iter().map(|condition| Instruction::Unless(condition, end)));
    code.push(instruction);
    Ok(())
}

/// What follows the name of a statement.
struct Operands<'a, 'n> {
    rest: Text<'a>,
    names: &'n mut Names<'a>,
}

impl<'a> Operands<'a, '_> {
    fn instruction(&mut self, name: Text<'a>) -> Result<Instruction, Diagnostic> {
        let instruction = match name.as_str() {
            "R" => {
                let (at, ordering) = (self.location()?, self.ordering()?);
                Instruction::Load { to: self.register_or_default()?, at, ordering }
            }
            "W" => {
                let (at, ordering) = (self.location()?, self.ordering()?);
                Instruction::Store { at, ordering, value: self.expression()? }
            }
            "U" | "X" => {
                let (at, ordering) = (self.location()?, self.ordering()?);
                let operand = self.expression()?;
                let change = if name.as_str() == "U" { Change::Add(operand) } else { Change::Swap(operand) };
                let old = Some(self.register_or_default()?);
                Instruction::Update { old, success: None, at, change, ordering, failure: ordering }
            }
            "C" | "B" => {
                let at = self.location()?;
                let change = Change::CompareExchange(self.expression()?, self.expression()?);
                let (ordering, failure) = (self.ordering()?, self.ordering()?);
                let to = Some(self.register_or_default()?);
                let (old, success) = if name.as_str() == "C" { (to, None) } else { (None, to) };
                Instruction::Update { old, success, at, change, ordering, failure }
            }
            "F" => Instruction::Fence(self.ordering()?),
            "A" => {
                let rest = self.rest;
                self.rest = rest.end();
                Instruction::Assume(condition(rest)?)
            }
            "S" => Instruction::Set(self.register()?, self.expression()?),
            "J" => Instruction::Join(self.thread()?),
            "T" => {
                let thread = self.thread()?;
                self.names.created.push(thread);
                Instruction::Create(thread)
            }
            "N" => Instruction::Choose(self.register()?, self.bound()?),
            "" => return Err(name.error("a statement is missing", STATEMENT)),
            other => return Err(name.error(&format!("{other:?} is not a statement"), STATEMENT)),
        };
        if self.rest.is_empty() {
            return Ok(instruction);
        }
        let message = format!("{:?} is too much", self.rest.as_str());
        Err(self.rest.error(&message, "the end of the statement, ; or ||"))
    }

    fn word(&mut self) -> Text<'a> {
        let (word, rest) = self.rest.word();
        self.rest = rest;
        word
    }

    fn location(&mut self) -> Result<Expression, Diagnostic> {
        let expected = "a location: a name of letters, digits and _";
        let word = self.word();
        if word.is_empty() {
            return Err(word.error("a location is missing", expected));
        }
        let starts = word.as_str().starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let (name, rest) = word.while_in(|c| c.is_ascii_alphanumeric() || c == '_');
        if !starts || !rest.is_empty() {
            return Err(word.error(&format!("{:?} is not a location", word.as_str()), expected));
        }
        Ok(Expression::Number(self.names.location(name.as_str())))
    }

    fn ordering(&mut self) -> Result<Ordering, Diagnostic> {
        let word = self.word();
        Ok(match word.as_str() {
            "na" => Ordering::NonAtomic,
            "rlx" => Ordering::Relaxed,
            "acq" => Ordering::Acquire,
            "rel" => Ordering::Release,
            "ar" => Ordering::AcqRel,
            "sc" => Ordering::SeqCst,
            "" => return Err(word.error("an ordering is missing", ORDERINGS)),
            other => return Err(word.error(&format!("{other:?} is not an ordering"), ORDERINGS)),
        })
    }

    fn expression(&mut self) -> Result<Expression, Diagnostic> {
        let word = self.word();
        if word.is_empty() {
            return Err(word.error("an expression is missing", EXPRESSION));
        }
        whole(expression(word)?)
    }

    fn register(&mut self) -> Result<Register, Diagnostic> {
        let word = self.word();
        match register(word) {
            Some((register, rest)) if rest.is_empty() => Ok(register),
            _ if word.is_empty() => Err(word.error("a register is missing", REGISTER)),
            _ => Err(word.error(&format!("{:?} is not a register", word.as_str()), REGISTER)),
        }
    }

    fn register_or_default(&mut self) -> Result<Register, Diagnostic> {
        if self.rest.is_empty() { Ok(DEFAULT) } else { self.register() }
    }

    fn thread(&mut self) -> Result<usize, Diagnostic> {
        let word = self.word();
        let expected = format!("the number of a thread, 0 to {}", self.names.threads.saturating_sub(1));
        let known = |number: &usize| *number < self.names.threads;
        word.as_str().parse().ok().filter(known).ok_or_else(|| {
            word.error(&format!("{:?} is not the number of a thread", word.as_str()), &expected)
        })
    }
}

impl Operands<'_, '_> {
    fn bound(&mut self) -> Result<u32, Diagnostic> {
        let word = self.word();
        let parsed = word.as_str().parse().ok().filter(|bound| (1..=64).contains(bound));
        parsed.ok_or_else(|| {
            let message = format!("{:?} is not a number of possibilities", word.as_str());
            word.error(&message, "a number from 1 to 64")
        })
    }
}

fn condition(text: Text<'_>) -> Result<Expression, Diagnostic> {
    let (left, rest) = expression(text.trim())?;
    let rest = rest.trim();
    let operators = [
        ("==", Operator::Equal),
        ("!=", Operator::Different),
        (">=", Operator::AtLeast),
        ("<=", Operator::AtMost),
        (">", Operator::Greater),
        ("<", Operator::Less),
    ];
    let found = operators.iter().find_map(|(sign, operator)| Some((*operator, rest.strip(sign)?)));
    let Some((operator, right)) = found else {
        return Err(rest.error("a comparison is missing", CONDITION));
    };
    Ok(left.with(operator, whole(expression(right.trim())?)?))
}

/// What was read, if nothing is left.
fn whole((expression, rest): (Expression, Text<'_>)) -> Result<Expression, Diagnostic> {
    if rest.trim().is_empty() {
        Ok(expression)
    } else {
        Err(rest.error(&format!("{:?} is too much", rest.as_str()), EXPRESSION))
    }
}

/// The most characters of an expression: it is computed by recursion.
const LONGEST: usize = 1_000;

/// A sum of products, and what follows it.
fn expression(text: Text<'_>) -> Result<(Expression, Text<'_>), Diagnostic> {
    if text.as_str().len() > LONGEST {
        return Err(text.error("the expression is too long", &format!("at most {LONGEST} characters")));
    }
    let (mut sum, mut rest) = product(text)?;
    loop {
        let operator = match rest.as_str().chars().next() {
            Some('+') => Operator::Add,
            Some('-') => Operator::Subtract,
            _ => return Ok((sum, rest)),
        };
        let (right, after) = product(rest.strip("+").or_else(|| rest.strip("-")).unwrap_or(rest))?;
        sum = sum.with(operator, right);
        rest = after;
    }
}

fn product(text: Text<'_>) -> Result<(Expression, Text<'_>), Diagnostic> {
    let (mut product, mut rest) = factor(text)?;
    while let Some(after) = rest.strip("*") {
        let (right, after) = factor(after)?;
        product = product.with(Operator::Multiply, right);
        rest = after;
    }
    Ok((product, rest))
}

/// A number or a register. A number directly after a register is added to it.
fn factor(text: Text<'_>) -> Result<(Expression, Text<'_>), Diagnostic> {
    if let Some((register, rest)) = register(text) {
        let register = Expression::Register(register);
        if !rest.as_str().starts_with(|c: char| c.is_ascii_digit()) {
            return Ok((register, rest));
        }
        let (number, rest) = number(rest)?;
        return Ok((register.with(Operator::Add, number), rest));
    }
    number(text)
}

fn number(text: Text<'_>) -> Result<(Expression, Text<'_>), Diagnostic> {
    let unsigned = text.strip("-").or_else(|| text.strip("+")).unwrap_or(text);
    let (digits, rest) = unsigned.while_in(|c| c.is_ascii_digit());
    if digits.is_empty() {
        let found = text.as_str();
        let message = if found.is_empty() {
            "an expression is missing".into()
        } else {
            format!("{found:?} is not an expression")
        };
        return Err(text.error(&message, EXPRESSION));
    }
    let sign = if text.as_str().starts_with('-') { "-" } else { "" };
    let parsed: Result<Value, _> = format!("{sign}{}", digits.as_str()).parse();
    match parsed {
        Ok(number) => Ok((Expression::Number(number), rest)),
        Err(_) => Err(text.error(&format!("{sign}{} is too large", digits.as_str()), "a number of 64 bits")),
    }
}

/// A register at the beginning of the text.
pub(super) fn register(text: Text<'_>) -> Option<(Register, Text<'_>)> {
    let letter = text.as_str().bytes().next()?;
    let number = usize::from(letter.checked_sub(b'a')?);
    let rest = text.while_in(|c| c.is_ascii_alphabetic());
    (number < REGISTERS && rest.0.as_str().len() == 1).then(|| (Register::number(number), rest.1))
}
