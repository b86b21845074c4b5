// mechanism::encode::{block_middles, choose, bucket_bounds}: buckets in descending order take consecutive ranks;
// the ψ of the largest cosine (up to 64 rank blocks) is chosen; a bucket with ranks [r0, r1) gets the bound
// ψ[r1−1], which takes the count's place in `tallies`. One workgroup an example, 64 buckets an invocation.

var<workgroup> ranks: array<u32, 256>;
var<workgroup> levels: array<f32, 64>;
var<workgroup> scores: array<f32, 256>;
var<workgroup> chosen: array<u32, 256>;

// floor(P·j³/64³). P < 2^20 and j³ ≤ 2^18, so the product is taken in two halves.
fn block_edge(j: u32) -> u32 {
    let cube = j * j * j;
    let high = (run.dimension >> 10u) * cube;
    let low = (run.dimension & 1023u) * cube;
    return (high >> 8u) + ((((high & 255u) << 10u) + low) >> 18u);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let e = group.y;
    let top = HISTOGRAMS + e * BUCKETS + BUCKETS - 1u - 64u * t;
    var own = 0u;
    for (var k = 0u; k < 64u; k++) {
        own += atomicLoad(&tallies[top - k]);
    }
    ranks[t] = own;
    for (var reach = 1u; reach < 256u; reach *= 2u) {
        workgroupBarrier();
        var before = 0u;
        if (t >= reach) {
            before = ranks[t - reach];
        }
        workgroupBarrier();
        ranks[t] += before;
    }
    workgroupBarrier();
    let start = ranks[t] - own;

    var best = 0u;
    if (run.vectors > 1u) {
        if (t < 64u) {
            // Lower edge of the bucket that holds the block's middle rank.
            let rank = (block_edge(t) + block_edge(t + 1u)) / 2u;
            var low = 0u;
            var high = 255u;
            while (low < high) {
                let middle = (low + high) / 2u;
                if (ranks[middle] > rank) {
                    high = middle;
                } else {
                    low = middle + 1u;
                }
            }
            var r = 0u;
            if (low > 0u) {
                r = ranks[low - 1u];
            }
            var b = BUCKETS - 1u - 64u * low;
            for (var k = 0u; k < 63u; k++) {
                r += atomicLoad(&tallies[HISTOGRAMS + e * BUCKETS + b]);
                if (r > rank) {
                    break;
                }
                b--;
            }
            levels[t] = select(bitcast<f32>((b + (97u << 9u)) << 14u), 0.0, b == 0u);
        }
        // The counts are read here by others than their owners, who overwrite them below.
        storageBarrier();
        workgroupBarrier();
        let block_sums = run.vectors * run.dimension;
        // Scores are never negative: a vector outside of Ψ gets −1.
        var score = -1.0;
        for (var v = t; v < run.vectors; v += 256u) {
            var s = 0.0;
            for (var j = 0u; j < 64u; j++) {
                s += levels[j] * envelope[block_sums + 64u * v + j];
            }
            if (s > score) {
                score = s;
                best = v;
            }
        }
        scores[t] = score;
        chosen[t] = best;
        for (var half = 128u; half > 0u; half /= 2u) {
            workgroupBarrier();
            if (t < half) {
                let other = scores[t + half];
                if (other > scores[t] || (other == scores[t] && chosen[t + half] < chosen[t])) {
                    scores[t] = other;
                    chosen[t] = chosen[t + half];
                }
            }
        }
        workgroupBarrier();
        best = chosen[0];
    }

    let psi = best * run.dimension;
    var rank = start;
    for (var k = 0u; k < 64u; k++) {
        let count = atomicLoad(&tallies[top - k]);
        if (count > 0u) {
            rank += count;
            atomicStore(&tallies[top - k], bitcast<u32>(envelope[psi + rank - 1u]));
        }
    }
}
