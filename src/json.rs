//! JSON by way of [`Value`]: a type's reading is then compiled once, which keeps the wasm module small.

use serde::de::{DeserializeOwned, Error};
use serde_json::{Map, Value};

/// Reads a JSON text.
///
/// # Errors
/// A text that is no JSON, or JSON of another shape.
pub fn read<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_value(serde_json::from_str(text)?)
}

/// Takes the name out of `{tag: "name", …}`; gives it and the other fields.
pub(crate) fn untag(tag: &'static str, value: Value) -> serde_json::Result<(String, Value)> {
    let Value::Object(mut fields) = value else {
        return Err(Error::custom(format!(
            "expected an object with a field \"{tag}\""
        )));
    };
    match fields.remove(tag) {
        Some(Value::String(name)) => Ok((name, Value::Object(fields))),
        Some(_) => Err(Error::custom(format!("the field \"{tag}\" is no string"))),
        None => Err(Error::missing_field(tag)),
    }
}

/// Turns `{"name": {…}}` into `{tag: "name", …}`; the tag stands first.
pub(crate) fn retag(tag: &'static str, value: Value) -> Value {
    let Value::Object(outer) = value else {
        return value;
    };
    let mut fields = Map::new();
    for (name, inner) in outer {
        fields.insert(tag.into(), Value::String(name));
        if let Value::Object(inner) = inner {
            for (name, value) in inner {
                fields.insert(name, value);
            }
        }
    }
    Value::Object(fields)
}

/// serde's traits for an enum that derives them with `#[serde(remote = "Self")]`, written as
/// `{tag: "variant", …}`.
macro_rules! tagged {
    ($kind:ty, $tag:literal) => {
        impl<'de> serde::Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = serde_json::Value::deserialize(deserializer)?;
                // `{"name": {…}}` is what serde reads without keeping its own copies.
                $crate::json::untag($tag, value)
                    .and_then(|(name, fields)| <$kind>::deserialize(serde_json::json!({ name: fields })))
                    .map_err(serde::de::Error::custom)
            }
        }

        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let value = <$kind>::serialize(self, serde_json::value::Serializer)
                    .map_err(serde::ser::Error::custom)?;
                $crate::json::retag($tag, value).serialize(serializer)
            }
        }
    };
}
pub(crate) use tagged;
