//! From what a person writes to the model that is meant: `provider/id[:thinking]`, an alias, or a bare name.

use super::record::{LEVELS, ModelRecord, ProviderModels, level};
use crate::error::Error;

/// Providers that serve models of their own; of several that offer a model they come first.
const MAKERS: [&str; 6] = ["anthropic", "openai", "google", "deepseek", "mistral", "xai"];
/// Shorter pieces of a name match too much.
const SHORTEST_PIECE: usize = 3;
/// Most suggestions in an error.
const SUGGESTIONS: usize = 3;
/// Longer references are no slip of the pen, and would make distances costly.
const LONGEST_COMPARED: usize = 128;

/// A model that a reference was resolved to.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The model.
    pub model: ModelRecord,
    /// The level asked for, one that the model has.
    pub thinking: Option<String>,
    /// What the person should know: the level was changed.
    pub notice: Option<String>,
}

/// How well a name fits, best first.
type Fit = fn(&ModelRecord, &str) -> bool;

const WITHIN_PROVIDER: [Fit; 5] = [exact, normalised, alias, family, piece];
const OVER_ALL: [Fit; 4] = [exact, normalised, alias, family_or_piece];

/// Resolves a reference against the models known. Several records of one reference: the first counts.
///
/// A text that is a provider's id means its first model. The part after the last `:` is a level only when nothing else
/// fits, as ids may hold `/` and `:`. An id that a local provider does not list is taken as it stands.
///
/// # Errors
/// `UnknownModel` with at most three suggestions: near names, or the models between which the reference can't decide.
pub fn resolve(
    reference: &str,
    models: &[ModelRecord],
    providers: &[ProviderModels],
    has_key: &dyn Fn(&str) -> bool,
) -> Result<Resolved, Error> {
    let catalog = Catalog { models, providers, has_key };
    let text = reference.trim();
    if let Some(model) = catalog.find(text, reference)? {
        return Ok(Resolved { model, thinking: None, notice: None });
    }
    let (name, asked) = split_level(text);
    if asked.is_some()
        && let Some(model) = catalog.find(name, reference)?
    {
        return Ok(with_level(model, asked));
    }
    match catalog.made_up(name) {
        Some(model) => Ok(with_level(model, asked)),
        None => Err(catalog.unknown(text, name)),
    }
}

/// Takes a level off the end of a reference.
fn split_level(text: &str) -> (&str, Option<&'static str>) {
    match text.rsplit_once(':').map(|(name, end)| (name, level(end))) {
        Some((name, Some(asked))) if !name.is_empty() => (name, Some(asked)),
        _ => (text, None),
    }
}

fn with_level(model: ModelRecord, asked: Option<&'static str>) -> Resolved {
    let Some(asked) = asked else { return Resolved { model, thinking: None, notice: None } };
    let used = clamp(&model, asked);
    let notice =
        (used != asked).then(|| format!("{} has no thinking level \"{asked}\": using \"{used}\".", model.reference()));
    Resolved { model, thinking: Some(used.to_owned()), notice }
}

/// The level that the model has: the one asked for, else the next one up, else the next one down. A model that says
/// nothing of levels takes each, unless it says that it can't think.
pub fn clamp(model: &ModelRecord, asked: &'static str) -> &'static str {
    let cannot = model.reasoning == Some(false);
    if model.thinking_levels.is_empty() {
        return if cannot { LEVELS[0] } else { asked };
    }
    let has = |name: &&&str| model.thinking_levels.iter().any(|own| own == **name);
    let at = LEVELS.iter().position(|name| *name == asked).unwrap_or(0);
    let (below, above) = LEVELS.split_at(at);
    above.iter().find(has).or_else(|| below.iter().rev().find(has)).copied().unwrap_or(asked)
}

struct Catalog<'a> {
    models: &'a [ModelRecord],
    providers: &'a [ProviderModels],
    has_key: &'a dyn Fn(&str) -> bool,
}

