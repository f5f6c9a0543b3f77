//! The experiment against perplexities that public models gave (`tests/golden/perplexity.json`).
//!
//! Theirs are windows of W tokens of which the first is never predicted. So each of their windows holds
//! one window of ours, of T = W − 1 predictions. Sliding windows begin at the same tokens in both, at 0, S,
//! 2S …; without overlap ours of one text share a token, theirs do not, and the steps are therefore taken
//! over each of their windows as a text of its own. (The file's third model, LLaMA, has another block.)

mod common;

use common::{golden_json, golden_model, list};
use longview::engine::Captures;
use longview::engine::cpu::Model;
use longview::experiment::{Curve, Plan, Protocol, Step};
use serde_json::Value;

/// Runs the plan on a text that begins at `start` in theirs, and adds to the curve.
fn measure(model: &mut Model, plan: &Plan, text: &[u32], start: usize, curve: &mut Curve) {
    for step in plan.steps() {
        let batch = step.batch(text).unwrap();
        let nll = model.forward(&batch, &Captures::default()).unwrap().nll;
        let start = start + step.start;
        curve.add(&Step { start, ..step }, &nll);
    }
}

/// Compares each token's loss, its context, and the perplexity; `place` is where a token of theirs stands in
/// our curve.
fn compare(run: &Value, curve: &Curve, length: usize, place: impl Fn(usize) -> Option<usize>) {
    let name = format!(
        "{}, window {}, stride {}",
        run["model"], run["window"], run["stride"]
    );
    let ours = curve.by_token(length);
    let mut by_context = vec![(0.0, 0.0); length];
    for (token, theirs) in list(run, "nll").iter().enumerate() {
        let Some(theirs) = theirs.as_f64() else {
            assert_eq!(place(token), None, "{name}, token {token}");
            continue;
        };
        let loss = f64::from(ours[place(token).unwrap()]);
        assert!((loss - theirs).abs() < 5e-5, "{name}: {loss} against {theirs}");
        let context = run["context_length"][token].as_u64().unwrap() as usize;
        by_context[context - 1].0 += theirs;
        by_context[context - 1].1 += 1.0;
    }
    // A position in the window is a number of tokens of context, less one.
    for (position, (mean, (sum, count))) in curve.by_position(length).iter().zip(by_context).enumerate() {
        assert!((mean - sum / count).abs() < 5e-5, "{name}, position {position}");
    }
    let point = curve.points()[0];
    assert_eq!(point.tokens as u64, run["counted_tokens"].as_u64().unwrap());
    let relative = point.perplexity / run["perplexity"].as_f64().unwrap() - 1.0;
    println!("{name}: relative difference {relative:e}");
    assert!(relative.abs() < 1e-5, "{name}: {relative:e}");
}

#[test]
fn perplexity_equals_the_public_models() {
    let golden = golden_json("perplexity.json");
    let ids: Vec<u32> = list(&golden, "input_ids")
        .iter()
        .map(|id| id.as_u64().unwrap() as u32)
        .collect();
    let mut checked = 0;
    for run in list(&golden, "runs") {
        let count = |key: &str| run[key].as_u64().unwrap() as usize;
        let (name, window, stride) = (run["model"].as_str().unwrap(), count("window"), count("stride"));
        if !["gpt2", "mpt"].contains(&name) {
            continue;
        }
        let public = golden_model(name);
        let mut model = Model::new(&public.config, &public.weights).unwrap();
        let length = window - 1;
        let mut curve = Curve::keeping_tokens();
        if stride == window {
            for (index, text) in ids.chunks_exact(window).enumerate() {
                let plan = Plan::new(text.len(), &[length], usize::MAX).unwrap();
                assert_eq!(plan.scored(), length);
                measure(&mut model, &plan, text, index * length, &mut curve);
            }
            compare(run, &curve, length, |token| {
                let first = token.is_multiple_of(window);
                (!first).then(|| token / window * length + token % window - 1)
            });
        } else {
            let sliding = Protocol::Sliding { stride };
            let plan = Plan::with(ids.len(), &[length], usize::MAX, sliding).unwrap();
            assert_eq!(
                plan.steps().map(|step| step.windows).sum::<usize>(),
                list(run, "windows").len()
            );
            measure(&mut model, &plan, &ids, 0, &mut curve);
            compare(run, &curve, length, |token| token.checked_sub(1));
        }
        checked += 1;
    }
    assert_eq!(checked, 8);
}
