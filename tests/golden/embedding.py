"""Writes embedding.txt: what scikit-learn makes of 120 of its digits and of some scores.

PCA of the 64 pixels (variances, and places with the sign of the largest component of each direction), t-SNE
(method="exact", init="pca", perplexity 30): its Kullback-Leibler divergence, and the trustworthiness with 5 neighbours;
ROC curves, precision-recall curves and their areas of scores with equal ones among them; the bins of a reliability
diagram by calibration_curve, and the expected calibration error from them.

    python3 tests/golden/embedding.py > tests/golden/embedding.txt    (scikit-learn 1.9; for embedding_test.cpp)
"""

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, trustworthiness
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve


def line(name, values):
    values = np.asarray(values)
    shape = ",".join(str(n) for n in values.shape)
    print(f"{name} = [{shape}] " + " ".join(f"{float(v):.10g}" for v in values.ravel()))


print("# written by embedding.py")
x, _ = load_digits(return_X_y=True)
x = x[:120]
line("digits", x)
pca = PCA(n_components=2, svd_solver="full").fit(x)
places = pca.transform(x)
for k, direction in enumerate(pca.components_):
    if direction[np.abs(direction).argmax()] < 0:
        places[:, k] *= -1
line("variances", pca.explained_variance_)
line("whole_variance", [x.var(axis=0, ddof=1).sum()])
line("places", places)
tsne = TSNE(method="exact", init="pca", perplexity=30, random_state=1).fit(x)
line("divergence", [tsne.kl_divergence_])
line("trustworthiness", [trustworthiness(x, tsne.embedding_, n_neighbors=5)])
line("trustworthiness_of_pca", [trustworthiness(x, places, n_neighbors=5)])

random = np.random.RandomState(7)
labels = random.randint(0, 2, 40)
scores = np.round(0.3 * labels + random.uniform(0, 0.7, 40), 1)
line("labels", labels)
line("scores", scores)
false_rate, recall, _ = roc_curve(labels, scores, drop_intermediate=False)
line("roc", np.stack([false_rate, recall], 1))
precision, recall, _ = precision_recall_curve(labels, scores)
line("precision_recall", np.stack([recall, precision], 1)[::-1])
line("area", [roc_auc_score(labels, scores)])
line("average_precision", [average_precision_score(labels, scores)])

confidence = random.uniform(0.35, 1, 200)
right = random.uniform(size=200) < 0.8 * confidence
accuracy, mean = calibration_curve(right, confidence, n_bins=10, strategy="uniform")
counts = np.histogram(confidence, np.linspace(0, 1, 11))[0]
line("confidence", confidence)
line("right", right)
line("bins", np.stack([counts[counts > 0], accuracy, mean], 1))
line("calibration_error", [(counts[counts > 0] * np.abs(accuracy - mean)).sum() / 200])
