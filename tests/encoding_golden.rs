//! The encodings' tables against what public packages give (`tests/golden`). Limits are tight at small
//! positions; far out the packages' own float32 angles are off, and the limits allow for that only.

mod common;

use common::{counts, golden_json, largest_difference, list, numbers, rows};
use longview::encoding::{
    Alibi, Encoding, Layout, Pairing, Positional, Rotary, Shape, Sinusoidal, T5Bias, Table, alibi_slopes,
};
use longview::engine::cpu::TablesF32;
use longview::engine::cpu::rotate::{Turn, rotate};
use longview::model::Weights;
use serde_json::Value;

fn shape(length: usize, width: usize, heads: usize) -> Shape {
    Shape {
        length,
        d_model: width,
        heads,
        d_head: width,
    }
}

/// Checks rows of golden values at `positions` against a table; `limit(position)` is absolute.
fn check_rows(
    name: &str,
    table: &Table,
    positions: &[usize],
    golden: &[Vec<f64>],
    limit: impl Fn(usize) -> f64,
) {
    assert_eq!(positions.len(), golden.len());
    for (&position, golden) in positions.iter().zip(golden) {
        let difference = largest_difference(table.row(position), golden);
        assert!(
            difference <= limit(position),
            "{name}: position {position} is off by {difference:e}"
        );
    }
}

/// 1e-7 where the package computes angles in float64; else its float32 angles.
fn table_limit(float64_angles: bool) -> impl Fn(usize) -> f64 {
    move |position| match (float64_angles, position) {
        (true, _) => 1e-7,
        (false, 0..=128) => 2e-5,
        (false, 129..=1023) => 2e-4,
        _ => 5e-4,
    }
}

#[test]
fn sinusoidal_tables_of_all_layouts() {
    let golden = golden_json("sinusoidal.json");
    let positions = counts(&golden["header"]["positions"]);
    let mut checked = Vec::new();
    for entry in list(&golden, "entries") {
        let id = entry["id"].as_str().unwrap();
        let layout = match id {
            "hf_xlm" | "positional_encodings" => Layout::Interleaved,
            "hf_roformer" | "hf_ctrl" | "x_transformers" => Layout::Halves,
            "hf_m2m100" | "tensor2tensor" => Layout::Fairseq,
            // The others equal an entry above, and hold no tables.
            _ => {
                assert!(
                    entry["tables"].as_object().is_none_or(|tables| tables.is_empty()),
                    "{id}"
                );
                continue;
            }
        };
        let encoding = Sinusoidal {
            layout,
            ..Sinusoidal::default()
        };
        for (d, golden) in entry["tables"].as_object().unwrap() {
            let d: usize = d.parse().unwrap();
            // This package rounds an odd d up and drops the last column, so its frequencies are those of 8.
            let width = if id == "positional_encodings" {
                d.next_multiple_of(2)
            } else {
                d
            };
            let tables = encoding.tables(&shape(4096, width, 1), &Weights::new()).unwrap();
            let input = tables.input.unwrap();
            let table = Table::from_fn(4096, d, |position, column| input.at(position, column));
            let float64_angles = matches!(id, "hf_xlm" | "hf_roformer");
            let golden = rows(golden);
            check_rows(
                &format!("{id}, d = {d}"),
                &table,
                &positions,
                &golden,
                table_limit(float64_angles),
            );
            checked.push((layout, d));
        }
    }
    for layout in [Layout::Interleaved, Layout::Halves, Layout::Fairseq] {
        for d in [4, 7, 64, 128] {
            assert!(checked.contains(&(layout, d)), "{layout:?}, {d}");
        }
    }
}

fn check_relative(name: &str, got: &[f64], golden: &[f64], limit: f64) {
    assert_eq!(got.len(), golden.len(), "{name}");
    for (got, golden) in got.iter().zip(golden) {
        let difference = ((got - golden) / golden).abs();
        assert!(
            difference <= limit,
            "{name}: {got} against {golden}, relative {difference:e}"
        );
    }
}

