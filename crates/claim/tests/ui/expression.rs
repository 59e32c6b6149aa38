use linpoint_claim::{Var, tressa};

fn main() {
    let x = Var::new(true);
    tressa!(if Exit(x) { true } else { false });
    tressa!(assert!(Exit(x)));
}
