// Hardware counters of single operators, as Nsight Compute reads them, and docs/accuracy/counters.md, which sets the
// predicted bytes of each level beside them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "evaluation/advice/questions.hpp"
#include "evaluation/report.hpp"

namespace forerun {

// One operator; figures are summed over its kernels.
struct CounterRow {
  std::string id, source;  // the network it is of; "published", "large": the study's convolution, large tensors
  std::string text;        // as for forerun roofline --operator
  std::string precision, direction;
  std::int64_t kernels = 0;
  double us = 0, warm_us = 0;  // with cold caches, under the counters; warm, by PyTorch's profiler (0: not known)
  double l1_bytes = 0, l2_bytes = 0, memory_bytes = 0;  // L2: asked by multiprocessors, without fills from memory
  double plain_flops = 0;   // of the plain units: FADD + FMUL + 2 FFMA, and twice those of half2 instructions
  double tensor_flops = 0;  // 0 where no counter tells them
};

// `operators`: the list that was run (JSON lines); `counters`: ncu --csv --page raw --print-units base --nvtx, whose
// ranges are named "op:ID"; `times`: kernels and microseconds by operator, may be missing.
Result<std::vector<CounterRow>> import_counters(const std::filesystem::path& operators,
                                                const std::filesystem::path& counters,
                                                const std::filesystem::path& times);
[[nodiscard]] std::string to_csv(const std::vector<CounterRow>& rows);
Result<std::vector<CounterRow>> read_counters(const std::filesystem::path& csv);

// `folder`: counters.csv and findings.md; the picture goes to `image`.
Result<ReportPage> counters_page(const Questions& questions, const std::filesystem::path& folder,
                                 const std::filesystem::path& image);

}  // namespace forerun
