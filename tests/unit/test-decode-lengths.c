/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instruction lengths against capstone over random bytes, in 16-, 32- and 64-bit mode. INSN_STRINGS in the environment
 * sets how many byte strings (default 200000).
 *
 * Only what both accept is compared, and both must accept most of what capstone does. Capstone 4 alone accepts F2
 * and F3 on rows without mandatory prefix, VEX.W = 1 and reserved EVEX bits where CPUs raise #UD, and VMX, 3DNow!,
 * XOP, FMA4, Xeon Phi rows; it does not know rows newer than 2018 nor some SSE rows in 16-bit mode.
 */
#include <capstone/capstone.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "target/i386/cpu.h"
#include "target/i386/decode.h"

static uint64_t rng_state = 0x9e3779b97f4a7c15ull;

static uint64_t rng(void)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return rng_state;
}

/* Random bytes, often with an opcode map or a VEX or EVEX prefix in front. */
static void random_bytes(uint8_t b[16], bool m64)
{
    static const uint8_t prefixes[] = {0x66, 0xf2, 0xf3};
    uint64_t v[2] = {rng(), rng()};
    unsigned map = 1 + rng() % 3, high = m64 ? 0 : 0xc0;

    memcpy(b, v, 16);
    switch (rng() % 8) {
    case 0: b[0] = 0x0f; break;
    case 1: b[0] = 0xc4; b[1] = (b[1] & 0xe0) | map | high; b[2] |= rng() & 1 ? 0x78 : 0; break;
    case 2: b[0] = 0xc5; b[1] |= high; break;
    case 3: b[0] = 0x62; b[1] = (b[1] & 0xf0) | map | high; b[2] |= 0x7c; b[3] = (b[3] & 0x6f) | 8; break;
    case 4: b[0] = prefixes[rng() % 3]; b[1] = 0x0f; break;
    case 5: b[0] = 0x0f; b[1] = rng() & 1 ? 0x38 : 0x3a; break;
    default: break;
    }
}

/* Differences of length that are right: who reads what differently. */
static bool explained(const Insn *i, const cs_insn *c)
{
    const char *m = x86_mnemonic(i);

    return g_str_has_prefix(m, "ud")                                 /* capstone: UD0 and UD1 without ModRM */
        || ((i->prefixes & INSN_66) && x86_row(i)->opnd[0].kind == OPK_J)    /* 64-bit: Intel's rel32, AMD's rel16 */
        || (i->opcode == 0x78 && g_str_equal(c->mnemonic, "vmread"))    /* SSE4A's EXTRQ and INSERTQ */
        || ((i->prefixes & INSN_EVEX) && (i->prefixes & INSN_B) && !x86_is_mem(i));  /* capstone: a byte too many */
}

START_TEST(lengths_agree_with_capstone)
{
    static const cs_mode cs_modes[3] = {CS_MODE_16, CS_MODE_32, CS_MODE_64};
    static const uint32_t modes[3] = {MODE_PE, MODE_PE | MODE_CS32 | MODE_SS32, MODE_PE | MODE_CS64 | MODE_LMA};
    const char *strings = getenv("INSN_STRINGS");
    long n = strings ? atol(strings) : 200000, theirs = 0, both = 0;
    csh h;

    ck_assert_int_eq(cs_open(CS_ARCH_X86, cs_modes[_i], &h), CS_ERR_OK);
    for (long k = 0; k < n; k++) {
        uint8_t b[16];
        cs_insn *c;
        Insn i;
        X86DecodeResult r;

        random_bytes(b, _i == 2);
        r = x86_decode(b, sizeof(b), modes[_i], &i);
        ck_assert_msg(r != X86_DECODE_MORE, "16 bytes are enough for anything");
        if (cs_disasm(h, b, sizeof(b), 0, 1, &c) != 1) {
            continue;
        }
        theirs += c->size <= X86_INSN_MAX;
        both += r == X86_DECODE_OK;
        ck_assert_msg(r != X86_DECODE_OK || i.length == c->size || explained(&i, c),
                      "mode %d, string %ld: %02x %02x %02x %02x %02x %02x %02x %02x: "
                      "%s is %d bytes, capstone: %s %s, %d",
                      _i, k, b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], x86_mnemonic(&i), i.length, c->mnemonic,
                      c->op_str, c->size);
        cs_free(c, 1);
    }
    ck_assert_msg(both * 100 > theirs * 91, "only %ld of capstone's %ld are decoded", both, theirs);
    cs_close(&h);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("decode-lengths");
    TCase *tc = tcase_create("decode-lengths");
    SRunner *sr;
    int failed;

    tcase_set_timeout(tc, 600);
    tcase_add_loop_test(tc, lengths_agree_with_capstone, 0, 3);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
