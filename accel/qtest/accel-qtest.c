/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -accel qtest: a machine whose CPUs never run and whose virtual clock moves only when the test says so. */
#include "accel/accel.h"
#include "accel/qtest.h"
#include "system/loop.h"
#include "system/machine.h"

static bool qtest_accel_init(const AccelProp *props, int n, Error **errp)
{
    clock_qtest_enable();
    return true;
}

/* No CPU enters it, but the chip sets' side of it is there to be tested. */
static void qtest_machine_setup(Machine *m)
{
    m->accel_chips.smm = true;
}

static const AccelOps qtest_accel = { .name = "qtest", .desc = "no CPU: a test drives the buses",
                                      .init = qtest_accel_init, .machine_setup = qtest_machine_setup };
ACCEL_REGISTER(qtest_accel)

bool qtest_enabled(void)
{
    return accel_current() == &qtest_accel;
}
