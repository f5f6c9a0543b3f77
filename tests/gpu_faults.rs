//! A GPU that computes wrongly, is lost, or is let go, on whatever adapter is here (llvmpipe will do). Without one
//! the tests say so, and fail where LONGVIEW_REQUIRE_GPU is set.
#![cfg(feature = "gpu")]

mod common;

use common::gpu::device;
use longview::encoding::{Alibi, Encoding};
use longview::engine::gpu::{Device, check};
use longview::engine::{Batch, Captures, Choice, Engine, EngineError, HeadId, Reason, Verdict, gpu};
use std::sync::Arc;

/// The width of the heads of the models that the self-check runs.
const D_HEAD: usize = 8;

fn started(device: Arc<Device>) -> (Engine, Verdict) {
    pollster::block_on(Engine::with_device(device, Choice::Gpu))
}

#[test]
fn an_engine_with_a_wrong_kernel_does_not_start() {
    // Kernels of a program on the CPU; a real GPU may choose the others.
    for (kernel, right, wrong) in [
        (
            "layer_norm",
            "/ f32(p.d) + p.epsilon",
            "/ f32(p.d - 1u) + p.epsilon",
        ),
        ("rotate", "a * cosine - b * sine", "a * cosine + b * sine"),
        ("nll", "chosen += part.z", "chosen = part.z"),
        ("capture_attention", "/ f32(queries)", ""),
    ] {
        let Some(device) = device() else { return };
        device.alter(D_HEAD, kernel, |template| {
            assert!(template.contains(right), "{kernel} has no line \"{right}\"");
            template.replace(right, wrong)
        });
        let (engine, verdict) = started(device);
        assert!(matches!(engine, Engine::Cpu), "{kernel}: {verdict:?}");
        assert_eq!(
            (verdict.engine, verdict.reason),
            ("cpu", Reason::Differs),
            "{kernel}"
        );
        assert!(verdict.message.contains("was off by"), "{}", verdict.message);
        assert!(verdict.max_difference.unwrap() > 5e-5, "{verdict:?}");
    }
}

#[test]
fn an_engine_whose_kernel_does_not_compile_does_not_start() {
    let Some(device) = device() else { return };
    device.alter(D_HEAD, "rotate", |template| {
        template.replace("a * cosine", "a * no_such_name")
    });
    let (engine, verdict) = started(device);
    assert!(matches!(engine, Engine::Cpu), "{verdict:?}");
    assert_eq!(verdict.reason, Reason::Failed);
    assert!(
        verdict.message.contains("failed the self-check"),
        "{}",
        verdict.message
    );
}

#[test]
fn every_buffer_is_counted_and_freed() {
    let Some(device) = device() else { return };
    let (config, weights) = check::random_model(Encoding::Alibi(Alibi::default()), 2, 4);
    assert_eq!(device.buffers_held(), (0, 0));
    let mut model = gpu::Model::new(&device, &config, &weights).unwrap();
    let uploaded = device.buffers_held();
    assert!(uploaded.0 > 10 && uploaded.1 > 1000, "{uploaded:?}");
    let captures = Captures {
        attention: Some(HeadId { layer: 0, head: 1 }),
        thumbnails: Some(8),
        profile: true,
        ..Captures::default()
    };
    let mut held = Vec::new();
    for round in 0..3 {
        // More shapes than plans are kept.
        for length in [9, 12, 16, 20, 33] {
            let batch = Batch::new(vec![1; length + 1], 1, length).unwrap();
            pollster::block_on(model.forward(&batch, &captures)).unwrap();
        }
        held.push(device.buffers_held());
        assert_eq!(held[round], held[0], "buffers grow");
    }
    assert!(held[0].0 > uploaded.0);
    let batch = Batch::new(vec![1; 34], 1, 33).unwrap();
    let told = pollster::block_on(model.memory_bytes(&batch, &captures)).unwrap();
    assert_eq!(told, device.buffers_held().1);
    drop(model);
    assert_eq!(device.buffers_held(), (0, 0));
    // Nor do the self-check and the measurement of kernels leave any.
    let (engine, verdict) = started(device.clone());
    assert_eq!(verdict.engine, "gpu");
    pollster::block_on(device.choose_variants()).unwrap();
    drop(engine);
    assert_eq!(device.buffers_held(), (0, 0));
}

#[test]
fn who_waits_for_a_failure_hears_of_it() {
    let Some(device) = device() else { return };
    let failed = device.failed().unwrap();
    assert!(device.failed().is_none(), "one may wait");
    assert_eq!(device.check(), Ok(()));
    // A device that is told to allocate more than it may have says so through no error scope.
    drop(device.buffer("too large", 1 << 60));
    pollster::block_on(failed);
    let Err(EngineError::Gpu(cause)) = device.check() else {
        panic!("no failure was noted");
    };
    assert!(cause.contains("too large"), "{cause}");
    let (engine, verdict) = Engine::after_loss(&cause);
    assert!(matches!(engine, Engine::Cpu));
    assert_eq!((verdict.engine, verdict.reason), ("cpu", Reason::Lost));
    assert!(verdict.message.contains(&cause));
}

#[test]
fn what_the_gpu_has_against_an_attempt_is_told_and_leaves_the_device_in_use() {
    let Some(device) = device() else { return };
    let too_large = || {
        device.buffer("too large", 1 << 50);
        Ok(())
    };
    let refused = pollster::block_on(device.attempt(too_large, EngineError::Shown));
    let Err(EngineError::Shown(cause)) = refused else {
        panic!("{refused:?}");
    };
    assert!(!cause.is_empty());
    pollster::block_on(device.idle()).unwrap();
    let own = EngineError::Scale { found: 1, need: 513 };
    let failed = pollster::block_on(device.attempt(|| Err::<(), _>(own.clone()), EngineError::Shown));
    assert_eq!(failed, Err(own));
    // Nobody looks at this one, and so it stays.
    drop(device.buffer("too large", 1 << 50));
    assert!(pollster::block_on(device.idle()).is_err());
}

#[test]
fn a_wrong_scale_is_no_failure_of_the_gpu() {
    let Some(device) = device() else { return };
    let wrong = device.set_scale(&[0; 5]);
    assert_eq!(wrong, Err(EngineError::Scale { found: 5, need: 513 }));
    device.check().unwrap();
}
