// forerun-lab adapt --platform: a few measured rows of a device that no file describes, into rates that answer for it.
#pragma once

#include <string>

#include "base/result.hpp"

namespace forerun {

struct AdaptPlatformOptions {
  std::string text;          // what the platform is, in plain words
  std::string id;            // its name in --device; "": made of the text's first words
  std::string measurements;  // a campaign's folder or one CSV file in it
  std::string out;           // "": where forerun predict looks
};
Status adapt_platform(const AdaptPlatformOptions& options);

}  // namespace forerun