impl<'a> Catalog<'a> {
    /// The model that `text` names; `None` when nothing fits.
    fn find(&self, text: &str, reference: &str) -> Result<Option<ModelRecord>, Error> {
        if let Some(first) = self.provider(text).and_then(|p| self.of(p).next()) {
            return Ok(Some(first.clone()));
        }
        let whole = self.fitting(self.models.iter(), |m| m.reference() == text || m.aliases.iter().any(|a| a == text));
        if !whole.is_empty() {
            return self.one_of(whole, reference).map(Some);
        }
        let found = match self.within(text) {
            Some((provider, id)) => first_fit(&WITHIN_PROVIDER, |fit| self.fitting(self.of(provider), |m| fit(m, id))),
            None => first_fit(&OVER_ALL, |fit| self.fitting(self.models.iter(), |m| fit(m, text))),
        };
        if found.is_empty() { Ok(None) } else { self.one_of(found, reference).map(Some) }
    }

    fn provider(&self, name: &str) -> Option<&'a ProviderModels> {
        let by_id = self.providers.iter().find(|p| p.id == name);
        by_id.or_else(|| self.providers.iter().find(|p| p.aliases.iter().any(|a| a == name)))
    }

    fn of(&self, provider: &'a ProviderModels) -> impl Iterator<Item = &'a ModelRecord> {
        self.models.iter().filter(move |m| m.provider == provider.id)
    }

    /// The provider before the first `/`, and the rest.
    fn within<'t>(&self, text: &'t str) -> Option<(&'a ProviderModels, &'t str)> {
        let (provider, id) = text.split_once('/')?;
        Some((self.provider(provider)?, id))
    }

    /// Fitting records, one a reference.
    fn fitting(
        &self,
        models: impl Iterator<Item = &'a ModelRecord>,
        fits: impl Fn(&ModelRecord) -> bool,
    ) -> Vec<&'a ModelRecord> {
        let mut seen = std::collections::HashSet::new();
        models.filter(|m| fits(m)).filter(|m| seen.insert((&m.provider, &m.id))).collect()
    }

    /// Decides between candidates: the only provider with a key, then the maker of the model.
    fn one_of(&self, mut candidates: Vec<&'a ModelRecord>, reference: &str) -> Result<ModelRecord, Error> {
        narrow(&mut candidates, |m| (self.has_key)(&m.provider));
        narrow(&mut candidates, |m| MAKERS.contains(&m.provider.as_str()));
        match candidates.as_slice() {
            [only] => Ok((*only).clone()),
            _ => Err(ambiguous(reference, &candidates)),
        }
    }

    /// A minimal record for an id that a local provider does not list.
    fn made_up(&self, text: &str) -> Option<ModelRecord> {
        let (provider, id) = self.within(text)?;
        (provider.local && !id.is_empty()).then(|| ModelRecord::minimal(provider, id))
    }

    fn unknown(&self, text: &str, name: &str) -> Error {
        let suggestions = self.near(name);
        let hint = match suggestions.as_slice() {
            [] => "gptr_models() lists what there is.".to_owned(),
            some => format!("Did you mean {}?", alternatives(some)),
        };
        Error::UnknownModel {
            reference: text.to_owned(),
            suggestions,
            message: format!("There is no model \"{text}\". {hint}"),
        }
    }

    /// References near to a name: within the provider when it names one, else by whole reference or by id.
    fn near(&self, name: &str) -> Vec<String> {
        if name.chars().count() > LONGEST_COMPARED {
            return Vec::new();
        }
        let inside = self.within(name);
        let mut ranked: Vec<(usize, String)> = Vec::new();
        for model in self.models.iter().filter(|m| inside.is_none_or(|(provider, _)| m.provider == provider.id)) {
            let distance = match inside {
                Some((_, id)) => near_enough(id, &model.id),
                None => {
                    [near_enough(name, &model.id), near_enough(name, &model.reference())].into_iter().flatten().min()
                }
            };
            ranked.extend(distance.map(|d| (d, model.reference())));
        }
        ranked.sort_by_key(|(distance, _)| *distance);
        let mut names: Vec<String> = Vec::new();
        for (_, name) in ranked {
            if names.len() < SUGGESTIONS && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// The candidates of the best fit that has any.
fn first_fit<'a>(fits: &[Fit], candidates: impl Fn(Fit) -> Vec<&'a ModelRecord>) -> Vec<&'a ModelRecord> {
    fits.iter().map(|fit| candidates(*fit)).find(|found| !found.is_empty()).unwrap_or_default()
}

