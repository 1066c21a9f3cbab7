#!/usr/bin/env python3
"""Writes metrics.txt: metrics by scikit-learn, for tests/nn/metrics_test.cpp.

Run: python3 tests/golden/metrics.py (with scikit-learn). "input NAME = [shape] values" (whole numbers are labels), then
for each case: the kind, its options (or -), scores, targets, weights (or -) "= [shape] values": the number, or the
matrix; "each KIND ..." gives the numbers of the classes or outputs. float64; scores are float32's numbers.
"""
import pathlib

import numpy as np
import sklearn
from sklearn import metrics

lines = [f"# written by metrics.py with scikit-learn {sklearn.__version__} and NumPy {np.__version__}"]
rng = np.random.RandomState(4321)
inputs = {"-": None}


def text(value):
    value = np.asarray(value, dtype=float)
    shape = "[" + ",".join(map(str, value.shape)) + "]"
    return " ".join([shape, *(repr(v) for v in value.ravel().tolist())])


def add_input(name, array):
    array = np.asarray(array)
    inputs[name] = array if array.dtype.kind == "i" else array.astype(np.float32).astype(np.float64)
    values = " ".join(map(repr, inputs[name].ravel().tolist()))
    lines.append(f"input {name} = [{','.join(map(str, array.shape))}] {values}")


def predicted(scores):
    single = scores.ndim == 1 or scores.shape[1] == 1
    return (scores.ravel() > 0.5).astype(int) if single else scores.argmax(1)


def add(kind, result, *keys, each=None, **options):
    words = ",".join(f"{key}:{value}" for key, value in options.items()) or "-"
    lines.append(f"{' '.join([kind, words, *keys])} = {text(result)}")
    if each is not None:
        lines.append(f"each {' '.join([kind, words, *keys])} = {text(each)}")


def add_decisions(s, t, w):
    scores, targets, weights = inputs[s], inputs[t], inputs[w]
    if targets.dtype.kind == "i":
        right = metrics.accuracy_score(targets, predicted(scores), sample_weight=weights)
    else:
        wrong = (scores > 0.5) != (targets > 0.5)
        if weights is None:
            assert metrics.hamming_loss(targets > 0.5, scores > 0.5) == wrong.mean()
        right = 1 - np.average(wrong.mean(1), weights=weights)
    add("error", 100 * (1 - right), s, t, w)
    add("accuracy", 100 * right, s, t, w)


def add_counts(s, t, w, averages):
    scores, targets, weights = inputs[s], inputs[t], inputs[w]
    if targets.dtype.kind == "i":
        pair = targets, predicted(scores)
        labels = range(max(2, scores.shape[1]))
    else:
        pair, labels = (targets > 0.5, scores > 0.5), None
    options = dict(labels=labels, sample_weight=weights, zero_division=0)
    for kind, function in [("precision", metrics.precision_score), ("recall", metrics.recall_score),
                           ("f1", metrics.f1_score)]:
        single = targets.dtype.kind != "i" and targets.shape[1] == 1
        each = None if single else function(*pair, average=None, **options)
        for average in averages:
            add(kind, function(*pair, average=average, **options), s, t, w, each=each, average=average)


def add_auc(s, t, w):
    scores, targets, weights = inputs[s], inputs[t], inputs[w]
    if targets.dtype.kind == "i" and scores.shape[1] > 2:
        number = metrics.roc_auc_score(targets, scores, multi_class="ovr", sample_weight=weights)
        each = [metrics.roc_auc_score(targets == j, scores[:, j], sample_weight=weights)
                for j in range(scores.shape[1])]
    elif targets.dtype.kind == "i":
        number = metrics.roc_auc_score(targets, scores[:, -1], sample_weight=weights)
        each = [number]
    else:
        number = metrics.roc_auc_score(targets, scores, sample_weight=weights)
        each = metrics.roc_auc_score(targets, scores, sample_weight=weights, average=None)
    add("auc", number, s, t, w, each=np.atleast_1d(each))


