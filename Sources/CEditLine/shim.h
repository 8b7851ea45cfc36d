// Line editing with history, in the readline interface of libedit.
#include <stdio.h>
#include <editline/readline.h>
