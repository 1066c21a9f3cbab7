#include "bench/maths.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numbers>
#include <random>

#include "bench/maths_program.h"
#include "bench/ulps.h"
#include "compiler/base/build_info.h"
#include "compiler/base/error.h"
#include "compiler/host/cpu.h"
#include "compiler/ir/variables.h"
#include "compiler/libraries/threads.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "reports/json.h"

namespace thtrain {

namespace {

constexpr int64_t kCount = MathsProgram::kCount;
constexpr int64_t kFloats = int64_t{1} << 32, kSamples = 100'000'000, kQuickFloats = 1 << 20, kQuickSamples = 1 << 16;
constexpr size_t kTrials = 16;  // of a block: where the oracle is held against libm
constexpr double kOracleUlps = 1e-3;

struct Widest {
  double ulps = 0, x = 0, y = 0;

  void take(double more, double at_x, double at_y) {
    if (more > ulps) *this = {more, at_x, at_y};
  }
};

Graph graph_of(const MathsFunction& f, DType dtype) {
  Expr x = tensor("x", {kCount}, dtype), y = tensor("y", {kCount}, dtype);
  Graph graph{{x}, {f.build(x, y)}, {}};
  if (f.arity == 2) graph.inputs.push_back(y);
  return graph;
}

// 1 / the distance of the float32 around `exact`.
Graph graph_of_scale() {
  Expr exact = tensor("exact", {kCount}, DType::kFloat64);
  // The power of two below |exact|: S. M. Rump, T. Ogita, S. Oishi, Accurate Floating-Point Summation Part I, 2008,
  // algorithm 3.6.
  Expr size = clip(abs(exact), 0x1p-126, 0x1p200), q = size * (0x1p52 + 1);
  return {{exact}, {0x1p23 / abs(q - q * (1 - 0x1p-53))}, {}};
}

// The largest of a block's ulps(got, exact), but for the rounding of float64.
Graph graph_of_ulps() {
  Expr got = tensor("got", {kCount}, DType::kFloat32), exact = tensor("exact", {kCount}, DType::kFloat64),
       scale = tensor("scale", {kCount}, DType::kFloat64), rounded = cast(exact, DType::kFloat32);
  Expr error = abs(clip(cast(got, DType::kFloat64), -0x1p128, 0x1p128) - exact) * scale;
  Expr wrong = switch_(isnan(error), INFINITY, error);
  // Only a product of zeros of different signs is -0.
  Expr of_equal = switch_(lt(reciprocal(got * rounded), 0.0f), INFINITY, 0.0);
  Expr of_nan = switch_(logical_and(isnan(got), isnan(exact)), 0.0, wrong);
  return {{got, exact, scale}, {max(switch_(eq(got, rounded), of_equal, of_nan))}, {}};
}

// A fixed sample of inputs, block by block: in turn from four sources.
template <class T>
class Samples {
 public:
  Samples(const MathsFunction& function, int64_t block) : function_(function), random_(static_cast<uint64_t>(block)) {}

  void draw(std::vector<T>& x, std::vector<T>& y) {
    using Limits = std::numeric_limits<T>;
    for (size_t i = 0; i < kCount; ++i) {
      x[i] = one();
      if (function_.arity == 1) continue;
      y[i] = one();
      // Powers that stay in the range: the logarithm of the result is drawn.
      if (function_.name == "pow" && i % 4 != 0) {
        x[i] = std::abs(x[i]);
        double logarithm = std::log2(static_cast<double>(x[i]));
        if (std::isfinite(logarithm) && logarithm != 0)
          y[i] =
              static_cast<T>(uniform(Limits::min_exponent - Limits::digits - 2, Limits::max_exponent + 1) / logarithm);
      } else if (function_.name == "arctan2" && i % 4 != 0) {
        y[i] = static_cast<T>(x[i] * static_cast<T>(uniform(-4, 4)));  // else nearly every angle is next to an axis
      }
    }
  }

 private:
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }

  T one() {
    switch (random_() % 4) {
      case 0: {  // every bit pattern; a signalling NaN as a quiet one, since pow(1, NaN) asks which it is
        std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t> bits{};
        bits = static_cast<decltype(bits)>(random_());
        T value = std::bit_cast<T>(bits);
        return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
      }
      case 1:  // where functions move, at several scales
        return static_cast<T>(uniform(-1, 1) * std::exp2(uniform(-4, sizeof(T) == 4 ? 7 : 10)));
      case 2:  // next to 1 and -1
        return static_cast<T>((random_() % 2 ? 1 : -1) + uniform(-1, 1) * std::exp2(uniform(-52, -1)));
      default: {  // next to a multiple of pi / 2
        double k = std::floor(std::exp2(uniform(0, 20)));
        return static_cast<T>(k * (std::numbers::pi / 2) *
                              (1 + uniform(-4, 4) * static_cast<double>(std::numeric_limits<T>::epsilon())));
      }
    }
  }

