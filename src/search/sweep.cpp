#include "search/sweep.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace forerun {
namespace {

namespace fs = std::filesystem;

// A file of the same part that holds answers to other questions.
std::string find_foreign_part(const fs::path& folder, const std::string& name) {
  const std::string stem = name.substr(0, name.rfind('-') + 1);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    std::string other = entry.path().filename().string();
    if (other.starts_with(stem) && other != name && other.ends_with(".jsonl")) return other;
  }
  return {};
}

}  // namespace

std::string part_name(std::int64_t part, std::span<const std::string> questions) {
  uLong sum = crc32(0, nullptr, 0);
  for (const std::string& question : questions) {
    sum = crc32(sum, reinterpret_cast<const Bytef*>(question.data()), uInt(question.size()));
    sum = crc32(sum, reinterpret_cast<const Bytef*>("\n"), 1);
  }
  return fmt::format("part-{:06}-{:08x}.jsonl", part, sum);
}

Result<SweepReport> run_sweep(const Service& service, const QuestionSpace& space, const SweepOptions& options) {
  const fs::path folder = options.out;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Error{ErrorKind::Io, options.out + ": cannot make the folder: " + error.message()};
  const auto start = std::chrono::steady_clock::now();
  SweepReport report;
  report.questions = space.size();
  std::vector<std::string> questions;
  for (std::int64_t first = 0; first < space.size(); first += options.partition) {
    const std::int64_t last = std::min(space.size(), first + options.partition);
    questions.clear();
    for (std::int64_t i = first; i < last; ++i) questions.push_back(space.question(i));
    const std::string name = part_name(first / options.partition, questions);
    if (fs::exists(folder / name)) {
      report.found += last - first;
    } else {
      if (const std::string other = find_foreign_part(folder, name); !other.empty()) {
        return bad_input(options.out + ": " + other +
                         " answers other questions; give another folder, or the space and " +
                         "--partition that began it");
      }
      const std::vector<AnswerRow> rows = answer_questions(service, questions, first, options.threads, options.cancel);
      FORERUN_CHECK(options.cancel.check());
      std::string text;
      for (const AnswerRow& row : rows) {
        text += to_json_line(row, questions[std::size_t(row.question - first)]);
        report.errors += row.error.empty() ? 0 : 1;
      }
      if (const Status written = options.write((folder / name).string(), text); !written) {
        report.unwritten += last - first;
        report.write_error = written.error().message;
      } else {
        report.rows += std::int64_t(rows.size());
      }
    }
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (options.progress) options.progress({last, space.size(), report.seconds});
  }
  return report;
}

}  // namespace forerun
