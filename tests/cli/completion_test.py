"""Completion in bash, zsh and fish, and the manual page: THTRAIN is the program. A shell that is missing is skipped."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

THTRAIN = os.path.abspath(sys.argv.pop(1))

# A command line up to the cursor, and what it is completed to: all words that are offered, whole.
CASES = {
    "thtrain tr": ["train"],
    "thtrain train la": ["lab.toml"],
    "thtrain train lab.toml --r": ["--resume", "--run-dir"],
    "thtrain train lab.toml trainer.learning_rate_": [],
    "thtrain train lab.toml trainer.learn": ["trainer.learning_rate="],
    "thtrain train lab.toml trainer.nest": ["trainer.nesterov="],
    "thtrain train lab.toml trainer.nesterov=t": ["trainer.nesterov=true"],
    "thtrain train lab.toml data.standardize=f": ["data.standardize=features"],
    "thtrain train lab.toml model.layers.3.unit": ["model.layers.3.units="],
    "thtrain train lab.toml model.layers.3.activation=ta": ["model.layers.3.activation=tanh"],
    "thtrain train lab.toml phase.1.trainer.epoch": ["phase.1.trainer.epochs="],
    "thtrain sweep lab.toml model.layers.0.activation=relu,ta": ["model.layers.0.activation=relu,tanh"],
    "thtrain eval --part t": ["test", "train"],
    "thtrain resume runs/lab-1/../la": ["runs/lab-1/../lab-1", "runs/lab-1/../lab-2"],
    "thtrain compare runs/la": ["runs/lab-1", "runs/lab-2"],
    "thtrain compare runs/lab-1 runs/lab-2 runs/la": ["runs/lab-1", "runs/lab-2"],
    "thtrain eval runs/la": ["runs/lab-1", "runs/lab-2"],
    "thtrain eval ru": ["runs/"],
    "thtrain help swe": ["sweep"],
    "thtrain completion f": ["fish"],
    "thtrain bench logr": ["logreg"],
    "thtrain info --js": ["--json"],
}


def printed(*arguments):
    return subprocess.run([THTRAIN, *arguments], check=True, capture_output=True, text=True, timeout=60).stdout


class CompletionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        for name in ["lab.toml", "lab.txt", "runs/lab-1/run.json", "runs/lab-1/config.toml", "runs/lab-2/run.json",
                     "runs/lab-2/config.toml"]:
            path = os.path.join(cls.temporary.name, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8"):
                pass
        for shell in ["bash", "zsh", "fish"]:
            with open(cls.script(shell), "w", encoding="utf-8") as file:
                file.write(printed("completion", shell))

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def script(cls, shell):
        return os.path.join(cls.temporary.name, "complete." + shell)

    def require(self, program):
        if not shutil.which(program):
            self.skipTest(f"{program} is not installed")

    def shell(self, *command):
        ended = subprocess.run(command, cwd=self.temporary.name, capture_output=True, text=True,
                               timeout=60, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        return ended.stdout

    def test_bash(self):
        self.require("bash")
        self.shell("bash", "-n", self.script("bash"))
        for line, expected in CASES.items():
            with self.subTest(line=line):
                out = self.shell(
                    "bash", "--norc", "-c", 'source "$1"; COMP_LINE=$2 COMP_POINT=${#2}; _thtrain; '
                    'printf "%s\\n" "${COMPREPLY[@]}"', "bash", self.script("bash"), line)
                # readline replaces what follows the last `=`.
                start = line.split()[-1].rpartition("=")
                words = sorted(start[0] + start[1] + word.rstrip() for word in out.splitlines() if word)
                self.assertEqual(words, expected)

    def test_bash_in_a_terminal(self):
        self.require("bash")
        start = f"PS1=; bind 'set enable-bracketed-paste off'; source {self.script('bash')}; shown() {{ " \
                "echo \"<$READLINE_LINE>\"; READLINE_LINE=; }; bind -x '\"\\C-t\": shown'\n"
        self.check_terminal(["bash", "--norc", "--noprofile", "-i"], start)

    def test_zsh(self):
        self.require("zsh")
        self.shell("zsh", "-n", self.script("zsh"))
        start = "PROMPT=; unsetopt zle_bracketed_paste 2>/dev/null; autoload -U compinit; compinit -u -D; " \
                f"source {self.script('zsh')}; shown() {{ print -r -- \"<$BUFFER>\"; BUFFER=; }}; " \
                "zle -N shown; bindkey '^T' shown; bindkey '^I' complete-word\n"
        self.check_terminal(["zsh", "-f", "-i"], start)

    def test_zsh_in_fpath(self):
        self.require("zsh")
        folder = os.path.join(self.temporary.name, "functions")
        os.makedirs(folder, exist_ok=True)
        shutil.copy(self.script("zsh"), os.path.join(folder, "_thtrain"))
        start = f"PROMPT=; fpath=({folder} $fpath); autoload -U compinit; compinit -u -D; shown() {{ " \
                "print -r -- \"<$BUFFER>\"; BUFFER=; }; zle -N shown; bindkey '^T' shown; bindkey '^I' complete-word\n"
        self.check_terminal(["zsh", "-f", "-i"], start)

    def check_terminal(self, command, start):
        """What a line becomes at the tabulator key, where one word alone is offered."""
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.temporary.name)
            os.environ["TERM"] = "dumb"
            os.execvp(command[0], command)
        try:
            os.write(terminal, start.encode())
            os.write(terminal, b"echo rea''dy\n")
            self.read_until(terminal, r"ready\r?\n")
            for line, expected in CASES.items():
                if len(expected) != 1:
                    continue
                with self.subTest(line=line):
                    os.write(terminal, line.encode() + b"\t\x14")
                    shown = self.read_until(terminal, r"<(thtrain [^>]*)>").group(1)
                    self.assertEqual(shown.split(), line.split()[:-1] + expected)
        finally:
            os.close(terminal)
            os.waitpid(process, 0)

    def read_until(self, terminal, pattern):
        text, end = "", time.monotonic() + 60
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                text += os.read(terminal, 65536).decode(errors="replace")
                if found := re.search(pattern, text):
                    return found
        return self.fail(f"nothing like {pattern} in {text!r}")

    def test_fish(self):
        self.require("fish")
        self.shell("fish", "--no-config", "-n", self.script("fish"))
        for line, expected in CASES.items():
            with self.subTest(line=line):
                out = self.shell("fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
                                 self.script("fish"), line)
                self.assertEqual(sorted({word.split("\t")[0] for word in out.splitlines()}), expected)

    def test_every_command_and_option_is_completed(self):
        commands = re.findall(r"^  (\w+) ", printed("help").split("Commands:\n")[1].split("\n\n")[0], re.M)
        self.assertIn("sweep", commands)
        for shell in ["bash", "zsh", "fish"]:
            with open(self.script(shell), encoding="utf-8") as file:
                script = file.read()
            manual = printed("man").replace("\\-", "-")
            for command in commands:
                self.assertIn(command, script)
                if command == "help":
                    continue
                for option in re.findall(r"^  --([a-z-]+)", printed("help", command), re.M):
                    self.assertTrue(f"--{option}" in script or f"-l {option} " in script, (shell, command, option))
                    self.assertIn(f"--{option}", manual)

    def test_the_manual_page_has_no_warnings(self):
        self.require("groff")
        page = os.path.join(self.temporary.name, "thtrain.1")
        with open(page, "w", encoding="utf-8") as file:
            file.write(printed("man"))
        out = self.shell("groff", "-man", "-Tutf8", "-ww", "-P-cbou", page)
        for part in ["NAME\n       thtrain - train models that experiment files describe\n", "thtrain train CONFIG",
                     "--run-dir DIR", "trainer.learning_rate", "OMP_NUM_THREADS", "EXIT STATUS"]:
            self.assertIn(part, out)
        if shutil.which("man"):
            self.assertIn("thtrain sweep", self.shell("man", "-l", page))


if __name__ == "__main__":
    unittest.main()
