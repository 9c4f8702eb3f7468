//! The risk of R code, from the facts that parsing it gives. Nothing is evaluated.

use std::collections::HashSet;

use super::command::Judged as Command;
use super::facts::{Arg, Call, Facts, Kind};
use super::functions::{Row, Rule, argument, is_url, row, strictest};
use super::member;
use super::risk::{Category, Flag, Risk};
use crate::value::Value;

/// What the analysis may ask of the world around the code.
pub struct Around<'a> {
    /// The size in bytes of the object that the home binds to a name, without evaluating anything.
    pub existing: &'a dyn Fn(&str) -> Option<f64>,
    /// The level of a member of `peter$`, by path.
    pub member_level: &'a dyn Fn(&str) -> Option<u8>,
    /// True for a member that comes with gptr.
    pub built_in: &'a dyn Fn(&str) -> bool,
    /// Rows that `risk_rule` records add.
    pub rules: &'a [Rule],
}

/// The level of a member that does not say.
const MEMBER_LEVEL: u8 = 2;

/// Functions that call what they are given, or look it up by name, the place of it, counted from 0, and the names that
/// it goes by.
const CALLERS: &[(usize, &[&str], &[&str])] = &[
    (
        0,
        GIVEN,
        &[
            "do.call",
            "match.fun",
            "Map",
            "Filter",
            "Reduce",
            "Position",
            "Find",
            "mapply",
            "mcmapply",
            "Vectorize",
            "Negate",
        ],
    ),
    (0, GIVEN, &["dev.copy", "integrate", "optimize", "optimise", "uniroot", "nlm"]),
    (0, LOOKED_UP, &["get", "get0", "mget", "dynGet", "getFunction", "getFromNamespace", "getAnywhere"]),
    (1, LOOKED_UP, &["getExportedValue"]),
    (
        1,
        GIVEN,
        &[
            "lapply",
            "sapply",
            "vapply",
            "rapply",
            "eapply",
            "mclapply",
            "optim",
            "parLapply",
            "parSapply",
            "clusterCall",
        ],
    ),
    (2, GIVEN, &["apply", "tapply", "outer", "aggregate", "by"]),
    (3, GIVEN, &["sweep"]),
];
const GIVEN: &[&str] = &["FUN", "f", "what", "fun", "fn", "func", "device"];
const LOOKED_UP: &[&str] = &["x", "name", "what"];

/// Functions that give back something found under a name that is computed at run time.
const LOOKUPS: &[&str] = &[
    "get",
    "get0",
    "mget",
    "match.fun",
    "dynGet",
    "eval",
    "parse",
    "str2lang",
    "getExportedValue",
    "getFromNamespace",
];

/// From this level on a dangerous function counts whatever the code binds to its name.
const NEVER_SHADOWED: u8 = 2;

/// From this level on a function counts where it is named as a value: below it, columns of data have such names.
const HANDED_ON: u8 = 3;

/// Files that steer gptr, R or git: writing to them is a control action.
const CONTROL_FILES: &[&str] = &[".Rprofile", ".Renviron"];
const CONTROL_FOLDERS: &[&str] = &[".gptr/settings", ".gptr/extensions", ".gptr/plugins", ".git/hooks"];

/// Files that hold keys.
const KEY_FILES: &[&str] = &[".env", ".Renviron", ".netrc", "_netrc", ".pgpass", "id_rsa", "id_ed25519", "id_ecdsa"];

/// The risk of code. Facts that are not of the form are level 3.
pub fn risk_of_code(facts: &Value, around: &Around) -> Risk {
    match Facts::read(facts) {
        Some(facts) => risk_of_facts(&facts, around),
        None => Risk::unknown("code that could not be analysed"),
    }
}

/// The risk of code, from facts that were read.
pub fn risk_of_facts(facts: &Facts, around: &Around) -> Risk {
    if facts.parse_error.is_some() {
        return Risk { parse_error: facts.parse_error.clone(), ..Risk::default() };
    }
    let judge = Judge {
        around,
        functions: set(&facts.functions),
        constants: set(&facts.constants),
        bound: facts.assigns.iter().map(|a| a.name.as_str()).collect(),
    };
    let mut risk = Risk::default();
    judge.assigns(facts, &mut risk);
    for call in &facts.calls {
        judge.call(call, &mut risk);
    }
    for symbol in &facts.symbols {
        judge.symbol(symbol, &mut risk);
    }
    for member in &facts.members {
        let known = if (around.built_in)(&member.path) { member::in_code(&member.path, &member.args) } else { None };
        let Command { level, category, moves } = known.unwrap_or_else(|| {
            let level = (around.member_level)(&member.path).unwrap_or(MEMBER_LEVEL).min(4);
            let category = if level == 0 { Category::Read } else { Category::Unlisted };
            Command { level, category, moves: false }
        });
        risk.members.push((member.path.clone(), level));
        let function = format!("peter${}", member.path.replace('/', "$"));
        risk.add(Flag { moves, ..flag(&member.text, &function, (level, category)) });
    }
    risk
}

