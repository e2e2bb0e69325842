#include "readers/torch/pickle.hpp"

#include <gtest/gtest.h>

#include <string>

namespace forerun::pytorch {
namespace {

using namespace std::string_literals;

// A float tensor of 4 x 3 whose storage is entry 7.
const std::string kTensor =
    "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0"s +
    "7X\x03\0\0\0cpuK\x0ctQ"s + "K\0K\x04K\x03\x86K\x03K\x01\x86\x89NtR"s;

TEST(Pickle, ReadsTensorsByTheirDescription) {
  const auto pickle = read_pickle("\x80\x02}(X\x01\0\0\0w"s + kTensor + "X\x01\0\0\0nK\x05u."s, "p");
  ASSERT_TRUE(pickle) << pickle.error().message;
  ASSERT_EQ(pickle->tensors.size(), 1U);
  EXPECT_EQ(pickle->tensors[0].dims, (Dims{4, 3}));
  EXPECT_EQ(pickle->tensors[0].type, DType::Float32);
  EXPECT_EQ(pickle->tensors[0].storage, "7");
  const auto& entries = (*pickle->root.as<Object>())->entries;
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_NE(entries[0].second.as<Stored>(), nullptr);
  EXPECT_EQ(*entries[1].second.as<std::int64_t>(), 5);
}

TEST(Pickle, MakesInstancesWithAttributesAndRunsNothing) {
  const auto pickle = read_pickle("\x80\x02"s + "cos\nsystem\n(X\x02\0\0\0lstR."s, "p");
  ASSERT_TRUE(pickle);  // the function is named, not called
  EXPECT_EQ((*pickle->root.as<Object>())->name, "os.system");
  const auto module = read_pickle("\x80\x02"s + "c__torch__\nM\n)\x81}(X\x08\0\0\0training\x89ub."s, "p");
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ((*module->root.as<Object>())->name, "__torch__.M");
  EXPECT_EQ(*(*module->root.as<Object>())->attributes.at("training").as<bool>(), false);
}

TEST(Pickle, RefusesDamage) {
  const std::string whole = "\x80\x02}(X\x01\0\0\0w"s + kTensor + "u."s;
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(read_pickle(whole.substr(0, size), "p")) << size;
  EXPECT_FALSE(read_pickle("\x80\x02h\x05."s, "p"));  // recalls what was never made
  EXPECT_FALSE(read_pickle("\x80\x02\xff."s, "p"));   // no opcode
  EXPECT_FALSE(read_pickle("\x80\x02K\x01K\x02."s, "p"));
}

TEST(Pickle, RefusesValuesThatHoldThemselves) {
  // x = []; y = [x]; x.append(y)
  const auto pickle = read_pickle("\x80\x02]q\0]q\x01h\0ah\0h\x01"s + "a0."s, "p");
  EXPECT_FALSE(pickle);
}

}  // namespace
}  // namespace forerun::pytorch
