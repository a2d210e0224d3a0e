x509.o: base/x509.c base/x509.h base/error.h base/base.h base/slice.h \
  base/strbuf.h

base/x509.h:

base/error.h:

base/base.h:

base/slice.h:

base/strbuf.h:
