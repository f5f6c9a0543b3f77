//! The GPU engine against the CPU twins, on whatever adapter is here (llvmpipe will do). Without one the
//! tests say so, and fail where LONGVIEW_REQUIRE_GPU is set.
#![cfg(feature = "gpu")]

mod common;

use common::gpu::device;
use common::{golden_models, largest_difference};
use longview::encoding::{Alibi, Encoding, NAMES, PastEnd, Window};
use longview::engine::cpu::paint::{SCALE_WORDS, paint};
use longview::engine::gpu::{Kernels, SHADERS, Variant, Variants, check};
use longview::engine::{
    Batch, Captures, Choice, Engine, EngineError, HeadId, Painted, Reason, Speeds, cpu, gpu,
};
use longview::model::Config;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

#[test]
fn every_kernel_agrees_with_its_twin() {
    let Some(device) = device() else { return };
    let found =
        pollster::block_on(check::kernels(&device, |d_head| device.kernels(d_head), |_| true)).unwrap();
    for name in SHADERS.iter().map(|source| source.twin) {
        let cases: Vec<_> = found
            .iter()
            .filter(|difference| difference.kernel == name)
            .collect();
        assert!(cases.len() >= 4, "{name} has {} cases", cases.len());
        let largest = cases
            .iter()
            .map(|difference| difference.largest)
            .fold(0.0, f32::max);
        eprintln!("{name}: {} cases, largest difference {largest:.1e}", cases.len());
    }
    for difference in &found {
        assert!(difference.is_within(), "{difference:?}");
    }
}

/// One wrong line a kernel: (kernel, right, wrong).
const BROKEN: &[(&str, &str, &str)] = &[
    ("embed", "(row % p.length) * p.d", "(row % p.length + 1u) * p.d"),
    (
        "layer_norm",
        "/ f32(p.d) + p.epsilon",
        "/ f32(p.d - 1u) + p.epsilon",
    ),
    ("linear", "k < p.inputs;", "k + 1u < p.inputs;"),
    (
        "linear",
        "case RESIDUAL: { out[at] += value; }",
        "case RESIDUAL: { out[at] = value; }",
    ),
    ("linear", "logit = four[chosen % 4u]", "logit = four[0]"),
    (
        "linear",
        "p.parts + part] = vec4<f32>(largest,",
        "p.parts + part] = vec4<f32>(0.0,",
    ),
    ("linear_tiles", "first += INPUTS", "first += INPUTS + 1u"),
    ("linear_tiles", "local.x + {c}u * 8u", "local.x"),
    ("linear_tiles", "panel, 8u,", "panel, 4u,"),
    ("rotate", "a * cosine - b * sine", "a * cosine + b * sine"),
    ("rotate", "row * p.width +", "row * 3u * p.heads * p.d_head +"),
    ("copy_qk", "* 3u *", "* 2u *"),
    ("smear", "row % p.length > 0u", "row > 0u"),
    ("smear", "(1.0 - s) *", "s *"),
    ("attention", "s{n} += vec4<f32>(bias[", "s{n} -= vec4<f32>(bias["),
    (
        "attention",
        "keys < vec4<u32>(last{n})",
        "keys <= vec4<u32>(last{n})",
    ),
    ("attention", "sum{n}_{v} * shrink{n}", "sum{n}_{v}"),
    ("attention_far", "select(near{n}, 0u, is_far)", "0u"),
    ("attention_far", "min(near{n}, p.far_keys)", "near{n}"),
    ("attention_far", "min(query{n}, p.far_last)", "query{n}"),
    ("attention_far", "rows * 2u * d + d +", "rows * 2u * d +"),
    ("attention_tiles", "score += bias[", "score -= bias["),
    ("attention_tiles", "last = query + 1u;", "last = query;"),
    ("attention_tiles", "first = first_near;", "first = 0u;"),
    ("attention_tiles", "min(first_near, p.far_keys)", "first_near"),
    ("attention_tiles", "min(query, p.far_last)", "query"),
    ("attention_tiles", "key_row * 2u * d + d +", "key_row * 2u * d +"),
    ("attention_tiles", "sum[c] *= shrink;", "sum[c] *= 1.0;"),
    ("nll", "chosen += part.z", "chosen = part.z"),
    ("nll", "exp(max(part.x - most, -100.0))", "1.0"),
    ("capture_attention", "if key <= query {", "if key < query {"),
    (
        "capture_attention",
        "if is_far && key >= p.far_keys { return 0.0; }",
        "",
    ),
    (
        "capture_attention",
        "far_qk[q + c] * far_qk[k + c]",
        "far_qk[k + c] * far_qk[k + c]",
    ),
    ("capture_attention", "min(query, p.far_last)", "query"),
    (
        "capture_profile",
        "min(p.length, distance + p.far_keys)",
        "p.length",
    ),
    (
        "capture_profile",
        "far_qk[q + c] * far_qk[k + c]",
        "far_qk[k + c] * far_qk[k + c]",
    ),
    ("capture_profile", "min(query, p.far_last)", "query"),
    ("capture_attention", "/ f32(queries)", ""),
    (
        "capture_attention",
        "probability(p.head + group.z,",
        "probability(p.head,",
    ),
    ("capture_attention", "out[p.start + (", "out[("),
    ("capture_attention", "reach > 0u", "reach > 1u"),
    (
        "capture_profile",
        "sum / f32(p.length - distance)",
        "sum / f32(p.length)",
    ),
    ("capture_profile", "(log(stats.y) - power)", "-power"),
    (
        "capture_profile",
        "entropy += entropy_part",
        "entropy = entropy_part",
    ),
    ("capture_profile", "out[p.entropy + at]", "out[p.start + at]"),
    ("paint", "columns.x < rows.y", "columns.x <= rows.y"),
    (
        "paint",
        "max((pixel + 1u) * p.side / p.px, from_cell + 1u)",
        "from_cell + 1u",
    ),
    ("paint", "<= most", "< most"),
    ("paint", "most > INFINITY", "false"),
    ("paint", "raster < p.rasters &&", ""),
    ("paint", "id.y / p.px * p.across", "id.y / p.px"),
    ("paint", "id.y * p.stride", "id.y * p.across * p.px"),
];

