#include "CCommandLine.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void ccl_begin(void) {
#if defined(__GLIBC__)
    optind = 0; /* also resets the position inside a word of short options */
#else
    optind = 1;
#if defined(__APPLE__)
    optreset = 1;
#endif
#endif
    opterr = 0;
}

ccl_result ccl_next(int argc, char *const *argv, const char *short_options, const ccl_option *options, size_t count) {
    ccl_result result = {0, NULL, NULL, 0};
    struct option *table = calloc(count + 1, sizeof *table);
    if (table == NULL) abort(); /* no memory for a few hundred bytes: nothing can go on */
    for (size_t i = 0; i < count; i++) {
        table[i].name = options[i].name;
        table[i].has_arg = options[i].takes_argument;
        table[i].val = options[i].identifier;
    }
    int found = getopt_long(argc, argv, short_options, table, NULL);
    free(table);
    if (found == -1) return result;
    if (found == '?' || found == ':') {
        result.identifier = -1;
        int at = optind > 0 && optind <= argc ? optind - 1 : argc - 1;
        result.word = argv[at];
        if (found == ':') {
            result.fault = 1;
        } else if (optopt != 0 && strncmp(result.word, "--", 2) == 0 && strchr(result.word, '=') != NULL) {
            result.fault = 2;
        }
        return result;
    }
    result.identifier = found;
    result.argument = optarg;
    return result;
}

int ccl_first_operand(void) { return optind; }

int ccl_terminal_columns(int descriptor) {
    struct winsize size;
    if (!isatty(descriptor)) return 0;
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}
