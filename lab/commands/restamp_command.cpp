// forerun-lab restamp: new hashes for bundles whose features did not change.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/text_file.hpp"
#include "commands/command.hpp"
#include "evaluation/ship/restamp.hpp"

namespace forerun {
namespace {

Status restamp_files(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    FORERUN_TRY(const Bundle before, Bundle::open(file));
    FORERUN_TRY(const std::string bytes, restamp(before));
    FORERUN_TRY(const Bundle after, Bundle::from_bytes(bytes, file));
    fmt::print("{}: {:016x} is now {:016x}\n", file, before.manifest().schema.hash, after.manifest().schema.hash);
    FORERUN_CHECK(write_text_file(file, bytes));
  }
  return ok();
}

}  // namespace

LabAction declare_restamp(CLI::App& app) {
  auto files = std::make_shared<std::vector<std::string>>();
  app.add_option("bundles", *files, "Bundles to rewrite in place")->required()->check(CLI::ExistingFile);
  return [files] { return restamp_files(*files); };
}

}  // namespace forerun
