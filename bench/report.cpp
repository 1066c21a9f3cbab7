#include "bench/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bench/workloads.h"
#include "compiler/base/str.h"

namespace thtrain {

namespace {

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[128];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

bool same_row(const Measurement& a, const Measurement& b) {
  return a.bench == b.bench && a.case_name == b.case_name && a.dtype == b.dtype && a.threads == b.threads;
}

bool is_peer(const Measurement& m) {
  return !m.kind.empty();
}

std::string row_text(const std::vector<std::string>& cells) {
  return str("| ", join(cells, " | "), " |\n");
}

std::string head_text(const std::vector<std::string>& names) {
  return row_text(names) + row_text(std::vector<std::string>(names.size(), "---"));
}

std::string ratio_text(const Ratio& ratio) {
  if (!ratio.peer) return "-";
  return format("%.2fx (%.2f-%.2f)", ratio.value, ratio.low, ratio.high);
}

std::string peer_text(const Ratio& ratio) {
  if (!ratio.peer) return "-";
  const Measurement& peer = *ratio.peer;
  return str(peer.implementation, ' ', rate_text(peer.value), peer.setting.empty() ? "" : str(" (", peer.setting, ")"));
}

std::string ceiling_text(const Measurement& ours, const std::vector<Measurement>& all) {
  for (const Measurement& m : all)
    if (m.implementation == "ceiling" && same_row(m, ours)) return format("%.0f %%", 100 * ours.value / m.value);
  return "-";
}

// What a call of a formula, a convolution or a pooling counts, 0 of others: with it a rate is also the time of a call.
double units_of_call(const Measurement& m) {
  if (m.bench == "conv") return 1e-9 * conv_case(m.case_name).flops();
  if (m.bench == "pool") return pool_case(m.case_name).elements();
  if (m.bench == "language") return language_case(m.case_name).elements();
  return m.unit == "elements/s" ? std::stod(m.case_name.substr(m.case_name.find('/') + 1)) : 0;
}

std::string time_text(double seconds) {
  return seconds < 1e-3 ? format("%.2f us", 1e6 * seconds) : format("%.2f ms", 1e3 * seconds);
}

}  // namespace

std::string rate_text(double rate) {
  if (rate >= 1e9) return format("%.2f G", rate / 1e9);
  if (rate >= 1e6) return format("%.2f M", rate / 1e6);
  if (rate < 1000) return format("%.3g", rate);
  long whole = std::lround(rate);
  return format("%ld,%03ld", whole / 1000, whole % 1000);
}

Ratio ratio_to_fastest(const Measurement& ours, const std::vector<Measurement>& all, bool as_users_write) {
  Ratio out;
  for (const Measurement& m : all)
    if (is_peer(m) && same_row(m, ours) && m.form == ours.form && (!as_users_write || m.kind == "user") &&
        (!out.peer || m.value > out.peer->value))
      out.peer = &m;
  if (!out.peer) return out;
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(ours.rounds.size(), out.peer->rounds.size()); ++i)
    ratios.push_back(ours.rounds[i] / out.peer->rounds[i]);
  if (ratios.empty()) ratios.push_back(ours.value / out.peer->value);
  auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  out.low = *low;
  out.high = *high;
  out.value = median(ratios);
  return out;
}

std::string ratio_tables(const std::vector<Measurement>& all) {
  std::string out;
  const Measurement* before = nullptr;
  for (const Measurement& ours : all) {
    if (ours.implementation != "thtrain" || ours.unit == "starts/s") continue;
    bool has_times = units_of_call(ours) > 0;
    if (!before || before->bench != ours.bench || before->dtype != ours.dtype || before->threads != ours.threads) {
      out += str(before ? "\n" : "", ours.bench, ", ", ours.dtype, ", ", ours.threads,
                 ours.threads == 1 ? " thread" : " threads", ", ", ours.unit, "\n\n");
      out += head_text({"case", ours.bench == "conv" || ours.bench == "pool" ? "candidate" : "output", "thtrain",
                        has_times ? "a call" : "spread", "of the ceiling", "fastest peer", "thtrain / it",
                        "fastest as users write", "thtrain / it"});
    }
    before = &ours;
    Ratio best = ratio_to_fastest(ours, all, false), user = ratio_to_fastest(ours, all, true);
    out += row_text(
        {ours.case_name, ours.form == "none" ? ours.chosen : ours.form, rate_text(ours.value),
         has_times ? time_text(units_of_call(ours) / ours.value) : str(rate_text(ours.low), "-", rate_text(ours.high)),
         ceiling_text(ours, all), peer_text(best), ratio_text(best), peer_text(user), ratio_text(user)});
  }
  return out;
}

