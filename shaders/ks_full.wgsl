// Fourth pass of mechanism::denoise::Distance, for bins of more than FEW values: they are
// cut into 2^14 cells of 2^-24, in eight rounds, and the values of a cell count as equal. This is
// f32's resolution, and it bounds the work if all values fall into one bin. Each workgroup takes a
// share of the full bins.

const CELLS: u32 = 2048;
const ROUNDS: u32 = 8;
// Size of a cell in units of 2^-32: 2^22 units per bin, 2^14 cells.
const CELL: u32 = 256;

var<workgroup> cells: array<atomic<u32>, CELLS>;
var<workgroup> totals: array<u32, 64>;
var<workgroup> full_count: u32;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    if (t == 0u) {
        full_count = atomicLoad(&bins[FULL_COUNT]);
    }
    let full = workgroupUniformLoad(&full_count);
    var farthest = 0u;
    for (var k = group.x; k < full; k += groups.x) {
        let bin = atomicLoad(&bins[FULL + k]);
        let m = atomicLoad(&bins[COUNTS + bin]);
        var rank = atomicLoad(&bins[STARTS + bin]);
        let first = 2u * release.dimension + rank;
        for (var round = 0u; round < ROUNDS; round++) {
            for (var c = t; c < CELLS; c += 64u) {
                atomicStore(&cells[c], 0u);
            }
            workgroupBarrier();
            for (var i = t; i < m; i += 64u) {
                let cell = (values[first + i] % (CELL * CELLS * ROUNDS)) / CELL;
                if (cell / CELLS == round) {
                    atomicAdd(&cells[cell % CELLS], 1u);
                }
            }
            workgroupBarrier();
            var own = 0u;
            for (var c = 0u; c < CELLS / 64u; c++) {
                own += atomicLoad(&cells[t * (CELLS / 64u) + c]);
            }
            totals[t] = own;
            workgroupBarrier();
            var below = rank;
            for (var other = 0u; other < 64u; other++) {
                below += select(0u, totals[other], other < t);
                rank += totals[other];
            }
            for (var c = 0u; c < CELLS / 64u; c++) {
                let at = t * (CELLS / 64u) + c;
                let n = atomicLoad(&cells[at]);
                if (n > 0u) {
                    let u = bin * (CELL * CELLS * ROUNDS) + (round * CELLS + at) * CELL + CELL / 2u;
                    farthest = max(farthest, max(distance(share(below), u), distance(share(below + n), u)));
                    below += n;
                }
            }
            workgroupBarrier();
        }
    }
    atomicMax(&bins[DISTANCE], farthest);
}
