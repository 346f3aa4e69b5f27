// Stands in for {fmt} where it is missing: host code that formats goes on to compile.
#pragma once
#include <cstdio>
#include <string>

namespace fmt {
template <class... T>
std::string format(const T &...);
template <class... T>
void print(const T &...);
template <class... T>
std::string join(const T &...);
template <class T>
std::string to_string(const T &);
template <class T>
const T &runtime(const T &);
struct string_view;
template <class T, class = char, class = void>
struct formatter;
struct Named {
  template <class T>
  Named operator=(const T &) const;
};
namespace literals {
Named operator""_a(const char *, size_t);
}
}  // namespace fmt
