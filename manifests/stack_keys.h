/*
 * The one table of the stack manifest's keys. Reading, the errors with their suggestions and the
 * reference page docs/manifest.md all come from it: a key is added here and nowhere else, with a
 * member of a struct in manifests/stack.h to hold its value.
 */
#ifndef MANIFESTS_STACK_KEYS_H
#define MANIFESTS_STACK_KEYS_H

#include "base/arena.h"
#include "base/strbuf.h"

enum stack_key_type {
	KEY_TEXT,    /* const char * */
	KEY_CHOICE,  /* const char *, one of `choices` */
	KEY_ENUM,    /* an enum, `choices` in its order (a "" is never matched) */
	KEY_FLAG,    /* bool: true when written; the only value is choices[0] */
	KEY_UINT,    /* uint64_t */
	KEY_SIZE,    /* uint64_t bytes, written "512MiB" */
	KEY_TEXTS,   /* struct stack_texts */
	KEY_PAIRS,   /* struct stack_pairs: a map of texts */
	KEY_SECTION, /* a map, its members within the struct at `offset` */
	KEY_LIST,    /* list of sections: pointer at `offset`, count at `count_offset` */
	KEY_MAP,     /* map of sections, the same; the key is stored at the section's name_offset */
	KEY_PACKAGES, /* map of lists of sections: struct stack_packages */
};

/* NULL when `text` is good, else what is wrong: the end of "'KEY': 'text' …". Lives in `arena`. */
typedef const char *stack_check_fn(const char *text, struct arena *arena);

enum { STACK_NO_OFFSET = 0xffffffff };

struct stack_section;

struct stack_key {
	const char *name;
	enum stack_key_type type;
	bool required;
	bool distinct;   /* KEY_TEXTS: no text twice */
	bool empty_ok;   /* the text (the texts, the values) may be "" */
	uint32_t offset; /* within the section's struct; STACK_NO_OFFSET: checked, not stored */
	uint32_t count_offset;      /* KEY_LIST, KEY_MAP, KEY_PACKAGES */
	const char *const *choices; /* NULL-terminated */
	stack_check_fn *check;      /* of the text, or of each text or value */
	stack_check_fn *check_key;  /* KEY_PAIRS, KEY_MAP: of each key */
	const struct stack_section *section;
	uint64_t max;         /* KEY_UINT, KEY_SIZE: 0 none */
	const char *fallback; /* what absence means, for readers; NULL: nothing */
	const char *help;     /* a sentence */
};

struct stack_section {
	const char *title; /* of its page section: "stages.NAME.copy[]" */
	const struct stack_key *keys;
	size_t key_count;
	size_t size;           /* of its struct; KEY_LIST, KEY_MAP */
	uint32_t place_offset; /* of its struct stack_place; STACK_NO_OFFSET: none */
	uint32_t name_offset;  /* KEY_MAP: where the key goes */
	uint32_t plain_offset; /* a text in place of the map goes here; STACK_NO_OFFSET: not allowed
				*/
	const char *help;      /* a sentence or more */
};

/* The whole manifest. Its struct is struct stack. */
extern const struct stack_section stack_top;

/* The section of `keys` that holds `name`, or NULL. */
const struct stack_key *stack_key_find(const struct stack_section *section, const char *name);
/* The title of a section, at any depth, that has the key `name`; NULL when none has. */
const char *stack_key_elsewhere(const char *name);
/*
 * The candidate nearest to `word`, or NULL when none is near enough to be meant: at most a third
 * of its characters differ, counting a swap of neighbours as one (Damerau, Levenshtein).
 */
const char *stack_nearest(const char *word, const char *const *candidates, size_t count);

/* Append the reference of all keys as a Markdown page. */
void stack_keys_markdown(struct strbuf *out);
/* Append the tables of a section and of all below it. */
void stack_section_markdown(const struct stack_section *section, struct strbuf *out);

#endif