#[test]
fn a_broken_kernel_is_found() {
    let Some(device) = device() else { return };
    for (kernel, right, wrong) in BROKEN {
        let source = SHADERS.iter().find(|source| source.name == *kernel).unwrap();
        let variant = if kernel.ends_with("_tiles") {
            Variant::Tiles
        } else {
            Variant::Registers
        };
        let variants = Variants {
            linear: variant,
            attention: variant,
        };
        // One compiled kernel a width, and the sound ones of the device beside it.
        let made = RefCell::new(BTreeMap::<usize, Arc<Kernels>>::new());
        let broken = |d_head: usize| {
            let alter = |template: String| {
                assert!(template.contains(right), "{kernel} has no line \"{right}\"");
                template.replace(right, wrong)
            };
            let make = || {
                let sound = device.kernels(d_head).with_variants(variants);
                Arc::new(sound.altered(kernel, alter))
            };
            made.borrow_mut().entry(d_head).or_insert_with(make).clone()
        };
        let found = pollster::block_on(check::kernels(&device, &broken, |name| name == source.twin)).unwrap();
        let outside = found.iter().filter(|difference| !difference.is_within());
        assert!(
            outside.clone().any(|difference| difference.kernel == source.twin),
            "{kernel}: \"{right}\" was not missed"
        );
        // The self-check at start sees it too; painting is tried before the first picture.
        if *kernel == "paint" {
            continue;
        }
        let found = pollster::block_on(check::forward(&device, &broken)).unwrap();
        let is_seen = found.iter().any(|difference| !difference.is_within());
        assert!(is_seen, "{kernel}: the self-check passes with \"{wrong}\"");
    }
}

#[test]
fn both_variants_agree_at_sizes_that_fit_no_tile() {
    let Some(device) = device() else { return };
    let found = pollster::block_on(check::odd_sizes(&device, |d_head| device.kernels(d_head))).unwrap();
    for difference in &found {
        assert!(difference.is_within(), "{difference:?}");
    }
    for kernel in ["attention", "linear", "nll"] {
        let cases = |variant: &str| {
            let of_both = found.iter().filter(|difference| difference.kernel == kernel);
            of_both
                .filter(|difference| difference.case.contains(variant))
                .count()
        };
        let (registers, tiles) = (cases("Registers"), cases("Tiles"));
        assert!(
            registers >= 4 && registers == tiles,
            "{kernel}: {registers}, {tiles}"
        );
    }
}

