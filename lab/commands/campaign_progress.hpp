// How far a campaign is: counts, rate, time left, and a summary by family. Times are passed in, so that it can be
// tested.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "records/measurement.hpp"

namespace forerun {

class CampaignProgress {
 public:
  CampaignProgress(std::size_t total, std::size_t done_before) : total_(total), done_before_(done_before) {}

  void add(const Measurement& row);
  // "120/400 rows (30 from before): 118 ok, 2 oom; 2.50 rows/s, 1 min 52 s left; last: resnet-50 1.23 ms"
  [[nodiscard]] std::string line(double elapsed_s) const;
  // One line per family: rows, ok, median latency.
  [[nodiscard]] std::string summary() const;
  [[nodiscard]] std::size_t done() const { return done_; }

 private:
  struct Family {
    std::size_t rows = 0;
    std::size_t ok = 0;
    std::vector<double> latencies_ms;
  };
  std::size_t total_;
  std::size_t done_before_;
  std::size_t done_ = 0;
  std::map<std::string, std::size_t> counts_;  // ok, oom, error
  std::map<std::string, Family> families_;
  std::string last_;
};

// "42 s", "3 min 05 s", "2 h 10 min".
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace forerun