fn set(names: &[String]) -> HashSet<&str> {
    names.iter().map(String::as_str).collect()
}

struct Judge<'a> {
    around: &'a Around<'a>,
    functions: HashSet<&'a str>,
    constants: HashSet<&'a str>,
    bound: HashSet<&'a str>,
}

type Judged = (u8, Category);

impl Judge<'_> {
    fn exists(&self, name: &str) -> Option<f64> {
        (self.around.existing)(name)
    }

    fn assigns(&self, facts: &Facts, risk: &mut Risk) {
        let mut seen = HashSet::new();
        for assign in &facts.assigns {
            if assign.super_assign {
                self.note_binding(&assign.name, risk);
                risk.add(flag(&assign.text, "<<-", (2, Category::ObjectWrite)));
            } else if assign.home && seen.insert(assign.name.as_str()) {
                let level = self.note_binding(&assign.name, risk);
                risk.add_binding(flag(&assign.text, "<-", (level, Category::ObjectWrite)));
            }
        }
    }

    /// Notes that a name of the home is bound; 2 when that overwrites something.
    fn note_binding(&self, name: &str, risk: &mut Risk) -> u8 {
        if !risk.assigned.iter().any(|n| n == name) {
            risk.assigned.push(name.to_owned());
        }
        let Some(bytes) = self.exists(name) else { return 1 };
        if !risk.sizes.iter().any(|(n, _)| n == name) {
            risk.sizes.push((name.to_owned(), bytes));
        }
        2
    }

    fn call(&self, call: &Call, risk: &mut Risk) {
        let Some(function) = call.function.as_deref() else {
            risk.add(flag(&call.text, "", (3, Category::Dynamic)));
            return;
        };
        let Some(judged) = self.judge_name(function, call) else { return };
        let judged =
            SPECIAL.iter().find(|s| s.0.contains(&function)).map_or(judged, |s| (s.1)(self, call, judged, risk));
        let path = path_of(call, judged.1);
        let judged = with_path(call, path.as_deref(), judged);
        risk.paths.extend(path.iter().cloned());
        risk.add(Flag { path, ..flag(&call.text, function, judged) });
        self.handed_on(call, risk);
    }

    /// The level of a call by its function's name; `None` when its body stands in the same code and is judged there.
    fn judge_name(&self, function: &str, call: &Call) -> Option<Judged> {
        let listed = row(function, call.package.as_deref(), &call.args);
        let judged = self.with_rules(function, call.package.as_deref(), listed);
        let stands = listed.is_some() && judged.0 >= NEVER_SHADOWED;
        if call.package.is_some() || stands {
            return Some(judged);
        }
        if self.functions.contains(function) {
            return None;
        }
        if call.local {
            return Some((judged.0.max(1), if judged.0 > 1 { judged.1 } else { Category::Unlisted }));
        }
        if self.bound.contains(function) && !self.constants.contains(function) && listed.is_none() {
            return Some((3, Category::Dynamic));
        }
        Some(judged)
    }

    /// The table's word, raised by rules; only rules that say so may lower it.
    fn with_rules(&self, function: &str, package: Option<&str>, listed: Option<&Row>) -> Judged {
        let mut judged = listed.map_or((1, Category::Unlisted), |r| (r.level, r.category));
        for rule in self.around.rules.iter().filter(|r| r.function == function) {
            let same =
                rule.package.is_empty() || package.or(listed.map(|r| r.package)).is_none_or(|p| p == rule.package);
            if same && (rule.level > judged.0 || rule.lower) {
                judged = (rule.level.min(4), rule.category.unwrap_or(judged.1));
            }
        }
        judged
    }

    /// A name that is used as a value: a dangerous function may be called by whoever gets it.
    fn symbol(&self, symbol: &str, risk: &mut Risk) {
        let (package, name) = split(symbol);
        if package.is_none() && self.exists(name).is_some() {
            return;
        }
        let listed = strictest(name, package);
        let judged = self.with_rules(name, package, listed);
        if listed.is_some() && judged.0 >= HANDED_ON {
            risk.add(flag(symbol, name, judged));
        } else if listed.is_none() && package.is_some() {
            risk.doubtful.push(symbol.to_owned());
        }
    }

    /// What a function that calls its argument is given to call.
    fn handed_on(&self, call: &Call, risk: &mut Risk) {
        let function = call.function.as_deref().unwrap_or_default();
        let Some((place, names, _)) = CALLERS.iter().find(|c| c.2.contains(&function)) else { return };
        for (i, arg) in call.args.iter().enumerate() {
            let here = if arg.name.is_empty() { i == *place } else { names.contains(&arg.name.as_str()) };
            if !here {
                continue;
            }
            let symbol = (arg.kind == Kind::Symbol).then_some(&arg.symbol);
            for name in arg.strings.iter().chain(symbol) {
                self.called_by(call, name, risk);
            }
            let looked_up = arg.inside.iter().any(|n| LOOKUPS.contains(&n.as_str()));
            let by_name = matches!(function, "do.call" | "match.fun");
            let qualified = ["::", ":::"].contains(&arg.symbol.as_str());
            if (arg.kind == Kind::Call && (looked_up || by_name) && !qualified) || (by_name && arg.kind == Kind::Other)
            {
                risk.add(flag(&call.text, function, (3, Category::Dynamic)));
            }
        }
    }

    fn called_by(&self, call: &Call, name: &str, risk: &mut Risk) {
        let looks_up = call.function.as_deref().is_some_and(|f| LOOKUPS.contains(&f) && f != "match.fun");
        let listed = row(name, None, &call.args);
        if listed.is_none() && (looks_up || self.functions.contains(name)) {
            return;
        }
        // What these are given to evaluate is not seen here.
        let evaluates = ["local", "with"].contains(&name);
        let judged = if evaluates { (3, Category::Dynamic) } else { self.with_rules(name, None, listed) };
        risk.add(flag(&call.text, name, judged));
    }
}