namespace {

/// The graphs of one kind, made ready by one implementation: nodes and seconds.
struct Growth {
  std::string head;  // dtype, threads
  std::string kind, implementation;
  std::vector<std::pair<double, double>> points;
};

double fitted_exponent(const std::vector<std::pair<double, double>>& points) {
  double n = static_cast<double>(points.size()), x = 0, y = 0, xx = 0, xy = 0;
  for (auto [nodes, seconds] : points) {
    double a = std::log(nodes), b = std::log(seconds);
    x += a, y += b, xx += a * a, xy += a * b;
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

std::vector<Growth> growths(const std::vector<Measurement>& all) {
  std::vector<Growth> out;
  for (const Measurement& m : all) {
    if (m.unit != "nodes/s") continue;
    size_t slash = m.case_name.find('/');
    std::string head = str(m.dtype, ", ", m.threads), kind = m.case_name.substr(0, slash);
    auto same = [&](const Growth& g) {
      return g.head == head && g.kind == kind && g.implementation == m.implementation;
    };
    auto at = std::find_if(out.begin(), out.end(), same);
    if (at == out.end()) at = out.insert(out.end(), {head, kind, m.implementation, {}});
    double nodes = std::stod(m.case_name.substr(slash + 1));
    at->points.emplace_back(nodes, nodes / m.value);
  }
  return out;
}

}  // namespace

std::string compile_tables(const std::vector<Measurement>& all) {
  std::string out;
  for (const Growth& growth : growths(all)) {
    if (out.empty()) out = head_text({"graph", "dtype, threads", "implementation", "seconds", "exponent"});
    auto cell = [](const auto& point) { return format("%.0f nodes %.3g s", point.first, point.second); };
    bool fits = growth.points.size() > 1;
    out += row_text({growth.kind, growth.head, growth.implementation, join(growth.points, ", ", cell),
                     fits ? format("%.2f", fitted_exponent(growth.points)) : "-"});
  }
  bool first = true;
  for (const Measurement& m : all) {
    if (m.unit != "starts/s" || m.implementation != "thtrain") continue;
    if (first)
      out += str(out.empty() ? "" : "\n", head_text({"start", "dtype", "threads", "seconds", "spread", "peers"}));
    first = false;
    std::vector<std::string> peers;
    for (const Measurement& peer : all)
      if (is_peer(peer) && same_row(peer, m))
        peers.push_back(str(peer.implementation, format(" %.3g s: %.2fx", 1 / peer.value, m.value / peer.value)));
    out += row_text({m.case_name == "cold/1000-layers" ? "cold/1000-layers (limit 120 s)" : m.case_name, m.dtype,
                     std::to_string(m.threads), format("%.3g", 1 / m.value), format("%.3g-%.3g", 1 / m.high, 1 / m.low),
                     join(peers, ", ")});
  }
  return out;
}

std::string full_table(const std::vector<Measurement>& all) {
  std::string out = head_text(
      {"case", "dtype", "threads", "implementation", "kind", "output", "setting", "version", "rate", "spread", "unit"});
  for (const Measurement& m : all)
    out += row_text({m.case_name, m.dtype, std::to_string(m.threads), m.implementation, m.kind, m.form, m.setting,
                     m.version, rate_text(m.value), str(rate_text(m.low), "-", rate_text(m.high)), m.unit});
  return out;
}

}  // namespace thtrain
