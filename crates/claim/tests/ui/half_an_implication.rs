use linpoint_claim::{Var, tressa};

fn main() {
    let x = Var::new(true);
    tressa!(==> Exit(x));
    tressa!(Exit(x) ==>);
}
