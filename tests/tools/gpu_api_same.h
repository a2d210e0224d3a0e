/*
 * C++, for tests/tools/gpu-api alone: each function of API_TABLE is called as the header that was
 * included before declares it. A pointer may stand for a handle, a whole number for an enumeration
 * of its size; a parameter too many or too few, or of another size or kind, stops the compilation.
 */
#include <type_traits>

#include "testkernels/probe/gpu_api.h"

template <class T> constexpr int kind_of()
{
	if (std::is_void<T>::value)
		return 0;
	if (std::is_pointer<T>::value)
		return 1;
	if (std::is_integral<T>::value || std::is_enum<T>::value)
		return 2;
	return std::is_floating_point<T>::value ? 3 : 4;
}

template <class T> constexpr int size_of()
{
	if constexpr (std::is_void<T>::value)
		return 0;
	else
		return sizeof(T);
}

template <class A, class B>
constexpr bool same =
	kind_of<A>() == kind_of<B>() && kind_of<A>() != 4 && size_of<A>() == size_of<B>();

template <class RA, class... A, class RB, class... B>
constexpr bool called_alike(RA (*)(A...), RB (*)(B...))
{
	if constexpr (sizeof...(A) != sizeof...(B))
		return false;
	else
		return same<RA, RB> && (same<A, B> && ...);
}

template <class O, class T> constexpr bool alike = called_alike((O *)nullptr, (T *)nullptr);

#define OURS(result, field, name, parameters)  \
	using ours_##name = result parameters; \
	static_assert(alike<ours_##name, decltype(name)>, #name " is declared otherwise");
API_TABLE(OURS)