/// Of several candidates keeps those that have a property, when any has.
fn narrow(candidates: &mut Vec<&ModelRecord>, has: impl Fn(&ModelRecord) -> bool) {
    if candidates.len() > 1 && candidates.iter().any(|m| has(m)) {
        candidates.retain(|m| has(m));
    }
}

fn ambiguous(reference: &str, candidates: &[&ModelRecord]) -> Error {
    let suggestions: Vec<String> = candidates.iter().take(SUGGESTIONS).map(|m| m.reference()).collect();
    let message = format!("\"{reference}\" may be {}: name one.", alternatives(&suggestions));
    Error::UnknownModel { reference: reference.to_owned(), suggestions, message }
}

fn alternatives(names: &[String]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(" or ")
}

fn exact(model: &ModelRecord, name: &str) -> bool {
    model.id == name
}

fn normalised(model: &ModelRecord, name: &str) -> bool {
    normal(&model.id) == normal(name)
}

fn alias(model: &ModelRecord, name: &str) -> bool {
    let name = normal(name);
    model.aliases.iter().any(|alias| normal(alias) == name)
}

fn family(model: &ModelRecord, name: &str) -> bool {
    model.family.as_deref().is_some_and(|family| normal(family) == normal(name))
}

fn piece(model: &ModelRecord, name: &str) -> bool {
    name.chars().count() >= SHORTEST_PIECE && normal(&model.id).contains(&normal(name))
}

fn family_or_piece(model: &ModelRecord, name: &str) -> bool {
    family(model, name) || piece(model, name)
}

/// A name without what people write differently: case, and `.`, `_` or a blank for `-`.
fn normal(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).map(|c| if matches!(c, '.' | '_' | ' ') { '-' } else { c }).collect()
}

/// The edit distance of two names, when it is small against their length.
fn near_enough(a: &str, b: &str) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (normal(a).chars().collect(), normal(b).chars().collect());
    let limit = (a.len().max(b.len()) / 3).max(1);
    if b.len() > 2 * LONGEST_COMPARED || a.len().abs_diff(b.len()) > limit {
        return None;
    }
    Some(edit_distance(&a, &b)).filter(|distance| *distance <= limit)
}

