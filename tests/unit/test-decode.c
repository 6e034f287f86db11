/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decoder: fields of chosen encodings in each mode, refusals, and partial input. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "target/i386/cpu.h"
#include "target/i386/decode.h"

#define M16 (MODE_PE)
#define M32 (MODE_PE | MODE_CS32 | MODE_SS32)
#define M64 (MODE_PE | MODE_CS64 | MODE_LMA)

typedef struct Case {
    const char *hex;
    uint32_t mode;
    const char *mnemonic;       /* NULL: #UD */
    int length, opsize, reg, rm, base, index, mem_size;
    int64_t disp, imm;
} Case;

#define N INSN_NONE

static const Case cases[] = {
    {"01d8", M64, "add", 2, 4, 3, 0, N, N, 0, 0, 0},
    {"4801d8", M64, "add", 3, 8, 3, 0, N, N, 0, 0, 0},
    {"6601d8", M32, "add", 3, 2, 3, 0, N, N, 0, 0, 0},
    {"01d8", M16, "add", 2, 2, 3, 0, N, N, 0, 0, 0},
    {"00e0", M64, "add", 2, 1, 0x10, 0, N, N, 0, 0, 0},
    {"4000e0", M64, "add", 3, 1, 4, 0, N, N, 0, 0, 0},
    {"8b05785634ff", M64, "mov", 6, 4, 0, 0, INSN_RIP, N, 4, -0xcba988 + 6, 0},
    {"8b05785634ff", M32, "mov", 6, 4, 0, 0, N, N, 4, -0xcba988, 0},
    {"8b4202", M16, "mov", 3, 2, 0, 0, R_RBP, R_RSI, 2, 2, 0},
    {"8b8488785634f2", M64, "mov", 7, 4, 0, 0, R_RAX, R_RCX, 4, -0xdcba988, 0},
    {"49b88877665544332211", M64, "mov", 10, 8, 0, 8, N, N, 0, 0, 0x1122334455667788},
    {"a188776655", M32, "mov", 5, 4, 0, 0, N, N, 4, 0x55667788, 0x55667788},
    {"90", M64, "nop", 1, 4, 0, 0, N, N, 0, 0, 0},
    {"f390", M64, "pause", 2, 4, 0, 0, N, N, 0, 0, 0},
    {"4190", M64, "xchg", 2, 4, 0, 8, N, N, 0, 0, 0},
    {"50", M64, "push", 1, 8, 0, 0, N, N, 0, 0, 0},
    {"6650", M64, "push", 2, 2, 0, 0, N, N, 0, 0, 0},
    {"6aff", M64, "push", 2, 8, 0, 0, N, N, 0, 0, -1},
    {"c8341202", M64, "enter", 4, 8, 0, 0, N, N, 0, 0, 0x1234},
    {"9a785634122301", M32, "callf", 7, 4, 0, 0, N, N, 0, 0, 0x12345678},
    {"f0480fc70e", M64, "cmpxchg8b", 5, 8, 1, 0, R_RSI, N, 16, 0, 0},
    {"0f1efa", M64, "nop", 3, 4, 0, 2, N, N, 0, 0, 0},
    {"f30f1efa", M64, "nop", 4, 4, 0, 2, N, N, 0, 0, 0},
    {"c5f877", M64, "vzeroupper", 3, 4, 0, 0, N, N, 0, 0, 0},
    {"c4e2fb f6c1", M64, "mulx", 5, 8, 0, 1, N, N, 0, 0, 0},
    {"62f17c48584101", M64, "vaddps", 7, 4, 0, 0, R_RCX, N, 64, 64, 0},
    {"62f17c58584101", M64, "vaddps", 7, 4, 0, 0, R_RCX, N, 4, 4, 0},
    {"6201fc40 10c7", M64, NULL},
    {"62217c4810c7", M64, "vmovups", 6, 4, 24, 23, N, N, 0, 0, 0},
    {"62f27d49904c9004", M64, "vpgatherdd", 8, 4, 1, 0, R_RAX, 2, 4, 16, 0},
    {"f00fa2", M64, NULL}, {"f001d8", M64, NULL}, {"06", M64, NULL}, {"8ec8", M64, NULL}, {"0f20e9", M64, NULL},
    {"c5f877", MODE_CS32, NULL}, {"66c5f877", M64, NULL}, {"f3480f28c0", M64, NULL},
};

static unsigned unhex(const char *hex, uint8_t *out)
{
    unsigned n = 0;

    for (; *hex; hex += 2) {
        char two[3] = {hex[0], hex[1], 0};
        if (*hex == ' ') {
            hex--;
            continue;
        }
        out[n++] = strtoul(two, NULL, 16);
    }
    return n;
}

START_TEST(fields_are_what_the_bytes_say)
{
    const Case *c = &cases[_i];
    uint8_t bytes[16];
    unsigned n = unhex(c->hex, bytes);
    Insn i;
    X86DecodeResult r = x86_decode(bytes, n, c->mode, &i);

    if (!c->mnemonic) {
        ck_assert_msg(r == X86_DECODE_UD, "%s", c->hex);
        return;
    }
    ck_assert_msg(r == X86_DECODE_OK, "%s: result %d", c->hex, r);
    ck_assert_str_eq(x86_mnemonic(&i), c->mnemonic);
    ck_assert_int_eq(i.length, c->length);
    ck_assert_int_eq(i.opsize, c->opsize);
    ck_assert_int_eq(i.reg, c->reg);
    ck_assert_int_eq(i.rm, c->rm);
    ck_assert_int_eq(i.base, c->base);
    ck_assert_int_eq(i.index, c->index);
    ck_assert_int_eq(i.mem_size, c->mem_size);
    ck_assert_int_eq(i.disp, c->disp);
    ck_assert_int_eq((int64_t)i.imm, c->imm);
}
END_TEST

START_TEST(every_proper_prefix_asks_for_more)
{
    const Case *c = &cases[_i];
    uint8_t bytes[16];
    unsigned n = unhex(c->hex, bytes);
    Insn i;

    for (unsigned k = 0; c->mnemonic && k < n; k++) {
        ck_assert_msg(x86_decode(bytes, k, c->mode, &i) == X86_DECODE_MORE, "%s cut to %u", c->hex, k);
    }
}
END_TEST

START_TEST(more_than_15_bytes_are_too_long)
{
    uint8_t bytes[32];
    Insn i;

    memset(bytes, 0x66, sizeof(bytes));
    ck_assert_int_eq(x86_decode(bytes, 32, M64, &i), X86_DECODE_TOO_LONG);
    ck_assert_int_eq(x86_decode(bytes, 14, M64, &i), X86_DECODE_MORE);
    bytes[14] = 0x90;
    ck_assert_int_eq(x86_decode(bytes, 15, M64, &i), X86_DECODE_OK);
    ck_assert_int_eq(i.length, 15);
    bytes[14] = 0x6a;
    ck_assert_int_eq(x86_decode(bytes, 32, M64, &i), X86_DECODE_TOO_LONG);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("decode");
    TCase *tc = tcase_create("decode");
    SRunner *sr;
    int failed;

    tcase_add_loop_test(tc, fields_are_what_the_bytes_say, 0, G_N_ELEMENTS(cases));
    tcase_add_loop_test(tc, every_proper_prefix_asks_for_more, 0, G_N_ELEMENTS(cases));
    tcase_add_test(tc, more_than_15_bytes_are_too_long);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
