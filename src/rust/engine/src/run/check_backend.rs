//! The checks of a backend: a probe starts, is cancelled, and leaves no process behind.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{Check, Row};
use crate::meaning::Role;
use crate::value::{Value, json};

/// How long a cancelled probe's processes may take to end.
const GRACE: Duration = Duration::from_secs(2);
/// Seconds between two looks at the processes.
const PAUSE: f64 = 0.05;
/// Processes that a row names, at most.
const NAMED: usize = 5;

type Processes = BTreeSet<String>;

impl Check {
    pub(super) async fn backend(&self, target: &str, rows: &mut Vec<Row>) {
        let row = |check: &str, problem: Option<String>| {
            Row::new(target, check, problem.is_none(), problem.unwrap_or_default())
        };
        let Some(before) = self.processes(0.0, &Processes::new()).await else {
            rows.push(row("backend.processes", Some("child processes can't be observed on this system".to_owned())));
            return;
        };
        let started = self.probe("backend_start").await;
        let running = started.is_none();
        rows.push(row("backend.start", started));
        let mut seen = self.processes(0.0, &Processes::new()).await.unwrap_or_default();
        if running {
            rows.push(row("backend.cancel", self.probe("backend_cancel").await));
        }
        let left = self.left_after(&before, &mut seen).await;
        rows.push(row("backend.processes", left));
    }

    /// Starts or cancels the probe, whose handle stays with the host. What went wrong, if anything.
    async fn probe(&self, service: &str) -> Option<String> {
        let reply = self.ask_host(service, Role::Backend, vec![json!(self.record)]).await;
        reply.result().err().map(|failed| failed.message)
    }

    /// Waits for the processes that came since `before` to end; names those that did not.
    async fn left_after(&self, before: &Processes, seen: &mut Processes) -> Option<String> {
        let until = Instant::now() + GRACE;
        loop {
            let Some(now) = self.processes(PAUSE, seen).await else {
                return Some("child processes can't be observed any more".to_owned());
            };
            let left: Vec<&str> = now.difference(before).map(String::as_str).collect();
            if left.is_empty() {
                return None;
            }
            if Instant::now() >= until {
                let named = left.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
                return Some(format!("{} process(es) still run 2 s after cancel: {named}", left.len()));
            }
            seen.extend(now);
        }
    }

    /// After a pause of some seconds: the child processes, and those of `also` that are alive wherever they hang now.
    async fn processes(&self, pause: f64, also: &Processes) -> Option<Processes> {
        let reply = self.ask_host("child_processes", Role::Backend, vec![json!(pause), json!(also)]).await;
        let found = reply.result().ok()?.to_json().ok()?;
        let list = found.as_object()?.get("processes")?.as_array()?.clone();
        Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }
}
