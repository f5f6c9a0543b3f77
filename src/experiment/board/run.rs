//! Running a claim's steps, and timing the engine.

use super::driver::{Board, BoardError, known};
use super::estimate::Rates;
use super::results::{Data, Record};
use super::task::{Kind, Task, operations};
use crate::engine::{Batch, Captures, EngineError, Model, Output};
use crate::experiment::{CopyBatches, Step};

impl Board {
    /// Runs a claim's next step with the model of its variant; `now` tells milliseconds. The task's key.
    ///
    /// # Errors
    /// An unknown claim, one whose next is no step, or an engine that failed. A length that the encoding or
    /// the engine cannot serve is no error: its task is left out, and the finding says so.
    pub async fn step(
        &mut self,
        id: &str,
        model: &mut Model,
        now: impl Fn() -> f64,
    ) -> Result<String, BoardError> {
        let no_step = || BoardError::NoStep(id.into());
        let task = self.next_task(known(id)?).ok_or_else(no_step)?;
        let text = self.texts.get(self.text_of(&task));
        let (loaded, text) = self.models.get(task.model()).zip(text).ok_or_else(no_step)?;
        let tokens = text.tokens.clone();
        let done = self.done(&task);
        let steps = task
            .steps(tokens.len())
            .into_iter()
            .nth(done)
            .ok_or_else(no_step)?;
        let record = Record {
            done: 0,
            model: loaded.fingerprint.clone(),
            text: task.text().map(|_| text.fingerprint.clone()),
            data: Data::new(&task, tokens.len()),
        };
        let computed = operations(&loaded.config, &steps);
        let batches = match batches(&task, self.results.get(&task), &steps, &tokens) {
            Ok(batches) => batches,
            Err(error) => {
                self.left_out.insert(task.key(), error);
                return Ok(task.key());
            }
        };
        let began = now();
        let outputs = match run(model, &batches, &task.captures()).await {
            Ok(outputs) => outputs,
            Err(error @ (EngineError::Encoding(_) | EngineError::TooLong { .. })) => {
                self.left_out.insert(task.key(), error.to_string());
                return Ok(task.key());
            }
            Err(error) => return Err(error.into()),
        };
        let elapsed_ms = now() - began;
        let record = self.results.entry(&task, || record);
        record
            .data
            .add(&task, task.scored(tokens.len()), &steps, &outputs, elapsed_ms);
        record.done += 1;
        self.touch(task.key());
        if let Some(rates) = &mut self.rates {
            rates.note(computed, elapsed_ms);
        }
        Ok(task.key())
    }

    /// Measures the engine's speed by two short forwards, so that an estimate can be told before a run.
    ///
    /// # Errors
    /// An engine that fails.
    pub async fn calibrate(&mut self, model: &mut Model, now: impl Fn() -> f64) -> Result<(), BoardError> {
        let config = model.config().clone();
        let longest = 1024.min(8 * config.trained_length);
        // What the tokens say is of no consequence for the time.
        let tokens: Vec<u32> = (0..=longest as u32)
            .map(|i| i.wrapping_mul(2_654_435_761) % config.vocabulary as u32)
            .collect();
        let short = 32.min(config.trained_length);
        let mut timed = Vec::new();
        // The first warms up: tables, plans and buffers are made.
        for length in [short, short, longest, longest] {
            let step = Step::whole(0, length, longest / length);
            let batch = step.batch(&tokens)?.alone();
            let computed = step.cost(&config).operations;
            let began = now();
            match model.forward(&batch, &Captures::default()).await {
                Ok(_) => timed.push((computed, now() - began)),
                // A learned table ends before: its attention is as fast as its linear part, as far as is known.
                Err(EngineError::Encoding(_)) => timed.push((computed, 0.0)),
                Err(error) => return Err(error.into()),
            }
        }
        if let [_, short, _, long] = timed[..] {
            let long = if long.1 > 0.0 { long } else { short };
            self.rates = Some(Rates::new(short, long));
        }
        Ok(())
    }
}

/// The windows of a task's next step, by forward; or why the text does not give them.
fn batches(
    task: &Task,
    record: Option<&Record>,
    steps: &[Step],
    tokens: &[u32],
) -> Result<Vec<Batch>, String> {
    let Some(mut probe) = task.probe() else {
        let batches: Result<_, EngineError> = if let Kind::Speed { .. } = task.kind {
            // What the tokens say is of no consequence for the time: a short text is repeated.
            let need = steps
                .iter()
                .map(|step| step.start + step.windows * step.stride + 1)
                .max();
            let repeated: Vec<u32> = tokens.iter().copied().cycle().take(need.unwrap_or(0)).collect();
            let batch = |step: &Step| step.batch(&repeated).map(Batch::alone);
            steps.iter().map(batch).collect()
        } else {
            steps.iter().map(|step| step.batch(tokens)).collect()
        };
        return batches.map_err(|error| error.to_string());
    };
    if let Some(Data::Copy { losses, .. }) = record.map(|record| &record.data) {
        probe.resume(losses.clone());
    }
    let windows = steps.first().map_or(1, |step| step.windows);
    let next = probe.next(tokens, windows).map_err(|error| error.to_string())?;
    Ok(next.map_or(Vec::new(), |CopyBatches { repeated, control }| {
        vec![repeated, control]
    }))
}

/// What a few forwards give: losses, each `[windows][length]`, and what was captured of their first windows.
async fn run(model: &mut Model, batches: &[Batch], captures: &Captures) -> Result<Vec<Output>, EngineError> {
    let mut outputs = Vec::with_capacity(batches.len());
    for batch in batches {
        outputs.push(model.forward(batch, captures).await?);
    }
    Ok(outputs)
}
