// Third pass of mechanism::denoise::kolmogorov_smirnov: the largest |rank / P − u| of a bin, exactly. One
// workgroup a bin.
//
// A value's ranks are found by counting its bin. A bin so full that this would cost too much is cut into 2^14
// cells of 2^-24, in eight rounds, whose values count as equal: what f32 resolves, and the work stays bounded if
// all values fall into one bin.

const FEW: u32 = 512;
const CELLS: u32 = 2048;
const ROUNDS: u32 = 8;
// A cell of a round in units of 2^-32: 2^22 units a bin, 2^14 cells.
const CELL: u32 = 256;

var<workgroup> members: array<u32, FEW>;
var<workgroup> cells: array<atomic<u32>, CELLS>;
var<workgroup> totals: array<u32, 64>;
var<workgroup> count: u32;

// rank / P in units of 2^-32, saturated at 1.
fn share(rank: u32) -> u32 {
    let p = release.dimension;
    if (rank >= p) {
        return 0xffffffffu;
    }
    let whole = 0xffffffffu / p;
    let rest = 0xffffffffu - whole * p + 1u;
    return rank * whole + u32(f32(rank) * f32(rest) / f32(p));
}

fn distance(a: u32, b: u32) -> u32 {
    return max(a, b) - min(a, b);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    if (t == 0u) {
        count = atomicLoad(&bins[COUNTS + group.x]);
    }
    let m = workgroupUniformLoad(&count);
    if (m == 0u) {
        return;
    }
    let start = atomicLoad(&bins[STARTS + group.x]);
    let first = 2u * release.dimension + start;
    var farthest = 0u;
    if (m <= FEW) {
        for (var k = t; k < m; k += 64u) {
            members[k] = values[first + k];
        }
        workgroupBarrier();
        for (var k = t; k < m; k += 64u) {
            let u = members[k];
            var below = 0u;
            var up_to = 0u;
            for (var j = 0u; j < m; j++) {
                below += u32(members[j] < u);
                up_to += u32(members[j] <= u);
            }
            farthest = max(farthest, max(distance(share(start + below), u), distance(share(start + up_to), u)));
        }
    } else {
        var rank = start;
        for (var round = 0u; round < ROUNDS; round++) {
            for (var c = t; c < CELLS; c += 64u) {
                atomicStore(&cells[c], 0u);
            }
            workgroupBarrier();
            for (var k = t; k < m; k += 64u) {
                let cell = (values[first + k] % (CELL * CELLS * ROUNDS)) / CELL;
                if (cell / CELLS == round) {
                    atomicAdd(&cells[cell % CELLS], 1u);
                }
            }
            workgroupBarrier();
            var own = 0u;
            for (var k = 0u; k < CELLS / 64u; k++) {
                own += atomicLoad(&cells[t * (CELLS / 64u) + k]);
            }
            totals[t] = own;
            for (var reach = 1u; reach < 64u; reach *= 2u) {
                workgroupBarrier();
                var before = 0u;
                if (t >= reach) {
                    before = totals[t - reach];
                }
                workgroupBarrier();
                totals[t] += before;
            }
            workgroupBarrier();
            var below = rank + totals[t] - own;
            for (var k = 0u; k < CELLS / 64u; k++) {
                let c = t * (CELLS / 64u) + k;
                let n = atomicLoad(&cells[c]);
                if (n > 0u) {
                    let u = group.x * (CELL * CELLS * ROUNDS) + (round * CELLS + c) * CELL + CELL / 2u;
                    farthest = max(farthest, max(distance(share(below), u), distance(share(below + n), u)));
                    below += n;
                }
            }
            rank += totals[63];
            workgroupBarrier();
        }
    }
    atomicMax(&bins[DISTANCE], farthest);
}
