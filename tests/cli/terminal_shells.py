# SPDX-License-Identifier: MIT
"""Shells that complete command lines for tests. bash and zsh complete only at a terminal: they run
at a pseudo-terminal, receive a line and a tab, and write the candidates to a file; fish has a
command for it."""

import os
import pty
import select
import subprocess
import time

PATIENCE_S = 120
PROMPT = "annot-shell-waits "


def environment(folder):
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
    return {**kept, "HOME": str(folder / "work"), "TERM": "dumb", "PS1": PROMPT,
            "INPUTRC": "/dev/null",
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
            "XDG_RUNTIME_DIR": str(folder / "runtime"),
            "ANSWER": str(folder / "answer"), "SHELL_SESSIONS_DISABLE": "1"}


class Terminal:
    """A shell at a terminal that writes the candidates of a tab to the file $ANSWER."""

    words = ()
    setup = ""
    always = ["--help", "--version"]
    slash = ""

    def __init__(self, folder, *scripts):
        self.answer = folder / "answer"
        self.output = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder / "work")
            os.execvpe(self.words[0], self.words, environment(folder))
        begin = folder / "begin"
        sourced = "".join(f"source '{script}'\n" for script in scripts)
        begin.write_text(self.setup.format(folder=scripts[0].parent, sourced=sourced))
        self.prompt(0)
        self.command(f"source {begin}\n")

    def command(self, text):
        """Runs a line to its end. Input that arrives while a shell takes or releases its terminal
        can get lost, so each line waits for the prompt."""
        before = len(self.output)
        self.type(text)
        self.prompt(before)

    def prompt(self, start):
        deadline = time.monotonic() + PATIENCE_S
        while PROMPT.encode() not in self.output[start:]:
            self.read()
            if time.monotonic() > deadline:
                raise TimeoutError(f"no prompt: {self.output[-2000:]!r}")

    def read(self):
        if select.select([self.fd], [], [], 0.01)[0]:
            self.output += os.read(self.fd, 65536)

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait(self, text):
        """Types `text` and waits for the answer, in parts, as the shell consumes it."""
        self.answer.unlink(missing_ok=True)
        self.type(text)
        deadline = time.monotonic() + PATIENCE_S
        while not self.answer.exists():
            self.read()
            if time.monotonic() > deadline:
                raise TimeoutError(f"no answer to {text!r}: {self.output[-2000:]!r}")
        return self.answer.read_text().splitlines()

    def complete(self, line):
        found = self.wait(line + "\t")
        self.type("\x15")  # discards the line
        return found

    def close(self):
        os.close(self.fd)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)

    @staticmethod
    def file(name):
        return name

    @staticmethod
    def in_list(before, last):
        return before + last

    @staticmethod
    def after_equals(_before, last):
        return last


class Bash(Terminal):
    """The function runs inside of readline, as usual; then it writes its result to the file."""

    words = ["bash", "--norc", "--noprofile", "-i"]
    setup = """
bind 'set bell-style none'
bind 'set completion-query-items 0'
bind 'set page-completions off'
{sourced}
asked() {{
    _annot "$@"
    printf '%s\\n' "${{COMPREPLY[@]}}" > "$ANSWER.new"
    mv "$ANSWER.new" "$ANSWER"
    COMPREPLY=()
}}
complete -F asked annot
"""


class Zsh(Terminal):
    """Matches go through compadd; a wrapper captures its candidates."""

    words = ["zsh", "-f", "-i"]
    always = []
    setup = """
unsetopt zle_bracketed_paste 2>/dev/null
fpath=({folder} $fpath)
autoload -Uz compinit
compinit -D -u
zstyle ':completion:*' list-dirs-first false
compadd() {{
    local -a hits
    if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\\ * ]]; then
        builtin compadd "$@"
        return
    fi
    builtin compadd -A hits "$@"
    found+=("${{(@)hits}}")
    builtin compadd "$@"
}}
tell() {{
    local -a found=()
    _main_complete
    compstate[insert]=
    compstate[list]=
    print -rl -- "${{(@)found}}" >| $ANSWER.new
    command mv $ANSWER.new $ANSWER
}}
zle -C tell complete-word tell
bindkey '^I' tell
bindkey '^U' kill-whole-line
"""

    @staticmethod
    def file(name):
        return name.replace(" ", "\\ ")

    @staticmethod
    def in_list(_before, last):
        return last


class Fish:
    """`complete -C` prints the candidates of a tab."""

    always = []
    slash = "/"

    def __init__(self, folder, script):
        self.folder, self.script = folder, script

    def complete(self, line):
        done = subprocess.run(
            ["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", str(self.script),
             line],
            env=environment(self.folder), cwd=self.folder / "work", capture_output=True, text=True,
            check=False, timeout=PATIENCE_S)
        found = [text.split("\t")[0] for text in done.stdout.splitlines()]
        return found + [f"error: {done.stderr}"] * bool(done.stderr)

    def close(self):
        pass

    @staticmethod
    def file(name):
        return name

    @staticmethod
    def in_list(before, last):
        return before + last

    @staticmethod
    def after_equals(before, last):
        return before + last


SHELLS = {"bash": Bash, "zsh": Zsh, "fish": Fish}