fn split(symbol: &str) -> (Option<&str>, &str) {
    match symbol.split_once("::") {
        Some((package, name)) => (Some(package), name),
        None => (None, symbol),
    }
}

fn flag(call: &str, function: &str, (level, category): Judged) -> Flag {
    Flag { call: call.to_owned(), function: function.to_owned(), level, category, path: None, moves: false }
}

type Special = fn(&Judge, &Call, Judged, &mut Risk) -> Judged;

/// Functions whose arguments decide more than the table can say.
const SPECIAL: &[(&[&str], Special)] = &[
    (&["rm", "remove"], removal),
    (&["assign"], assignment),
    (&["options"], options),
    (&["Sys.setenv", "Sys.unsetenv"], set_environment),
    (&["Sys.getenv"], get_environment),
    (&["local", "with"], evaluation_elsewhere),
];

/// What binds a name where it is evaluated.
const BINDING: &[&str] = &["<-", "=", "<<-", "for", "assign"];

/// `local(x <- 1)` binds in an environment of its own; `local(x <- 1, e)` and `with(e, x <- 1)` bind in `e`.
fn evaluation_elsewhere(_: &Judge, call: &Call, judged: Judged, _: &mut Risk) -> Judged {
    let binds = |a: &Arg| a.inside.iter().any(|n| BINDING.contains(&n.as_str()));
    let elsewhere = match call.function.as_deref() {
        Some("local") => call.args.len() > 1,
        _ => call.args.iter().any(binds),
    };
    if elsewhere { (judged.0.max(3), Category::Dynamic) } else { judged }
}

/// `rm(list = ls())` empties the home; removing something that exists loses it.
fn removal(judge: &Judge, call: &Call, _: Judged, risk: &mut Risk) -> Judged {
    let list = argument(&call.args, "list", 0);
    if list.is_some_and(|l| l.inside.iter().any(|n| n == "ls" || n == "objects")) {
        return (4, Category::Critical);
    }
    if list.is_some_and(|l| !matches!(l.kind, Kind::Strings | Kind::Null)) {
        return (3, Category::Dynamic);
    }
    let names = call.args.iter().flat_map(|a| a.strings.iter().chain(std::iter::once(&a.symbol)));
    let mut level = if call.args.iter().any(|a| ["envir", "pos"].contains(&a.name.as_str())) { 2 } else { 1 };
    for name in names.filter(|n| !n.is_empty()) {
        if let Some(bytes) = judge.exists(name) {
            risk.sizes.push((name.clone(), bytes));
            level = 2;
        }
    }
    (level, Category::ObjectWrite)
}

