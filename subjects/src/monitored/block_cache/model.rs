//! What a store of blocks is, and how a cache over a store looks like one: a model and a shadow of one's own.

use std::any::Any;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::LazyLock;

use linpoint_history::{Call, OpCode, OpDecl, Shape, Signature, Value};
use linpoint_monitor::{Applied, Model, Shadow, Write};

const READ: OpCode = OpCode(0);
const WRITE: OpCode = OpCode(1);

static SIGNATURE: LazyLock<Signature> = LazyLock::new(|| {
    let op = |name, arg, result| OpDecl { name, aliases: &[], arg, result };
    Signature { operations: vec![op("read", Shape::Item, Shape::Any), op("write", Shape::Pair, Shape::Unit)] }
});

/// The location of a block in the store.
pub fn in_store(block: u64) -> u64 {
    block << 1
}

/// The location of a block in the cache.
pub fn in_cache(block: u64) -> u64 {
    block << 1 | 1
}

/// Blocks that are written and read. Their view: block and content.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    contents: BTreeMap<Value, Value>,
}

impl Blocks {
    fn content(&self, block: &Value) -> Value {
        self.contents.get(block).cloned().unwrap_or_default()
    }
}

impl Model for Blocks {
    fn signature(&self) -> &Signature {
        &SIGNATURE
    }

    fn apply(&mut self, call: Call<'_>, result: &Value, touched: &mut Vec<Value>) -> Applied {
        match (call.op, call.arg.as_pair()) {
            (READ, _) => {
                let expected = self.content(call.arg);
                if expected == *result {
                    return Applied::Yes;
                }
                Applied::No { expected: expected.to_string() }
            }
            (WRITE, Some((block, content))) => {
                self.contents.insert(block.clone(), content.clone());
                touched.push(block.clone());
                Applied::Yes
            }
            _ => Applied::No { expected: "a block, or a block and its content".to_owned() },
        }
    }

    fn apply_pending(&self, call: Call<'_>) -> Vec<Box<dyn Model>> {
        let mut next = self.clone();
        next.apply(call, &Value::Null, &mut Vec::new());
        vec![Box::new(next)]
    }

    fn view(&self, key: &Value) -> Value {
        self.content(key)
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        self.contents.iter().map(|(block, content)| (block.clone(), content.clone())).collect()
    }

    fn fork(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }

    fn same(&self, other: &dyn Model) -> bool {
        other.as_any().downcast_ref::<Blocks>().is_some_and(|other| self.contents == other.contents)
    }

    fn digest(&self) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(&self.contents)
    }

    fn size(&self) -> usize {
        self.contents.len()
    }

    fn show(&self) -> String {
        let blocks = self.contents.iter().take(16).map(|(block, content)| format!("{block}: {content}"));
        format!("{{{}}}", blocks.collect::<Vec<_>>().join(", "))
    }

    fn concerns<'a>(&self, call: Call<'a>) -> Option<&'a Value> {
        match call.op {
            READ => Some(call.arg),
            _ => call.arg.as_pair().map(|(block, _)| block),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A cache over a store: a block holds what the cache has, or else what the store has.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    cache: BTreeMap<u64, Value>,
    store: BTreeMap<u64, Value>,
}

impl Shadow for Layers {
    fn write(&mut self, write: &Write, touched: &mut Vec<Value>) {
        let (block, is_cached) = (write.location.0 >> 1, write.location.0 & 1 == 1);
        let layer = if is_cached { &mut self.cache } else { &mut self.store };
        match &write.value {
            Value::Null => layer.remove(&block),
            value => layer.insert(block, value.clone()),
        };
        touched.push(Value::Int(block as i64));
    }

    fn view(&self, key: &Value) -> Value {
        let Some(block) = key.as_int() else { return Value::Null };
        let found = self.cache.get(&(block as u64)).or_else(|| self.store.get(&(block as u64)));
        found.cloned().unwrap_or_default()
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        let mut blocks = self.store.clone();
        blocks.extend(self.cache.iter().map(|(block, content)| (*block, content.clone())));
        blocks.into_iter().map(|(block, content)| (Value::Int(block as i64), content)).collect()
    }
}
