//! From the provider records of a session to models: look-up, resolution, listing.

use std::rc::Rc;

use crate::error::Error;
use crate::model::{self, ModelRecord, ProviderModels, Resolved};
use crate::registry::store::{Record, Snapshot};
use crate::session::ModelChoice;
use crate::value::{HostValue, Value, json};

/// The providers that a session sees, with their models.
pub struct Known {
    providers: Vec<ProviderModels>,
    models: Vec<ModelRecord>,
}

impl Known {
    /// Reads the provider records of a snapshot, the strongest first.
    pub fn of(snapshot: &Snapshot) -> Self {
        let mut known = Known { providers: Vec::new(), models: Vec::new() };
        let mut records = snapshot.list("provider");
        records.sort_by_key(|r| (r.rank, r.seq));
        for record in records.iter().filter(|r| r.text("type") != Some("classifier")) {
            let provider = ProviderModels::from_spec(&record.key, &record.spec);
            if let Some(models) = record.spec.field("models") {
                known.models.extend(provider.records(models).unwrap_or_default());
            }
            known.providers.push(provider);
        }
        known
    }

    /// The model that a reference means.
    ///
    /// # Errors
    /// `UnknownModel`; `InvalidIdentifier` never.
    pub fn resolve(&self, reference: &str) -> Result<Resolved, Error> {
        if let Some(provider) = self.providers.iter().find(|p| p.id == reference)
            && !self.models.iter().any(|m| m.provider == provider.id)
        {
            return Err(Error::UnknownModel {
                reference: reference.to_owned(),
                suggestions: Vec::new(),
                message: format!(
                    "Provider '{reference}' has no models: give it `models =`, or name one as \"{reference}/<id>\"."
                ),
            });
        }
        model::resolve(reference, &self.models, &self.providers, &|_| false)
    }

    /// The model to use when nothing names one: the first of the strongest provider.
    ///
    /// # Errors
    /// `NoKey` (provider NA) when there is none.
    pub fn default_model(&self) -> Result<Resolved, Error> {
        match self.models.first() {
            Some(model) => Ok(Resolved { model: model.clone(), thinking: None, notice: None }),
            None => Err(Error::NoKey {
                provider: None,
                variables: Vec::new(),
                message: "No model: register a provider with gptr_register(gptr_provider(...)) and name one of its \
                          models, peter(model = \"provider/id\") or options(gptr.model = )."
                    .to_owned(),
            }),
        }
    }

    /// The rows of `gptr_models()`.
    pub fn rows(&self, query: Option<&str>, provider: Option<&str>) -> Value {
        let rows = model::listing(&self.models, query, provider);
        Value::Array(
            rows.iter()
                .map(|r| {
                    json!({
                        "ref": r.reference, "provider": r.provider, "name": r.name, "context": r.context,
                        "max_output": r.max_output, "input_price": r.input_price, "output_price": r.output_price,
                        "reasoning": r.reasoning, "aliases": r.aliases, "status": r.status
                    })
                })
                .collect(),
        )
    }
}

/// Provider record and model of a choice.
///
/// # Errors
/// `UnknownModel` when the provider or the model is gone.
pub fn lookup(snapshot: &Snapshot, choice: &ModelChoice) -> Result<(Rc<Record>, ModelRecord), Error> {
    let gone = || Error::UnknownModel {
        reference: choice.reference(),
        suggestions: Vec::new(),
        message: format!("The model {} is not registered any more.", choice.reference()),
    };
    let provider = snapshot.winner("provider", &choice.provider).ok_or_else(gone)?;
    if provider.text("type") == Some("classifier") {
        let message = format!("{} is a classifier: a classifier answers System 1 only.", choice.reference());
        return Err(Error::UnknownModel { reference: choice.reference(), suggestions: Vec::new(), message });
    }
    let facts = ProviderModels::from_spec(&provider.key, &provider.spec);
    let records = facts.records(provider.spec.field("models").unwrap_or(&HostValue::null()))?;
    let model = records.into_iter().find(|m| m.id == choice.id);
    let model = model.or_else(|| facts.local.then(|| ModelRecord::minimal(&facts, &choice.id))).ok_or_else(gone)?;
    Ok((provider, model))
}

impl From<Resolved> for ModelChoice {
    fn from(r: Resolved) -> Self {
        ModelChoice { provider: r.model.provider, id: r.model.id, thinking: r.thinking }
    }
}