n, k = 41, 4
classes = rng.randint(0, k, n)
add_input("scores", rng.rand(n, k) + 0.6 * np.eye(k)[classes])
add_input("chances", inputs["scores"] / inputs["scores"].sum(1, keepdims=True))
add_input("classes", classes)
add_input("one_missing", np.where(classes == 2, 1, classes))
add_input("two", rng.randint(0, 2, n))
add_input("single", rng.rand(n, 1) * 0.6 + 0.3 * inputs["two"][:, None])
add_input("ties", np.round(inputs["single"], 1))
add_input("pair", np.hstack([1 - inputs["ties"], inputs["ties"]]))
add_input("labels", (rng.rand(n, 3) < [0.3, 0.5, 0.8]).astype(float))
add_input("label_scores", np.round(rng.rand(n, 3) + 0.4 * inputs["labels"], 1))
add_input("never", np.where(rng.rand(n, 3) < 0.5, 0.1, 0.2) + [0, 0.6, 0])
add_input("label", inputs["labels"][:, :1])
add_input("values", 3 * rng.normal(size=(n, 2)) + [0, 100])
add_input("guesses", inputs["values"] + rng.normal(size=(n, 2)))
add_input("far", 1e6 + rng.normal(size=(n, 1)))
add_input("far_guesses", inputs["far"] + 0.5 * rng.normal(size=(n, 1)))
add_input("equal", np.full((n, 2), 2.0) + [[0, 1]] * np.arange(n)[:, None])
add_input("vector", rng.normal(size=n))
add_input("w", rng.rand(n))
add_input("w_some", rng.randint(0, 3, n).astype(float))

for w in ("-", "w", "w_some"):
    for s, t in [("scores", "classes"), ("single", "two"), ("pair", "two"), ("label_scores", "labels")]:
        add_decisions(s, t, w)
    for top in (1, 2, 3):
        result = metrics.top_k_accuracy_score(inputs["classes"], inputs["scores"], k=top, sample_weight=inputs[w])
        add("top_k_error", 100 * (1 - result), "scores", "classes", w, k=top)
    for s, t in [("guesses", "values"), ("far_guesses", "far"), ("guesses", "equal"), ("far", "vector")]:
        arguments = inputs[t] if inputs[t].ndim > 1 else inputs[t][:, None], inputs[s]
        weights = dict(sample_weight=inputs[w])
        add("mean_squared_error", metrics.mean_squared_error(*arguments, **weights), s, t, w)
        add("mean_absolute_error", metrics.mean_absolute_error(*arguments, **weights), s, t, w)
        each = metrics.r2_score(*arguments, multioutput="raw_values", **weights)
        add("r2", metrics.r2_score(*arguments, **weights), s, t, w, each=each)
    for s, t, averages in [("scores", "classes", ["macro", "micro"]), ("scores", "one_missing", ["macro", "micro"]),
                           ("single", "two", ["macro", "micro", "binary"]), ("pair", "two", ["binary"]),
                           ("label_scores", "labels", ["macro", "micro"]), ("never", "labels", ["macro", "micro"]),
                           ("single", "label", ["binary"])]:
        add_counts(s, t, w, averages)
    for s, t in [("chances", "classes"), ("single", "two"), ("ties", "two"), ("pair", "two"),
                 ("label_scores", "labels"), ("never", "labels")]:
        add_auc(s, t, w)
    for s, t in [("scores", "classes"), ("scores", "one_missing"), ("single", "two")]:
        table = metrics.confusion_matrix(inputs[t], predicted(inputs[s]), labels=range(max(2, inputs[s].shape[1])),
                                         sample_weight=inputs[w])
        add("confusion_matrix", table, s, t, w)
        correlation = metrics.matthews_corrcoef(inputs[t], predicted(inputs[s]), sample_weight=inputs[w])
        add("matthews_correlation", correlation, s, t, w)
pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
