//! Models, payloads and callbacks that do what they should not: what comes of it, and what is left.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use linpoint_history::{Call, OpDecl, Shape, Signature, Value};
use linpoint_monitor::{Applied, Model};

/// A model with these operations that allows everything, until it is told to panic.
pub struct Odd {
    signature: Signature,
    panics: Arc<AtomicBool>,
}

impl Odd {
    pub fn new(names: &[&'static str]) -> Odd {
        Odd::that_panics(names, Arc::default())
    }

    pub fn that_panics(names: &[&'static str], panics: Arc<AtomicBool>) -> Odd {
        let decl = |name: &&'static str| OpDecl { name, aliases: &[], arg: Shape::Any, result: Shape::Any };
        Odd { signature: Signature { operations: names.iter().map(decl).collect() }, panics }
    }
}

impl Model for Odd {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn apply(&mut self, _call: Call<'_>, _result: &Value, _touched: &mut Vec<Value>) -> Applied {
        assert!(!self.panics.load(Ordering::Relaxed), "an odd model");
        Applied::Yes
    }

    fn apply_pending(&self, _call: Call<'_>) -> Vec<Box<dyn Model>> {
        vec![self.fork()]
    }

    fn view(&self, _key: &Value) -> Value {
        Value::Null
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        Vec::new()
    }

    fn fork(&self) -> Box<dyn Model> {
        Box::new(Odd { signature: self.signature.clone(), panics: Arc::clone(&self.panics) })
    }

    fn same(&self, _other: &dyn Model) -> bool {
        true
    }

    fn digest(&self) -> u64 {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn show(&self) -> String {
        "anything".to_owned()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
