// protozero's writer in the same configuration as the readers; tests build their messages with it.
#pragma once

#include "readers/protobuf.hpp"

#include <protozero/pbf_writer.hpp>
