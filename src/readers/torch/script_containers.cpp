// TorchScript's functions on lists and dictionaries.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "readers/torch/script_numbers.hpp"
#include "readers/torch/script_run.hpp"

namespace forerun::pytorch {

// Does `value` hold the container, at any depth? Values that hold themselves would never be freed.
bool ScriptRun::holds(const Argument& value, const void* container, int depth) {
  const List* list = value.as<List>();
  const Object* object = value.as<Object>();
  if (list == nullptr && object == nullptr) return false;
  if (++steps_; depth > 64) return true;
  if (list != nullptr) {
    if (list->get() == container) return true;
    return std::any_of((*list)->begin(), (*list)->end(),
                       [&](const Argument& item) { return holds(item, container, depth + 1); });
  }
  if (object->get() == container) return true;
  for (const auto& [name, item] : (*object)->attributes) {
    if (holds(item, container, depth + 1)) return true;
  }
  return std::any_of((*object)->entries.begin(), (*object)->entries.end(), [&](const auto& entry) {
    return holds(entry.first, container, depth + 1) || holds(entry.second, container, depth + 1);
  });
}

Result<Argument> ScriptRun::item_at(const Argument& of, const Argument& index) {
  if (const List* list = of.as<List>()) {
    if (index.as<AtRunTime>() != nullptr && !(*list)->empty()) return (*list)->front();
    const auto place = place_in(index, (*list)->size());
    if (!place) return wrong("an item is taken that the list does not have");
    const auto* stored = (**list)[*place].as<Stored>();
    return stored != nullptr ? tensor_of(stored->index) : (**list)[*place];
  }
  if (const Object* object = of.as<Object>(); object != nullptr && (*object)->form == ScriptObject::Form::Dictionary) {
    for (const auto& [key, value] : (*object)->entries) {
      if (equal(key, index).value_or(false)) return value;
    }
    return wrong("a key is not in the dictionary");
  }
  if (of.as<Tensor>() != nullptr) {
    Arguments arguments;
    arguments.values = {of, {std::int64_t{0}}, index};
    arguments.keywords.resize(3);
    return call_operator("aten", "select", std::move(arguments));
  }
  return wrong("an item is taken of what is no list");
}

std::optional<Result<Argument>> ScriptRun::on_list(const std::string& name, const Arguments& arguments) {
  const std::vector<Argument>& values = arguments.values;
  const List list = *values[0].as<List>();
  const auto give = [](Argument value) { return std::optional<Result<Argument>>(std::move(value)); };
  if (std::int64_t(list->size()) > kMaxListed) return Result<Argument>(wrong("a list grows too long"));
  if (name == "len") return give({std::int64_t(list->size())});
  if (name == "list" || name == "copy" || name == "_tensor_to_list") return give(make_list(*list));
  if (name == "__getitem__" && values.size() == 2) return item_at(values[0], values[1]);
  if (name == "append" && values.size() == 2) {
    if (holds(values[1], list.get(), 0)) return Result<Argument>(wrong("a list is put into itself"));
    list->push_back(values[1]);
    return give(values[0]);
  }
  if ((name == "extend" || name == "add_" || name == "add") && values.size() == 2 && values[1].as<List>() != nullptr) {
    std::vector<Argument> joined = *list;
    const std::vector<Argument>& more = **values[1].as<List>();
    if (name != "add" && holds(values[1], list.get(), 0)) return Result<Argument>(wrong("a list is put into itself"));
    joined.insert(joined.end(), more.begin(), more.end());
    steps_ += std::int64_t(joined.size());
    if (name == "add") return give(make_list(std::move(joined)));
    *list = std::move(joined);
    return give(values[0]);
  }
  if (name == "mul" && values.size() == 2 && values[1].as<std::int64_t>() != nullptr) {
    std::vector<Argument> repeated;
    const std::int64_t times = std::clamp<std::int64_t>(*values[1].as<std::int64_t>(), 0, kMaxListed);
    if (checked_mul(times, std::int64_t(list->size())) > kMaxListed)
      return Result<Argument>(wrong("a list grows too long"));
    for (std::int64_t i = 0; i < times; ++i) repeated.insert(repeated.end(), list->begin(), list->end());
    steps_ += std::int64_t(repeated.size());
    return give(make_list(std::move(repeated)));
  }
  if (name == "_set_item" && values.size() == 3) {
    const auto place = place_in(values[1], list->size());
    if (!place) return Result<Argument>(wrong("an item is set that the list does not have"));
    if (holds(values[2], list.get(), 0)) return Result<Argument>(wrong("a list is put into itself"));
    (*list)[*place] = values[2];
    return give(values[0]);
  }
  if (name == "pop" && !list->empty()) {
    Argument last = list->back();
    list->pop_back();
    return give(std::move(last));
  }
  if (name == "__contains__" && values.size() == 2)
    return give({std::any_of(list->begin(), list->end(),
                             [&](const Argument& item) { return equal(item, values[1]).value_or(false); })});
  if (name == "slice") {
    const auto number = [&](std::size_t i, std::int64_t fallback) {
      return i < values.size() && values[i].as<std::int64_t>() != nullptr ? *values[i].as<std::int64_t>() : fallback;
    };
    const auto size = std::int64_t(list->size());
    const auto clip = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
    const std::int64_t step = std::max<std::int64_t>(1, number(3, 1));
    std::vector<Argument> items;
    for (std::int64_t i = clip(number(1, 0)); i < clip(number(2, size)); i += step)
      items.push_back((*list)[std::size_t(i)]);
    steps_ += std::int64_t(items.size());
    return give(make_list(std::move(items)));
  }
  if ((name == "max" || name == "min") && values.size() == 1 && !list->empty()) {
    Argument best = list->front();
    for (const Argument& item : *list) {
      if (!is_number(item) || !is_number(best)) return give({AtRunTime{}});
      if (name == "max" ? *real_of(item) > *real_of(best) : *real_of(item) < *real_of(best)) best = item;
    }
    return give(best);
  }
  return std::nullopt;
}

std::optional<Result<Argument>> ScriptRun::on_dictionary(const std::string& name, const Arguments& arguments) {
  const std::vector<Argument>& values = arguments.values;
  const auto give = [](Argument value) { return std::optional<Result<Argument>>(std::move(value)); };
  if (name == "format") {
    const auto* text = values[0].as<std::string>();
    std::string result;
    std::size_t next = 1;
    for (std::size_t i = 0; text != nullptr && i < text->size() && result.size() < 1000; ++i) {
      const bool slot = (*text)[i] == '{' && i + 1 < text->size() && (*text)[i + 1] == '}';
      result += slot ? (next < values.size() ? shown(values[next++]) : "") : std::string(1, (*text)[i]);
      if (slot) ++i;
    }
    return give({std::move(result)});
  }
  if (name == "__range_length" && values.size() == 3) {
    const auto low = integer_of(values[0]), high = integer_of(values[1]), step = integer_of(values[2]);
    if (!low || !high || !step || *step == 0) return give({AtRunTime{}});
    const double span = std::ceil((double(*high) - double(*low)) / double(*step));
    return give({std::int64_t(std::clamp(span, 0.0, 9e15))});
  }
  if (name == "__derive_index" && values.size() == 3) {
    const auto index = integer_of(values[0]), start = integer_of(values[1]), step = integer_of(values[2]);
    if (!index || !start || !step) return give({AtRunTime{}});
    return give({wrapped(std::uint64_t(*start) + std::uint64_t(*index) * std::uint64_t(*step))});
  }
  if (name == "str") return give({shown(values[0])});
  const Object* object = values[0].as<Object>();
  if (object == nullptr || (*object)->form != ScriptObject::Form::Dictionary) return std::nullopt;
  auto& entries = (*object)->entries;
  if (name == "len") return give({std::int64_t(entries.size())});
  if (name == "__getitem__" && values.size() == 2) return item_at(values[0], values[1]);
  if (name == "_set_item" && values.size() == 3) {
    if (holds(values[2], object->get(), 0) || holds(values[1], object->get(), 0))
      return Result<Argument>(wrong("a dictionary is put into itself"));
    for (auto& [key, value] : entries) {
      if (!equal(key, values[1]).value_or(false)) continue;
      value = values[2];
      return give({});
    }
    entries.emplace_back(values[1], values[2]);
    return give({});
  }
  const auto find = [&]() {
    return std::find_if(entries.begin(), entries.end(),
                        [&](const auto& entry) { return equal(entry.first, values[1]).value_or(false); });
  };
  if (name == "__contains__" && values.size() == 2) return give({find() != entries.end()});
  if (name == "get" && values.size() >= 2) {
    const auto found = find();
    return give(found != entries.end() ? found->second : values.size() > 2 ? values[2] : Argument{});
  }
  std::vector<Argument> items;
  for (const auto& [key, value] : entries) {
    if (name == "keys") items.push_back(key);
    if (name == "values") items.push_back(value);
    if (name == "items") items.push_back(make_list({key, value}));
  }
  if (name == "keys" || name == "values" || name == "items") return give(make_list(std::move(items)));
  return std::nullopt;
}

}  // namespace forerun::pytorch
