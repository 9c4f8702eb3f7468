//! Model records, built from what a provider's spec says of its models.

use crate::error::Error;
use crate::message::Usage;
use crate::value::{HostData, HostValue};

/// Levels of thinking, weakest first.
pub const LEVELS: [&str; 7] = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The level of that name; `none` is another word for `off`.
pub fn level(name: &str) -> Option<&'static str> {
    let name = if name == "none" { "off" } else { name };
    LEVELS.into_iter().find(|level| *level == name)
}

/// How far a model is supported by its maker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Status {
    /// In service.
    #[default]
    Active,
    /// To be switched off.
    Deprecated,
    /// Not final.
    Preview,
}

impl Status {
    /// Its name in R.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Deprecated => "deprecated",
            Status::Preview => "preview",
        }
    }

    fn from_name(name: &str) -> Option<Status> {
        [Status::Active, Status::Deprecated, Status::Preview].into_iter().find(|s| s.as_str() == name)
    }
}

/// Prices per million tokens, for requests of at least `from` tokens. `None` is unknown, never free.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PriceRow {
    /// Tokens of the request from which the row counts.
    pub from: f64,
    /// Service tier.
    pub tier: Option<String>,
    /// Price of input.
    pub input: Option<f64>,
    /// Price of output.
    pub output: Option<f64>,
    /// Price of input read from a cache.
    pub cache_read: Option<f64>,
    /// Price of input written to a cache for five minutes.
    pub cache_write_5m: Option<f64>,
    /// Price of input written to a cache for an hour.
    pub cache_write_1h: Option<f64>,
}

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelRecord {
    /// The provider's id.
    pub provider: String,
    /// The model's id at that provider.
    pub id: String,
    /// A name for people.
    pub name: Option<String>,
    /// The family it belongs to.
    pub family: Option<String>,
    /// Window in tokens.
    pub context: Option<u64>,
    /// Longest answer in tokens.
    pub max_output: Option<u64>,
    /// Whether it can think; `None` is unknown.
    pub reasoning: Option<bool>,
    /// Levels it knows, weakest first; empty when nothing is said.
    pub thinking_levels: Vec<String>,
    /// The level used when none is asked for.
    pub thinking: Option<String>,
    /// What it reads: text, image, pdf; empty when nothing is said.
    pub input: Vec<String>,
    /// Whether it calls tools; `None` is unknown.
    pub tool_call: Option<bool>,
    /// Prices.
    pub prices: Vec<PriceRow>,
    /// Further names.
    pub aliases: Vec<String>,
    /// Whether it runs on this machine or a trusted network.
    pub local: bool,
    /// Its status.
    pub status: Status,
}

/// What a provider's spec says that bears on its models.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProviderModels {
    /// The provider's id.
    pub id: String,
    /// Further names of it.
    pub aliases: Vec<String>,
    /// Window of models that name none.
    pub context: Option<u64>,
    /// Levels of models that name none: those of the spec's `thinking`.
    pub thinking_levels: Vec<String>,
    /// Whether it is this machine or a trusted network, where unknown ids are allowed.
    pub local: bool,
}

impl ModelRecord {
    /// A record that says no more than where the model is.
    pub fn minimal(provider: &ProviderModels, id: &str) -> ModelRecord {
        ModelRecord {
            provider: provider.id.clone(),
            id: id.to_owned(),
            context: provider.context,
            thinking_levels: provider.thinking_levels.clone(),
            local: provider.local,
            ..ModelRecord::default()
        }
    }

    /// `<provider>/<id>`.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// Whether it reads images: said so, or nothing said.
    pub fn takes_images(&self) -> bool {
        self.input.is_empty() || self.input.iter().any(|kind| kind == "image")
    }
}

impl ModelRecord {
    /// What a request cost in USD: prices are per million tokens. Unknown when a count or its price is.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        let input = usage.input? as f64 + usage.cache_read.unwrap_or(0) as f64;
        let row = self.prices.iter().filter(|p| p.from <= input).max_by(|a, b| a.from.total_cmp(&b.from))?;
        let part = |tokens: Option<u64>, price: Option<f64>| match tokens {
            None | Some(0) => Some(0.0),
            Some(n) => price.map(|p| n as f64 * p / 1e6),
        };
        let parts = [
            part(Some(usage.input?), row.input),
            part(Some(usage.output?), row.output),
            part(usage.cache_read, row.cache_read),
            part(usage.cache_write_5m, row.cache_write_5m),
            part(usage.cache_write_1h, row.cache_write_1h),
        ];
        parts.into_iter().sum()
    }
}

