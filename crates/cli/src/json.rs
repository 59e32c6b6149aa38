//! A file that got no verdict as one JSON object, for scripts. The fields are a contract.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::fault::Fault;

/// A file that got no verdict, so that there is one object a file.
pub fn render_fault(file: &Path, fault: &Fault) -> String {
    let mut object = json!({"file": file.display().to_string(), "verdict": Json::Null});
    match fault {
        Fault::Input(found) => {
            object["error"] = json!(found.message);
            object["help"] = json!(found.help);
            object["code"] = json!(found.code);
            object["line"] = if found.line > 0 { json!(found.line) } else { Json::Null };
            object["column"] = if found.column > 0 { json!(found.column) } else { Json::Null };
        }
        other => object["error"] = json!(other.to_string().trim_end()),
    }
    object.to_string()
}
