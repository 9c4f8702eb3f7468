//! The listing of models: one row a model.

use super::record::{ModelRecord, PriceRow};

/// A row of `gptr_models()`; `None` is NA.
#[derive(Debug, Clone, PartialEq)]
pub struct ListingRow {
    /// `<provider>/<id>`.
    pub reference: String,
    /// The provider's id.
    pub provider: String,
    /// The name for people, else the id.
    pub name: String,
    /// Window in tokens.
    pub context: Option<u64>,
    /// Longest answer in tokens.
    pub max_output: Option<u64>,
    /// Price of a million tokens of input.
    pub input_price: Option<f64>,
    /// Price of a million tokens of output.
    pub output_price: Option<f64>,
    /// Whether it can think.
    pub reasoning: Option<bool>,
    /// Further names, joined by commas.
    pub aliases: String,
    /// active, deprecated or preview.
    pub status: &'static str,
}

/// The models that a query finds, in the order given: each of its words is in the reference, name, family, an alias or
/// the status, case aside. `provider` keeps those of one provider.
pub fn listing(models: &[ModelRecord], query: Option<&str>, provider: Option<&str>) -> Vec<ListingRow> {
    let words: Vec<String> = query.unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
    let wanted = |m: &&ModelRecord| provider.is_none_or(|p| m.provider == p) && matches(m, &words);
    models.iter().filter(wanted).map(row).collect()
}

fn matches(model: &ModelRecord, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let mut text = format!("{}\n{}", model.reference(), model.status.as_str());
    for more in model.name.iter().chain(&model.family).chain(&model.aliases) {
        text.push('\n');
        text.push_str(more);
    }
    let text = text.to_lowercase();
    words.iter().all(|word| text.contains(word))
}

fn row(model: &ModelRecord) -> ListingRow {
    let price = base_price(model);
    ListingRow {
        reference: model.reference(),
        provider: model.provider.clone(),
        name: model.name.clone().unwrap_or_else(|| model.id.clone()),
        context: model.context,
        max_output: model.max_output,
        input_price: price.and_then(|p| p.input),
        output_price: price.and_then(|p| p.output),
        reasoning: model.reasoning,
        aliases: model.aliases.join(", "),
        status: model.status.as_str(),
    }
}

/// The row that counts for a short request of the ordinary tier.
fn base_price(model: &ModelRecord) -> Option<&PriceRow> {
    let ordinary = |p: &&PriceRow| p.tier.as_deref().is_none_or(|tier| matches!(tier, "" | "default" | "standard"));
    let lowest = |rows: &mut dyn Iterator<Item = &'_ PriceRow>| rows.map(|p| p.from).min_by(f64::total_cmp);
    let from = lowest(&mut model.prices.iter().filter(ordinary));
    model.prices.iter().filter(ordinary).find(|p| Some(p.from) == from)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn models() -> Vec<ModelRecord> {
        let price = |from, tier: Option<&str>, input| PriceRow {
            from,
            tier: tier.map(str::to_owned),
            input: Some(input),
            ..PriceRow::default()
        };
        vec![
            ModelRecord {
                provider: "corp".into(),
                id: "large".into(),
                context: Some(128_000),
                aliases: vec!["big".into(), "xl".into()],
                prices: vec![price(2e5, None, 6.0), price(0.0, Some("batch"), 1.0), price(0.0, None, 3.0)],
                ..ModelRecord::default()
            },
            ModelRecord {
                provider: "lab".into(),
                id: "small".into(),
                name: Some("Small One".into()),
                ..ModelRecord::default()
            },
        ]
    }

    #[test]
    fn a_row_has_the_ordinary_price_and_unknown_stays_unknown() {
        let rows = listing(&models(), None, None);
        assert_eq!(
            (rows[0].reference.as_str(), rows[0].input_price, rows[0].output_price),
            ("corp/large", Some(3.0), None)
        );
        assert_eq!((rows[1].name.as_str(), rows[1].context, rows[1].status), ("Small One", None, "active"));
        assert_eq!(rows[0].aliases, "big, xl");
    }

    #[test]
    fn a_query_wants_all_its_words_and_a_provider_only_its_own() {
        let found =
            |query, provider| listing(&models(), query, provider).into_iter().map(|r| r.reference).collect::<Vec<_>>();
        assert_eq!(found(Some("BIG corp"), None), ["corp/large"]);
        assert_eq!(found(Some("big lab"), None), Vec::<String>::new());
        assert_eq!(found(None, Some("lab")), ["lab/small"]);
        assert_eq!(found(Some(" "), None).len(), 2);
    }
}
