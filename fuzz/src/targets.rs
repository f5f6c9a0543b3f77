//! What is done with hostile input, one function a target: libFuzzer calls them with bytes that it makes up, and
//! `tests/hostile.rs` with the corpus.

use longview::encoding::{Alibi, Encoding, NAMES, Positional, Shape};
use longview::engine::cpu::Model;
use longview::engine::{Batch, Captures};
use longview::experiment::Variant;
use longview::figure::{AlibiMatrices, AlibiSlopes, AlibiSoftmax, Figure, FigureError, Style, readout, svg};
use longview::model::{Checkpoint, Config, Tensor, Tokenizer, Weights};
use plotters::prelude::{IntoDrawingArea, SVGBackend};

/// Any bytes as a checkpoint; what can be read must also run.
pub fn checkpoint(bytes: &[u8]) {
    match Checkpoint::from_bytes(bytes) {
        Ok(checkpoint) => try_checkpoint(&checkpoint),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Any text as the configuration in a checkpoint whose tensors are all there: what a fuzzer of plain bytes
/// seldom gets to.
pub fn config(text: &str) {
    let Ok(config) = serde_json::from_str::<Config>(text) else {
        return;
    };
    if config.validate().is_err() {
        return;
    }
    let parameters = config.parameters();
    let sizes = parameters.iter().map(|parameter| {
        let sizes = parameter.shape.iter();
        sizes.fold(1_usize, |all, &size| all.saturating_mul(size))
    });
    let count = sizes.fold(0_usize, usize::saturating_add);
    if count > 1 << 16 {
        return;
    }
    let tensors = parameters.into_iter().map(|parameter| {
        let count: usize = parameter.shape.iter().product();
        let data = (0..count).map(|i| (i % 13) as f32 / 16.0 - 0.375).collect();
        (
            parameter.name,
            Tensor {
                shape: parameter.shape,
                data,
            },
        )
    });
    let checkpoint = Checkpoint {
        config,
        weights: tensors.collect(),
        record: serde_json::Value::Null,
    };
    let bytes = checkpoint.to_bytes().expect("every value is a half");
    let read = Checkpoint::from_bytes(&bytes).expect("what was written can be read");
    try_checkpoint(&read);
}

const TEXT: &str =
    "It is a truth universally acknowledged; he's 25,  \n\n“é” a\u{301} ab ababab 中文 \u{a0}x";
/// Any bytes as a tokenizer.json, which then encodes and decodes a text.
pub fn tokenizer(bytes: &[u8]) {
    let tokenizer = match Tokenizer::from_json(bytes) {
        Ok(tokenizer) => tokenizer,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let own = String::from_utf8_lossy(bytes);
    for text in [TEXT, &own] {
        let encoding = tokenizer.encode(text);
        assert!(
            encoding
                .ids
                .iter()
                .all(|&id| (id as usize) < tokenizer.vocabulary())
        );
        let decoded = tokenizer.decode(&encoding.ids);
        // Nothing was left out, so nothing may differ.
        if encoding.dropped == 0 {
            assert_eq!(decoded, text);
        }
    }
}

/// Any text as a model with changes, made to a model of every encoding.
pub fn variant(text: &str) {
    let variant: Variant = match text.parse() {
        Ok(variant) => variant,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    // Equal variants have equal strings.
    let written = variant.to_string();
    let again: Variant = written.parse().expect("what was written can be read");
    assert_eq!((again.to_string(), &again), (written, &variant));
    for name in NAMES {
        let encoding = Encoding::from_name(name).expect("it is listed");
        let mut config = Config::base(encoding, 4);
        (config.d_model, config.trained_length) = (32, 16);
        if variant.changes.apply(&mut config).is_err() {
            continue;
        }
        let tensors = config.parameters().into_iter().map(|parameter| {
            let data = vec![0.25; parameter.shape.iter().product()];
            (
                parameter.name,
                Tensor {
                    shape: parameter.shape,
                    data,
                },
            )
        });
        let weights: Weights = tensors.collect();
        for length in [1, 16, 65] {
            let Ok(mut tables) = config.encoding.tables(&config.shape(length), &weights) else {
                continue;
            };
            if let Some(window) = config.window {
                let _ = window.apply(&mut tables);
            }
            for rotation in tables.rotation.iter() {
                let numbers = rotation.cos.data.iter().chain(&rotation.sin.data);
                assert!(numbers.into_iter().all(|number| number.is_finite()), "{text}");
            }
            if let Some(far) = tables.far {
                assert!(far.from > 0);
            }
        }
    }
}

/// Any text as a picture: its settings and, on lines of their own, its style and some of its values. It is
/// drawn, read out, told and put into a table, with values and without.
pub fn figure(text: &str) {
    let mut lines = text.splitn(3, '\n');
    let settings = lines.next().unwrap_or_default();
    let Ok(figure) = serde_json::from_str::<Figure>(settings) else {
        return;
    };
    let style: Style = lines
        .next()
        .and_then(|line| serde_json::from_str(line).ok())
        .unwrap_or_default();
    draw(&figure, &[], &style);
    let numbers = lines.next().unwrap_or("1 0 2");
    let some: Vec<f32> = numbers
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    if let Some(count) = values_needed(&figure).filter(|_| !some.is_empty()) {
        let values: Vec<f32> = some.iter().copied().cycle().take(count).collect();
        draw(&figure, &values, &style);
    }
}

/// Any numbers as ALiBi's own slopes, in the tables and in every picture that takes them.
pub fn slopes(text: &str) {
    // As a reader's list is read: by commas, and each as Rust and JavaScript read a number.
    let read = text.split(',').map(|word| word.trim().parse::<f64>());
    let Ok(slopes) = read.collect::<Result<Vec<f64>, _>>() else {
        return;
    };
    let (heads, length, trained_length) = (slopes.len(), 40, 32);
    let alibi = Alibi {
        slopes: Some(slopes.clone()),
        trained: false,
    };
    let shape = Shape {
        length,
        d_model: 8 * heads,
        heads,
        d_head: 8,
    };
    match alibi.tables(&shape, &Weights::new()) {
        Ok(tables) => {
            let bias = tables.bias.expect("ALiBi has a bias").behind;
            for (head, slope) in slopes.iter().enumerate() {
                assert_eq!(bias.at(head, 0).abs(), 0.0);
                assert_eq!(bias.at(head, 3), -slope * 3.0);
            }
        }
        Err(error) => assert!(slopes.iter().any(|slope| !slope.is_finite()), "{error}"),
    }
    // A picture takes a thousand times as long as its numbers.
    if heads > 64 || !text.len().is_multiple_of(16) {
        return;
    }
    let style = Style::default();
    let slopes = Some(slopes);
    for figure in [
        Figure::AlibiMatrices(AlibiMatrices {
            heads,
            length,
            slopes: slopes.clone(),
            trained_length,
        }),
        Figure::AlibiSlopes(AlibiSlopes {
            heads,
            slopes: slopes.clone(),
            trained: slopes.clone(),
            length,
            trained_length,
        }),
        Figure::AlibiSoftmax(AlibiSoftmax {
            heads,
            slopes: slopes.clone(),
            length,
            logarithmic: true,
            trained_length,
        }),
    ] {
        draw(&figure, &[], &style);
    }
}

/// Lengths that a model is tried on, in tokens.
const LENGTHS: [usize; 3] = [1, 2, 17];
/// Larger models only cost time.
const WEIGHTS_MAX: usize = 1 << 16;

/// Does with a checkpoint that could be read what a page would: tables past its trained length, one forward.
/// Each may refuse, with a message.
fn try_checkpoint(checkpoint: &Checkpoint) {
    let Checkpoint { config, weights, .. } = checkpoint;
    let count: usize = weights.values().map(|tensor| tensor.data.len()).sum();
    if count > WEIGHTS_MAX || config.layers > 8 {
        return;
    }
    try_tables(config, checkpoint);
    let Ok(mut model) = Model::new(config, weights) else {
        return;
    };
    for length in LENGTHS {
        let tokens = (0..=length)
            .map(|place| (place * 7 % config.vocabulary) as u32)
            .collect();
        let batch = Batch::new(tokens, 1, length).expect("the tokens fill one window");
        match model.forward(&batch, &Captures::default()) {
            Ok(output) => assert_eq!(output.nll.len(), length),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn try_tables(config: &Config, checkpoint: &Checkpoint) {
    for length in LENGTHS {
        let shape: Shape = config.shape(length);
        let Ok(tables) = config.encoding.tables(&shape, &checkpoint.weights) else {
            continue;
        };
        if let Some(input) = tables.input {
            assert_eq!((input.rows, input.columns), (length, config.d_model));
        }
        if let Some(rotation) = tables.rotation {
            assert_eq!(rotation.cos.rows, length);
            assert!(2 * rotation.cos.columns <= shape.d_head);
        }
        if let Some(bias) = tables.bias {
            assert_eq!((bias.behind.rows, bias.behind.columns), (config.heads, length));
        }
    }
}

/// Draws a picture and asks it everything that a page does. Where it refuses, each way refuses.
fn draw(figure: &Figure, values: &[f32], style: &Style) {
    let table = figure.table(values, &style.locale);
    let drawn = svg(figure, values, style);
    let Ok(table) = table else {
        assert!(drawn.is_err());
        return;
    };
    assert!(table.page(8).is_object());
    let sentence = figure.summary(values, &style.locale).expect("it has a table");
    assert!(!sentence.is_empty());
    assert!(figure.file_stem().len() < 255);
    if drawn.is_err() {
        return;
    }
    // What stands under a pointer, on every plot and beside them.
    let mut document = String::new();
    let area = SVGBackend::with_string(&mut document, (64, 48)).into_drawing_area();
    let geometry = longview::figure::draw(&area, figure, values, style).expect("it was drawn before");
    let mut places = vec![[0.0, 0.0], [style.width, style.height]];
    for plot in geometry.plots.iter().take(4) {
        for share in [0.0, 0.5, 0.93, 1.0] {
            places.push([plot.x + share * plot.width, plot.y + (1.0 - share) * plot.height]);
        }
    }
    for place in places {
        let _ = readout(figure, values, &geometry, place, &style.locale);
    }
}

/// How many values a picture takes; none where it takes none, or too many to be worth the time.
fn values_needed(figure: &Figure) -> Option<usize> {
    let Err(FigureError::Values { need, .. }) = figure.table(&[0.0], "en") else {
        return None;
    };
    let count = need.strip_prefix("none, or ")?.split(' ').next()?;
    count.parse().ok().filter(|count| *count <= 1 << 16)
}
