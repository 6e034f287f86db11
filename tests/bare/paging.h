/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paging modes for the checks. pg_enter() turns a mode on: low 2 MiB as 4 KiB pages (30000h..5ffffh the
 * user's), the same again 2 MiB higher for the kernel alone, the rest of 4 GiB in large pages; and a window
 * of two pages at `window` whose entries at every level are its own (PAE: from level 2 down). pg_reset()
 * puts the window's entries back to P, W, U.
 */
#ifndef PAGING_H
#define PAGING_H

#include "bare.h"

typedef enum PgMode { P32 = 1, PAE = 2, L4 = 4, L5 = 8 } PgMode;
#define PG_P 1ull
#define PG_W 2ull
#define PG_U 4ull
#define PG_A 0x20ull
#define PG_D 0x40ull
#define PG_PS 0x80ull
#define PG_G 0x100ull
#define PG_NX (1ull << 63)
#define SNIP_ALIAS 0x200000u

extern ulong window;            /* linear address of the window */
extern u8 page_a[4096], page_b[4096];
extern PgMode pg_mode;
extern u32 pg_levels;

void pg_enter(PgMode mode);
void pg_leave(void);
void pg_reset(void);
u64 pg_get(u32 level);          /* the window's entry at that level; level 1 = page */
void pg_set(u32 level, u64 v);
void pg_set2(u64 v);            /* the second page's entry */
u64 pg_get2(void);
void pg_flush(void);

/* Extra conditions of one access. */
enum { E_WP = 1, E_NX0 = 2, E_SMEP = 4, E_SMAP = 8, E_AC = 16, E_PKE = 32, E_AD = 64, E_WD = 128, E_NO_PSE = 256 };
bool pg_env(u32 env);           /* turn them on; false: the CPU has no such feature */
void pg_env_off(void);
void pg_access(char kind, u32 cpl, u32 env);    /* r w m (locked add) x p (push) f (add, no lock) at regs[BX] */

void pg_tlb_checks(void);
void pg_span_checks(void);
#endif
