test_jks.o: tests/unit/test_jks.c tests/support/test.h base/alloc.h \
  base/base.h base/error.h base/fs.h base/slice.h base/strbuf.h \
  base/vec.h formats/jks.h base/arena.h

tests/support/test.h:

base/alloc.h:

base/base.h:

base/error.h:

base/fs.h:

base/slice.h:

base/strbuf.h:

base/vec.h:

formats/jks.h:

base/arena.h:
