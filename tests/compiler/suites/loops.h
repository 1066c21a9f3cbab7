// Loops that the values and the gradients of the suite of scan both have.
#pragma once

#include "compiler/api.h"
#include "tests/compiler/suites/suite.h"

namespace thtrain::scan_suite {

using G = Given&;

inline Slice from(int64_t start) {
  return {.start = start};
}

inline Slice to(int64_t stop) {
  return {.stop = stop};
}

inline Tensor filled(const Shape& shape, double value) {
  return Tensor::of(std::vector<double>(static_cast<size_t>(element_count(shape)), value), shape);
}

/// x_t = u_t w_in + x_{t-1} w.
struct Linear {
  Expr u, x0, w_in, w;
  All wrt() const { return {u, x0, w_in, w}; }
  Expr states(bool go_backwards = false) const {
    return scan([](Expr u, Expr x, Expr a, Expr b) { return u * a + x * b; },
                {.sequences = {u}, .outputs_info = {x0}, .non_sequences = {w_in, w}, .go_backwards = go_backwards})
        .outputs;
  }
};

inline Linear linear(G g) {
  return {g(spread({4})), g(number(0.5)), g(number(0.75)), g(number(-0.25))};
}

/// A recurrent network of two states, and one of two states with taps and an output.
struct Network {
  Expr u1, u2, x0, y0, w_in1, w_in2, w, w_out;
  All wrt() const { return {u1, u2, x0, y0, w_in1}; }

  All two_states() const {
    return scan(
               [this](Expr u1, Expr u2, Expr x, Expr, Expr w_in1) {
                 return All{dot(u1, w_in1) + u2 * w_in2 + dot(x, w), dot(x, w_out)};
               },
               {.sequences = {u1, u2}, .outputs_info = {x0, y0}, .non_sequences = {w_in1}})
        .outputs;
  }
  All with_taps(bool with_output, bool go_backwards = false) const {
    ScanOptions options{.sequences = {u1, {u2, {-1, 0, 1}}},
                        .outputs_info = {x0, {y0, {-1, -3}}},
                        .non_sequences = {w_in1},
                        .go_backwards = go_backwards};
    if (with_output) options.outputs_info.push_back(std::nullopt);
    return scan(
               [this, with_output](Expr u1, Expr past, Expr now, Expr future, Expr x, Expr y1, Expr y3, Expr w_in1) {
                 All out{dot(u1, w_in1) + (now + past * future) * w_in2 + dot(x, w), (y1 + y3) * dot(x, w_out)};
                 if (with_output) out.push_back(dot(u1, w_in1));
                 return out;
               },
               options)
        .outputs;
  }
};

inline Network network(G g, bool has_taps) {
  Network out{g(spread({has_taps ? 5 : 3, 2})), has_taps ? g(spread({7, 2}, 1)) : g(spread({3}, 1)),
              g.known(spread({2}, 2)),          has_taps ? g.known(spread({3}, 2)) : g(number(0.125)),
              g.known(spread({2, 2}, 3)),       g.known(spread({2}, 4)),
              g.known(spread({2, 2}, 5)) / 4,   g.known(spread({2}, 6)) / 4};
  return out;
}

/// A cost of all elements of all outputs, each with a weight of its own.
inline Expr weighted(G g, const All& outputs, const std::vector<Shape>& shapes) {
  Expr out;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Expr term = sum(outputs[k] * g(spread(shapes[k], 7 + static_cast<int64_t>(k))));
    out = k == 0 ? term : out + term;
  }
  return out;
}

inline All value_and(const Expr& value, const All& gradients) {
  All out{value};
  out.insert(out.end(), gradients.begin(), gradients.end());
  return out;
}

}  // namespace thtrain::scan_suite
