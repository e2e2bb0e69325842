// `forerun sweep` and `forerun search`: their options, and running them.
#pragma once

#include <CLI/CLI.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "service/service.hpp"

namespace forerun {

struct SweepArguments {
  std::string space, out, format = "jsonl", ray;
  std::int64_t partition = 4096;
  unsigned workers = 0;
  bool questions = false, json = false;
};

CLI::App* add_sweep_command(CLI::App& app, SweepArguments& arguments);
// Exit status. Questions about Ray and Parquet go to the Python package, which takes this process's place.
int run_sweep_command(const SweepArguments& arguments, std::ostream& out, std::ostream& err);

struct SearchArguments {
  std::string space, algorithm = "evolutionary", svg;
  std::vector<std::string> objectives, constraints;
  std::int64_t budget = 1000, population = 100;
  std::uint64_t seed = 1;
  unsigned workers = 0;
  bool json = false, csv = false;
};

CLI::App* add_search_command(CLI::App& app, SearchArguments& arguments);
int run_search_command(const Service& service, const SearchArguments& arguments, std::ostream& out, std::ostream& err);

}  // namespace forerun
