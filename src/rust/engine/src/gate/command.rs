//! The risk of operating system commands, from their words. Nothing is run.
//!
//! Only what is recognised is judged below level 3: commands that read, and those that make, move or copy files of the
//! project. A shell does more with a text than any reader can foresee, so whatever expands, substitutes or groups is as
//! good as unknown.

use std::path::Path;

use super::risk::Category;
use super::shell::{Simple, parse};
use crate::tool::level;

/// The level of a command that nobody knows, or that is computed.
pub const UNKNOWN: Judged = Judged { level: 3, category: Category::Process, moves: false };

/// What a command can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    /// 0 to 4.
    pub level: u8,
    /// The worst that it does.
    pub category: Category,
    /// True when all it changes is files of the project that it makes, moves or copies.
    pub moves: bool,
}

impl Judged {
    const fn at(level: u8, category: Category) -> Self {
        Judged { level, category, moves: false }
    }

    const READS: Judged = Judged::at(0, Category::Read);

    /// Both are done. What moves files may also read.
    fn and(self, other: Judged) -> Judged {
        let worse = if other.level > self.level { other } else { self };
        let harmless = |j: &Judged| j.moves || j.level == 0;
        Judged { moves: worse.moves && harmless(&self) && harmless(&other), ..worse }
    }
}

/// Commands that only read, whatever their arguments.
const READERS: &[&str] = &[
    "ls",
    "cat",
    "head",
    "tail",
    "wc",
    "grep",
    "egrep",
    "fgrep",
    "cut",
    "tr",
    "diff",
    "cmp",
    "comm",
    "pwd",
    "echo",
    "printf",
    "true",
    "false",
    "test",
    "[",
    "whoami",
    "id",
    "uname",
    "which",
    "type",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "stat",
    "du",
    "df",
    "nl",
    "tac",
    "rev",
    "fold",
    "expr",
    "seq",
    "column",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "cksum",
    "od",
    "hexdump",
    "strings",
    "uptime",
    "nproc",
    "free",
    "arch",
    "cd",
    "sleep",
    "paste",
    "join",
];

