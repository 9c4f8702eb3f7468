//! Budgets: what a call at top level, with all that is nested in it, may use.

use std::cell::{Cell, RefCell};

use super::Target;
use super::scene::Scene;
use crate::error::Error;
use crate::message::Usage;
use crate::prompt::estimate::{CharCounts, Class};
use crate::session::Running;
use crate::value::{Value, json};

/// From this part of a budget on its end is near.
const NEAR: f64 = 0.8;

/// What may be used: tokens, USD, model requests; `None` for no bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    limits: [Option<f64>; 3],
}

/// The kinds, in the order of [`Budget::limits`].
const KINDS: [&str; 3] = ["tokens", "cost", "turns"];

impl Default for Budget {
    fn default() -> Self {
        Budget { limits: [Some(2_000_000.0), Some(5.0), None] }
    }
}

impl Budget {
    /// The default with the fields of an object in their place; null lifts a bound.
    pub fn from_json(v: &Value) -> Self {
        let mut budget = Budget::default();
        for (limit, kind) in budget.limits.iter_mut().zip(KINDS) {
            if let Some(given) = v.get(kind) {
                *limit = given.as_f64().filter(|x| *x >= 0.0);
            }
        }
        budget
    }
}

/// What a run and all that is nested in it used.
#[derive(Debug, Default)]
pub struct Spent {
    used: RefCell<[f64; 3]>,
    warned: Cell<[bool; 3]>,
}

impl Spent {
    /// Counts a request that begins.
    fn request(&self) {
        self.used.borrow_mut()[2] += 1.0;
    }

    /// Counts what a request used; what is unknown is not counted.
    pub(super) fn reply(&self, u: &Usage) {
        let parts = [u.input, u.output, u.cache_read, u.cache_write_5m, u.cache_write_1h];
        let mut used = self.used.borrow_mut();
        used[0] += parts.iter().flatten().map(|n| *n as f64).sum::<f64>();
        used[1] += u.cost.unwrap_or_default();
    }
}

impl Scene {
    /// The outermost run that this one is nested in: its budget counts for all.
    fn outermost(&self) -> (Running, Budget) {
        let running =
            |s: &crate::session::Session| Some((s.running.borrow().clone()?, s.state.borrow().settings.budget.clone()));
        let above = self.session.ancestors().filter_map(|s| running(&s)).last();
        above.unwrap_or_else(|| (self.run.clone(), self.session.state.borrow().settings.budget.clone()))
    }

    /// Counts what a reply used.
    pub(super) fn spend(&self, usage: &Usage) {
        self.outermost().0.spent.reply(usage);
    }

    /// Counts the next request, unless it would go over a budget: then the error.
    pub(super) async fn within_budget(&self, target: &Target) -> Result<(), Error> {
        let (run, budget) = self.outermost();
        let next = [self.next_tokens(target), 0.0, 1.0];
        for (i, kind) in KINDS.into_iter().enumerate() {
            let Some(limit) = budget.limits[i] else { continue };
            // Money is known when it is spent: the next request counts for nothing yet.
            let used = run.spent.used.borrow()[i] + next[i];
            let over = if kind == "cost" { used >= limit && used > 0.0 } else { used > limit };
            let facts = json!({"kind": kind, "budget": limit, "used": used});
            if over {
                self.notify("budget_exceeded", || facts.clone()).await;
                let message = format!("The budget of {limit} {} is used up: {used} with the next request.", word(kind));
                return Err(Error::Budget { kind: kind.to_owned(), budget: limit, used, message });
            }
            let mut warned = run.spent.warned.get();
            if used >= NEAR * limit && !warned[i] && used > 0.0 {
                warned[i] = true;
                run.spent.warned.set(warned);
                self.notify("budget_near", || facts.clone()).await;
            }
        }
        run.spent.request();
        Ok(())
    }

    /// An estimate of what the next request sends.
    fn next_tokens(&self, target: &Target) -> f64 {
        let mut projection = self.session.projection.borrow_mut();
        projection.update(&self.session.history);
        let mut prose = projection.counts;
        prose.join(CharCounts::of(&target.frozen.t0));
        prose.join(CharCounts::of(&target.frozen.t1));
        (prose.tokens(Class::Prose) + CharCounts::of(&target.frozen.tools_json).tokens(Class::Json)) as f64
    }
}

fn word(kind: &str) -> &str {
    match kind {
        "cost" => "USD",
        "turns" => "model requests",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_are_given_replace_the_defaults() {
        assert_eq!(Budget::from_json(&Value::Null), Budget::default());
        let budget = Budget::from_json(&json!({"tokens": 500, "cost": null, "turns": 3}));
        assert_eq!(budget.limits, [Some(500.0), None, Some(3.0)]);
        assert_eq!(Budget::from_json(&json!({"tokens": "many"})).limits[0], None);
    }

    #[test]
    fn what_is_unknown_is_not_counted() {
        let spent = Spent::default();
        spent.request();
        spent.reply(&Usage { input: Some(10), cache_read: Some(5), ..Usage::default() });
        assert_eq!(*spent.used.borrow(), [15.0, 0.0, 1.0]);
        spent.reply(&Usage { cost: Some(0.5), ..Usage::default() });
        assert_eq!(*spent.used.borrow(), [15.0, 0.5, 1.0]);
    }
}
