/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer target: the decoder in each mode. Beyond memory errors it checks what callers rely on: lengths, that cut
 * input asks for more, that a decoded instruction decodes the same whatever follows, and that it has a function.
 */
#include <stdlib.h>
#include <string.h>

#include "target/i386/cpu.h"
#include "target/i386/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok)
{
    if (!ok) {
        abort();
    }
}

static void check(const uint8_t *exact, size_t size, uint32_t mode)
{
    Insn i, again;
    X86DecodeResult r = x86_decode(exact, size, mode, &i);
    uint8_t gates[4], tail[32];

    if (r == X86_DECODE_MORE) {
        need(size < X86_INSN_MAX);
        return;
    }
    need(r != X86_DECODE_TOO_LONG || size >= X86_INSN_MAX);
    need(i.length <= X86_INSN_MAX && i.length <= size);
    if (r != X86_DECODE_OK) {
        return;
    }
    need(i.length > 0 && i.op < INSN_ROW_COUNT && i.fn && x86_insn_gates(&i, gates) <= 4);
    need(x86_decode(exact, i.length - 1, mode, &again) == X86_DECODE_MORE);
    memset(tail, 0xff, sizeof(tail));
    memcpy(tail, exact, i.length);
    need(x86_decode(tail, sizeof(tail), mode, &again) == X86_DECODE_OK && !memcmp(&i, &again, sizeof(i)));
    for (unsigned n = 0; n < INSN_OPERANDS; n++) {
        x86_operand_size(&i, &x86_row(&i)->opnd[n]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t modes[] = {
        0, MODE_PE, MODE_PE | MODE_CS32 | MODE_SS32, MODE_PE | MODE_CS64 | MODE_LMA,
        MODE_PE | MODE_VM | MODE_ADDSEG, MODE_PE | MODE_CS64 | MODE_LMA | MODE_AC,
    };
    uint8_t *exact;

    if (size < 2) {
        return 0;
    }
    exact = malloc(size - 1);           /* ends where it ends: a read beyond it is seen */
    memcpy(exact, data + 1, size - 1);
    check(exact, size - 1, modes[data[0] % 6]);
    free(exact);
    return 0;
}
