#include <charconv>
#include <cstdlib>
#include <cstring>

#include "training/gnn/process_group.hpp"

namespace forerun {
namespace {

Status read_number(std::initializer_list<const char*> names, int& number) {
  for (const char* name : names) {
    const char* text = std::getenv(name);
    if (text == nullptr) continue;
    const auto [end, problem] = std::from_chars(text, text + std::strlen(text), number);
    if (problem != std::errc{} || *end != '\0' || number < 0)
      return bad_input(std::string(name) + " is not a number: " + text);
    return ok();
  }
  return ok();
}

}  // namespace

Result<ProcessPlace> read_process_place() {
  ProcessPlace place;
  FORERUN_CHECK(read_number({"RANK", "OMPI_COMM_WORLD_RANK"}, place.rank));
  FORERUN_CHECK(read_number({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"}, place.world));
  FORERUN_CHECK(read_number({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"}, place.local));
  FORERUN_CHECK(read_number({"MASTER_PORT"}, place.port));
  place.launched = std::getenv("WORLD_SIZE") != nullptr || std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
  if (const char* address = std::getenv("MASTER_ADDR"); address != nullptr) place.address = address;
  if (place.world < 1 || place.rank >= place.world) return bad_input("RANK must be below WORLD_SIZE");
  return place;
}

}  // namespace forerun
