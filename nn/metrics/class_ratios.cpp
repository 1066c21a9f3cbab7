#include "nn/metrics/class_ratios.h"

namespace thtrain {

Kind<MetricOptions> precision_metric() {
  return kind<Precision::Options, MetricOptions>();
}
Kind<MetricOptions> recall_metric() {
  return kind<Recall::Options, MetricOptions>();
}
Kind<MetricOptions> f1_metric() {
  return kind<F1::Options, MetricOptions>();
}

}  // namespace thtrain
