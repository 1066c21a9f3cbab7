#include "reports/exchange_profile.h"

#include <algorithm>

#include "compiler/base/str.h"
#include "reports/json.h"

namespace thtrain {

std::string exchange_text(const ExchangeProfile& profile) {
  const double steps = static_cast<double>(std::max<int64_t>(1, profile.steps));
  auto milliseconds = [&](double seconds) { return str(fixed_text(1000 * seconds / steps, 3), " ms"); };
  const double exchange = profile.hidden + profile.waited;
  return str("exchange: ", profile.processes, " processes, ", bytes_text(static_cast<double>(profile.bytes)), " in ",
             profile.buckets, profile.buckets == 1 ? " bucket, " : " buckets, ", milliseconds(exchange),
             " a step: ", milliseconds(profile.hidden), " (",
             fixed_text(exchange > 0 ? 100 * profile.hidden / exchange : 0, 0), " %) during the ",
             milliseconds(profile.computing), " of the shards, ", milliseconds(profile.waited),
             " after them; optimizer ", milliseconds(profile.optimizer), "\n");
}

std::string exchange_json(const ExchangeProfile& profile) {
  JsonObject out;
  out.add("processes", profile.processes).add("steps", profile.steps).add("buckets", profile.buckets);
  out.add("bytes", profile.bytes).add("computing", profile.computing).add("hidden", profile.hidden);
  return out.add("waited", profile.waited).add("optimizer", profile.optimizer).lines();
}

}  // namespace thtrain
