#include "reports/histograms.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "compiler/base/error.h"
#include "reports/plot.h"

namespace thtrain {

static std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

HistogramPanel histogram_of(const std::string& name, std::span<const double> values, size_t bins) {
  TH_CHECK(bins > 0, "a histogram without bins");
  double low = HUGE_VAL, high = -HUGE_VAL, mean = 0, squares = 0, count = 0;
  for (double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
    ++count;
    const double before = mean;  // Welford (1962)
    mean += (value - mean) / count;
    squares += (value - before) * (value - mean);
  }
  HistogramPanel out{.name = name};
  const double without = static_cast<double>(values.size()) - count;
  out.note = count == 0 ? "no finite values"
                        : str("mean ", short_number(mean), ", deviation ", short_number(std::sqrt(squares / count)));
  if (count > 0 && without > 0) out.note += str(", ", short_number(without), " not finite");
  if (values.size() < kFewNumbers) {
    std::copy_if(values.begin(), values.end(), std::back_inserter(out.numbers),
                 [](double value) { return std::isfinite(value); });
    std::sort(out.numbers.begin(), out.numbers.end());
  }
  const double middle = count > 0 ? low : 0;
  if (!(high > low) || !std::isfinite(high - low)) {
    out.edges = {middle - 0.5, middle + 0.5};
    out.counts = {count};
    return out;
  }
  const double width = (high - low) / static_cast<double>(bins);
  for (size_t i = 0; i <= bins; ++i) out.edges.push_back(low + width * static_cast<double>(i));
  out.edges.back() = high;
  out.counts.assign(bins, 0);
  for (double value : values)
    if (std::isfinite(value))
      ++out.counts[std::min(static_cast<size_t>(std::max((value - low) / width, 0.0)), bins - 1)];
  return out;
}

// A line for each of `numbers`, which are sorted.
static void draw_numbers(Canvas& canvas, Panel& panel, const std::vector<double>& numbers) {
  panel.draw_axes("");
  for (size_t i = 0, equal = 0; i < numbers.size(); i += equal) {
    equal = static_cast<size_t>(std::count(numbers.begin(), numbers.end(), numbers[i]));
    const double x = panel.x_of(numbers[i]), y = panel.y_of(static_cast<double>(equal));
    canvas.line(x, panel.box().bottom, x, y, {.thickness = 2, .colour = plot::kBlue});
    canvas.marker(x, y, {.size = 7, .colour = plot::kBlue});
  }
}

// The numbers that are equal to the most frequent one.
static double most_equal(const std::vector<double>& numbers) {
  ptrdiff_t out = 0;
  for (double number : numbers) out = std::max(out, std::count(numbers.begin(), numbers.end(), number));
  return static_cast<double>(out);
}

std::vector<std::string> draw_histograms(const std::string& path, const std::vector<HistogramPanel>& histograms,
                                         const std::string& title) {
  const size_t columns = std::clamp<size_t>(histograms.size(), 1, 3),
               rows = (histograms.size() + columns - 1) / columns;
  constexpr double kTop = 40, kHeight = 210, kSide = 14;
  Canvas canvas(960, static_cast<int>(kTop + kHeight * static_cast<double>(std::max<size_t>(rows, 1))));
  canvas.text(20, 27, shortened(title, 920, 15, true), {.size = 15, .bold = true});
  const double width = (960 - 2 * kSide) / static_cast<double>(columns);
  for (size_t i = 0; i < histograms.size(); ++i) {
    const HistogramPanel& one = histograms[i];
    const bool are_few = !one.numbers.empty();
    const double largest = are_few ? most_equal(one.numbers) : *std::max_element(one.counts.begin(), one.counts.end());
    Axis x{.low = one.edges.front(), .high = one.edges.back(), .ticks = 5};
    // The least and the largest number are not on the frame.
    if (are_few) x.low = one.edges.front() * 1.08 - one.edges.back() * 0.08;
    if (are_few) x.high = one.edges.back() * 1.08 - one.edges.front() * 0.08;
    if (!std::isfinite(x.low) || !std::isfinite(x.high)) x.low = one.edges.front(), x.high = one.edges.back();
    const Axis y{.high = std::max(1.0, 1.05 * largest), .whole = true, .ticks = 4};
    const Margins around = Panel::margins(x, y);
    const size_t row = i / columns;
    const double left = kSide + width * static_cast<double>(i % columns),
                 top = kTop + kHeight * static_cast<double>(row);
    Panel panel(canvas,
                {std::round(left + 8 + around.left), top + around.top + 18, std::round(left + width - 8 - around.right),
                 top + kHeight - 10 - around.bottom},
                x, y);
    const Box& box = panel.box();
    if (are_few)
      draw_numbers(canvas, panel, one.numbers);
    else
      panel.draw_histogram("", one.edges, one.counts, plot::kBlue);
    canvas.text(box.left, box.top - 22, shortened(one.name, box.width(), plot::kTitleSize, true),
                {.size = plot::kTitleSize, .bold = true});
    canvas.text(box.left, box.top - 7, shortened(one.note, box.width(), plot::kTextSize),
                {.size = plot::kTextSize, .colour = plot::kAxis});
  }
  return canvas.write(path);
}

}  // namespace thtrain
