/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few macros of glib that include/util/error.h and os.h use, so that os-win32.c can be compiled
 * and tested where no glib for Windows is installed. Types only; no function of glib is here.
 */
#ifndef CLEAT_TEST_SHIM_GLIB_H
#define CLEAT_TEST_SHIM_GLIB_H

#define G_GNUC_PRINTF(fmt, arg) __attribute__((format(gnu_printf, fmt, arg)))
#define G_DEFINE_AUTOPTR_CLEANUP_FUNC(type, fn)

#endif
