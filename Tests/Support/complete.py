#!/usr/bin/env python3
"""complete.py SHELL SCRIPT LINE...: types each line and Tab in an interactive shell, and prints what the line has become, without space at its end.

SHELL is bash, zsh or fish; SCRIPT is the completion script. The lines are not run. Fails if the shell prints anything else of its own, such
as an error of the completion.
"""

import os
import pty
import select
import sys
import time

# What is typed differs from what is printed, so that the terminal's echo is no match.
PROMPT, MARK = "'rea''dy: '", "li''ne:"
SETUP = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; PS1={prompt}; source {script}"),
    # Each candidate of a menu would be a keypress away.
    "zsh": (["zsh", "-f", "-i"], "unset zle_bracketed_paste; bindkey -e; setopt noautomenu nolistbeep; autoload -Uz compinit; "
            "compinit -u -D; PROMPT={prompt}; source {script}"),
    "fish": (["fish", "--no-config", "-i"], "set -g fish_greeting; function fish_prompt; echo -n {prompt}; end; source {script}"),
}


class Terminal:
    def __init__(self, command):
        # With a controlling terminal, which fish needs.
        self.shell, self.master = pty.fork()
        if self.shell == 0:
            os.execvpe(command[0], command, {**os.environ, "TERM": "dumb"})
        self.seen = ""

    def type(self, text):
        os.write(self.master, text.encode())

    def wait(self, text, seconds=20):
        """What the shell printed before the text."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            if not select.select([self.master], [], [], max(0, end - time.monotonic()))[0]:
                sys.exit(f"no {text!r} within {seconds} s: {self.seen!r}")
            self.seen += os.read(self.master, 65536).decode(errors="replace")
        before, _, self.seen = self.seen.partition(text)
        return before


def main():
    shell, script, *lines = sys.argv[1:]
    command, setup = SETUP[shell]
    terminal = Terminal(command)
    terminal.type(setup.format(prompt=PROMPT, script=script) + "\n")
    terminal.wait("ready: ")
    for line in lines:
        terminal.type(line + "\t")
        # At the beginning of the line: it becomes the argument of echo.
        terminal.type(f"\x01echo {MARK}'\x05'\n")
        before = terminal.wait("line:")
        if "authproxy: " in before or "error" in before.lower():
            sys.exit(f"{shell} printed {before!r}")
        print(terminal.wait("\n").rstrip())
        terminal.wait("ready: ")
    os.close(terminal.master)
    os.waitpid(terminal.shell, 0)


main()
