use super::{Changes, Rescaling, VariantError};
use crate::encoding::{Encoding, FarKeys, PastEnd, Scaling};
use crate::model::Config;

impl Changes {
    /// Makes the changes to a model's configuration; what is not given stays as it was trained.
    ///
    /// # Errors
    /// A change that the model's encoding does not have, or one that does not go with the others.
    pub fn apply(&self, config: &mut Config) -> Result<(), VariantError> {
        if let Some(key) = self.of_rotary() {
            let Encoding::Rotary(rotary) = &mut config.encoding else {
                return Err(wrong(key, "rotary", &config.encoding));
            };
            if let Some(scaling) = &self.scaling {
                rotary.scaling = Some(scaling.of_length(config.trained_length)?);
            }
            if self.log_n {
                rotary.log_n = Some(config.trained_length);
            }
            // Sinks are seen from where the window ends, and log-n would scale those scores by another position.
            if self.log_n && self.window.is_some_and(|window| window.sinks > 0) {
                return Err(VariantError::Value {
                    key: "log_n",
                    value: "1".into(),
                    need: "left out where there are sinks: their scores would be scaled otherwise than the others"
                        .into(),
                });
            }
            rotary.far = self.far.or(rotary.far);
        }
        if self.past != PastEnd::Undefined {
            match &mut config.encoding {
                Encoding::Learned(learned) => learned.past_end = self.past,
                other => return Err(wrong("past", "learned", other)),
            }
        }
        config.window = self.window.or(config.window);
        Ok(())
    }

    /// The first change that only a rotary encoding has.
    fn of_rotary(&self) -> Option<&'static str> {
        match self {
            Self { scaling: Some(_), .. } => Some("scaling"),
            Self { log_n: true, .. } => Some("log_n"),
            Self { far: Some(far), .. } => Some(match far {
                FarKeys::ReRope { .. } => "rerope",
                FarKeys::SelfExtend { .. } => "self_extend",
            }),
            _ => None,
        }
    }
}

impl Rescaling {
    /// As the encoding takes it, for a model that was trained on windows of `trained` tokens.
    fn of_length(&self, trained: usize) -> Result<Scaling, VariantError> {
        let usual = Scaling::default();
        let scaling = Scaling {
            method: self.method,
            original_length: trained,
            factor: self.factor,
            beta_fast: self.beta_fast.unwrap_or(usual.beta_fast),
            beta_slow: self.beta_slow.unwrap_or(usual.beta_slow),
            ..usual
        };
        let (fast, slow) = (scaling.beta_fast, scaling.beta_slow);
        if fast <= slow {
            return Err(VariantError::Value {
                key: "beta_fast",
                value: fast.to_string(),
                need: format!("a number above beta_slow, {slow} here"),
            });
        }
        Ok(scaling)
    }
}

fn wrong(key: &'static str, need: &'static str, encoding: &Encoding) -> VariantError {
    VariantError::Encoding {
        key,
        need,
        found: encoding.name(),
    }
}
