/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offsets that xl-entry.S shares with C: from rsp, which is at X86State. xl.h asserts that they are right.
 */
#ifndef CLEAT_ACCEL_TCG_XL_LAYOUT_H
#define CLEAT_ACCEL_TCG_XL_LAYOUT_H

#define XL_HOT_BYTES 128
#define XL_FN_VEC_UP (-128)
#define XL_FN_EXIT_RIP (-120)
#define XL_FN_EXIT_LINK (-112)
#define XL_FN_END (-104)
#define XL_FN_SLOW (-96)
#define XL_FAULT_PC (-88)
#define XL_LEVEL (-80)
#define XL_RESUME_LEVEL (-76)
#define XL_RESUME (-72)
#define XL_ARG (-64)
#define XL_TMP (-56)
#define XL_C_STACK (-40)
#define XL_RIP 128
#define XL_XS 1472

#endif
