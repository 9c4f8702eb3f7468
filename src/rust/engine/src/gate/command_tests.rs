//! The risk of commands, by example.

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
