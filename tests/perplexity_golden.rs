//! The experiment against perplexities that public models gave (`tests/golden/perplexity.json`).
//!
//! Theirs are windows of W tokens of which the first is never predicted. So each of their windows holds
//! one window of ours, of T = W − 1 predictions; ours of one text overlap by a token, theirs do not. The
//! steps are therefore taken over each of their windows as a text of its own.

mod common;

use common::{golden_json, golden_model, list};
use longview::engine::Captures;
use longview::engine::cpu::Model;
use longview::experiment::{Curve, Plan, Step};

#[test]
fn perplexity_without_overlap_equals_the_public_models() {
    let golden = golden_json("perplexity.json");
    let ids: Vec<u32> = list(&golden, "input_ids")
        .iter()
        .map(|id| id.as_u64().unwrap() as u32)
        .collect();
    let mut checked = 0;
    for run in list(&golden, "runs") {
        let (name, window) = (run["model"].as_str().unwrap(), run["window"].as_u64().unwrap());
        if run["stride"].as_u64() != Some(window) || !["gpt2", "mpt"].contains(&name) {
            continue;
        }
        let public = golden_model(name);
        let mut model = Model::new(&public.config, &public.weights).unwrap();
        let length = window as usize - 1;
        let mut curve = Curve::default();
        for (index, text) in ids.chunks_exact(window as usize).enumerate() {
            let plan = Plan::new(text.len(), &[length], usize::MAX).unwrap();
            assert_eq!(plan.scored(), length);
            for step in plan.steps() {
                let nll = model
                    .forward(&step.batch(text).unwrap(), &Captures::default())
                    .unwrap()
                    .nll;
                for (offset, &nll) in nll.iter().enumerate() {
                    // The loss of a token stands at its own place there.
                    let theirs = run["nll"][index * window as usize + offset + 1].as_f64().unwrap();
                    assert!(
                        (f64::from(nll) - theirs).abs() < 5e-5,
                        "{name}: {nll} against {theirs}"
                    );
                }
                let start = index * length + step.start;
                curve.add(&Step { start, ..step }, &nll);
            }
        }
        let point = curve.points()[0];
        assert_eq!(point.tokens as u64, run["counted_tokens"].as_u64().unwrap());
        let relative = point.perplexity / run["perplexity"].as_f64().unwrap() - 1.0;
        println!("{name}, window {window}: relative difference {relative:e}");
        assert!(relative.abs() < 1e-5, "{name}, window {window}: {relative:e}");
        checked += 1;
    }
    assert_eq!(checked, 4);
}
