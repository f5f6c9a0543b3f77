//! The CPU engine on several workers: each has a copy of the model and takes a share of a batch's windows. They
//! share no memory, so a page needs no isolation for it.

use super::{Batch, Captures, EngineError, Output, cpu};
use crate::encoding::{Encoding, Window};
use crate::model::{Config, Weights};
use std::cell::Cell;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// What a helper computes: one loss a target, `[windows][T]`, or why it could not.
pub type Losses = Pin<Box<dyn Future<Output = Result<Vec<f32>, EngineError>>>>;

/// Helpers that run models beside this thread.
pub trait Pool: Debug {
    /// How many there are.
    fn helpers(&self) -> usize;

    /// Gives every helper a model, to be known by a number.
    fn load(&self, model: u32, config: &Config, weights: &Weights);

    /// Every helper forgets a model.
    fn forget(&self, model: u32);

    /// Starts a batch on a helper, with a model's configuration as it now is: all but the weights may have
    /// changed since it was loaded. It runs whether or not the future is awaited.
    fn run(&self, helper: usize, model: u32, config: &Config, batch: &Batch) -> Losses;
}

thread_local! {
    static NEXT: Cell<u32> = const { Cell::new(0) };
}

/// A model that runs on this thread and on a pool's helpers.
pub struct Pooled {
    here: cpu::Model,
    pool: Rc<dyn Pool>,
    number: u32,
    /// Whether the helpers have it: they are given it with the first batch that is shared out.
    is_there: bool,
}

impl Pooled {
    /// # Errors
    /// As for [`cpu::Model::new`].
    pub fn new(pool: &Rc<dyn Pool>, config: &Config, weights: &Weights) -> Result<Self, EngineError> {
        Ok(Self {
            here: cpu::Model::new(config, weights)?,
            pool: pool.clone(),
            number: NEXT.replace(NEXT.get().wrapping_add(1)),
            is_there: false,
        })
    }

    /// The model's configuration.
    pub fn config(&self) -> &Config {
        self.here.config()
    }

    /// Replaces the encoding (by one with other settings) and the window; the weights stay.
    pub fn set_positions(&mut self, encoding: Encoding, window: Option<Window>) {
        self.here.set_positions(encoding, window);
    }

