#include <iostream>

#include "cli/cli.hpp"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  return forerun::run_cli({argv + 1, argv + argc}, std::cin, std::cout, std::cerr);
}
