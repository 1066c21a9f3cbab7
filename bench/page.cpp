#include "bench/page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "bench/report.h"
#include "compiler/base/str.h"

namespace thtrain {

namespace {

// thtrain's rows of one setting compared with peers.
struct Summary {
  std::string dtype, form;
  int threads = 1;
  size_t rows = 0;
  double log_sum = 0, log_sum_of_users = 0;
  size_t rows_of_users = 0;
  Ratio worst = {};
  std::string worst_case = {};
};

std::string two_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::vector<Summary> summaries(const std::vector<Measurement>& all) {
  std::vector<Summary> out;
  for (const Measurement& ours : all) {
    if (ours.implementation != "thtrain") continue;
    const Ratio best = ratio_to_fastest(ours, all, false), user = ratio_to_fastest(ours, all, true);
    if (!best.peer) continue;
    auto at = std::find_if(out.begin(), out.end(), [&](const Summary& s) {
      return s.dtype == ours.dtype && s.threads == ours.threads && s.form == ours.form;
    });
    if (at == out.end()) at = out.insert(out.end(), {.dtype = ours.dtype, .form = ours.form, .threads = ours.threads});
    ++at->rows;
    at->log_sum += std::log(best.value);
    if (user.peer) {
      ++at->rows_of_users;
      at->log_sum_of_users += std::log(user.value);
    }
    if (at->worst.peer && at->worst.value <= best.value) continue;
    at->worst = best;
    at->worst_case = ours.case_name;
  }
  return out;
}

}  // namespace

std::string summary_table(const std::vector<Measurement>& all) {
  std::string out;
  for (const Summary& s : summaries(all)) {
    if (out.empty())
      out =
          "| dtype | threads | output | cases | over the fastest peer | over the fastest as users write | worst case "
          "|\n"
          "| --- | --- | --- | --- | --- | --- | --- |\n";
    const double mean = std::exp(s.log_sum / static_cast<double>(s.rows));
    const std::string users =
        s.rows_of_users ? two_digits(std::exp(s.log_sum_of_users / static_cast<double>(s.rows_of_users))) : "-";
    out += str("| ", s.dtype, " | ", s.threads, " | ", s.form == "none" ? "" : s.form, " | ", s.rows, " | ",
               two_digits(mean), " | ", users, " | ", s.worst_case, ": ", two_digits(s.worst.value), " (",
               two_digits(s.worst.low), "-", two_digits(s.worst.high), "), ", s.worst.peer->implementation, " |\n");
  }
  return out;
}

std::string page_section(const std::vector<Measurement>& all, const std::string& machine) {
  std::set<std::string> versions;
  for (const Measurement& m : all)
    if (!m.kind.empty()) versions.insert(m.version);
  std::string out = str("Machine: ", machine, ".");
  if (!versions.empty()) out += str(" Peers: ", join(versions, ", "), ".");
  out += "\n\n";
  if (const std::string summary = summary_table(all); !summary.empty())
    out += str("Geometric means of the ratios thtrain / peer:\n\n", summary, "\n");
  for (const std::string& tables : {ratio_tables(all), compile_tables(all)})
    if (!tables.empty()) out += tables + "\n";
  return out;
}

std::string with_section(std::string_view page, const std::string& name, const std::string& section) {
  const std::string heading = str("## ", name, "\n");
  std::string text(page);
  if (!text.empty() && text.back() != '\n') text += '\n';
  size_t begin = text.starts_with(heading) ? 0 : text.find("\n" + heading);
  if (begin == std::string::npos) return str(text, text.empty() ? "" : "\n", heading, "\n", section);
  if (begin > 0) ++begin;  // of the heading, not of the line's end before it
  size_t end = text.find("\n## ", begin + 1);
  const bool is_last = end == std::string::npos;
  const std::string rest = is_last ? "" : text.substr(end + 1);
  // An empty line precedes the next heading.
  return str(text.substr(0, begin), heading, "\n", section, rest);
}

}  // namespace thtrain
