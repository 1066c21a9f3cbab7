#include "bench/published.h"

#include <algorithm>
#include <cstdio>

#include "bench/report.h"
#include "compiler/base/str.h"

namespace thtrain {

namespace {

struct Published {
  const char* case_name;
  double float64, float32, gpu;  // Theano
  const char* others;
};

// Files of 2010-06-23. Fig. 5 has batch 60; Fig. 6 has batch 1, and Theano's bar there is the one of float32. Torch 5
// goes through a minibatch example by example; EBLearn's and SciPy's networks are smaller: SciPy has the forward
// convolutions alone.
constexpr Published kPublished[] = {
    {"784-500-10/1", 1778.64, 2618.99, 1095.42, "NumPy 225; MATLAB 421; MATLAB on the GPU 124; Torch 5 459"},
    {"784-500-10/60", 6573.73, 11861.38, 38310, "NumPy 3,580; MATLAB 4,093; MATLAB on the GPU 5,865; Torch 5 876"},
    {"784-1000-1000-1000-10/1", 76.70, 173.47, 279.96, "MATLAB 30.9; MATLAB on the GPU 53.9; Torch 5 30.9"},
    {"784-1000-1000-1000-10/60", 678.49, 1310.79, 6361.64, "MATLAB 475; MATLAB on the GPU 2,294; Torch 5 68.5"},
    {"convsmall/1", 568.86, 583.36, 482.15, "Torch 5 312; EBLearn 223; SciPy, forward 56.8"},
    {"convsmall/60", 941.28, 1029.00, 8740.86, "Torch 5 319"},
    {"convmed/1", 83.74, 87.11, 218.60, "Torch 5 37.7; EBLearn 39.6; SciPy, forward 6.23"},
    {"convmed/60", 88.19, 96.82, 583.54, "Torch 5 37.7"},
    {"convlarge/1", 15.38, 16.50, 79, "Torch 5 6.83; EBLearn 7.44; SciPy, forward 2.83"},
    {"convlarge/60", 12.38, 16.79, 84.86, "Torch 5 6.83"},
};

std::string times_text(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3gx", ratio);
  return text;
}

}  // namespace

std::string published_table(const std::vector<Measurement>& all) {
  std::string out;
  for (const Measurement& m : all) {
    const auto row = std::find_if(std::begin(kPublished), std::end(kPublished),
                                  [&](const Published& p) { return m.case_name == p.case_name; });
    if (m.implementation != "thtrain" || m.unit != "examples/s" || row == std::end(kPublished)) continue;
    if (out.empty())
      out =
          "| case | dtype | threads | thtrain, examples/s | Theano 2010, Core 2 Duo | thtrain / it | Theano 2010, GTX "
          "285, float32 | thtrain / it | others 2010 |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    const double processor = m.dtype == "float32" ? row->float32 : row->float64;
    out += str("| ", m.case_name, " | ", m.dtype, " | ", m.threads, " | ", rate_text(m.value), " | ",
               rate_text(processor), " | ", times_text(m.value / processor), " | ", rate_text(row->gpu), " | ",
               times_text(m.value / row->gpu), " | ", row->others, " |\n");
  }
  return out;
}

}  // namespace thtrain