    /// As [`cpu::Model::forward`]; several windows of which nothing is captured are shared out.
    ///
    /// # Errors
    /// As there. What a helper could not compute is computed here.
    pub async fn forward(&mut self, batch: &Batch, captures: &Captures) -> Result<Output, EngineError> {
        let threads = (self.pool.helpers() + 1).min(batch.windows());
        if threads == 1 || *captures != Captures::default() {
            return self.here.forward(batch, captures);
        }
        if !self.is_there {
            self.pool
                .load(self.number, self.here.config(), self.here.weights());
            self.is_there = true;
        }
        let mut parts = batch.parts(threads).into_iter();
        let own = parts.next();
        let theirs: Vec<(Batch, Losses)> = parts
            .enumerate()
            .map(|(helper, part)| {
                let losses = self.pool.run(helper, self.number, self.here.config(), &part);
                (part, losses)
            })
            .collect();
        let mut output = Output::default();
        if let Some(own) = own {
            output = self.here.forward(&own, captures)?;
        }
        for (part, losses) in theirs {
            let nll = match losses.await {
                Ok(nll) => nll,
                // Of a batch that cannot be computed this says why.
                Err(_) => self.here.forward(&part, captures)?.nll,
            };
            output.nll.extend(nll);
        }
        Ok(output)
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        if self.is_there {
            self.pool.forget(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, HeadId};
    use crate::model::Tensor;
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    /// Helpers on this thread; the last of them fails.
    #[derive(Debug, Default)]
    struct Fake {
        models: RefCell<BTreeMap<u32, Weights>>,
        ran: RefCell<Vec<(usize, usize)>>,
    }

    impl Pool for Fake {
        fn helpers(&self) -> usize {
            3
        }

        fn load(&self, model: u32, _: &Config, weights: &Weights) {
            self.models.borrow_mut().insert(model, weights.clone());
        }

        fn forget(&self, model: u32) {
            self.models.borrow_mut().remove(&model);
        }

        fn run(&self, helper: usize, model: u32, config: &Config, batch: &Batch) -> Losses {
            self.ran.borrow_mut().push((helper, batch.windows()));
            let weights = self.models.borrow()[&model].clone();
            let output = cpu::Model::new(config, &weights)
                .and_then(|mut model| model.forward(batch, &Captures::default()));
            Box::pin(async move {
                if helper == 2 {
                    return Err(EngineError::Helper("it died".into()));
                }
                Ok(output?.nll)
            })
        }
    }

    fn weights(config: &Config) -> Weights {
        let tensor = |(seed, shape): (usize, Vec<usize>)| Tensor {
            data: (0..shape.iter().product())
                .map(|i: usize| ((i * 7919 + seed * 31) % 199) as f32 / 400.0 - 0.25)
                .collect(),
            shape,
        };
        let parameters = config.parameters().into_iter().enumerate();
        parameters
            .map(|(seed, parameter)| (parameter.name, tensor((seed, parameter.shape))))
            .collect()
    }

    #[test]
    fn shares_give_what_one_thread_gives_and_what_failed_is_done_here() {
        let config = Config::base(Encoding::from_name("alibi").unwrap(), 4);
        let weights = weights(&config);
        let fake = Rc::new(Fake::default());
        let pool: Rc<dyn Pool> = fake.clone();
        let Ok(crate::engine::Model::Pooled(mut pooled)) = Engine::Pool(pool).load(&config, &weights) else {
            panic!("a pool's model was expected");
        };
        let mut plain = cpu::Model::new(&config, &weights).unwrap();
        let tokens = (0..10 * 18).map(|i| i * 37 % 512).collect();
        let batch = Batch::new(tokens, 10, 17).unwrap();
        let none = Captures::default();
        let shared = pollster::block_on(pooled.forward(&batch, &none)).unwrap();
        assert_eq!(shared.nll, plain.forward(&batch, &none).unwrap().nll);
        assert_eq!(*fake.ran.borrow(), [(0, 3), (1, 2), (2, 2)]);

        // Changed positions reach the helpers; one window, and captures, stay here.
        let other = Encoding::from_name("none").unwrap();
        pooled.set_positions(other.clone(), None);
        plain.set_positions(other, None);
        let again = pollster::block_on(pooled.forward(&batch, &none)).unwrap();
        assert_eq!(again.nll, plain.forward(&batch, &none).unwrap().nll);
        assert_ne!(again.nll, shared.nll);
        assert_eq!(fake.ran.borrow().len(), 6);
        let attention = Captures {
            attention: Some(HeadId { layer: 0, head: 1 }),
            ..none
        };
        assert!(
            pollster::block_on(pooled.forward(&batch, &attention))
                .unwrap()
                .attention
                .is_some()
        );
        let one = Batch::new(vec![1; 9], 1, 8).unwrap();
        pollster::block_on(pooled.forward(&one, &none)).unwrap();
        assert_eq!(fake.ran.borrow().len(), 6);

        assert_eq!(fake.models.borrow().len(), 1);
        drop(pooled);
        assert!(fake.models.borrow().is_empty());
    }

    #[test]
    fn a_batch_that_cannot_be_computed_says_why_whoever_has_it() {
        let config = Config::base(Encoding::from_name("alibi").unwrap(), 4);
        let pool: Rc<dyn Pool> = Rc::new(Fake::default());
        let mut pooled = Pooled::new(&pool, &config, &weights(&config)).unwrap();
        let mut tokens = vec![1; 4 * 6];
        tokens[3 * 6] = 9999;
        let batch = Batch::new(tokens, 4, 5).unwrap();
        let error = pollster::block_on(pooled.forward(&batch, &Captures::default())).unwrap_err();
        assert!(error.to_string().contains("9999"), "{error}");
    }
}
