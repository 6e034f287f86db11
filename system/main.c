/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the process starts; all the work is in vl.c, which the tests link too. */
#include <stdio.h>

int main(int argc, char **argv)
{
    fprintf(stderr, "%s: not built yet\n", argv[0]);
    return 1;
}
