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

/// What a helper is computing: one loss a target, `[windows][T]`, and how many milliseconds it takes.
pub type Computing = Pin<Box<dyn Future<Output = Result<(Vec<f32>, f64), EngineError>>>>;

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
    fn run(&self, helper: usize, model: u32, config: &Config, batch: &Batch) -> Computing;

    /// Milliseconds since some moment.
    fn now(&self) -> f64;
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
    /// How fast this thread and each helper were in the last batches, in multiply-adds a millisecond; cores of a
    /// phone differ. Without a value where that is not known yet.
    paces: Vec<Option<f64>>,
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
            paces: Vec::new(),
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

    /// As [`cpu::Model::forward`]; several windows are shared out. The first, of which things may be captured, is
    /// computed here.
    ///
    /// # Errors
    /// As there. What a helper could not compute is computed here.
    pub async fn forward(&mut self, batch: &Batch, captures: &Captures) -> Result<Output, EngineError> {
        if self.pool.helpers() == 0 || batch.windows() == 1 || batch.is_alone() || captures.no_losses {
            return self.here.forward(batch, captures);
        }
        // What every helper would refuse is refused here.
        batch.check_vocabulary(self.here.config().vocabulary)?;
        if !self.is_there {
            self.pool
                .load(self.number, self.here.config(), self.here.weights());
            self.is_there = true;
        }
        if self.paces.len() != self.pool.helpers() + 1 {
            self.paces = vec![None; self.pool.helpers() + 1];
        }
        let windows = shares(batch.windows(), &self.paces);
        let mut parts = batch.parts(&windows).into_iter().enumerate();
        let own = parts.next();
        let theirs: Vec<(usize, Batch, Computing)> = parts
            .filter_map(|(thread, part)| Some((thread, part?)))
            .map(|(thread, part)| {
                let config = self.here.config();
                let computing = self.pool.run(thread - 1, self.number, config, &part);
                (thread, part, computing)
            })
            .collect();
        let mut output = Output::default();
        if let Some((thread, Some(own))) = own {
            let began = self.pool.now();
            output = self.here.forward(&own, captures)?;
            self.note(thread, &own, self.pool.now() - began);
        }
        for (thread, part, computing) in theirs {
            let nll = match computing.await {
                Ok((nll, elapsed)) => {
                    self.note(thread, &part, elapsed);
                    nll
                }
                // Of a batch that cannot be computed this says why.
                Err(_) => self.here.forward(&part, &Captures::default())?.nll,
            };
            output.nll.extend(nll);
        }
        Ok(output)
    }

    fn note(&mut self, thread: usize, part: &Batch, elapsed: f64) {
        let operations = self.config().operations(part.windows(), part.length()).total();
        // A clock of whole milliseconds says nothing of less.
        let now = operations as f64 / elapsed.max(1.0);
        if let Some(pace) = self.paces.get_mut(thread) {
            *pace = Some(pace.map_or(now, |before| 0.5 * (before + now)));
        }
    }
}

/// How many of `windows` each thread takes, so that all are done at about the same time: as fast as it was
/// before, or as fast as the others. The first, which has the batch, takes one at least.
fn shares(windows: usize, paces: &[Option<f64>]) -> Vec<usize> {
    let known: Vec<f64> = paces.iter().flatten().copied().collect();
    let usual = match known.len() {
        0 => 1.0,
        count => known.iter().sum::<f64>() / count as f64,
    };
    let paces: Vec<f64> = paces.iter().map(|pace| pace.unwrap_or(usual)).collect();
    let mut taken = vec![0; paces.len()];
    taken[0] = 1;
    for _ in 1..windows {
        // The one that would be done with one more the soonest.
        let end = |thread: usize| (taken[thread] + 1) as f64 / paces[thread];
        let next = (0..paces.len()).min_by(|&a, &b| end(a).total_cmp(&end(b)));
        taken[next.unwrap_or(0)] += 1;
    }
    taken
}

impl Drop for Pooled {
    fn drop(&mut self) {
        if self.is_there {
            self.pool.forget(self.number);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
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
        clock: Cell<f64>,
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

        fn run(&self, helper: usize, model: u32, config: &Config, batch: &Batch) -> Computing {
            let batch_windows = batch.windows();
            self.ran.borrow_mut().push((helper, batch_windows));
            let weights = self.models.borrow()[&model].clone();
            let output = cpu::Model::new(config, &weights)
                .and_then(|mut model| model.forward(batch, &Captures::default()));
            Box::pin(async move {
                if helper == 2 {
                    return Err(EngineError::Helper("it died".into()));
                }
                // The first helper is half as fast as the second.
                let elapsed = (2.0 - helper as f64) * batch_windows as f64 * 1000.0;
                Ok((output?.nll, elapsed))
            })
        }

        fn now(&self) -> f64 {
            self.clock.replace(self.clock.get() + 3500.0)
        }
    }

    /// Repeatable numbers for a model.
    pub fn weights(config: &Config) -> Weights {
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

        // Changed positions reach the helpers; captures are of the first window, which stays here.
        let other = Encoding::from_name("none").unwrap();
        pooled.set_positions(other.clone(), None);
        plain.set_positions(other, None);
        let again = pollster::block_on(pooled.forward(&batch, &none)).unwrap();
        assert_eq!(again.nll, plain.forward(&batch, &none).unwrap().nll);
        assert_ne!(again.nll, shared.nll);
        // This thread took 3.5 s for three, the first helper 4 s for two, the second 2 s for two: it gets as many now.
        assert_eq!(fake.ran.borrow()[3..], [(0, 1), (1, 3), (2, 3)]);
        let attention = Captures {
            attention: Some(HeadId { layer: 0, head: 1 }),
            ..none
        };
        let captured = pollster::block_on(pooled.forward(&batch, &attention)).unwrap();
        assert_eq!(captured.nll, again.nll);
        let plainly = plain.forward(&batch, &attention).unwrap();
        assert!(captured.attention.is_some() && captured.attention == plainly.attention);
        assert_eq!(fake.ran.borrow().len(), 9);
        let one = Batch::new(vec![1; 9], 1, 8).unwrap();
        pollster::block_on(pooled.forward(&one, &none)).unwrap();
        pollster::block_on(pooled.forward(&batch.clone().alone(), &none)).unwrap();
        assert_eq!(fake.ran.borrow().len(), 9);

        assert_eq!(fake.models.borrow().len(), 1);
        drop(pooled);
        assert!(fake.models.borrow().is_empty());
    }

    #[test]
    fn slow_threads_get_less_and_the_first_something() {
        assert_eq!(shares(4, &[None, None]), [2, 2]);
        assert_eq!(shares(5, &[None, None, None]), [2, 2, 1]);
        assert_eq!(shares(2, &[None; 5]), [1, 1, 0, 0, 0]);
        assert_eq!(shares(8, &[Some(3.0), Some(1.0)]), [6, 2]);
        assert_eq!(shares(6, &[Some(0.001), Some(1.0), None]), [1, 3, 2]);
        assert_eq!(shares(1, &[Some(0.001), Some(1.0)]), [1, 0]);
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