/// Levenshtein's distance, one row at a time.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        let mut left = i + 1;
        next.push(left);
        for (pair, to) in row.windows(2).zip(b) {
            let (corner, above) = match pair {
                [corner, above] => (*corner, *above),
                _ => continue,
            };
            left = (corner + usize::from(from != to)).min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(a.len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn provider(id: &str, local: bool) -> ProviderModels {
        ProviderModels { id: id.into(), local, ..ProviderModels::default() }
    }

    fn model(provider: &str, id: &str) -> ModelRecord {
        ModelRecord { provider: provider.into(), id: id.into(), ..ModelRecord::default() }
    }

    fn providers() -> Vec<ProviderModels> {
        let mut all: Vec<_> =
            [("anthropic", false), ("openrouter", false), ("groq", false), ("ollama", true), ("empty", false)]
                .map(|(id, local)| provider(id, local))
                .into();
        all[0].aliases = vec!["claude".into()];
        all
    }

    fn models() -> Vec<ModelRecord> {
        let levels = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        vec![
            ModelRecord {
                aliases: vec!["opus".into()],
                thinking_levels: levels(&["low", "high"]),
                ..model("anthropic", "claude-opus-4.5")
            },
            ModelRecord {
                family: Some("haiku".into()),
                reasoning: Some(false),
                ..model("anthropic", "claude-haiku-4")
            },
            model("openrouter", "meta/llama-3:free"),
            model("openrouter", "gpt-oss-20b"),
            model("groq", "gpt-oss-20b"),
            model("ollama", "qwen3:8b"),
        ]
    }

    fn with_keys(reference: &str, keys: &[&str]) -> Result<Resolved, Error> {
        resolve(reference, &models(), &providers(), &|id| keys.contains(&id))
    }

    fn found(reference: &str) -> String {
        with_keys(reference, &[]).map(|r| r.model.reference()).unwrap_or_else(|e| format!("{e}"))
    }

    #[test]
    fn a_whole_reference_or_an_alias_is_itself() {
        assert_eq!(found("anthropic/claude-opus-4.5"), "anthropic/claude-opus-4.5");
        assert_eq!(found("opus"), "anthropic/claude-opus-4.5");
    }

    #[test]
    fn a_provider_alone_means_its_first_model() {
        assert_eq!(found("anthropic"), "anthropic/claude-opus-4.5");
        assert_eq!(found("claude"), "anthropic/claude-opus-4.5");
        assert!(matches!(with_keys("empty", &[]), Err(Error::UnknownModel { .. })));
    }

    #[test]
    fn within_a_provider_names_fit_by_degrees() {
        assert_eq!(found("anthropic/Claude_Opus 4-5"), "anthropic/claude-opus-4.5");
        assert_eq!(found("claude/OPUS"), "anthropic/claude-opus-4.5");
        assert_eq!(found("anthropic/haiku"), "anthropic/claude-haiku-4");
        assert_eq!(found("anthropic/opus-4"), "anthropic/claude-opus-4.5");
        assert!(found("anthropic/op").starts_with("There is no model"));
    }

    #[test]
    fn ids_may_hold_slashes_and_colons() {
        assert_eq!(found("openrouter/meta/llama-3:free"), "openrouter/meta/llama-3:free");
        assert_eq!(found("meta/llama-3:free"), "openrouter/meta/llama-3:free");
        assert_eq!(found("qwen3:8b"), "ollama/qwen3:8b");
    }

    #[test]
    fn ties_go_to_the_provider_with_a_key_then_to_the_maker() {
        assert_eq!(with_keys("gpt-oss-20b", &["groq"]).unwrap().model.provider, "groq");
        let error = with_keys("gpt-oss-20b", &["groq", "openrouter"]).unwrap_err();
        let Error::UnknownModel { suggestions, .. } = error else { panic!() };
        assert_eq!(suggestions, ["openrouter/gpt-oss-20b", "groq/gpt-oss-20b"]);
        let both = [model("openrouter", "m-one"), model("anthropic", "m-one")];
        assert_eq!(resolve("m-one", &both, &providers(), &|_| false).unwrap().model.provider, "anthropic");
    }

    #[test]
    fn a_level_is_taken_off_only_when_nothing_matched_and_is_clamped_up_then_down() {
        let thinking =
            |reference: &str| with_keys(reference, &[]).map(|r| (r.thinking.unwrap(), r.notice.is_some())).unwrap();
        assert_eq!(thinking("opus:high"), ("high".into(), false));
        assert_eq!(thinking("opus:medium"), ("high".into(), true));
        assert_eq!(thinking("anthropic/claude-opus-4.5:max"), ("high".into(), true));
        assert_eq!(thinking("opus:none"), ("low".into(), true));
        assert_eq!(thinking("anthropic/haiku:low"), ("off".into(), true));
        assert_eq!(thinking("groq/gpt-oss-20b:xhigh"), ("xhigh".into(), false));
        assert_eq!(with_keys("qwen3:8b", &[]).unwrap().thinking, None);
    }

    #[test]
    fn a_local_provider_takes_unknown_ids() {
        let resolved = with_keys("ollama/phi4:mini", &[]).unwrap();
        assert_eq!((resolved.model.id.as_str(), resolved.model.local, resolved.thinking), ("phi4:mini", true, None));
        let resolved = with_keys("ollama/phi4:high", &[]).unwrap();
        assert_eq!((resolved.model.id.as_str(), resolved.thinking.as_deref()), ("phi4", Some("high")));
        assert!(with_keys("ollama/", &[]).is_err());
    }

    #[test]
    fn an_unknown_name_gets_near_ones() {
        let suggestions = |reference: &str| match with_keys(reference, &[]) {
            Err(Error::UnknownModel { suggestions, .. }) => suggestions,
            other => panic!("{other:?}"),
        };
        assert_eq!(suggestions("anthropic/claud-opsu-4.5"), ["anthropic/claude-opus-4.5"]);
        assert_eq!(suggestions("gpt-ossx-20b"), ["openrouter/gpt-oss-20b", "groq/gpt-oss-20b"]);
        assert!(suggestions("zzzzzz").is_empty() && suggestions("").is_empty());
        assert!(suggestions(&"long".repeat(10_000)).is_empty());
    }

    #[test]
    fn distances_are_levenshteins() {
        let distance = |a: &str, b: &str| edit_distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!(
            [distance("kitten", "sitting"), distance("", "abc"), distance("abc", ""), distance("a", "a")],
            [3, 3, 3, 0]
        );
    }
}
