//! Run by `cargo bench --no-default-features --bench accounting` or `cargo xtask bench accounting`.

mod cases;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};

fn accounting(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("accounting");
    group.sample_size(10).measurement_time(std::time::Duration::from_secs(3));
    for mut case in cases::cases() {
        group.bench_function(case.name, |bencher| bencher.iter(|| black_box((case.run)())));
    }
    group.finish();
}

criterion_group!(benches, accounting);
criterion_main!(benches);