impl ProviderModels {
    /// Reads the fields of a provider's spec; `id` counts over its own.
    pub fn from_spec(id: &str, spec: &HostValue) -> ProviderModels {
        let levels = spec.field("thinking").and_then(|t| t.names.as_ref());
        let mut thinking_levels: Vec<String> =
            levels.into_iter().flatten().filter_map(|n| level(n)).map(str::to_owned).collect();
        sort_levels(&mut thinking_levels);
        ProviderModels {
            id: id.to_owned(),
            aliases: strings(spec.field("aliases")),
            context: spec.field("context").and_then(whole),
            thinking_levels,
            local: spec.field("local").and_then(HostValue::as_flag).unwrap_or(false),
        }
    }

    /// Records of a spec's `models`: a character vector, or a list of ids and records. NULL has none.
    ///
    /// # Errors
    /// A spec error (kind `provider`) that names the field: what is neither, a record without an id, an id given twice.
    pub fn records(&self, models: &HostValue) -> Result<Vec<ModelRecord>, Error> {
        let mut records: Vec<ModelRecord> = Vec::with_capacity(models.len());
        let mut seen = std::collections::HashSet::new();
        for (i, item) in self.elements(models)?.iter().enumerate() {
            let record = self.record(item).map_err(|problem| self.wrong(&format!("models[[{}]]", i + 1), problem))?;
            if !seen.insert(record.id.clone()) {
                return Err(self.wrong("models", format!("has \"{}\" twice", record.id)));
            }
            records.push(record);
        }
        Ok(records)
    }

    fn elements(&self, models: &HostValue) -> Result<Vec<HostValue>, Error> {
        match &models.data {
            HostData::Null => Ok(Vec::new()),
            HostData::Character(ids) => Ok(ids.iter().map(|id| HostData::Character(vec![id.clone()]).into()).collect()),
            HostData::List(items) if models.is_plain_list() => Ok(items.clone()),
            _ => Err(self.wrong("models", "must be a character vector or a list of model records")),
        }
    }

    fn record(&self, item: &HostValue) -> Result<ModelRecord, &'static str> {
        let id = item.as_str().or_else(|| item.field("id").and_then(HostValue::as_str)).map(str::trim);
        let id = id.filter(|id| !id.is_empty()).ok_or("must be a non-empty id or a list with one as `id`")?;
        let mut record = ModelRecord::minimal(self, id);
        record.fill(item);
        Ok(record)
    }

    fn wrong(&self, field: &str, problem: impl Into<String>) -> Error {
        Error::spec("provider", &self.id, field, problem)
    }
}

impl ModelRecord {
    /// Takes over the fields that a record in a spec has; what has the wrong type was refused with the spec.
    fn fill(&mut self, item: &HostValue) {
        let text = |name: &str| item.field(name).and_then(HostValue::as_str).map(str::to_owned);
        let flag = |name: &str| item.field(name).and_then(HostValue::as_flag);
        let tokens = |name: &str| item.field(name).and_then(whole);
        self.name = text("name").or_else(|| text("label"));
        self.family = text("family");
        self.context = tokens("context").or(self.context);
        self.max_output = tokens("max_output");
        self.reasoning = flag("reasoning");
        self.tool_call = flag("tool_call");
        self.thinking = text("thinking").and_then(|name| level(&name)).map(str::to_owned);
        self.input = strings(item.field("input"));
        self.aliases = strings(item.field("aliases"));
        self.local = flag("local").unwrap_or(self.local);
        self.status = text("status").and_then(|s| Status::from_name(&s)).unwrap_or_default();
        self.prices = item.field("prices").map(price_rows).unwrap_or_default();
        let named = strings(item.field("thinking_levels"));
        if !named.is_empty() {
            self.thinking_levels = named.iter().filter_map(|name| level(name)).map(str::to_owned).collect();
            sort_levels(&mut self.thinking_levels);
        }
    }
}

fn sort_levels(levels: &mut Vec<String>) {
    levels.sort_by_key(|name| LEVELS.iter().position(|level| level == name));
    levels.dedup();
}

