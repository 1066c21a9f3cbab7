"""The uniform numbers of draws from states of MRG31k3p, for the scripts that write vectors of layers that draw."""
import math

import numpy as np

M1, M2 = 2147483647, 2147462579


class Mrg:
    """L'Ecuyer and Touzin, 2000: x[n] = 2^22 x[n-2] + (2^7+1) x[n-3], y[n] = 2^15 y[n-1] + (2^15+1) y[n-3]."""

    def __init__(self, state):
        self.state = [[int(v) for v in column] for column in np.asarray(state).T]

    def uniform(self, *shape):
        out = np.empty(math.prod(shape))
        for i in range(out.size):
            s = self.state[i % len(self.state)]
            x = (s[1] * 2**22 + s[2] * (2**7 + 1)) % M1
            y = (s[3] * 2**15 + s[5] * (2**15 + 1)) % M2
            s[:] = [x, s[0], s[1], y, s[3], s[4]]
            out[i] = ((x - y - 1) % M1 + 1) * 2.0**-31
        return out.reshape(shape)

    def words(self):
        return np.array(self.state).T
