use super::{Changes, VariantError};
use crate::encoding::{Encoding, PastEnd};
use crate::model::Config;

impl Changes {
    /// Makes the changes to a model's configuration; what is not given stays as it was trained.
    ///
    /// # Errors
    /// A change that the model's encoding does not have.
    pub fn apply(&self, config: &mut Config) -> Result<(), VariantError> {
        if let Some(window) = self.window {
            config.window = Some(window);
        }
        if self.past != PastEnd::Undefined {
            match &mut config.encoding {
                Encoding::Learned(learned) => learned.past_end = self.past,
                other => return Err(wrong("past", "learned", other)),
            }
        }
        if let Some(key) = self.of_rotary() {
            return Err(wrong(key, "rotary", &config.encoding));
        }
        Ok(())
    }

    /// The first change that only a rotary encoding has.
    fn of_rotary(&self) -> Option<&'static str> {
        match self {
            Self { scaling: Some(_), .. } => Some("scaling"),
            Self { log_n: true, .. } => Some("log_n"),
            Self { far: Some(far), .. } => Some(match far {
                super::FarKeys::ReRope { .. } => "rerope",
                super::FarKeys::SelfExtend { .. } => "self_extend",
            }),
            _ => None,
        }
    }
}

fn wrong(key: &'static str, need: &'static str, encoding: &Encoding) -> VariantError {
    VariantError::Encoding {
        key,
        need,
        found: encoding.name(),
    }
}