/// The rows of a price table: a data frame, or one row as a named list.
fn price_rows(table: &HostValue) -> Vec<PriceRow> {
    let rows = table.items().map(|columns| columns.iter().map(HostValue::len).max().unwrap_or(0)).unwrap_or(0);
    let number = |name: &str, row: usize| table.field(name).and_then(|column| number_at(column, row));
    let text = |name: &str, row: usize| match table.field(name).map(|column| &column.data) {
        Some(HostData::Character(values)) => values.get(row).cloned().flatten(),
        _ => None,
    };
    (0..rows)
        .map(|row| PriceRow {
            from: number("from", row).unwrap_or(0.0),
            tier: text("tier", row),
            input: number("input", row),
            output: number("output", row),
            cache_read: number("cache_read", row),
            cache_write_5m: number("cache_write_5m", row),
            cache_write_1h: number("cache_write_1h", row),
        })
        .collect()
}

fn number_at(column: &HostValue, row: usize) -> Option<f64> {
    let value = match &column.data {
        HostData::Integer(values) => values.get(row).copied().flatten().map(|i| i as f64),
        HostData::Double(values) => values.get(row).copied().flatten(),
        _ => None,
    };
    value.filter(|x| x.is_finite())
}

fn strings(value: Option<&HostValue>) -> Vec<String> {
    match value.map(|v| &v.data) {
        Some(HostData::Character(items)) => items.iter().flatten().cloned().collect(),
        _ => Vec::new(),
    }
}

/// A positive whole number of tokens.
fn whole(value: &HostValue) -> Option<u64> {
    value.as_number().filter(|x| *x >= 1.0 && x.fract() == 0.0 && *x < 9_007_199_254_740_992.0).map(|x| x as u64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn provider() -> ProviderModels {
        ProviderModels { id: "corp".into(), context: Some(200_000), ..ProviderModels::default() }
    }

    #[test]
    fn ids_alone_take_the_providers_context() {
        let records = provider().records(&HostValue::strings(["big-model", "small-model"])).unwrap();
        assert_eq!(records[1].reference(), "corp/small-model");
        assert_eq!((records[0].context, records[0].reasoning), (Some(200_000), None));
    }

    #[test]
    fn a_record_says_more() {
        let prices = HostValue::named([
            ("from", HostData::Double(vec![Some(0.0), Some(2e5)]).into()),
            ("input", HostData::Double(vec![Some(3.0), None]).into()),
        ]);
        let record = HostValue::named([
            ("id", "corp-large".into()),
            ("context", 128_000.into()),
            ("label", "Large".into()),
            ("reasoning", true.into()),
            ("thinking_levels", HostValue::strings(["high", "none", "low"])),
            ("aliases", HostValue::strings(["large"])),
            ("status", "preview".into()),
            ("prices", prices),
        ]);
        let records = provider().records(&HostValue::list([record, "plain".into()])).unwrap();
        assert_eq!(records[0].context, Some(128_000));
        assert_eq!(records[0].thinking_levels, ["off", "low", "high"]);
        assert_eq!((records[0].name.as_deref(), records[0].status.as_str()), (Some("Large"), "preview"));
        assert_eq!(
            records[0].prices.iter().map(|p| (p.from, p.input)).collect::<Vec<_>>(),
            [(0.0, Some(3.0)), (200_000.0, None)]
        );
        assert_eq!(records[1].context, Some(200_000));
    }

    #[test]
    fn what_is_no_model_is_named_by_its_place() {
        let field = |models: HostValue| match provider().records(&models) {
            Err(Error::InvalidSpec { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        assert_eq!(field(HostValue::strings(["a", " "])), "models[[2]]");
        assert_eq!(field(HostValue::strings(["a", "a"])), "models");
        assert_eq!(field(HostValue::list([HostValue::named([("name", HostValue::from("x"))])])), "models[[1]]");
        assert_eq!(field(HostValue::from(true)), "models");
        assert_eq!(provider().records(&HostValue::null()), Ok(vec![]));
    }

    #[test]
    fn a_providers_spec_gives_its_defaults() {
        let fragments = HostValue::named([("high", HostValue::null()), ("none", HostValue::null())]);
        let spec = HostValue::named([
            ("aliases", "c".into()),
            ("context", HostValue::from(1e5)),
            ("thinking", fragments),
            ("local", true.into()),
        ]);
        let provider = ProviderModels::from_spec("corp", &spec);
        assert_eq!((provider.context, provider.local), (Some(100_000), true));
        assert_eq!(provider.thinking_levels, ["off", "high"]);
        assert!(provider.records(&"m".into()).unwrap()[0].local);
    }
}
