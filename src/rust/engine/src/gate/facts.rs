//! The facts that a host takes of R code by parsing it.
//!
//! Everything is read leniently in form (a vector of one may come as a scalar) and strictly in content: what is missing
//! can't lower a risk, since [`Facts::read`] refuses facts without their parts.

use crate::value::Value;

/// What one piece of code calls and binds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// The syntax error.
    pub parse_error: Option<String>,
    /// The calls, in the order of the text.
    pub calls: Vec<Call>,
    /// The bindings.
    pub assigns: Vec<Assign>,
    /// Names bound to nothing but function literals.
    pub functions: Vec<String>,
    /// Names bound to nothing but constants.
    pub constants: Vec<String>,
    /// Names used as values, with `pkg::` where that was written.
    pub symbols: Vec<String>,
    /// Calls of members of `peter$`.
    pub members: Vec<Member>,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Call {
    /// The function; `None` when it is computed.
    pub function: Option<String>,
    /// The package that was written.
    pub package: Option<String>,
    /// The call as one short line.
    pub text: String,
    /// Its arguments.
    pub args: Vec<Arg>,
    /// True when the name is an argument or a local variable of a function around it.
    pub local: bool,
}

/// One argument of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Arg {
    /// Its name, or empty.
    pub name: String,
    /// What stands there.
    pub kind: Kind,
    /// Literal strings.
    pub strings: Vec<String>,
    /// The symbol, or the function of a call.
    pub symbol: String,
    /// Names of a call's own arguments.
    pub names: Vec<String>,
    /// All names inside a call.
    pub inside: Vec<String>,
}

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Nothing, as in `x[1, ]`.
    Missing,
    /// One or more literal strings.
    Strings,
    /// A name.
    Symbol,
    /// A function literal.
    Function,
    /// A call.
    Call,
    /// NULL.
    Null,
    /// Any other constant, and whatever is not known.
    #[default]
    Other,
}

/// One binding.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Assign {
    /// The name.
    pub name: String,
    /// True for `<<-`.
    pub super_assign: bool,
    /// False when it is local to a function.
    pub home: bool,
    /// The assignment as one short line.
    pub text: String,
}

/// One call of a member of `peter$`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Member {
    /// Its path, as `demo/add`.
    pub path: String,
    /// The call as one short line.
    pub text: String,
    /// Its arguments.
    pub args: Vec<Arg>,
}

impl Facts {
    /// Reads what a host handed over; `None` when it is not of the form.
    pub fn read(value: &Value) -> Option<Self> {
        Some(Facts {
            parse_error: value.get("parse_error")?.as_str().map(str::to_owned),
            calls: list(value, "calls")?.iter().map(call).collect::<Option<_>>()?,
            assigns: list(value, "assigns")?.iter().map(assign).collect::<Option<_>>()?,
            functions: strings(value.get("functions")?),
            constants: strings(value.get("constants")?),
            symbols: strings(value.get("symbols")?),
            members: list(value, "members")?.iter().map(member).collect::<Option<_>>()?,
        })
    }
}

fn list<'a>(value: &'a Value, name: &str) -> Option<&'a [Value]> {
    value.get(name)?.as_array().map(Vec::as_slice)
}

/// A character vector: an array, a scalar, or nothing.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(s) => vec![s.clone()],
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

fn flag(value: &Value, name: &str) -> Option<bool> {
    value.get(name)?.as_bool()
}

fn call(value: &Value) -> Option<Call> {
    let computed = flag(value, "computed")?;
    let function = text(value, "fn");
    if computed == function.is_some() {
        return None;
    }
    let args = list(value, "args")?.iter().map(arg).collect::<Option<_>>()?;
    Some(Call {
        function,
        package: text(value, "pkg"),
        text: text(value, "call")?,
        args,
        local: flag(value, "formal")?,
    })
}

fn arg(value: &Value) -> Option<Arg> {
    let kind = match value.get("kind")?.as_str()? {
        "missing" => Kind::Missing,
        "string" | "strings" => Kind::Strings,
        "symbol" => Kind::Symbol,
        "function" => Kind::Function,
        "call" => Kind::Call,
        "null" => Kind::Null,
        _ => Kind::Other,
    };
    let of = |name: &str| value.get(name).map(strings).unwrap_or_default();
    let literal = kind == Kind::Strings;
    Some(Arg {
        name: text(value, "name").unwrap_or_default(),
        kind,
        strings: if literal { of("value") } else { Vec::new() },
        symbol: if literal { String::new() } else { text(value, "value").unwrap_or_default() },
        names: of("names"),
        inside: of("inside"),
    })
}

fn assign(value: &Value) -> Option<Assign> {
    let how = text(value, "how")?;
    Some(Assign {
        name: text(value, "name")?,
        super_assign: how == "super",
        home: flag(value, "home")?,
        text: text(value, "call")?,
    })
}

fn member(value: &Value) -> Option<Member> {
    let args = list(value, "args").unwrap_or_default().iter().map(arg).collect::<Option<_>>()?;
    Some(Member { path: text(value, "path")?, text: text(value, "call")?, args })
}
