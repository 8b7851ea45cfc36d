#ifndef CCOMMANDLINE_H
#define CCOMMANDLINE_H

#include <stddef.h>

/* getopt_long without its global variables: one call per option, the state in a struct. */

typedef struct {
    const char *name;
    /* 0: no argument, 1: required argument, 2: optional argument (--name=value only) */
    int takes_argument;
    /* What ccl_next returns for the option; above 0. */
    int identifier;
} ccl_option;

typedef struct {
    /* One of the identifiers, 0 at the end of the options, -1 for a fault. */
    int identifier;
    /* The option's argument, or NULL. */
    const char *argument;
    /* For a fault: the word of the command line that is at fault. */
    const char *word;
    /* For a fault: 1 when the option lacks its argument, 2 when it takes none, 0 when it is unknown. */
    int fault;
} ccl_result;

/* Starts over; getopt_long keeps its position in globals, so there is one parse at a time in a process. */
void ccl_begin(void);

/* The next option. `short_options` in getopt's syntax with a leading ':'. Operands are permuted to the end of argv. */
ccl_result ccl_next(int argc, char *const *argv, const char *short_options, const ccl_option *options, size_t count);

/* The index of the first operand after ccl_next returned identifier 0. */
int ccl_first_operand(void);

/* Columns of the terminal behind a descriptor, or 0 when it is none. */
int ccl_terminal_columns(int descriptor);

#endif
