"""Writes show.txt: what `thtrain show` computes of a small convolutional net, by PyTorch in float64.

The net: conv (2 filters of 3 x 3 over 2 channels), tanh, max pooling by 2, softmax of 3 classes; one example of
2 x 8 x 8 numbers. Occlusion: a grey square of 3 x 3 pixels by steps of 2; the last place ends at the edge.

    python3 tests/golden/show.py > tests/golden/show.txt    (with PyTorch; for tests/trainers/show_test.cpp)
"""

import numpy as np
import torch

torch.set_default_dtype(torch.float64)


def line(name, values):
    values = np.asarray(values)
    shape = ",".join(str(n) for n in values.shape)
    print(f"{name} = [{shape}] " + " ".join(repr(round(float(v), 12)) for v in values.ravel()))


def numbers(shape, step, scale):
    """Every row-major position i: scale sin(step i + 1), to six digits."""
    count = int(np.prod(shape))
    return np.round(scale * np.sin(step * np.arange(count) + 1), 6).reshape(shape)


w = numbers((2, 2, 3, 3), 0.7, 0.6)
b = numbers((2,), 1.3, 0.2)
v = numbers((18, 3), 0.9, 0.8)
c = numbers((3,), 2.1, 0.3)
x = numbers((1, 2, 8, 8), 0.37, 1.0)
label = 1


def net(images):
    maps = torch.tanh(torch.nn.functional.conv2d(images, torch.tensor(w), torch.tensor(b)))
    pooled = torch.nn.functional.max_pool2d(maps, 2)
    logits = pooled.reshape(len(images), -1) @ torch.tensor(v) + torch.tensor(c)
    return maps, pooled, logits


print("# written by show.py")
for name, array in (("W", w), ("b", b), ("V", v), ("c", c), ("x", x)):
    line(name, array)
images = torch.tensor(x, requires_grad=True)
maps, pooled, logits = net(images)
line("maps", maps[0].detach())
line("pooled", pooled[0].detach())
line("probabilities", torch.softmax(logits, 1)[0].detach())
logits[0, label].backward()
line("gradient", images.grad[0])
line("gradient_by_pixel", images.grad[0].abs().amax(0))

positions = [0, 2, 4, 5]
grey = (x.max() + x.min()) / 2
by_position = np.empty((4, 4))
by_pixel, covering = np.zeros((8, 8)), np.zeros((8, 8))
for i, top in enumerate(positions):
    for j, left in enumerate(positions):
        covered = x.copy()
        covered[0, :, top:top + 3, left:left + 3] = grey
        by_position[i, j] = torch.softmax(net(torch.tensor(covered))[2], 1)[0, label]
        by_pixel[top:top + 3, left:left + 3] += by_position[i, j]
        covering[top:top + 3, left:left + 3] += 1
line("by_position", by_position)
line("by_pixel", by_pixel / covering)
