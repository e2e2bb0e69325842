// forerun-lab: measure, keep, train, evaluate. See command.hpp.
#include "commands/command.hpp"

int main(int argc, char** argv) { return forerun::run_lab(argc, argv); }