/// Commands that read unless one of these options is among their words.
const READERS_WITHOUT: &[(&str, &[&str])] = &[
    ("find", &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("sort", &["-o", "--output", "--compress-program"]),
    ("date", &["-s", "--set"]),
    ("tree", &["-o"]),
    ("file", &["-C", "--compile"]),
    ("jq", &["--run-tests"]),
];

/// Programs that may be asked for their version.
const VERSIONED: &[&str] = &[
    "git", "python", "python3", "R", "Rscript", "node", "npm", "gcc", "g++", "clang", "make", "cmake", "cargo",
    "rustc", "quarto", "pandoc", "java", "docker", "julia", "go", "curl",
];

/// Subcommands of git that only read, whatever their arguments but [`GIT_RUNS`].
const GIT_READERS: &[&str] = &[
    "status",
    "log",
    "diff",
    "show",
    "blame",
    "shortlog",
    "describe",
    "rev-parse",
    "ls-files",
    "ls-tree",
    "cat-file",
    "rev-list",
    "grep",
    "merge-base",
    "name-rev",
    "count-objects",
    "diff-tree",
    "show-ref",
    "for-each-ref",
];

/// Options of git that write files or run programs.
const GIT_RUNS: &[&str] = &["--output", "--ext-diff", "--textconv", "--open-files-in-pager", "-O"];

/// Subcommands of git that change the repository and lose nothing.
const GIT_WRITERS: &[&str] = &["add", "commit", "init", "tag", "branch", "stash", "mv"];

const MOVERS: &[&str] = &["mkdir", "touch", "mv", "cp"];

const REMOVERS: &[&str] = &["rm", "rmdir", "unlink", "shred", "truncate"];

const NETWORK: &[&str] = &["curl", "wget", "ssh", "scp", "sftp", "rsync", "ftp", "nc", "ncat", "telnet", "ping", "dig"];

const INSTALLERS: &[&str] =
    &["apt", "apt-get", "brew", "conda", "dnf", "npm", "pip", "pip3", "pipx", "uv", "yarn", "yum"];

/// Commands that end, wipe or take over the machine.
const CRITICAL: &[&str] = &[
    "sudo", "su", "doas", "pkexec", "shutdown", "reboot", "halt", "poweroff", "init", "telinit", "fdisk", "parted",
    "wipefs", "mkswap", "userdel", "passwd", "visudo", "crontab",
];

/// A command as words, run without a shell.
pub fn of_words(words: &[String]) -> Judged {
    let Some((program, args)) = words.split_first() else { return UNKNOWN };
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    of_program(program, &args)
}

/// A text that a shell is given.
pub fn of_shell(text: &str) -> Judged {
    // What Windows starts reads its text by other rules.
    let Some(script) = parse(text).filter(|_| cfg!(unix)) else { return worst_word(text) };
    if script.is_empty() {
        return UNKNOWN;
    }
    script.iter().map(Simple::judge).reduce(Judged::and).unwrap_or(UNKNOWN)
}

impl Simple {
    fn judge(&self) -> Judged {
        let reads = self.reads.iter().map(|path| reading(path));
        let writes =
            self.writes.iter().filter(|path| *path != "/dev/null").map(|path| Judged { moves: false, ..writing(path) });
        reads.chain(writes).fold(of_words(&self.words), Judged::and)
    }
}

/// A text that can't be taken apart: unknown, unless a word of it is of the critical ones.
fn worst_word(text: &str) -> Judged {
    let words = text.split(|c: char| c.is_whitespace() || "|&;()<>{}`$\"'".contains(c));
    let critical = words.filter(|w| !w.is_empty()).any(|w| CRITICAL.contains(&base(w)) || base(w).starts_with("mkfs"));
    let fork_bomb = text.replace(' ', "").contains(":(){");
    if critical || fork_bomb || removes_all_of(text) { Judged::at(4, Category::Critical) } else { UNKNOWN }
}

fn removes_all_of(text: &str) -> bool {
    text.split(['\n', ';', '|', '&', '(', ')', '`']).any(|part| {
        let words: Vec<&str> = part.split_whitespace().map(|w| w.trim_matches(['"', '\''])).collect();
        words.iter().position(|w| base(w) == "rm").is_some_and(|at| removes_everything(&words[at + 1..]))
    })
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn of_program(program: &str, args: &[&str]) -> Judged {
    let name = base(program);
    if CRITICAL.contains(&name) || name.starts_with("mkfs") || is_wipe(name, args) {
        return Judged::at(4, Category::Critical);
    }
    // `./ls` is somebody's own program, and `X=1 ls` another environment.
    if name != program || program.contains('=') {
        return UNKNOWN;
    }
    if let [flag] = args
        && matches!(*flag, "--version" | "-V")
        && VERSIONED.contains(&name)
    {
        return Judged::READS;
    }
    let given = |options: &[&str]| args.iter().any(|a| options.iter().any(|o| is_option(a, o)));
    if READERS.contains(&name) || READERS_WITHOUT.iter().any(|(n, options)| *n == name && !given(options)) {
        return args.iter().map(|a| reading(a)).fold(Judged::READS, Judged::and);
    }
    match name {
        // Without a dash, `e` shows the environment of every process.
        "ps" if !args.iter().any(|a| !a.starts_with('-') && a.contains('e')) => Judged::READS,
        "uniq" if operands(args).len() < 2 => args.iter().map(|a| reading(a)).fold(Judged::READS, Judged::and),
        "sed" if prints_lines(args) => args.iter().map(|a| reading(a)).fold(Judged::READS, Judged::and),
        "env" | "printenv" if args.is_empty() => Judged::at(1, Category::Secret),
        "git" => git(args),
        _ if MOVERS.contains(&name) => {
            operands(args).iter().map(|path| writing(path)).reduce(Judged::and).unwrap_or(UNKNOWN)
        }
        _ if REMOVERS.contains(&name) => {
            let control = operands(args).iter().any(|path| writing(path).level == 4);
            if control { Judged::at(4, Category::Control) } else { Judged::at(3, Category::FileDelete) }
        }
        _ if NETWORK.contains(&name) => Judged::at(3, Category::Network),
        _ if INSTALLERS.contains(&name) => Judged::at(3, Category::Install),
        _ => UNKNOWN,
    }
}

/// `-ofile` and `--output=file` are `-o` and `--output`; long options may be shortened.
fn is_option(word: &str, option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(_) => {
            let given = word.split('=').next().unwrap_or(word);
            given.len() > 2 && option.starts_with(given)
        }
        None if option.len() == 2 => {
            let letter = option.chars().nth(1).unwrap_or('-');
            word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
        }
        None => word == option,
    }
}

fn operands<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let end = args.iter().position(|a| *a == "--").unwrap_or(args.len());
    let before = args[..end].iter().filter(|a| !a.starts_with('-') || a.contains('/'));
    before.chain(args.get(end + 1..).unwrap_or_default()).copied().collect()
}

/// `sed -n '1,20p' file`.
fn prints_lines(args: &[&str]) -> bool {
    matches!(args, ["-n", script, ..] if script.chars().all(|c| c.is_ascii_digit() || ",$p; ".contains(c)))
        && args.iter().skip(2).all(|a| !a.starts_with('-'))
}

