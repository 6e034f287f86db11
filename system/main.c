/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the process starts; all the work is in vl.c, which the tests link too. */
#include "system/system.h"

int main(int argc, char **argv)
{
    return vl_main(argc, argv);
}
