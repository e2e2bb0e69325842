// `forerun devices`, `networks` and `predictors`: lists of what is available, as tables or JSON. They return the exit
// status.
#pragma once

#include <ostream>
#include <string>

#include "service/service.hpp"

namespace forerun {

int show_devices(const Catalogue& catalogue, const std::string& id, bool json, std::ostream& out, std::ostream& err);
// Phones and boards: those of kind "edge" (predictors/edge), or the one of this id.
int show_edge_platforms(const std::string& id, bool json, std::ostream& out, std::ostream& err);
[[nodiscard]] bool is_edge_platform(const std::string& id);
int show_networks(const std::string& name, bool json, std::ostream& out, std::ostream& err);
int show_predictors(const Service& service, bool json, std::ostream& out);

}  // namespace forerun
