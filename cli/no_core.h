/*
 * For commands in whose memory secrets stand.
 */
#ifndef CLI_NO_CORE_H
#define CLI_NO_CORE_H

/* From here on no core file of this process is written, whatever ends it. */
void no_core(void);

#endif
