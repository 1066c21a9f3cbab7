"""The figures that the pages print, and where a command prints them. On a page a figure is one number, or the least and
the greatest one ("0.28 to 0.33"); the tolerance of a single number is the one that its page states."""

import math
import re
from dataclasses import dataclass
from typing import Callable, Union

LABS, SHEET, ANSWERS, README = "docs/labs.md", "docs/worksheet.md", "docs/worksheet_answers.md", "README.md"


@dataclass(frozen=True)
class Figure:
    page: str
    command: str
    printed: str  # what the page says: a group for each figure
    # What the command prints, or a function of that: as many groups.
    screen: Union[str, Callable]
    relative: float = 0.0
    absolute: float = 0.0
    is_trained: bool = False  # after all epochs
    file: str = ""  # the command writes it here, not to standard output


def number(text):
    return float(text.replace(",", ""))


def is_like(figure, said, found):
    """`said` is a text of the page, "2.5" or "2.5 to 3"; its last digit is rounded."""
    texts = said.split(" to ")
    least, greatest = number(texts[0]), number(texts[-1])
    if not math.isfinite(least):
        return str(least) == str(found)
    slack = 0.5000001 * 10.0 ** -max(len(text.partition(".")[2]) for text in texts)
    if len(texts) == 1:
        slack += max(figure.absolute, figure.relative * abs(least))
    return least - slack <= found <= greatest + slack


def compare(figure, page, screen):
    """What is wrong; an empty text where the page's figures are those of the screen."""
    said = re.search(figure.printed, page)
    if not said:
        return f"it does not say {figure.printed!r}, which is compared with what the command prints"
    if callable(figure.screen):
        found = figure.screen(screen)
    else:
        match = re.search(figure.screen, screen, re.S)
        if not match:
            return f"the command does not print {figure.screen!r}:\n{screen[-2000:]}"
        found = match.groups()
    if len(found) != len(said.groups()):
        return f"{said.group()!r} has {len(said.groups())} figures, the command prints {found}"
    wrong = [f"{a} (printed: {b})" for a, b in zip(said.groups(), found) if not is_like(figure, a, number(str(b)))]
    return f"{said.group()!r}: {', '.join(wrong)}" if wrong else ""


# ---- what the commands print

def train(experiment, run, overrides=""):
    command = f"./thtrain train configs/labs/{experiment}.toml --run-dir runs/{run}"
    return f"{command} {overrides}" if overrides else command


def count_of_nodes(text):
    return [len(set(re.findall(r"^(?:input +|shared +)?(%\d+) ", text, re.M)))]


def nodes_of_two_passes(text):
    rows = {name: (before, after) for name, before, after in re.findall(r"^(\w+) +\w+ +(\d+) +(\d+) ", text, re.M)}
    return [*reversed(rows["canonicalize"]), *reversed(rows["find_gemm"])]


def greatest_stable_loss(text):
    return [max(float(loss) for loss in re.findall(r"^ *\d+ +nan +([\d.]+)$", text, re.M))]


def steps_of_an_epoch(text):
    epochs, steps = re.search(r"done after epoch (\d+), ([\d,]+) steps", text).groups()
    return [number(steps) / number(epochs)]


BEST = r"best validation error ([\d.]+) %"
BEST_AND_TEST = BEST + r"[^\n]*\ntest error ([\d.]+) %"
LAST_AND_BEST = (r"mean squared error ([\d.]+)  valid [\d.]+, ([\d.]+)[^\n]*\n(?:done|stopped)"
                 r".*?best validation mean squared error ([\d.]+)")
PARAMETERS = r"([\d,]+) parameters"
OVERFIT = train("overfit_friedman", "overfit")
EPOCHS = (1, 10, 50, 100, 200, 500, 1000)
VALUES = "".join(r" \| ([\d. to]+)" for _ in EPOCHS)


def at_epochs(key):
    return ".*?".join(rf'"epoch": {epoch}, [^\n]*"{key}": ([\d.]+)' for epoch in EPOCHS)


def remedy(name, command):
    return Figure(LABS, command, rf"\| {name}[^|]* \| ([\d. to]+) \| ([\d. to]+) \| ([\d.]+(?: to [\d.]+)?)",
                  LAST_AND_BEST, relative=0.01, is_trained=True)


def scores(z):
    return Figure(LABS, "./thtrain lesson 12",
                  rf"\| \[0, {z}\] \| (\S+) \| \[(\S+), (\S+)\] \| (\S+) \| \[(\S+), (\S+)\] \|",
                  rf"\[\[0, {z}\]\] +(\S+) +\[\[(\S+), (\S+)\]\] +(\S+) +\[\[(\S+), (\S+)\]\]")


FIGURES = [
    Figure(README, "./thtrain train configs/labs/mlp_digits.toml", r"\| `mlp_digits`[^|]*\| ([\d.]+) %",
           r"\ntest error ([\d.]+) %", relative=0.2, is_trained=True),

    # Lab 1
    Figure(LABS, "./thtrain data configs/labs/logistic_digits.toml",
           r"([\d,]+) to train on, ([\d,]+) to validate, ([\d,]+) to test",
           r"train\n  examples  ([\d,]+) .*valid\n  examples  ([\d,]+) .*test\n  examples  ([\d,]+) "),
    Figure(LABS, train("logistic_digits", "softmax"), r"a vector, ([\d,]+) numbers", PARAMETERS),
    Figure(LABS, train("logistic_digits", "softmax"),
           r"ends with a validation error of ([\d.]+) % [^%]* a\s+test error of ([\d.]+) %", BEST_AND_TEST,
           absolute=0.1, is_trained=True),
    Figure(SHEET, "./thtrain check configs/labs/logistic_digits.toml", r"its loss is close to (\d+\.\d+)",
           r"loss of the first minibatch: ([\d.]+)"),
    Figure(LABS, train("logistic_digits", "slow", "trainer.learning_rate=0.001"),
           r"With 0\.001 the validation error is ([\d.]+) % after 30 epochs",
           r"epoch 30  train loss [^\n]* valid [\d.]+, ([\d.]+) %", absolute=0.1, is_trained=True),
    Figure(LABS, train("logistic_digits", "fast", "trainer.learning_rate=6"),
           r"smallest validation error of the three: ([\d. to]+) %", BEST, is_trained=True),
    Figure(LABS, train("mlp_digits", "hidden"), r"its model has ([\d,]+) numbers", PARAMETERS),
    Figure(LABS, train("mlp_digits", "hidden"), r"300 units takes the validation error to ([\d.]+) %", BEST,
           absolute=0.1, is_trained=True),
    Figure(LABS, train("mlp_digits", "narrow", "model.layers.0.units=10"), r"one of 10\s+units to ([\d. to]+) %", BEST,
           is_trained=True),

    # Lab 2
    Figure(LABS, OVERFIT, r"a model of ([\d,]+) numbers", PARAMETERS),
    Figure(LABS, OVERFIT, r"\| training" + VALUES, at_epochs("train_mean_squared_error"), relative=0.01,
           is_trained=True, file="runs/overfit/metrics.jsonl"),
    Figure(LABS, OVERFIT, r"\| validation" + VALUES, at_epochs("valid_mean_squared_error"), relative=0.01,
           is_trained=True, file="runs/overfit/metrics.jsonl"),
    remedy("none", OVERFIT),
    remedy("weight decay", train("overfit_friedman", "decay", "loss.l2=0.01")),
    remedy("dropout", train("overfit_friedman", "dropout", "model.layers.1.rate=0.2")),
    remedy("early stopping", train("overfit_friedman", "early", "trainer.patience=1000 trainer.patience_increase=1.5")),
    remedy("20 hidden units", train("overfit_friedman", "small", "model.layers.0.units=20")),
    remedy("1,000 examples", train("overfit_friedman", "data", "data.n_train=1000")),
    Figure(ANSWERS, "./thtrain eval runs/early --part valid", r"as it says, and measures (\d+\.\d+)",
           r"validation mean squared error ([\d.]+)", relative=0.01, is_trained=True),

    # Labs 3 and 4
    Figure(LABS, "./thtrain explain configs/labs/logistic_digits.toml --stage=graph", r"It has (\d+) nodes",
           count_of_nodes),
    Figure(ANSWERS, "./thtrain lesson 7", r"(\d+) layers: (\d+) nodes, with all derivatives (\d+)",
           r"\n *(100) +(\d+) +(\d+)\n"),
    Figure(LABS, "./thtrain explain configs/labs/mlp_digits.toml --stage=passes",
           r"`canonicalize` makes (\d+) nodes of (\d+), `find_gemm` (\d+) of (\d+)", nodes_of_two_passes),
    *[scores(z) for z in (1, 700, 800)],
    Figure(LABS, "./thtrain lesson 12", r"with the rules it rises to about (\d+)", greatest_stable_loss, relative=0.01),

    # Labs 5 and 6
    Figure(LABS, "./thtrain lesson 9", r"as one loop it moves (\d+) MB, as seven loops (\d+) MB",
           r"\nfused +1 +(\d+) .*\nnot fused +7 +(\d+) "),
    Figure(LABS, "./thtrain lesson 10",
           r"values of ([\d,]+) bytes share ([\d,]+) bytes in the forward pass; a training step needs ([\d,]+)",
           r" 0 to (\d+) .*forward pass alone: (\d+) bytes; a training step: (\d+) bytes"),
    Figure(LABS, "./thtrain explain configs/labs/mlp_digits.toml --stage=program",
           r"what its temporaries need, ([\d. to]+) KiB", r"\narena: (\d+) KiB"),
    Figure(ANSWERS, train("mlp_digits", "profile", "--profile trainer.epochs=3"), r"in an epoch instead of (\d+)",
           steps_of_an_epoch),
    Figure(ANSWERS, train("mlp_digits", "large", "--profile trainer.epochs=3 trainer.batch_size=500"),
           r"(\d+) steps in an epoch instead", steps_of_an_epoch),
]