#[test]
fn the_faster_variants_are_measured_and_taken() {
    let Some(device) = device() else { return };
    let selection = pollster::block_on(device.choose_variants()).unwrap();
    for (times, chosen) in [
        (selection.linear_ms, selection.variants.linear),
        (selection.attention_ms, selection.variants.attention),
    ] {
        assert!(times.registers > 0.0 && times.tiles > 0.0, "{selection:?}");
        let is_tiles = times.tiles < times.registers;
        assert_eq!(chosen == Variant::Tiles, is_tiles, "{selection:?}");
    }
    // Kernels that were there before and those that come later.
    for d_head in [24, 12] {
        assert_eq!(device.kernels(d_head).variants(), selection.variants);
    }
}

#[test]
fn a_profile_names_every_kernel_of_a_forward() {
    let Some(device) = device() else { return };
    let (config, weights) = check::random_model(Encoding::from_name("rotary").unwrap(), 2, 8);
    let mut model = gpu::Model::new(&device, &config, &weights).unwrap();
    let batch = Batch::new(vec![1; 2 * 34], 2, 33).unwrap();
    let timings = pollster::block_on(model.profile(&batch)).unwrap();
    let dispatches = |name: &str| {
        let of_name = timings
            .kernels
            .iter()
            .filter(|timing| timing.kernel.starts_with(name));
        of_name.map(|timing| timing.dispatches).sum::<usize>()
    };
    // Two layers, each with four products and two norms; then the last norm and the loss.
    let expected = [
        ("embed", 1),
        ("layer_norm", 5),
        ("linear", 9),
        ("rotate", 2),
        ("attention", 2),
        ("nll", 1),
    ];
    for (name, count) in expected {
        assert_eq!(dispatches(name), count, "{name}: {timings:?}");
    }
    assert!(timings.kernels.iter().all(|timing| timing.ms >= 0.0));
    assert!(timings.total_ms() > 0.0);
}

#[test]
fn memory_grows_with_the_length_and_not_with_its_square() {
    let Some(device) = device() else { return };
    let config = Config::base(Encoding::from_name("alibi").unwrap(), 4);
    let weights = check::random_weights(&config);
    let bytes = |length: usize| {
        let mut model = gpu::Model::new(&device, &config, &weights).unwrap();
        let batch = Batch::new(vec![1; length + 1], 1, length).unwrap();
        pollster::block_on(model.memory_bytes(&batch, &Captures::default())).unwrap()
    };
    let (short, long) = (bytes(4096), bytes(16_384));
    eprintln!("4096 tokens: {short} bytes, 16,384 tokens: {long} bytes");
    assert!(
        long < 4 * short,
        "{short} bytes for 4096 tokens, {long} for 16,384"
    );
    assert!(long < 256_000_000, "{long}");
}

#[test]
fn whole_models_agree() {
    let Some(device) = device() else { return };
    for name in NAMES {
        for (heads, d_head, windows, length) in [(1, 2, 1, 1), (3, 10, 2, 17), (4, 24, 1, 150)] {
            let mut encoding = Encoding::from_name(name).unwrap();
            if let Encoding::Learned(learned) = &mut encoding {
                learned.past_end = PastEnd::LastRow;
            }
            let (mut config, _) = check::random_model(encoding, heads, d_head);
            // The middle size with keys that are smeared, and those far away hidden.
            let is_altered = length == 17;
            config.smeared_keys = is_altered;
            config.window = is_altered.then_some(Window { keys: 6, sinks: 2 });
            let weights = check::random_weights(&config);
            let tokens = check::numbers(windows * (length + 1), 4)
                .iter()
                .map(|x| ((x + 1.0) * 30.0) as u32)
                .collect();
            let batch = Batch::new(tokens, windows, length).unwrap();
            let captures = Captures {
                attention: Some(HeadId {
                    layer: 0,
                    head: heads - 1,
                }),
                thumbnails: Some(20),
                profile: true,
                ..Captures::default()
            };
            let expected = cpu::Model::new(&config, &weights)
                .unwrap()
                .forward(&batch, &captures)
                .unwrap();
            let mut model = gpu::Model::new(&device, &config, &weights).unwrap();
            // Twice: the second run takes the plan of the first.
            for _ in 0..2 {
                let got = pollster::block_on(model.forward(&batch, &captures)).unwrap();
                let far = |a: &[f32], b: &[f32]| {
                    assert_eq!(a.len(), b.len());
                    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
                };
                assert!(
                    far(&got.nll, &expected.nll) < 5e-5,
                    "{name}: {}",
                    far(&got.nll, &expected.nll)
                );
                let (got_raster, raster) = (got.attention.unwrap(), expected.attention.clone().unwrap());
                assert!(far(&got_raster.data, &raster.data) < 1e-5, "{name}");
                let (got_profile, profile) = (got.profile.unwrap(), expected.profile.clone().unwrap());
                assert!(far(&got_profile.data, &profile.data) < 1e-5, "{name}");
                assert!(far(&got_profile.entropy, &profile.entropy) < 2e-5, "{name}");
                let (got_all, all) = (got.thumbnails.unwrap(), expected.thumbnails.clone().unwrap());
                assert_eq!((got_all.side, all.side), (length.min(20), length.min(20)));
                assert!(far(&got_all.data, &all.data) < 1e-5, "{name}");
            }
        }
    }
}

