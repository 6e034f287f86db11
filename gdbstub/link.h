/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of gdb's remote protocol: "$...#cc" with its checksum, acknowledgements, escapes and repeat counts.
 *
 * A link knows nothing of what packets say. Bytes go in by gdb_link_receive(), whole packets and interrupts come out
 * by its callbacks; what it sends goes to send(). Wrong checksums are refused, packets that are too long are dropped
 * whole. Any one thread. Test: tests/unit/test-gdb.c.
 */
#ifndef CLEAT_GDBSTUB_LINK_H
#define CLEAT_GDBSTUB_LINK_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GDB_PACKET_MAX 0x4000u      /* bytes between '$' and '#', as PacketSize promises */

typedef struct GdbLink {
    /* config */
    void (*packet)(void *opaque, const char *data, size_t len);     /* data is the link's, data[len] 0 */
    void (*interrupt)(void *opaque);                                /* Ctrl-C between packets */
    void (*send)(void *opaque, const char *data, size_t len);
    void *opaque;
    /* state */
    bool no_ack;                    /* QStartNoAckMode: neither side acknowledges */
    enum { LINK_IDLE, LINK_DATA, LINK_ESCAPE, LINK_REPEAT, LINK_SUM1, LINK_SUM2 } state;
    GString *in;
    bool too_long;
    uint8_t sum;                    /* of what has come */
    uint8_t claimed;                /* first digit, then the whole sum */
    GString *last;                  /* the frame sent last, for a repetition */
} GdbLink;

void gdb_link_init(GdbLink *link);
void gdb_link_fini(GdbLink *link);
/* A new connection: everything as at the beginning. */
void gdb_link_reset(GdbLink *link);
void gdb_link_receive(GdbLink *link, const uint8_t *bytes, size_t len);
/* Sends a packet. Bytes that would be taken for a frame's are escaped. */
void gdb_link_send(GdbLink *link, const char *data, size_t len);

#endif
