// The page of all tables (docs/performance_tables.md): a section for each benchmark, which a run writes anew.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/measurement.h"

namespace thtrain {

/// A row for each dtype, number of threads and form of output: how many cases thtrain and a peer were measured on, the
/// geometric mean of thtrain's ratios over the fastest peer and over the fastest as users write, and the worst case
/// with its spread. Empty where no peer was measured.
std::string summary_table(const std::vector<Measurement>& all);

/// What is under "## name": the machine, everybody's version, the summary, then the tables of the benchmark.
std::string page_section(const std::vector<Measurement>& all, const std::string& machine);

/// `page` with the section "## name" replaced, up to the next heading of that level or the end; added at the end where
/// there is none. Other sections keep their bytes.
std::string with_section(std::string_view page, const std::string& name, const std::string& section);

}  // namespace thtrain