  const MathsFunction& function_;
  std::mt19937_64 random_;
};

std::vector<int> widths_of(const MathsOptions& options) {
  if (!options.vector_bytes.empty()) return options.vector_bytes;
  if (std::getenv("THTRAIN_VECTOR_BYTES")) return {cpu().vector_bytes};
  std::vector<int> out;
  for (int bytes : {16, 32, 64})
    if (bytes <= cpu().vector_bytes) out.push_back(bytes);
  return out;
}

// What the threads of a measurement find: threads share programs and nothing else.
struct Found {
  std::vector<Widest> widest;  // of each width
  double oracle = 0;           // its largest distance from libm, in ulps of float32
};

// One function of T by every width.
template <class T>
class Measuring {
 public:
  Measuring(const MathsFunction& function, const MathsOptions& options)
      : function_(function), options_(options), widths_(widths_of(options)) {
    for (int bytes : widths_) programs_.emplace_back(graph_of(function, dtype_of<T>()), Level::kStandard, bytes);
    line_ = sizeof(T) == 4 && function.arity == 1;
    int64_t inputs = options.quick ? (line_ ? kQuickFloats : kQuickSamples) : options.samples.value_or(kSamples);
    if (line_ && !options.quick && !options.samples) inputs = kFloats;
    stride_ = inputs < kFloats ? kFloats / inputs | 1 : 1;  // odd: else the last bits would all be alike
    if (line_) inputs = kFloats / stride_;
    blocks_ = (inputs + kCount - 1) / kCount;
    if (!line_) return;
    int widest = detect_cpu(nullptr).vector_bytes;
    oracle_.emplace_back(graph_of(function, DType::kFloat64), Level::kStandard, widest);
    for (const Graph& graph : {graph_of_scale(), graph_of_ulps()})
      oracle_.emplace_back(graph, Level::kStrict, widest);  // other rules do not keep every bit
  }

  std::vector<MathsMeasurement> run() const {
    std::vector<Found> parts(static_cast<size_t>(options_.threads));
    run_pieces(options_.threads, [&](int piece) {
      int64_t first = blocks_ * piece / options_.threads, last = blocks_ * (piece + 1) / options_.threads;
      parts[static_cast<size_t>(piece)] = line_ ? along_the_line(first, last) : over_samples(first, last);
    });
    Found all = parts[0];
    for (const Found& part : parts) {
      all.oracle = std::max(all.oracle, part.oracle);
      for (size_t k = 0; k < widths_.size(); ++k)
        all.widest[k].take(part.widest[k].ulps, part.widest[k].x, part.widest[k].y);
    }
    TH_CHECK(all.oracle <= kOracleUlps, function_.name, " of float64 is ", all.oracle, " float32 ulps from libm's");
    std::vector<MathsMeasurement> out;
    for (size_t k = 0; k < widths_.size(); ++k)
      out.push_back({function_.name, function_.arity, dtype_of<T>(), widths_[k], options_.threads, blocks_ * kCount,
                     function_.*(sizeof(T) == 4 ? &MathsFunction::float32_ulps : &MathsFunction::float64_ulps),
                     all.widest[k].ulps, all.widest[k].x, all.widest[k].y});
    return out;
  }

 private:
  Found along_the_line(int64_t first, int64_t last) const {
    Found out{std::vector<Widest>(widths_.size()), 0};
    std::vector<double> seen(widths_.size(), 0.0), wide(kCount), exact(kCount), scale(kCount);
    std::vector<T> x(kCount), y(kCount), got(kCount);
    for (int64_t block = first; block < last; ++block) {
      auto bits = static_cast<uint32_t>(block * kCount * stride_);
      for (size_t i = 0; i < kCount; ++i) {
        x[i] = static_cast<T>(std::bit_cast<float>(bits));
        wide[i] = static_cast<double>(x[i]);
        bits += static_cast<uint32_t>(stride_);
      }
      oracle_[0]({wide.data()}, exact.data());
      oracle_[1]({exact.data()}, scale.data());
      out.oracle = std::max(out.oracle, distance_from_libm(block, x, exact));
      for (size_t k = 0; k < widths_.size(); ++k) {
        double largest = 0;
        programs_[k]({x.data()}, got.data());
        oracle_[2]({got.data(), exact.data(), scale.data()}, &largest);
        if (largest <= seen[k]) continue;
        seen[k] = largest;
        hold(x, y, got, out.widest[k]);
      }
    }
    return out;
  }

  Found over_samples(int64_t first, int64_t last) const {
    Found out{std::vector<Widest>(widths_.size()), 0};
    std::vector<T> x(kCount), y(kCount), got(kCount);
    std::vector<long double> exact(kCount);
    for (int64_t block = first; block < last; ++block) {
      Samples<T>(function_, block).draw(x, y);
      for (size_t i = 0; i < kCount; ++i) exact[i] = function_.exact(x[i], y[i]);
      for (size_t k = 0; k < widths_.size(); ++k) {
        if (function_.arity == 1)
          programs_[k]({x.data()}, got.data());
        else
          programs_[k]({x.data(), y.data()}, got.data());
        for (size_t i = 0; i < kCount; ++i) out.widest[k].take(ulps(got[i], exact[i]), at(x[i]), at(y[i]));
      }
    }
    return out;
  }

