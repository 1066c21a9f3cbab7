#include "bench/measurement.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "reports/json.h"

namespace thtrain {

std::string json_line(const Measurement& m) {
  return JsonObject()
      .add("bench", m.bench)
      .add("case", m.case_name)
      .add("dtype", m.dtype)
      .add("threads", m.threads)
      .add("form", m.form)
      .add("implementation", m.implementation)
      .add("kind", m.kind)
      .add("setting", m.setting)
      .add("version", m.version)
      .add("chosen", m.chosen)
      .add("unit", m.unit)
      .add("value", m.value)
      .add("low", m.low)
      .add("high", m.high)
      .line();
}

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

static double seconds_of(const Workload& workload, long calls) {
  auto begin = std::chrono::steady_clock::now();
  workload.run(calls);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Rate measure(const Workload& workload, double seconds) {
  workload.run(1);
  long calls = 1;
  double last = seconds_of(workload, calls);
  for (double spent = last; spent <= seconds / 3; spent += last) last = seconds_of(workload, calls *= 2);
  double fitting = static_cast<double>(calls) * seconds / 9 / std::max(last, 1e-9);
  int stretches = fitting < 1 ? 3 : 9;
  calls = std::max(1L, std::lround(fitting));
  std::vector<double> rates;
  for (int i = 0; i < stretches; ++i)
    rates.push_back(static_cast<double>(calls) * workload.units / seconds_of(workload, calls));
  auto [low, high] = std::minmax_element(rates.begin(), rates.end());
  return {median(rates), *low, *high};
}

}  // namespace thtrain
