#include "compiler/libraries/random_functions.h"

#include <algorithm>
#include <climits>
#include <type_traits>
#include <utility>

#include "compiler/base/legacy_distributions.h"
#include "compiler/codegen/entry_abi.h"
#include "compiler/ops/random/choice.h"
#include "compiler/ops/random/draw_functions.h"

namespace thtrain {
namespace {

int status_of(int64_t element) {
  return static_cast<int>(std::min<int64_t>(element + 1, INT_MAX));
}

// Normal numbers in blocks; the numbers of the plain way.
template <class T>
void fill_normal(RandomState& state, double mean, double deviation, T* out, int64_t n) {
  constexpr int64_t kBlock = 512;
  double block[kBlock];
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t count = std::min(kBlock, n - at);
    state.standard_normals(block, static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) out[at + i] = static_cast<T>(mean + deviation * block[i]);
  }
}

template <size_t kDistribution, class T>
int draw(ThContext*, TH_DRAW_PARAMETERS(T)) {
  const Distribution& of = distributions()[kDistribution];
  const DrawParameters parameters{{{{a, a_step}, {b, b_step}}}};
  if (const std::optional<int64_t> unfit = parameters.first_unfit(of, n)) return status_of(*unfit);
  RandomState generator = RandomState::from_words(state);
  const std::array<DrawnNumber, 2> first = n > 0 ? parameters.at(of, 0) : std::array<DrawnNumber, 2>{};
  const bool is_constant = a_step == 0 && b_step == 0;
  const auto for_each = [&](auto draw_one) {
    for (long i = 0; i < n; ++i) draw_one(i, is_constant ? first.data() : parameters.at(of, i).data());
  };
  if constexpr (std::is_floating_point_v<T>) {
    if (is_constant && of.name == "uniform") {
      generator.uniforms(first[0].real, first[1].real, out, static_cast<size_t>(n));
    } else if (is_constant && of.name == "normal") {
      fill_normal(generator, first[0].real, first[1].real, out, n);
    } else {
      for_each([&](long i, const DrawnNumber* p) { out[i] = static_cast<T>(of.draw(generator, p).real); });
    }
  } else if (is_constant && (of.name == "randint" || of.name == "random_integers")) {
    const int64_t most = first[1].whole - (of.name == "randint");
    generator.whole_numbers(first[0].whole, most, out, static_cast<size_t>(n));
  } else if (is_constant && of.name == "binomial") {
    legacy::binomials(generator, first[0].whole, first[1].real, out, n);
  } else {
    for_each([&](long i, const DrawnNumber* p) { out[i] = of.draw(generator, p).whole; });
  }
  generator.to_words(next);
  return 0;
}

int permutation(ThContext*, TH_PERMUTATION_PARAMETERS) {
  RandomState generator = RandomState::from_words(state);
  for (long row = 0; row < rows; ++row) {
    long* p = out + row * n;
    for (long i = 0; i < n; ++i) p[i] = i;
    generator.shuffle(std::span<long>(p, static_cast<size_t>(n)));
  }
  generator.to_words(next);
  return 0;
}

int choice(ThContext*, TH_CHOICE_PARAMETERS) {
  if (!is_choosable(p, k, n, with_replacement != 0)) return 1;
  RandomState generator = RandomState::from_words(state);
  choose(generator, p, k, n, with_replacement != 0, out, work);
  generator.to_words(next);
  return 0;
}

int multinomial(ThContext*, TH_MULTINOMIAL_PARAMETERS) {
  for (long row = 0; row < rows; ++row)
    if (!are_multinomial(trials[row * trials_step], p + row * p_step, k)) return status_of(row);
  RandomState generator = RandomState::from_words(state);
  for (long row = 0; row < rows; ++row)
    legacy::multinomial(generator, trials[row * trials_step], p + row * p_step, k, out + row * k);
  generator.to_words(next);
  return 0;
}

template <class F>
FindLibraryFunction own(F* function) {
  return [function] { return LibraryImplementation{reinterpret_cast<void*>(function), "thtrain"}; };
}

template <size_t... kDistribution>
void add_draws(NamedFunctions& out, std::index_sequence<kDistribution...>) {
  auto add = [&]<size_t kNumber>(std::integral_constant<size_t, kNumber>) {
    const Distribution& of = distributions()[kNumber];
    if (of.gives_whole) {
      out[draw_function_name(of, DType::kInt64)] = own(draw<kNumber, long>);
    } else {
      out[draw_function_name(of, DType::kFloat32)] = own(draw<kNumber, float>);
      out[draw_function_name(of, DType::kFloat64)] = own(draw<kNumber, double>);
    }
  };
  (add(std::integral_constant<size_t, kDistribution>()), ...);
}

}  // namespace

NamedFunctions random_functions() {
  NamedFunctions out;
  add_draws(out, std::make_index_sequence<kDistributions>());
  out[permutation_function().name] = own(permutation);
  out[choice_function().name] = own(choice);
  out[multinomial_function().name] = own(multinomial);
  return out;
}

}  // namespace thtrain
