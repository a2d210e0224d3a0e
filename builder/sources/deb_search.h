/*
 * The bounded search with back-tracking that follows when the plain walk finds no set. Private to
 * deb_resolve.
 */
#ifndef BUILDER_SOURCES_DEB_SEARCH_H
#define BUILDER_SOURCES_DEB_SEARCH_H

#include "builder/sources/deb_resolve.h"
#include "builder/sources/deb_state.h"

/*
 * Meet the needs of what is chosen from place `from` on, trying every choice, the last one first.
 * True when a set was found: it is the state's. False when there is none, or none was found in
 * bounded time; the state is then what it was.
 */
bool deb_search(struct deb_state *s, size_t from);

#endif