#[test]
fn painted_captures_stay_on_the_gpu() {
    let Some(device) = device() else { return };
    let (config, weights) = check::random_model(Encoding::Alibi(Alibi::default()), 3, 8);
    let mut model = gpu::Model::new(&device, &config, &weights).unwrap();
    let length = 600;
    let tokens = check::numbers(length + 1, 4);
    let tokens = tokens.iter().map(|x| ((x + 1.0) * 30.0) as u32).collect();
    let batch = Batch::new(tokens, 1, length).unwrap();
    let read = Captures {
        attention: Some(HeadId { layer: 1, head: 2 }),
        thumbnails: Some(50),
        ..Captures::default()
    };
    let painted = Captures {
        painted: Some(Painted {
            attention_px: 333,
            thumbnail_px: 90,
        }),
        no_losses: true,
        ..read
    };
    let scale: Vec<u32> = (0..SCALE_WORDS as u32)
        .map(|at| {
            if at < 255 {
                (at as f32 / 1e4).to_bits()
            } else {
                at * 77
            }
        })
        .collect();
    device.set_scale(&scale).unwrap();
    let numbers = pollster::block_on(model.forward(&batch, &read)).unwrap();

    let before = device.bytes_read();
    let output = pollster::block_on(model.forward(&batch, &painted)).unwrap();
    assert_eq!(device.bytes_read(), before, "nothing comes back");
    assert!(output.nll.is_empty() && output.attention.is_none() && output.thumbnails.is_none());
    let (raster, all) = (numbers.attention.unwrap(), numbers.thumbnails.unwrap());
    let pictures = model.pictures();
    assert_eq!(pictures.len(), 2);
    for (picture, (weights, side, rasters, size)) in pictures.iter().zip([
        (&raster.data, raster.side, 1, [333, 333]),
        (&all.data, all.side, 6, [270, 180]),
    ]) {
        let canvas = picture.canvas();
        assert_eq!(
            (canvas.side, canvas.rasters, canvas.size()),
            (side, rasters, size)
        );
        let pixels = pollster::block_on(picture.pixels(&device)).unwrap();
        let expected = paint(weights, canvas, &scale);
        let [width, height] = canvas.size();
        for y in 0..height {
            let row = y * canvas.stride()..y * canvas.stride() + width;
            assert_eq!(pixels[row.clone()], expected[row], "row {y}");
        }
    }

    // The profile is read all the same, and is all that is.
    let before = device.bytes_read();
    let with_profile = Captures {
        profile: true,
        ..painted
    };
    let output = pollster::block_on(model.forward(&batch, &with_profile)).unwrap();
    assert_eq!(output.profile.unwrap().data.len(), 6 * length);
    assert_eq!(device.bytes_read() - before, 2 * 6 * length as u64 * 4);

    let huge = Captures {
        painted: Some(Painted {
            attention_px: 10_000,
            thumbnail_px: 1,
        }),
        ..painted
    };
    let error = pollster::block_on(model.forward(&batch, &huge)).unwrap_err();
    assert!(error.to_string().contains("10000 × 10000 pixels"), "{error}");
    assert!(device.set_scale(&[0; 3]).is_err());
}

