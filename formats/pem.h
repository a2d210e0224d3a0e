/*
 * PEM: DER between two lines that name what it is.
 * Source: RFC 7468, the lax form: text before and after is passed over, lines of any length.
 */
#ifndef FORMATS_PEM_H
#define FORMATS_PEM_H

#include "base/error.h"
#include "base/strbuf.h"

enum { PEM_BYTES_MAX = 64 * 1024 };

/*
 * The first block: its label ("EC PRIVATE KEY", part of `text`) and its bytes, appended without
 * ever moving them (strbuf_wipe then leaves nothing). ERROR_FORMAT: there is none, it does not end,
 * its lines are no base64, or begin with headers ("Proc-Type"). ERROR_LIMIT over PEM_BYTES_MAX.
 */
int pem_read(struct slice text, struct slice *out_label, struct strbuf *out,
	     struct error *err) MUST_USE;
/* Append a block, lines of 64 characters. */
void pem_write(const char *label, struct slice bytes, struct strbuf *out);

#endif
