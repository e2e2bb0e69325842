// forerun-lab: measure, keep, train, evaluate. See command.hpp.
#include "lab/command.hpp"

int main(int argc, char** argv) { return forerun::run_lab(argc, argv); }