fn git(args: &[&str]) -> Judged {
    let Some((command, rest)) = args.split_first() else { return Judged::READS };
    if rest.iter().any(|a| GIT_RUNS.iter().any(|o| is_option(a, o) && (o.starts_with("--") || a.starts_with(o)))) {
        return UNKNOWN;
    }
    let reads = || rest.iter().map(|a| reading(a)).fold(Judged::READS, Judged::and);
    let listing =
        rest.iter().all(|a| matches!(*a, "-a" | "-r" | "-v" | "-vv" | "-l" | "--list" | "--all" | "--show-current"));
    match *command {
        c if GIT_READERS.contains(&c) => reads(),
        "branch" | "tag" | "remote" if listing => Judged::READS,
        "config" if matches!(rest, ["--get" | "--get-all", _] | ["--list" | "-l"]) => Judged::READS,
        "stash" | "worktree" if rest == ["list"] => Judged::READS,
        c if GIT_WRITERS.contains(&c) && !rest.iter().any(|a| loses(a)) => Judged::at(2, Category::FileWrite),
        "push" | "pull" | "fetch" | "clone" | "submodule" | "remote" => Judged::at(3, Category::Network),
        _ => UNKNOWN,
    }
}

fn loses(word: &str) -> bool {
    let subcommand = matches!(word, "drop" | "clear" | "pop");
    subcommand || ["-d", "-D", "-f", "-M", "-C", "--delete", "--force"].iter().any(|o| is_option(word, o))
}

/// `rm -rf /`, `dd of=/dev/sda`, `chmod -R 777 /`, `kill -9 -1`.
fn is_wipe(name: &str, args: &[&str]) -> bool {
    match name {
        "rm" => removes_everything(args),
        "dd" => args.iter().any(|a| a.starts_with("of=/dev/") && *a != "of=/dev/null"),
        "chmod" | "chown" | "chgrp" => is_recursive(args) && operands(args).iter().any(|a| is_root(a)),
        "kill" => args.iter().skip(1).any(|a| *a == "-1"),
        _ => false,
    }
}

fn removes_everything(args: &[&str]) -> bool {
    is_recursive(args) && operands(args).iter().any(|a| is_root(a) || matches!(*a, "." | "./" | "*" | "./*" | ".*"))
}

fn is_recursive(args: &[&str]) -> bool {
    args.iter().any(|a| is_option(a, "-r") || is_option(a, "-R") || is_option(a, "--recursive"))
}

/// The root, a folder right below it, the home, or what lies above.
fn is_root(path: &str) -> bool {
    let bare = path.trim_end_matches(['/', '*']);
    let below_root = bare.strip_prefix('/').is_some_and(|rest| !rest.contains('/'));
    let home =
        matches!(bare, "~" | "$HOME" | "${HOME}") || bare.strip_prefix("/home/").is_some_and(|r| !r.contains('/'));
    let above = !bare.is_empty() && bare.split('/').all(|part| part == "..");
    (path.starts_with('/') && bare.is_empty()) || below_root || home || above
}

/// What of a word names a file: all of it, or what an option holds.
fn path_in(word: &str) -> &str {
    match word.strip_prefix('-') {
        None => word,
        Some(option) => match option.split_once('=') {
            Some((_, value)) => value,
            None => option.find(['/', '~']).and_then(|at| option.get(at..)).unwrap_or_default(),
        },
    }
}

/// A path that can't be told to lie in the project.
fn is_elsewhere(path: &str) -> bool {
    path.starts_with(['/', '~', '\\'])
        || path.split(['/', '\\']).any(|part| part == "..")
        || path.chars().nth(1) == Some(':')
}

/// The level of reading the file that a word may name.
fn reading(word: &str) -> Judged {
    let path = path_in(word);
    if path == "/dev/null" {
        Judged::READS
    } else if holds_secrets(path) {
        Judged::at(2, Category::Secret)
    } else {
        Judged::at(u8::from(is_elsewhere(path)), Category::Read)
    }
}

/// The level of making, moving or writing over a file.
fn writing(path: &str) -> Judged {
    let path = path_in(path);
    if steers(path) {
        Judged::at(4, Category::Control)
    } else if is_elsewhere(path) || holds_secrets(path) || level::is_instruction(Path::new(path)) {
        Judged::at(3, Category::FileWrite)
    } else {
        Judged { level: 2, category: Category::FileWrite, moves: true }
    }
}

/// Also what a pattern of hidden names may expand to.
fn holds_secrets(path: &str) -> bool {
    // `HEAD:.env` is a file of a revision.
    let name = path.rsplit(['/', ':']).next().unwrap_or(path);
    let hidden = name.starts_with('.') && name.contains(['*', '?', '[']);
    hidden || name == "environ" || level::is_secret(Path::new(path)) || level::is_secret(Path::new(name))
}

fn steers(path: &str) -> bool {
    super::code::is_control_file(path)
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