  void hold(const std::vector<T>& x, const std::vector<T>& y, const std::vector<T>& got, Widest& widest) const {
    for (size_t i = 0; i < kCount; ++i) widest.take(ulps(got[i], function_.exact(x[i], y[i])), at(x[i]), at(y[i]));
  }

  // At other positions of each block.
  double distance_from_libm(int64_t block, const std::vector<T>& x, const std::vector<double>& exact) const {
    double out = 0;
    for (size_t k = 0; k < kTrials; ++k) {
      size_t i = (static_cast<size_t>(block) * 37 + k * (kCount / kTrials)) % kCount;
      long double libm = function_.exact(x[i], 0);
      if (std::isnan(exact[i]) && std::isnan(libm)) continue;
      // What is below float32's smallest number, and above its largest, need not be the same number.
      auto held = [](long double value) { return std::clamp(value, -0x1p129L, 0x1p129L); };
      long double size = std::ldexp(1.0L, std::max(libm == 0 ? -126 : std::ilogb(held(libm)), -126) - 23);
      long double distance = std::abs(held(exact[i]) - held(libm)) / size;
      out = distance <= out ? out : std::isnan(distance) ? INFINITY : static_cast<double>(distance);
    }
    return out;
  }

  static double at(T x) { return static_cast<double>(x); }

  const MathsFunction& function_;
  const MathsOptions& options_;
  std::vector<int> widths_;
  std::vector<MathsProgram> programs_, oracle_;  // one for each width; the function of float64, the scale, the ulps
  bool line_;
  int64_t stride_, blocks_;
};

void check_names(const std::vector<std::string>& wanted) {
  std::vector<std::string> names;
  for (const MathsFunction& f : maths_functions()) names.push_back(f.name);
  for (const std::string& name : wanted)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw UserError(Message{.what = str("bench maths: there is no function ", name), .expected = join(names, ", ")});
}

bool among(const std::vector<std::string>& wanted, const std::string& name) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

}  // namespace

std::vector<MathsMeasurement> measure_function(const MathsFunction& function, DType dtype,
                                               const MathsOptions& options) {
  return dtype == DType::kFloat32 ? Measuring<float>(function, options).run()
                                  : Measuring<double>(function, options).run();
}

void measure_maths(const MathsOptions& options, const std::function<void(const std::string&)>& progress,
                   const std::function<void(const MathsMeasurement&)>& found) {
  check_names(options.functions);
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    if (!among(options.dtypes, std::string(name_of(dtype)))) continue;
    for (const MathsFunction& function : maths_functions()) {
      if (!among(options.functions, function.name)) continue;
      progress(str("maths ", function.name, ", ", name_of(dtype)));
      for (const MathsMeasurement& m : measure_function(function, dtype, options)) found(m);
    }
  }
}

std::string json_line(const MathsMeasurement& m) {
  return JsonObject()
      .add("bench", "maths")
      .add("case", m.function)
      .add("dtype", name_of(m.dtype))
      .add("threads", m.threads)
      .add("form", "none")
      .add("implementation", "thtrain")
      .add("kind", "")
      .add("setting", "")
      .add("version", str("thtrain ", build_id))
      .add("unit", "ulps")
      .add("value", m.ulps)
      .add("bound", m.bound)
      .add("vector_bytes", m.vector_bytes)
      .add("inputs", m.inputs)
      .add("x", m.x)
      .add("y", m.y)
      .line();
}

// With as many digits as tell the numbers of the dtype apart.
static std::string argument_text(DType dtype, double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", dtype == DType::kFloat32 ? 9 : 17, x);
  return text;
}

std::string maths_table(const std::vector<MathsMeasurement>& measurements) {
  constexpr int kWidths[] = {16, 32, 64};
  std::vector<std::pair<std::string, std::map<int, std::string>>> rows;  // their first cells, those of the widths
  for (const MathsMeasurement& m : measurements) {
    char error[32];
    std::snprintf(error, sizeof error, "%.3f at ", m.ulps);
    std::string first = str("| ", m.function, " | ", name_of(m.dtype), " | ", json_number(m.bound), " | ",
                            m.inputs == kFloats ? "all" : std::to_string(m.inputs), " |");
    auto row = std::ranges::find(rows, first, [](const auto& r) { return r.first; });
    if (row == rows.end()) row = rows.insert(row, {first, {}});
    row->second[m.vector_bytes] =
        str(error, argument_text(m.dtype, m.x), m.arity == 2 ? ", " + argument_text(m.dtype, m.y) : "");
  }
  std::string out =
      "| function | dtype | bound | inputs | 16 bytes | 32 bytes | 64 bytes |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (auto& [first, cells] : rows) {
    out += first;
    for (int bytes : kWidths) out += str(" ", cells.contains(bytes) ? cells[bytes] : "-", " |");
    out += "\n";
  }
  return out;
}

}  // namespace thtrain