#[test]
fn alibi_slopes_of_every_head_count() {
    let golden = golden_json("alibi_slopes.json");
    let heads = counts(&golden["header"]["heads"]);
    assert!(heads.contains(&1) && heads.contains(&112));
    let mut checked = 0;
    for entry in list(&golden, "entries") {
        let id = entry["id"].as_str().unwrap();
        let limits: &[(&str, f64)] = match id {
            // In float64 the authors' numbers are ours but for the last digits.
            "alibi_authors" => &[("slopes_float64", 1e-14), ("slopes_float32", 1e-7)],
            "x_transformers" => &[("slopes", 1e-7)],
            "mpt" => &[("slopes", 2e-7)],
            "bloom" => &[("slopes", 1e-6)],
            // Rounded to bfloat16.
            "falcon" => &[("slopes", 4e-3)],
            other => panic!("unknown source {other}"),
        };
        for (key, limit) in limits {
            for &heads in &heads {
                let golden = numbers(&entry[key][heads.to_string()]);
                check_relative(
                    &format!("{id}, {heads} heads"),
                    &alibi_slopes(heads),
                    &golden,
                    *limit,
                );
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 6 * heads.len());
}

#[test]
fn alibi_biases_as_the_attention_sees_them() {
    let golden = golden_json("alibi_slopes.json");
    for entry in list(&golden, "entries") {
        let id = entry["id"].as_str().unwrap();
        // Relative to a row's largest entry; falcon rounds to bfloat16.
        let limit = if id == "falcon" { 4e-3 } else { 1e-6 };
        for (heads, bias) in entry["bias_len8"].as_object().unwrap() {
            let heads: usize = heads.parse().unwrap();
            let tables = Alibi::default()
                .tables(&shape(8, 8, heads), &Weights::new())
                .unwrap();
            let behind = tables.bias.unwrap().behind;
            for head in 0..heads {
                let rows = rows(&bias[head]);
                for query in 0..8 {
                    // The packages add another constant to each query's row, which no softmax sees:
                    // compare with the query's own key.
                    let row = &rows[query.min(rows.len() - 1)];
                    let largest = row.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
                    for key in 0..=query {
                        let (ours, theirs) = (behind.at(head, query - key), row[key] - row[query]);
                        assert!((ours - theirs).abs() <= limit * largest, "{id}, {heads} heads");
                    }
                }
            }
        }
    }
}

#[test]
fn t5_buckets_exactly() {
    let golden = golden_json("t5_buckets.json");
    let cases = list(&golden, "cases");
    assert_eq!(cases.len(), 10);
    for case in cases {
        let t5 = T5Bias {
            buckets: case["num_buckets"].as_u64().unwrap() as usize,
            max_distance: case["max_distance"].as_u64().unwrap() as usize,
            bidirectional: case["bidirectional"].as_bool().unwrap(),
        };
        t5.validate().unwrap();
        let buckets = counts(&case["bucket"]);
        assert_eq!(buckets.len(), 1201);
        // Entry i is for key − query = i − 600.
        for (index, &bucket) in buckets.iter().enumerate() {
            let got = match index {
                0..=600 => t5.bucket_behind(600 - index),
                _ => t5.bucket_ahead(index - 600),
            };
            assert_eq!(got, bucket, "{t5:?} at {}", index as i64 - 600);
        }
    }
}

#[test]
fn t5_tables_look_up_the_bucket_of_each_distance() {
    let t5 = T5Bias {
        bidirectional: true,
        ..T5Bias::default()
    };
    let trained = t5.parameters(&shape(16, 8, 2)).remove(0);
    let mut weights = Weights::new();
    let data = (0..64).map(|value| value as f32).collect();
    weights.insert(
        trained.name,
        longview::model::Tensor {
            shape: trained.shape,
            data,
        },
    );
    let bias = t5.tables(&shape(300, 8, 2), &weights).unwrap().bias.unwrap();
    let ahead = bias.ahead.unwrap();
    for head in 0..2 {
        for distance in 0..300 {
            let value = |bucket: usize| (bucket * 2 + head) as f64;
            assert_eq!(bias.behind.at(head, distance), value(t5.bucket_behind(distance)));
            assert_eq!(ahead.at(head, distance), value(t5.bucket_ahead(distance)));
        }
    }
}

fn rotary(entry: &Value, pairing: Pairing) -> (Rotary, usize) {
    let d = entry["head_dim"].as_u64().unwrap() as usize;
    let rotated = entry["rotary_dim"].as_u64().map_or(d, |rotated| rotated as usize);
    let rotary = Rotary {
        pairing,
        base: entry["base"].as_f64().unwrap(),
        fraction: rotated as f64 / d as f64,
        ..Rotary::default()
    };
    (rotary, d)
}

#[test]
fn rotary_frequencies_and_angles() {
    let golden = golden_json("rotary.json");
    let positions = counts(&golden["header"]["positions"]);
    let entries = list(&golden, "frequencies");
    assert_eq!(entries.len(), 12);
    for entry in entries {
        let (rotary, d) = rotary(entry, Pairing::Halves);
        let id = entry["id"].as_str().unwrap();
        let name = format!("{id}, d = {d}, base {}", rotary.base);
        if entry["inv_freq"].is_array() {
            check_relative(&name, &rotary.inv_freq(d), &numbers(&entry["inv_freq"]), 1e-6);
        }
        let tables = rotary.tables(&shape(4096, d, 1), &Weights::new()).unwrap();
        let rotation = tables.rotation.unwrap();
        let limit = |position| table_limit(id == "roformer")(position);
        check_rows(&name, &rotation.cos, &positions, &rows(&entry["cos"]), limit);
        check_rows(&name, &rotation.sin, &positions, &rows(&entry["sin"]), limit);
    }
}

/// q and k of one head, turned by the engine's kernel at `position`.
fn turned(rotary: &Rotary, d: usize, position: usize, q: &[f64], k: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let length = position + 1;
    let encoding = Encoding::Rotary(rotary.clone());
    let tables = encoding.tables(&shape(length, d, 1), &Weights::new()).unwrap();
    let tables = TablesF32::from(&tables);
    let mut qkv = vec![0.0_f32; length * 3 * d];
    let row = &mut qkv[position * 3 * d..];
    for (place, value) in row.iter_mut().zip(q.iter().chain(k)) {
        *place = *value as f32;
    }
    rotate(
        &mut qkv,
        3 * d,
        tables.rotation.as_ref().unwrap(),
        1,
        d,
        Turn::Forward,
    );
    let row: Vec<f64> = qkv[position * 3 * d..]
        .iter()
        .map(|&value| f64::from(value))
        .collect();
    assert!(row[2 * d..].iter().all(|&value| value == 0.0), "v does not turn");
    (row[..d].to_vec(), row[d..2 * d].to_vec())
}

#[test]
fn rotated_vectors_of_both_pairings_and_of_a_part() {
    let golden = golden_json("rotary.json");
    let positions = counts(&golden["header"]["positions"]);
    let mut checked = 0;
    for entry in list(&golden, "rotated").iter().chain(list(&golden, "partial")) {
        // Entries without vectors equal another one.
        if !entry["q_rotated"].is_array() {
            continue;
        }
        let convention = entry["convention"].as_str().unwrap();
        let pairing = match convention.starts_with("interleaved") {
            true => Pairing::Interleaved,
            false => Pairing::Halves,
        };
        assert!(pairing == Pairing::Interleaved || convention.starts_with("rotate_half"));
        let (rotary, d) = rotary(entry, pairing);
        let id = entry["id"].as_str().unwrap();
        let vectors = &golden["vectors"][d.to_string()];
        let (q, k) = (numbers(&vectors["q"]), numbers(&vectors["k"]));
        let (golden_q, golden_k) = (rows(&entry["q_rotated"]), rows(&entry["k_rotated"]));
        for (index, &position) in positions.iter().enumerate() {
            let (got_q, got_k) = turned(&rotary, d, position, &q, &k);
            let limit = match (id, position) {
                ("roformer", _) => 1e-6,
                (_, 0..=128) => 4e-5,
                _ => 1e-3,
            };
            for (got, golden) in [(got_q, &golden_q[index]), (got_k, &golden_k[index])] {
                let difference = largest_difference(&got, golden);
                assert!(
                    difference <= limit,
                    "{id}, {convention}, d = {d}, base {}, position {position}: {difference:e}",
                    rotary.base
                );
            }
        }
        checked += 1;
    }
    assert_eq!(checked, 8 + 8 + 3 + 7);
}

#[test]
fn dot_products_depend_on_the_distance_only() {
    let golden = golden_json("rotary.json");
    for entry in list(&golden, "dot_products") {
        let id = entry["id"].as_str().unwrap();
        let pairing = match id {
            "llama" => Pairing::Halves,
            _ => Pairing::Interleaved,
        };
        let (rotary, d) = rotary(entry, pairing);
        let vectors = &golden["vectors"][d.to_string()];
        let (q, k) = (numbers(&vectors["q"]), numbers(&vectors["k"]));
        for value in list(entry, "values") {
            let position = |key: &str| value[key].as_u64().unwrap() as usize;
            let (m, n) = (position("m"), position("n"));
            let turned_q = turned(&rotary, d, m, &q, &k).0;
            let turned_k = turned(&rotary, d, n, &q, &k).1;
            let dot: f64 = turned_q.iter().zip(&turned_k).map(|(a, b)| a * b).sum();
            let limit = if m.max(n) <= 164 { 1e-4 } else { 4e-3 };
            let difference = (dot - value["dot"].as_f64().unwrap()).abs();
            assert!(difference <= limit, "{id}, d = {d}, {m} and {n}: {difference:e}");
        }
    }
}
