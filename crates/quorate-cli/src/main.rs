//! The program.
use quorate::engine::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let ps = quorate_zoo::protocols();
    let p = &ps[0];
    let args = p
        .arguments(
            [
                ("proposers", a[1].as_str()),
                ("acceptors", &a[2]),
                ("learners", &a[3]),
                ("stale", &a[4]),
                ("transitions", &a[5]),
            ],
            a.get(8).map(|s| s.as_str()),
        )
        .unwrap();
    let m = p.instance(&args).unwrap();
    let t = std::time::Instant::now();
    let mut s = Search { threads: a[6].parse().unwrap(), ..Search::default() };
    if a[7] == "depth" {
        s.order = Order::Depth
    }
    let r = explore(&m, &s, &mut ());
    let e = t.elapsed().as_secs_f64();
    println!(
        "{:?} {} {e:.3}s {:.2} M tr/s",
        r.coverage,
        r.verdict.word(),
        r.coverage.transitions as f64 / e / 1e6
    );
    if let Some(v) = r.verdict.violation() {
        println!("{v}");
    }
    println!(
        "{}",
        std::fs::read_to_string("/proc/self/status")
            .unwrap()
            .lines()
            .find(|l| l.starts_with("VmHWM"))
            .unwrap()
    );
}
