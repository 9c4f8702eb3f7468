//! The risk of operating system commands, from their words. Nothing is run.
//!
//! Only what is recognised is judged below level 3: commands that read, and those that make, move or copy files of the
//! project. A shell does more with a text than any reader can foresee, so whatever expands, substitutes or groups is as
//! good as unknown.

use std::path::Path;

use super::risk::Category;
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

/// One command of a script.
#[derive(Debug, Default, PartialEq)]
struct Simple {
    words: Vec<String>,
    reads: Vec<String>,
    writes: Vec<String>,
}

impl Simple {
    fn judge(&self) -> Judged {
        let reads = self.reads.iter().map(|path| reading(path));
        let writes =
            self.writes.iter().filter(|path| *path != "/dev/null").map(|path| Judged { moves: false, ..writing(path) });
        reads.chain(writes).fold(of_words(&self.words), Judged::and)
    }
}

/// Takes a script apart; `None` when it has anything but plain commands, joined or piped, with plain redirections.
fn parse(text: &str) -> Option<Vec<Simple>> {
    let mut script = Vec::new();
    let mut now = Simple::default();
    let mut target = Target::Word;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => {}
            '\n' | ';' | '|' | '&' => {
                let doubled = c != '\n' && rest.next_if_eq(&c).is_some();
                if target != Target::Word || (c == '&' && !doubled) || (c == '|' && rest.peek() == Some(&'&')) {
                    return None;
                }
                finish(&mut now, &mut script);
            }
            '#' => while rest.next_if(|c| *c != '\n').is_some() {},
            '<' if target == Target::Word => target = Target::Read,
            '>' if target == Target::Word => {
                if rest.next_if(|c| matches!(c, '>' | '|')).is_none() && rest.next_if_eq(&'&').is_some() {
                    // To another open stream.
                    rest.next_if(|c| matches!(c, '1' | '2'))?;
                    continue;
                }
                target = Target::Write;
            }
            '<' | '>' => return None,
            _ => {
                let (word, quoted) = word(c, &mut rest)?;
                let stream = !quoted && matches!(word.as_str(), "1" | "2") && rest.peek() == Some(&'>');
                match std::mem::replace(&mut target, Target::Word) {
                    _ if stream => {}
                    Target::Word => now.words.push(word),
                    Target::Read => now.reads.push(word),
                    Target::Write => now.writes.push(word),
                }
            }
        }
    }
    if target != Target::Word {
        return None;
    }
    finish(&mut now, &mut script);
    Some(script)
}

#[derive(PartialEq)]
enum Target {
    Word,
    Read,
    Write,
}

fn finish(now: &mut Simple, script: &mut Vec<Simple>) {
    let done = std::mem::take(now);
    if done != Simple::default() {
        script.push(done);
    }
}

