// Lesson 2: loops. scan() runs a step function again and again: over a number of steps, over sequences, with values
// that one step gives to the next. `./thtrain lesson 2` builds and runs it.
#include <cstdio>

#include "compiler/api.h"

using namespace thtrain;

static void print_line(const char* what, const Tensor& value) {
  std::printf("%-44s %s\n", what, value.text().c_str());
}

// A number of steps, and a value that is carried: A**k, element by element. The step function gets the value before and
// the values that do not change. All steps are given; as only the last one is read, only it is kept in memory.
static void power() {
  Expr k = iscalar("k"), A = vector("A");
  auto [result, updates] = scan([](Expr prior_result, Expr A) { return prior_result * A; },
                                {.outputs_info = {ones_like(A)}, .non_sequences = {A}, .n_steps = k});
  Function power = function({A, k}, {result[-1]}, updates);
  print_line("[0, 1, 2, 3]**4", power({Tensor::vector({0.0, 1.0, 2.0, 3.0}), Tensor(int64_t{4})})[0]);
}

// Sequences, and no carried value: the terms of a polynomial. The shortest sequence decides how many steps there are.
static void polynomial() {
  Expr coefficients = vector("coefficients"), x = scalar("x");
  auto [components, updates] = scan([](Expr coefficient, Expr power, Expr x) { return coefficient * pow(x, power); },
                                    {.sequences = {coefficients, arange(10000)}, .non_sequences = {x}});
  Function polynomial = function({coefficients, x}, {sum(components)});
  print_line("1 + 0 x + 2 x**2 at 3", polynomial({Tensor::vector({1.0, 0.0, 2.0}), Tensor(3.0)})[0]);
}

// Both: a running sum. The initial value has the dtype of what a step gives.
static void triangular_numbers() {
  Expr up_to = iscalar("up_to");
  auto [sums, updates] = scan([](Expr number, Expr sum_to_date) { return sum_to_date + number; },
                              {.sequences = {arange(up_to)}, .outputs_info = {make_constant(Tensor(int64_t{0}))}});
  print_line("sums of 0, 1, ..., 9", function({up_to}, {sums})({Tensor(int64_t{10})})[0]);
}

// Taps: a step may read earlier values of its outputs, and earlier or later elements of a sequence. Fibonacci's numbers
// read two steps back; the initial values are stacked along a first axis.
static void fibonacci() {
  Expr first = ivector("first");
  auto [numbers, updates] = scan([](Expr before_last, Expr last) { return before_last + last; },
                                 {.outputs_info = {{first, {-2, -1}}}, .n_steps = 10});
  print_line("Fibonacci's numbers after 1, 1", function({first}, {numbers})({Tensor::vector({1, 1})})[0]);
}

// A recurrent network: a sequence of inputs, a state, weights that are found in the step function. Its gradient is
// another loop, from the last step to the first.
static void recurrent_network() {
  RandomState rng(1);
  Shared W(Tensor::of(rng.normal(0, 0.5, 6), {2, 3}), "W"), V(Tensor::of(rng.normal(0, 0.5, 9), {3, 3}), "V");
  Expr x = matrix("x"), h0 = vector("h0", {3});
  auto [h, updates] = scan([&](Expr x_t, Expr h) { return tanh(dot(x_t, W) + dot(h, V)); },
                           {.sequences = {x}, .outputs_info = {h0}, .name = "rnn"});
  Expr cost = sum(sqr(h[-1] - 0.5));
  std::vector<Expr> g = grad(cost, {W, V});
  Function train = function({x, h0}, {cost}, {{W, W - 0.1 * g[0]}, {V, V - 0.1 * g[1]}});
  Tensor data = Tensor::of(rng.normal(0, 1, 16), {8, 2}), start = Tensor::zeros(DType::kFloat64, {3});
  double before = train({data, start})[0].as_double(), after = before;
  for (int step = 0; step < 50; ++step) after = train({data, start})[0].as_double();
  std::printf("%-44s %.4f, then %.4f\n", "cost of a recurrent network", before, after);
  // dot(x_t, W) needs no state: one product for all steps comes before the loop.
  std::printf("\nThe program of its step:\n%s\n", train.explain().program.c_str());
}

// Shared variables: a step function may update them, and every step reads the value of the step before. The updates go
// to function(); without them the variable stays what it is.
static void updates_of_variables() {
  Shared a(int64_t{1}, "a");
  auto [values, updates] = scan([&] { return std::vector<Update>{{a, a + 1}}; }, {.n_steps = 10});
  Function f = function({}, {a + 1, updated(updates, a) + 1}, updates);
  std::vector<Tensor> out = f({});
  std::printf("%-44s %s, %s, %s\n", "a + 1 before and after 10 steps, and a", out[0].text().c_str(),
              out[1].text().c_str(), a.get_value().text().c_str());
}

// A condition ends the loop: powers of 2 until one is larger than a number. n_steps is the limit.
static void conditional_ending() {
  Expr max_value = scalar("max_value");
  auto power_of_2 = [](Expr previous_power, Expr max_value) {
    return std::pair(previous_power * 2, until(previous_power * 2 > max_value));
  };
  auto [values, updates] = scan(power_of_2, {.outputs_info = {1.0}, .non_sequences = {max_value}, .n_steps = 1024});
  print_line("powers of 2 up to the first above 45", function({max_value}, {values})({Tensor(45.0)})[0]);
}

int main() {
  power();
  polynomial();
  triangular_numbers();
  fibonacci();
  updates_of_variables();
  conditional_ending();
  recurrent_network();
}
