digest.o: base/digest.c base/digest.h base/error.h base/base.h \
  base/slice.h

base/digest.h:

base/error.h:

base/base.h:

base/slice.h:
