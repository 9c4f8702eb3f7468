#![allow(clippy::unwrap_used, clippy::expect_used)]
//! The facts of `code_facts.json` were taken by `code_facts()` of the R package, one entry a piece of code.
use super::*;
use crate::gate::lattice::Decision;
use crate::gate::mode::{Action, Mode, opinion};
use crate::value::json;

fn facts_of(code: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("code_facts.json")).unwrap();
    let found = all.as_array().unwrap().iter().find(|f| f["code"] == code);
    found.unwrap_or_else(|| panic!("no facts of {code}"))["facts"].clone()
}

fn risk_in(code: &str, home: &[(&str, f64)]) -> Risk {
    let existing = |name: &str| home.iter().find(|h| h.0 == name).map(|h| h.1);
    let member_level = |path: &str| match path {
        "demo/add" => Some(0),
        "read" => Some(1),
        _ => None,
    };
    let built_in = |path: &str| path != "demo/sh";
    let around = Around { existing: &existing, member_level: &member_level, built_in: &built_in, rules: &[] };
    risk_of_code(&facts_of(code), &around)
}

fn risk(code: &str) -> Risk {
    risk_in(code, &[])
}

/// Level and categories, as `2 object_write session`.
fn summary(risk: &Risk) -> String {
    let mut words = vec![risk.level.to_string()];
    words.extend(risk.categories().iter().map(|c| c.as_str().to_owned()));
    words.join(" ")
}

#[test]
fn case_45_levels_and_categories_of_the_specification() {
    assert_eq!(summary(&risk("x <<- 1")), "2 object_write");
    assert_eq!(summary(&risk("options(gptr.x = 1)")), "4 control");
    assert_eq!(risk("f()()").level, 3);
    assert!(risk("f()()").is_dynamic());
    assert_eq!(summary(&risk("rm(list = ls())")), "4 critical");
    assert_eq!(summary(&risk("nosuchfn(1)")), "1 unlisted");
    assert_eq!(summary(&risk("x <- 1")), "1 object_write");
    assert_eq!(summary(&risk_in("x <- 1", &[("x", 56.0)])), "2 object_write");
}

#[test]
fn every_function_is_judged_by_what_it_does() {
    for (code, expected) in [
        ("mean(1)", "0"),
        ("", "0"),
        ("lm(mpg ~ wt, mtcars)", "0"),
        ("read.csv(\"a.csv\")", "0"),
        ("read.csv(\"https://a.b/c.csv\")", "2 network"),
        ("unlink(\"a\")", "3 file_delete"),
        ("base::unlink(\"a\")", "3 file_delete"),
        ("write.csv(d, \"out.csv\")", "2 file_write"),
        ("saveRDS(x, file = \"a.rds\")", "2 file_write"),
        ("cat(\"a\")", "0"),
        ("cat(\"a\", file = \"f\")", "2 file_write"),
        ("writeLines(\"a\")", "0"),
        ("writeLines(\"a\", sep = \"\")", "0"),
        ("writeLines(\"a\", \"f.txt\")", "2 file_write"),
        ("writeLines(\"a\", stdout())", "0"),
        ("file(\"x\")", "0"),
        ("file(\"x\", \"w\")", "2 file_write"),
        ("options(digits = 3)", "2 session"),
        ("options(\"digits\")", "0"),
        ("setwd(\"..\")", "2 session"),
        ("library(dplyr)", "1 session"),
        ("install.packages(\"a\")", "3 install"),
        ("system(\"ls\")", "3 process"),
        ("eval(parse(text = \"1\"))", "3 dynamic"),
        ("dplyr::filter(d, x)", "1 unlisted"),
        ("e$f(1)", "3 dynamic"),
        ("for (i in 1:3) print(i)", "1 object_write"),
        ("local({ y <- 1; y })", "0"),
        ("q(\"no\")", "4 control"),
    ] {
        assert_eq!(summary(&risk(code)), expected, "{code}");
    }
}

#[test]
fn h34_other_ways_to_call_a_function_are_seen() {
    for code in [
        "`unlink`(\"a\")",
        "sapply(files, unlink)",
        "do.call(\"unlink\", list(\"a\"))",
        "do.call(paste0(\"sys\", \"tem\"), list(\"ls\"))",
        "lapply(1:3, get(\"system\"))",
        "get(\"system\")(\"ls\")",
        "f <- system; f(\"ls\")",
        "x |> system()",
        "unlink <- function(x) x; unlink(\"a\")",
        "g <- function(x) unlink(x); g(1)",
    ] {
        assert_eq!(risk(code).level, 3, "{code}");
    }
    for code in [
        "do.call(rbind, parts)",
        "lapply(1:3, function(i) i^2)",
        "lm(y ~ load + source, d)",
        "lapply(x, cat)",
        "Reduce(`+`, x)",
        "aggregate(x = d, by = g, FUN = mean)",
    ] {
        assert_eq!(risk(code).level, 0, "{code}");
    }
}

#[test]
fn functions_of_the_same_code_are_judged_by_their_bodies() {
    assert_eq!(summary(&risk("h <- function(x) mean(x); h(1)")), "1 object_write");
    assert_eq!(summary(&risk("f <- function(g) g(1)")), "1 object_write unlisted");
    assert_eq!(summary(&risk("c <- 3; c(1, 2)")), "1 object_write");
    assert_eq!(summary(&risk("Map(f, x)")), "1 unlisted");
}

#[test]
fn control_actions_are_critical_and_reading_forms_are_free() {
    for code in [
        "options(list(gptr.x = 1))",
        "gptr_config(mode = \"auto\")",
        "gptr::gptr_register(t)",
        "gptr_trust(\".\", TRUE)",
        "Sys.setenv(GPTR_X = 1)",
        "Sys.setenv(OPENAI_API_KEY = \"x\")",
        "writeLines(\"x\", \".Rprofile\")",
        "file.remove(\".gptr/settings.json\")",
    ] {
        let risk = risk(code);
        assert!(risk.level == 4 && risk.is_control(), "{code}: {}", summary(&risk));
    }
    for code in ["gptr_config()", "gptr_trust(\".\")"] {
        assert_eq!(risk(code).level, 0, "{code}");
    }
    assert_eq!(summary(&risk("Sys.setenv(TZ = \"UTC\")")), "2 session");
}

#[test]
fn secrets_are_named() {
    assert!(risk("Sys.getenv()").dumps_environment);
    assert_eq!(risk("Sys.getenv(\"OPENAI_API_KEY\")").secrets, ["OPENAI_API_KEY"]);
    assert_eq!(summary(&risk("Sys.getenv(\"HOME\")")), "0");
    assert_eq!(summary(&risk("readLines(\".env\")")), "2 secret");
    assert_eq!(summary(&risk("readLines(file = \"a/b.txt\")")), "0");
}

#[test]
fn removing_and_assigning_count_what_they_overwrite() {
    assert_eq!(risk("rm(list = setdiff(ls(), \"a\"))").level, 4);
    assert_eq!(risk("rm(x)").level, 1);
    let removed = risk_in("rm(x)", &[("x", 2e8)]);
    assert_eq!((removed.level, removed.sizes), (2, vec![("x".to_owned(), 2e8)]));
    assert_eq!(risk("assign(\"x\", 1)").assigned, ["x"]);
    assert_eq!(risk_in("assign(\"x\", 1)", &[("x", 8.0)]).level, 2);
    assert_eq!(risk("assign(\"x\", 1, envir = globalenv())").level, 2);
}

#[test]
fn members_have_their_own_level_else_2() {
    assert_eq!(risk("peter$demo$add(a = 1)").members, [("demo/add".to_owned(), 0)]);
    assert_eq!(risk("peter$read(\"x\")").level, 1);
    assert_eq!(risk("peter$nope(1)").level, 2);
}

#[test]
fn rules_raise_levels_and_lower_them_only_when_they_say_so() {
    let rule =
        |level, lower| Rule { package: String::new(), function: "nosuchfn".into(), level, category: None, lower };
    let of = |rules: &[Rule]| {
        let around = Around { existing: &|_| None, member_level: &|_| None, built_in: &|_| false, rules };
        risk_of_code(&facts_of("nosuchfn(1)"), &around).level
    };
    assert_eq!(of(&[rule(3, false)]), 3);
    assert_eq!(of(&[rule(0, false)]), 1);
    assert_eq!(of(&[rule(0, true)]), 0);
}

#[test]
fn plan_mode_runs_what_is_known_to_read_and_binding_names() {
    let home = [("x", 8.0)];
    for code in [
        "mean(1)",
        "x <- 1",
        "x[1] <- 2",
        "names(x) <- \"a\"",
        "fit <- lm(mpg ~ wt, mtcars)",
        "for (i in 1:3) print(i)",
        "1 +",
    ] {
        let risk = risk_in(code, &home);
        assert!(opinion(Mode::Plan, Action::Code, risk.level, Some(&risk)).is_none(), "{code}: {}", risk.doubts());
    }
    for code in [
        "x <<- 1",
        "x$y <- 1",
        "nosuchfn(1)",
        "f()()",
        "unlink(\"a\")",
        "assign(\"x\", 1)",
        "peter$nope(1)",
        "sapply(files, unlink)",
    ] {
        let risk = risk_in(code, &home);
        let said = opinion(Mode::Plan, Action::Code, risk.level, Some(&risk)).unwrap();
        assert_eq!(said.says, crate::gate::lattice::Says::Decision(Decision::Deny), "{code}");
        assert!(said.reason.starts_with("not known to be read-only in plan mode: "), "{}", said.reason);
    }
}

#[test]
fn code_that_does_not_parse_has_no_risk_and_facts_that_are_none_have_the_most() {
    let broken = risk("1 +");
    assert!(broken.level == 0 && broken.parse_error.is_some());
    let around = Around { existing: &|_| None, member_level: &|_| None, built_in: &|_| false, rules: &[] };
    for bad in [
        json!(null),
        json!({}),
        json!({"calls": []}),
        json!("x"),
        json!({"parse_error": null, "calls": [{"fn": "a"}], "assigns": [], "functions": [], "constants": [], "symbols": [], "members": []}),
    ] {
        let risk = risk_of_code(&bad, &around);
        assert!(risk.level == 3 && !risk.known_read_only(), "{bad}");
    }
}

#[test]
fn the_json_form_has_the_fields_of_the_printed_risk() {
    let json = risk_in("x <- 1", &[("x", 56.0)]).to_json();
    assert_eq!(json["label"], "mutating");
    assert_eq!(
        json["flagged"][0],
        json!({"call": "x <- 1", "fn": "<-", "level": 2, "category": "object_write", "path": null})
    );
    assert_eq!(json["sizes"], json!({"x": 56.0}));
    assert_eq!(risk("write.csv(d, \"out.csv\")").flagged[0].path.as_deref(), Some("out.csv"));
}

#[test]
fn code_that_binds_in_an_environment_it_is_given_is_as_dynamic_as_eval() {
    assert_eq!(risk("local(x <- 1)").level, 0);
    assert_eq!(risk("with(d, mean(x))").level, 0);
    for code in ["local(x <- 1, e)", "with(e, x <- 1)", "do.call(\"local\", list(a, e))"] {
        assert!(risk(code).level == 3 && risk(code).is_dynamic(), "{code}");
    }
}
