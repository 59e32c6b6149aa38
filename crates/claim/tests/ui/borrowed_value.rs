use linpoint_claim::{Var, tressa};

fn main() {
    let x = Var::new(0);
    let name = String::from("a");
    let name = name.as_str();
    fn len(name: &str, _: u32) -> usize { name.len() }
    tressa!(len(name, Exit(x)) == 1);
}
