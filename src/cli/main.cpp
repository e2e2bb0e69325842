// The program `forerun`.
#include <malloc.h>

#include <iostream>
#include <string>
#include <vector>

#include "cli/cli.hpp"

int main(int argc, char** argv) {
  // Graphs are made and dropped by the thousand: keep their memory instead of handing it to the system and back.
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_ARENA_MAX, 8);
  std::ios::sync_with_stdio(false);
  return forerun::run_cli(std::vector<std::string>(argv + 1, argv + argc), std::cin, std::cout, std::cerr);
}