#[test]
fn the_gpu_reproduces_the_public_models() {
    let Some(device) = device() else { return };
    let f64s = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>();
    for golden in golden_models() {
        let mut model = gpu::Model::new(&device, &golden.config, &golden.weights).unwrap();
        for sequence in &golden.sequences {
            let output = pollster::block_on(model.forward(&sequence.batch(), &Captures::default())).unwrap();
            let nll = f64s(&output.nll[..sequence.token_loss.len()]);
            let difference = largest_difference(&nll, &sequence.token_loss);
            assert!(difference < 5e-5, "{}: losses {difference:e}", golden.name);
            let side = sequence.ids.len();
            for attention in &sequence.attention {
                let captures = Captures {
                    attention: Some(attention.head),
                    ..Captures::default()
                };
                let output = pollster::block_on(model.forward(&sequence.batch(), &captures)).unwrap();
                let raster = output.attention.unwrap();
                for (query, expected) in &attention.rows {
                    let row = f64s(&raster.data[query * side..query * side + query + 1]);
                    let difference = largest_difference(&row, expected);
                    assert!(difference < 1e-5, "{}: attention {difference:e}", golden.name);
                }
            }
        }
    }
}

#[test]
fn bad_requests_are_refused_as_on_the_cpu() {
    let Some(device) = device() else { return };
    let (config, weights) = check::random_model(Encoding::from_name("learned").unwrap(), 2, 4);
    let mut model = gpu::Model::new(&device, &config, &weights).unwrap();
    let mut twin = cpu::Model::new(&config, &weights).unwrap();
    let head = Captures {
        attention: Some(HeadId { layer: 2, head: 0 }),
        ..Captures::default()
    };
    for (tokens, length, captures) in [
        (vec![1000; 3], 2, Captures::default()),
        (vec![0; 3], 2, head),
        (vec![0; 162], 161, Captures::default()),
    ] {
        let batch = Batch::new(tokens, 1, length).unwrap();
        let error = pollster::block_on(model.forward(&batch, &captures)).unwrap_err();
        assert_eq!(error, twin.forward(&batch, &captures).unwrap_err());
    }
    let mut without = weights.clone();
    without.remove("final_norm.weight");
    let error = gpu::Model::new(&device, &config, &without).err().unwrap();
    assert_eq!(error, EngineError::MissingTensor("final_norm.weight".into()));
}

#[test]
fn the_start_says_which_engine_runs_and_why() {
    let (engine, verdict) = pollster::block_on(Engine::start(Choice::Cpu));
    assert!(matches!(engine, Engine::Cpu));
    assert_eq!((verdict.engine, verdict.reason), ("cpu", Reason::Chosen));
    let Some(device) = device() else { return };
    let (engine, verdict) = pollster::block_on(Engine::with_device(device.clone(), Choice::Gpu));
    assert!(matches!(engine, Engine::Gpu(_)), "{verdict:?}");
    assert_eq!((verdict.engine, verdict.reason), ("gpu", Reason::Agrees));
    assert!(verdict.max_difference.unwrap() < 5e-5);
    assert!(verdict.message.contains(&device.description()));
    assert_eq!(verdict.variants.is_some(), !device.is_software());
    let (_, verdict) = pollster::block_on(Engine::with_device(device.clone(), Choice::Auto));
    if device.is_software() {
        assert_eq!((verdict.engine, verdict.reason), ("cpu", Reason::Software));
    } else {
        let (cpu_ms, gpu_ms) = (verdict.cpu_ms.unwrap(), verdict.gpu_ms.unwrap());
        assert_eq!(verdict.engine == "gpu", gpu_ms < cpu_ms, "{verdict:?}");
    }
    // What a real GPU is measured by runs on any.
    let measured = pollster::block_on(Speeds::measure(&device)).unwrap();
    assert!(measured.cpu_ms > 0.0 && measured.gpu_ms > 0.0, "{measured:?}");
    // The engine loads and runs a model.
    let (config, weights) = check::random_model(Encoding::Alibi(Alibi::default()), 2, 4);
    let mut model = engine.load(&config, &weights).unwrap();
    let batch = Batch::new(vec![1, 2, 3], 1, 2).unwrap();
    let output = pollster::block_on(model.forward(&batch, &Captures::default())).unwrap();
    assert_eq!(output.nll.len(), 2);
}

#[test]
fn every_shader_is_valid() {
    for source in SHADERS {
        for vectors in [1, 6, 24] {
            let name = source.name;
            let text = source.expand(&source.template(), vectors);
            let module = naga::front::wgsl::parse_str(&text).unwrap_or_else(|error| {
                panic!("{name}: {}", error.emit_to_string(&text));
            });
            naga::valid::Validator::new(
                naga::valid::ValidationFlags::all(),
                naga::valid::Capabilities::empty(),
            )
            .validate(&module)
            .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        }
    }
}
