jks.o: formats/jks.c formats/jks.h base/arena.h base/slice.h base/base.h \
  base/error.h base/strbuf.h base/vec.h base/alloc.h base/digest.h

formats/jks.h:

base/arena.h:

base/slice.h:

base/base.h:

base/error.h:

base/strbuf.h:

base/vec.h:

base/alloc.h:

base/digest.h:
