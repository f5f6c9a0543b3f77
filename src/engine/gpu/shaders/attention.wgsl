// Twin of cpu/attention.rs: causal attention with an online softmax. A thread keeps {N} queries of one head of
// one window in registers and walks over their keys, four at a time, first the far ones, then the near. Lines
// marked @far are left out where no key is far, those marked @near where one is.
struct Parameters { length: u32, heads: u32, d_head: u32, has_bias: u32, score_scale: f32, far_from: u32, far_keys: u32, far_last: u32, has_far_qk: u32 }

@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> qkv: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4<f32>>;
// [rows][heads]: the largest score, and the sum of the exponentials of the scores less it.
@group(0) @binding(4) var<storage, read_write> softmax: array<vec2<f32>>;
// [rows][2 · d_model]: queries and keys turned as far ones are, if they turn otherwise than in qkv.
@far @group(0) @binding(5) var<storage, read> far_qk: array<vec4<f32>>;

// Stands for minus infinity, which WGSL does not promise to handle. A query's first keys may all be masked
// and then count; its own key comes last and takes all weight from them.
const MASKED: f32 = -1e30;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let first_query = id.x * {N}u;
    if first_query >= p.length { return; }
    let head = id.y % p.heads;
    let first_row = id.y / p.heads * p.length;
    let last_key = p.length - 1u;
    // In vectors of four: a head has {V}.
    let d = p.heads * {V}u;
    let width = 3u * d;
    let of_head = head * {V}u;
    let query{n} = min(first_query + {n}u, last_key);
    var sum{n}_{v} = vec4<f32>(0.0);
    var largest{n} = MASKED;
    var total{n} = 0.0;
@near let begin = 0u;
@near let last{n} = query{n} + 1u;
@near let position{n} = query{n};
@far for (var part = 0u; part < 2u; part++) {
@far let is_far = part == 0u;
@far let is_turned = is_far && p.has_far_qk != 0u;
    // Keys from this one on are near, those before it far.
@far let near{n} = query{n} + 1u - min(query{n} + 1u, p.far_from);
@far let first{n} = select(near{n}, 0u, is_far);
@far let last{n} = select(query{n} + 1u, min(near{n}, p.far_keys), is_far);
@far let position{n} = select(query{n}, min(query{n}, p.far_last), is_far);
@far let begin = first0;
    var q{n}_{v} = qkv[(first_row + query{n}) * width + of_head + {v}u] * p.score_scale;
@far if is_turned {
@far q{n}_{v} = far_qk[(first_row + query{n}) * 2u * d + of_head + {v}u] * p.score_scale;
@far }
    for (var key = begin; key < last{N-1}; key += 4u) {
        let keys = vec4<u32>(key, key + 1u, key + 2u, key + 3u);
        let rows = first_row + min(keys, vec4<u32>(last_key));
        let at = rows * width + d + of_head;
        var k{v} = mat4x4<f32>(qkv[at.x + {v}u], qkv[at.y + {v}u], qkv[at.z + {v}u], qkv[at.w + {v}u]);
@far if is_turned {
@far let far = rows * 2u * d + d + of_head;
@far k{v} = mat4x4<f32>(far_qk[far.x + {v}u], far_qk[far.y + {v}u], far_qk[far.z + {v}u], far_qk[far.w + {v}u]);
@far }
        var s{n} = vec4<f32>(0.0);
        s{n} += q{n}_{v} * k{v};
        if p.has_bias != 0u {
            let b{n} = head * p.length + position{n} - min(vec4<u32>(position{n}), keys);
            s{n} += vec4<f32>(bias[b{n}.x], bias[b{n}.y], bias[b{n}.z], bias[b{n}.w]);
        }
@near s{n} = select(vec4<f32>(MASKED), s{n}, keys < vec4<u32>(last{n}));
@far s{n} = select(vec4<f32>(MASKED), s{n}, (keys >= vec4<u32>(first{n})) & (keys < vec4<u32>(last{n})));
        let most{n} = max(max(max(s{n}.x, s{n}.y), max(s{n}.z, s{n}.w)), largest{n});
        let shrink{n} = exp(max(largest{n} - most{n}, -100.0));
        largest{n} = most{n};
        let e{n} = exp(max(s{n} - most{n}, vec4<f32>(-100.0)));
        total{n} = total{n} * shrink{n} + (e{n}.x + e{n}.y) + (e{n}.z + e{n}.w);
        let of_v = at + d;
        let v{v} = mat4x4<f32>(qkv[of_v.x + {v}u], qkv[of_v.y + {v}u], qkv[of_v.z + {v}u], qkv[of_v.w + {v}u]);
        sum{n}_{v} = sum{n}_{v} * shrink{n} + v{v} * e{n};
    }
@far }
    if first_query + {n}u < p.length { softmax[(first_row + query{n}) * p.heads + head] = vec2<f32>(largest{n}, total{n}); }
    if first_query + {n}u < p.length { out[(first_row + query{n}) * d + of_head + {v}u] = sum{n}_{v} / total{n}; }
}
