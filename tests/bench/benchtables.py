# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of ratios for bench-guest.py: from seconds a side to rows of text, with gates and what misses them."""
import math

# At most so many times native, the mean of all, and no kernel slower than the peer's; i686 likewise.
GATES = {'calls': 4, 'nbody_sse2': 3.2, 'matmul_sse2': 3.2, 'avx2_fma': 1.2, 'x87': 1.2, 'strlen': 3.2, 'smc': 15,
         'mean': 3}
GATE_OTHERS, GATE_I686 = 8, 5
GATE_BOOT = 0.33            # of the peer's wall time
GATE_PARALLEL = 0.85        # of native scaling, at least
PAIRS = {'Cleat / native': ('ours', 'native'), 'QEMU / native': ('peer', 'native'), 'Cleat / QEMU': ('ours', 'peer')}


def ratio(a, b):
    return a / b if a and b else None


def cell(number, unit='', digits=2):
    return f'{number:.{digits}f}{unit}' if number else '-'


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def simple_table(header, rows):
    """A simple table of reStructuredText."""
    widths = [max(len(row[n]) for row in [header, *rows]) for n in range(len(header))]
    rule = '  '.join('=' * width for width in widths)
    lines = ['  '.join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in [header, *rows]]
    return '\n'.join([rule, lines[0], rule, *lines[1:], rule]) + '\n'


class Table:
    """Rows below a title; missed has a sentence for each gate that a row does not keep."""

    def __init__(self, title, header):
        self.title, self.header, self.rows, self.missed = title, header, [], []

    def text(self):
        return f'{self.title}\n\n{simple_table(self.header, self.rows)}'

    def at_most(self, name, what, value, gate):
        if value and value > gate:
            self.missed.append(f'{name}: {what} is {value:.2f}, gate: at most {gate}')


def ratios(title, results, gates=None, others=GATE_OTHERS):
    """The table of {job: {side: seconds}}; gates of Cleat / native by job, and that of all others."""
    gates = gates or {}
    table = Table(title, ['job', 'native ms', *PAIRS, 'gate'])
    for name, seconds in results.items():
        values = {pair: ratio(*map(seconds.get, sides)) for pair, sides in PAIRS.items()}
        gate = gates.get(name, others)
        table.rows.append([name, cell(seconds.get('native', 0) and seconds['native'] * 1000, digits=1),
                           *map(cell, values.values()), str(gate or '')])
        if gate:
            table.at_most(name, 'Cleat / native', values['Cleat / native'], gate)
        table.at_most(name, 'Cleat / QEMU', values['Cleat / QEMU'], 1)
    if len(results) > 1:
        add_means(table, results, gates.get('mean'))
    return table


def add_means(table, results, gate):
    """Geometric means over the jobs that have both figures; of how many, where it is not all."""
    row = ['geometric mean', '']
    for pair, sides in PAIRS.items():
        known = [r for r in (ratio(*map(seconds.get, sides)) for seconds in results.values()) if r]
        mean = geometric_mean(known) if known else None
        row.append(cell(mean) + (f' of {len(known)}' if 0 < len(known) < len(results) else ''))
        if gate and pair == 'Cleat / native':
            table.at_most('geometric mean', pair, mean, gate)
    table.rows.append(row + [str(gate or '')])


def boots(title, seconds):
    table = Table(title, ['what', 'Cleat', 'QEMU', 'Cleat / QEMU', 'gate'])
    ours, peer = seconds.get('ours'), seconds.get('peer')
    table.rows.append(['boot', cell(ours, ' s'), cell(peer, ' s'), cell(ratio(ours, peer)), str(GATE_BOOT)])
    table.at_most('boot', 'Cleat / QEMU', ratio(ours, peer), GATE_BOOT)
    return table


def scaling(title, results):
    """The table of {job: (seconds a side of one copy, of two at once)}: 1 when the second copy costs nothing."""
    table = Table(title, ['job', 'native', 'Cleat', 'QEMU', 'Cleat / native', 'QEMU / native', 'gate'])
    for name, (one, two) in results.items():
        native, ours, peer = (ratio(one.get(side), two.get(side)) for side in ('native', 'ours', 'peer'))
        table.rows.append([name, *map(cell, (native, ours, peer, ratio(ours, native), ratio(peer, native))),
                           str(GATE_PARALLEL)])
        kept = ratio(ours, native)
        if kept and kept < GATE_PARALLEL:
            table.missed.append(f'{name}: two copies scale {kept:.2f} of native, gate: at least {GATE_PARALLEL}')
    return table
