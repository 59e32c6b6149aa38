use linpoint_claim::{Var, tressa};

fn main() {
    let x = Var::new(0);
    tressa!(Exit(x) + 1);
    tressa!(Exit(x) ==> x.get() == 0);
    tressa!(Exit(x) == true);
}
