// mechanism::encode::{block_middles, choose, bucket_bounds}: buckets in descending order take
// consecutive ranks; the ψ of the largest cosine (up to 64 rank blocks) is chosen; a bucket with
// ranks [r0, r1) gets the bound ψ[r1−1], which replaces its count in `table`. If sums are exact,
// `envelope` is in whole steps, rounded down. One workgroup per example, 256 buckets per
// invocation.

var<workgroup> ranks: array<u32, 64>;
var<workgroup> levels: array<f32, 64>;
var<workgroup> scores: array<f32, 64>;
var<workgroup> chosen: array<u32, 64>;

// floor(P·j³/64³). P < 2^20 and j³ ≤ 2^18, so the product is computed in two halves.
fn block_edge(j: u32) -> u32 {
    let cube = j * j * j;
    let high = (run.dimension >> 10u) * cube;
    let low = (run.dimension & 1023u) * cube;
    return (high >> 8u) + ((((high & 255u) << 10u) + low) >> 18u);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let e = group.y;
    let top = HISTOGRAMS + e * BUCKETS + BUCKETS - 1u - 256u * t;
    var own = 0u;
    for (var k = 0u; k < 256u; k++) {
        own += table[top - k];
    }
    ranks[t] = own;
    workgroupBarrier();
    // 64 reads per invocation cost less than the barriers of a tree.
    var start = 0u;
    for (var other = 0u; other < t; other++) {
        start += ranks[other];
    }

    var best = 0u;
    if (run.vectors > 1u) {
        // Lower edge of the bucket that contains the block's middle rank.
        let middle = (block_edge(t) + block_edge(t + 1u)) / 2u;
        var r = 0u;
        var owner = 0u;
        while (owner < 63u && r + ranks[owner] <= middle) {
            r += ranks[owner];
            owner++;
        }
        var b = BUCKETS - 1u - 256u * owner;
        for (var k = 0u; k < 255u; k++) {
            r += table[HISTOGRAMS + e * BUCKETS + b];
            if (r > middle) {
                break;
            }
            b--;
        }
        levels[t] = select(bitcast<f32>((b + (103u << 9u)) << 14u), 0.0, b == 0u);
        // Counts are read here by others than their owners, who overwrite them below.
        storageBarrier();
        workgroupBarrier();
        let block_sums = run.vectors * run.dimension;
        // Scores are never negative; −1 stands for no vector.
        var score = -1.0;
        for (var v = t; v < run.vectors; v += 64u) {
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
        workgroupBarrier();
        for (var other = 0u; other < 64u; other++) {
            if (scores[other] > score || (scores[other] == score && chosen[other] < best)) {
                score = scores[other];
                best = chosen[other];
            }
        }
    }

    let psi = best * run.dimension;
    var rank = start;
    for (var k = 0u; k < 256u; k++) {
        let count = table[top - k];
        if (count > 0u) {
            rank += count;
            table[top - k] = bitcast<u32>(envelope[psi + rank - 1u]);
        }
    }
}