/// `assign("x", 1)` binds like `x <- 1`; into another environment, or under a computed name, it may overwrite anything.
fn assignment(judge: &Judge, call: &Call, _: Judged, risk: &mut Risk) -> Judged {
    let elsewhere =
        call.args.iter().any(|a| ["envir", "pos", "inherits"].contains(&a.name.as_str())) || call.args.len() > 2;
    match argument(&call.args, "x", 1).map(|a| a.strings.as_slice()) {
        Some([name]) if !elsewhere => (judge.note_binding(name, risk), Category::ObjectWrite),
        _ => (2, Category::ObjectWrite),
    }
}

/// Setting an option of gptr's is a control action.
fn options(_: &Judge, call: &Call, judged: Judged, _: &mut Risk) -> Judged {
    let names = call.args.iter().flat_map(|a| std::iter::once(&a.name).chain(&a.names));
    if names.into_iter().any(|n| n.starts_with("gptr.")) { (4, Category::Control) } else { judged }
}

fn set_environment(_: &Judge, call: &Call, judged: Judged, _: &mut Risk) -> Judged {
    let names = call.args.iter().flat_map(|a| std::iter::once(&a.name).chain(&a.strings).chain(&a.names));
    if names.into_iter().any(|n| n.starts_with("GPTR_") || is_secret_name(n)) { (4, Category::Control) } else { judged }
}

/// `Sys.getenv()` reads every key there is.
fn get_environment(_: &Judge, call: &Call, judged: Judged, risk: &mut Risk) -> Judged {
    if call.args.is_empty() {
        risk.dumps_environment = true;
        return judged;
    }
    let named: Vec<&String> = call.args.iter().flat_map(|a| &a.strings).filter(|n| is_secret_name(n)).collect();
    risk.secrets.extend(named.iter().map(|n| (*n).clone()));
    if named.is_empty() { judged } else { (1, Category::Secret) }
}

fn is_secret_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PAT"].iter().any(|s| upper.ends_with(s))
}

/// True for a path of a file that steers gptr, R or git.
pub(super) fn is_control_file(path: &str) -> bool {
    let path = path.replace('\\', "/");
    CONTROL_FILES.contains(&file_name(&path)) || CONTROL_FOLDERS.iter().any(|f| path.contains(f))
}

/// True for the name of a file that holds keys.
fn is_key_file(name: &str) -> bool {
    KEY_FILES.contains(&name) || name.starts_with(".env.") || name.ends_with(".pem")
}

/// What the file adds: writing to one that steers is a control action, reading one with keys in it is a mutating read.
fn with_path(call: &Call, path: Option<&str>, judged: Judged) -> Judged {
    let writes = matches!(judged.1, Category::FileWrite | Category::FileDelete);
    if writes && call.args.iter().flat_map(|a| &a.strings).any(|path| is_control_file(path)) {
        return (4, Category::Control);
    }
    let keys = path.map(file_name).is_some_and(is_key_file);
    if keys && judged.1 == Category::Read { (2, Category::Secret) } else { judged }
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or_default()
}

/// The file that a call names: its first literal that looks like one.
fn path_of(call: &Call, category: Category) -> Option<String> {
    const FILES: [Category; 4] = [Category::Read, Category::FileWrite, Category::FileDelete, Category::Control];
    const READERS: [&str; 13] = [
        "readLines",
        "readRDS",
        "scan",
        "read.csv",
        "read.csv2",
        "read.table",
        "read.delim",
        "read.delim2",
        "read.fwf",
        "read.dcf",
        "file",
        "readBin",
        "load",
    ];
    let reader = call.function.as_deref().is_some_and(|f| READERS.contains(&f));
    if !FILES.contains(&category) || (category == Category::Read && !reader) {
        return None;
    }
    let named = ["file", "con", "path", "description", "x", "filename"]
        .iter()
        .find_map(|n| call.args.iter().find(|a| a.name == *n));
    let any = call.args.iter().find(|a| a.kind == Kind::Strings && a.name.is_empty());
    let text = named.filter(|a| a.kind == Kind::Strings).or(any)?.strings.first()?;
    (!text.is_empty() && !is_url(text)).then(|| text.clone())
}

#[cfg(test)]
#[path = "code_tests.rs"]
mod tests;
