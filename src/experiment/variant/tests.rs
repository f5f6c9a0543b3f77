use super::*;
use crate::encoding::{Encoding, Positional, Rotary};
use crate::model::{Config, Weights};

fn variant(text: &str) -> Variant {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn config(encoding: &str) -> Config {
    Config::base(Encoding::from_name(encoding).unwrap(), 4)
}

#[test]
fn equal_variants_are_equal_strings() {
    for (written, canonical) in [
        ("rotary", "rotary"),
        ("rotary?", "rotary"),
        (
            "rotary-l64?factor=4.0&scaling=yarn",
            "rotary-l64?scaling=yarn&factor=4",
        ),
        ("rotary?scaling=pi&factor=auto", "rotary?scaling=pi"),
        (
            "rotary?beta_slow=0.5&beta_fast=8&scaling=yarn&log_n=1",
            "rotary?scaling=yarn&beta_fast=8&beta_slow=0.5&log_n=1",
        ),
        ("alibi?sinks=4&window=64", "alibi?window=64&sinks=4"),
        ("alibi?sinks=0&window=064", "alibi?window=64"),
        ("rotary?log_n=0", "rotary"),
        ("rotary?rerope=64", "rotary?rerope=64"),
        ("rotary?self_extend=64,8", "rotary?self_extend=64,8"),
        ("learned-s2?past=last", "learned-s2?past=last"),
        ("learned?past=random", "learned?past=random"),
        ("learned?past=undefined", "learned"),
    ] {
        assert_eq!(variant(written).to_string(), canonical);
        assert_eq!(variant(written), variant(canonical));
    }
    // Every method that is listed can be written.
    for (name, _) in METHODS {
        let text = format!("rotary?scaling={name}");
        assert_eq!(variant(&text).to_string(), text);
    }
}

#[test]
fn what_is_no_variant_is_said() {
    for (text, says) in [
        ("", "no name of a model"),
        ("../rotary", "no name of a model"),
        ("alibi?widow=3", "no change \"widow\"; the changes are scaling"),
        ("alibi?window=3&window=3", "window is given twice"),
        (
            "alibi?window=0",
            "window is \"0\"; give a whole number of tokens from 1 to",
        ),
        ("alibi?window", "window is \"\"; give"),
        ("alibi?sinks=4", "sinks means nothing without window"),
        ("rotary?factor=4", "factor means nothing without scaling"),
        (
            "rotary?scaling=pi&beta_fast=4",
            "beta_fast means nothing without scaling=by_parts or",
        ),
        (
            "rotary?scaling=linear",
            "give pi, ntk, dynamic_ntk, by_parts, yarn or llama3",
        ),
        ("rotary?scaling=pi&factor=0.5", "give a number from 1 up, or auto"),
        ("rotary?scaling=pi&factor=inf", "give a number from 1 up"),
        ("rotary?scaling=yarn&beta_slow=NaN", "give a number above 0"),
        ("rotary?log_n=yes", "give 1, or 0"),
        ("rotary?window=64&rerope=64", "window and rerope both say"),
        (
            "rotary?self_extend=64,8&rerope=64",
            "rerope and self_extend both say",
        ),
        ("rotary?self_extend=64", "a window and a group"),
        ("rotary?self_extend=8,64", "at least as long as the group"),
        ("learned?past=first", "undefined, last or random"),
    ] {
        let error = text.parse::<Variant>().unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn a_rotary_model_takes_its_trained_length_along() {
    let changed = |text: &str| {
        let mut config = Config {
            trained_length: 64,
            ..config("rotary")
        };
        variant(text).changes.apply(&mut config).unwrap();
        let Encoding::Rotary(rotary) = config.encoding.clone() else {
            panic!("another encoding")
        };
        (config, rotary)
    };
    let (_, yarn) = changed("rotary-l64?scaling=yarn&beta_fast=32&beta_slow=1&log_n=1");
    let scaling = yarn.scaling.unwrap();
    assert_eq!(
        (scaling.method, scaling.original_length),
        (ScalingMethod::Yarn, 64)
    );
    assert_eq!(
        (scaling.factor, scaling.beta_fast, scaling.beta_slow),
        (None, 32.0, 1.0)
    );
    assert_eq!((yarn.log_n, yarn.far), (Some(64), None));
    let (_, rerope) = changed("rotary-l64?rerope=32");
    let expected = Rotary {
        far: Some(FarKeys::ReRope { window: 32 }),
        ..Rotary::default()
    };
    assert_eq!(rerope, expected);
    // By itself the factor is T/L: up to L nothing is changed, past it the slowest pair turns by it slower.
    let table = |text: &str, length: usize| {
        let (config, rotary) = changed(text);
        let tables = rotary.tables(&config.shape(length), &Weights::new()).unwrap();
        tables.rotation.unwrap().sin
    };
    assert_eq!(table("rotary-l64?scaling=pi", 64), table("rotary-l64", 64));
    let (trained, scaled) = (table("rotary-l64", 256), table("rotary-l64?scaling=pi", 256));
    assert!((scaled.at(4, 0) - trained.at(1, 0)).abs() < 1e-12);
    assert_eq!(scaled, table("rotary-l64?scaling=pi&factor=4", 256));
    let error = variant("rotary?log_n=1&window=64&sinks=4").changes;
    let error = error.apply(&mut config("rotary")).unwrap_err().to_string();
    assert!(error.contains("log_n") && error.contains("sinks"), "{error}");
    let error = variant("rotary?scaling=yarn&beta_fast=0.25").changes;
    let error = error.apply(&mut config("rotary")).unwrap_err().to_string();
    assert!(
        error.contains("beta_fast is \"0.25\"; give a number above beta_slow"),
        "{error}"
    );
}

#[test]
fn a_window_goes_with_any_encoding_and_the_rest_with_its_own() {
    for name in crate::encoding::NAMES {
        let mut changed = config(name);
        variant("x?window=64&sinks=4")
            .changes
            .apply(&mut changed)
            .unwrap();
        let window = Some(Window { keys: 64, sinks: 4 });
        assert_eq!(
            changed,
            Config {
                window,
                ..config(name)
            },
            "{name}"
        );
    }
    let mut learned = config("learned");
    variant("learned?past=last").changes.apply(&mut learned).unwrap();
    let Encoding::Learned(found) = &learned.encoding else {
        panic!("another encoding")
    };
    assert_eq!(found.past_end, PastEnd::LastRow);
    // No change leaves all as it was.
    let trained = learned.clone();
    Changes::default().apply(&mut learned).unwrap();
    assert_eq!(learned, trained);
    for (text, says) in [
        (
            "alibi?past=last",
            "past is for models with the encoding learned, and this one has alibi",
        ),
        (
            "alibi?scaling=pi",
            "scaling is for models with the encoding rotary",
        ),
        ("alibi?log_n=1", "log_n is for"),
        ("alibi?rerope=8", "rerope is for"),
        ("alibi?self_extend=8,2", "self_extend is for"),
    ] {
        let error = variant(text).changes.apply(&mut config("alibi")).unwrap_err();
        assert!(error.to_string().contains(says), "{text}: {error}");
    }
}
