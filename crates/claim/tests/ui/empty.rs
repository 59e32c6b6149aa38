use linpoint_claim::tressa;

fn main() {
    tressa!();
}
