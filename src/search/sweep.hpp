// A whole space answered on this machine, part by part, into a folder. A sweep that was cut short goes on where it
// ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/text_file.hpp"
#include "search/answers.hpp"
#include "search/space.hpp"

namespace forerun {

struct SweepProgress {
  std::int64_t done = 0, total = 0;  // questions
  double seconds = 0;
};

struct SweepOptions {
  std::string out;                // folder of the parts
  std::int64_t partition = 4096;  // questions of a part
  unsigned threads = 0;           // 0: all cores
  std::function<void(const SweepProgress&)> progress = {};
  CancelToken cancel = {};
  std::function<Status(const std::string& path, const std::string& text)> write = write_text_file;
};

struct SweepReport {
  std::int64_t questions = 0, found = 0;  // found: answered by an earlier run
  std::int64_t rows = 0, errors = 0;      // of this run
  std::int64_t unwritten = 0;             // questions whose part could not be written
  std::string write_error;
  double seconds = 0;
};

// Writes OUT/part-NNNNNN-HHHHHHHH.jsonl: H is the checksum of the part's questions, so that a part is answered once and
// parts of other questions are never taken for it. A part appears whole or not at all.
Result<SweepReport> run_sweep(const Service& service, const QuestionSpace& space, const SweepOptions& options);

// The name of a part.
[[nodiscard]] std::string part_name(std::int64_t part, std::span<const std::string> questions);

}  // namespace forerun