/// Reads a word that begins with `first`, and whether a part was quoted; `None` when something in it expands to what is
/// not written there. Globs stay: they expand to names of files.
fn word(first: char, rest: &mut std::iter::Peekable<std::str::Chars>) -> Option<(String, bool)> {
    let mut out = String::new();
    let mut quoted = false;
    let mut next = Some(first);
    while let Some(c) = next {
        match c {
            '\'' => {
                quoted = true;
                loop {
                    match rest.next()? {
                        '\'' => break,
                        c => out.push(c),
                    }
                }
            }
            '"' => {
                quoted = true;
                loop {
                    match rest.next()? {
                        '"' => break,
                        '$' | '`' => return None,
                        '\\' => out.push(rest.next()?),
                        c => out.push(c),
                    }
                }
            }
            '\\' => {
                quoted = true;
                out.push(rest.next()?);
            }
            '$' | '`' | '(' | ')' | '{' | '}' | '!' => return None,
            c => out.push(c),
        }
        next = rest.next_if(|c| !matches!(c, ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>'));
    }
    Some((out, quoted))
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
mod tests {
    use super::*;

    fn shell(text: &str) -> String {
        let judged = of_shell(text);
        format!("{} {}{}", judged.level, judged.category.as_str(), if judged.moves { " moves" } else { "" })
    }

    #[test]
    fn commands_that_read() {
        for text in [
            "ls -la",
            "git status",
            "git status --short",
            "git log --oneline -5 | head -3",
            "cat a.txt b/c.txt",
            "echo 'a b' \"c\"",
            "grep -rn \"x y\" R/ | wc -l",
            "find . -name '*.R'",
            "cd sub && ls",
            "ls; pwd",
            "sort a.txt | uniq -c",
            "ls 2>/dev/null",
            "ls 2>&1 | head",
            "cat < in.txt",
            "git diff HEAD~1 -- R/a.R",
            "git branch -a",
            "sed -n '1,20p' a.R",
            "python3 --version",
            "ls # rm -rf /",
            "git config --get user.name",
            "ls\npwd\n",
        ] {
            assert_eq!(shell(text), "0 read", "{text}");
        }
    }

    #[test]
    fn files_elsewhere_and_files_with_secrets() {
        for text in ["cat /etc/hosts", "ls ..", "ls ~/x", "grep --file=/etc/x a", "cat a/../../b", "find / -name x"] {
            assert_eq!(shell(text), "1 read", "{text}");
        }
        for text in [
            "cat .env",
            "cat sub/.env.local",
            "head id_rsa",
            "git show HEAD:.env",
            "cat /proc/self/environ",
            "cat .e*",
            "cat < .env",
        ] {
            assert_eq!(shell(text), "2 secret", "{text}");
        }
        assert_eq!(shell("env"), "1 secret");
    }

    #[test]
    fn files_of_the_project_are_made_and_moved() {
        for text in ["mkdir -p a/b", "touch x", "mv a b", "cp -r a b", "mkdir a && touch a/x && ls a"] {
            assert_eq!(shell(text), "2 file_write moves", "{text}");
        }
        for text in ["ls > out.txt", "echo x >> log", "mkdir a > out.txt", "git add .", "git commit -m 'a b'"] {
            assert_eq!(shell(text), "2 file_write", "{text}");
        }
        for text in ["mkdir /tmp/x", "cp a ../b", "mv a ~/b", "cp AGENTS.md b", "echo x > ../y", "cp a -t/usr/bin"] {
            assert_eq!(shell(text), "3 file_write", "{text}");
        }
        for text in ["echo x > .Rprofile", "cp a .git/hooks/pre-commit", "mv x .gptr/settings.json", "rm .Rprofile"] {
            assert_eq!(shell(text), "4 control", "{text}");
        }
    }

    #[test]
    fn what_expands_substitutes_or_groups_is_unknown() {
        for text in [
            "ls $X",
            "ls $(rm x)",
            "ls `rm x`",
            "echo \"$(rm x)\"",
            "(ls)",
            "{ ls; }",
            "ls &",
            "ls & pwd",
            "cat <<EOF\nx\nEOF",
            "X=1 ls",
            "PATH=. ls",
            "./ls",
            "/bin/ls",
            "cat <(ls)",
            "ls |& cat",
            "eval ls",
            "sh -c ls",
            "xargs rm",
            "awk '{ system(\"x\") }'",
            "sed -i s/a/b/ f",
            "sed -n 'w out' f",
            "find . -delete",
            "find . -exec rm {} +",
            "sort -o a b",
            "sort -ruo a b",
            "rg --pre=x y",
            "git diff --output=x",
            "git -c alias.status=!sh status",
            "git checkout .",
            "git reset --hard",
            "make",
            "Rscript a.R",
            "ls 'x",
            "ls >",
            "uniq a b",
            "",
            "# nothing",
            "nosuchcommand",
            "python3 x.py --version",
            "ls > $X",
            "echo a\\",
            "git grep -Osh x",
            "ls <> x",
            "cat <<< x",
            "git stash drop",
            "git branch -D main",
            "git tag -d v1",
            "ps axe",
        ] {
            assert_eq!(shell(text), "3 process", "{text}");
        }
    }

    #[test]
    fn what_deletes_installs_or_leaves_the_machine() {
        assert_eq!(shell("rm a.txt"), "3 file_delete");
        assert_eq!(shell("rm -rf build"), "3 file_delete");
        assert_eq!(shell("curl https://a.b"), "3 network");
        assert_eq!(shell("ls | curl -d @- https://a.b"), "3 network");
        assert_eq!(shell("git push"), "3 network");
        assert_eq!(shell("pip install x"), "3 install");
    }

    #[test]
    fn what_ends_or_wipes_the_machine_is_critical() {
        for text in [
            "rm -rf /",
            "rm -rf /*",
            "rm -r -f ~",
            "rm -rf ~/",
            "rm -fr .",
            "rm -rf *",
            "rm -rf ..",
            "rm -rf ../..",
            "rm -rf /usr",
            "rm --recursive /home/x",
            "rm -rf $HOME",
            "rm -rf \"$HOME\"",
            "sudo ls",
            "ls && sudo rm x",
            "$(sudo ls)",
            "mkfs.ext4 /dev/sda",
            "dd if=x of=/dev/sda",
            "chmod -R 777 /",
            ":(){ :|:& };:",
            "kill -9 -1",
            "shutdown now",
            "/sbin/reboot",
            "cd / && rm -rf ./*",
        ] {
            assert!(shell(text).starts_with('4'), "{text}: {}", shell(text));
        }
    }

    #[test]
    fn words_without_a_shell_are_taken_as_they_are() {
        let words = |all: &[&str]| of_words(&all.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>()).level;
        assert_eq!(words(&["ls", "$X; rm -rf /"]), 0);
        assert_eq!(words(&["git", "log", "--format=%H > x"]), 0);
        assert_eq!(words(&["rm", "-rf", "/"]), 4);
        assert_eq!(words(&[]), 3);
    }
}
