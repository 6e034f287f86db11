// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A benchmark for Node.js in a guest, which checks itself: numbers, typed arrays, strings, objects, patterns,
 * closures, code that is optimised and then deoptimised, garbage. Ends with NODE-OK and the milliseconds of each part;
 * a wrong result throws. The wanted values were computed by Node.js natively. Run by test-stress.py.
 */
'use strict';

function lcg(seed) {
    let s = seed >>> 0;
    return () => (s = (Math.imul(s, 1664525) + 1013904223) >>> 0);
}

function sieve() {
    const n = 200000, composite = new Uint8Array(n);
    let count = 0;
    for (let i = 2; i < n; i++) {
        if (!composite[i]) {
            count++;
            for (let k = i * 2; k < n; k += i) {
                composite[k] = 1;
            }
        }
    }
    return count;
}

function matrix() {
    const n = 64, a = new Float64Array(n * n), b = new Float64Array(n * n);
    let trace = 0;
    for (let i = 0; i < n * n; i++) {
        a[i] = i % 7;
        b[i] = i % 5;
    }
    for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) {
            let sum = 0;
            for (let k = 0; k < n; k++) {
                sum += a[i * n + k] * b[k * n + j];
            }
            trace += i === j ? sum : 0;
        }
    }
    return trace;
}

function sorting() {
    const next = lcg(42), list = Array.from({ length: 30000 }, next);
    list.sort((x, y) => x - y);
    for (let i = 1; i < list.length; i++) {
        if (list[i - 1] > list[i]) {
            throw new Error('not sorted');
        }
    }
    return list.length;
}

function text() {
    const next = lcg(7), words = new Map();
    let long = '';
    for (let i = 0; i < 20000; i++) {
        const word = 'w' + next() % 500;
        words.set(word, (words.get(word) || 0) + 1);
        long += word + ' ';
    }
    let total = 0;
    for (const n of words.values()) {
        total += n;
    }
    return total + long.replace(/w(\d+) /g, '$1,').split(',').length;
}

// Hot with integers, then with doubles, strings and objects: what was compiled for the first is thrown away.
function changing() {
    const add = (x, y) => x + y;
    let sum = 0;
    for (let i = 0; i < 100000; i++) {
        sum = add(sum, i & 3);
    }
    for (let i = 0; i < 100000; i++) {
        sum = add(sum, 0.5);
    }
    return sum + add('a', 'b').length + add({ valueOf: () => 3 }, 4);
}

function garbage() {
    let list = null, depth = 0;
    for (let i = 0; i < 200000; i++) {
        list = i % 1000 ? { next: list, i } : null;
    }
    while (list) {
        depth++;
        list = list.next;
    }
    return depth;
}

function big() {
    let a = 0n, b = 1n;
    for (let i = 0; i < 2000; i++) {
        [a, b] = [b, a + b];
    }
    return Number(a % 1000000007n);
}

function exceptions() {
    let caught = 0;
    for (let i = 0; i < 500; i++) {
        try {
            null.x;
        } catch (e) {
            caught += e instanceof TypeError ? 1 : 0;
        }
    }
    return caught;
}

const parts = [[sieve, 17984], [matrix, 24570], [sorting, 30000], [text, 40001], [changing, 200009], [garbage, 999],
    [big, 141828449], [exceptions, 500]];
const line = [];
for (const [f, want] of parts) {
    const start = Date.now();
    for (let round = 0; round < 10; round++) {
        const got = f();
        if (got !== want) {
            throw new Error(`${f.name}: ${got} instead of ${want}`);
        }
    }
    line.push(`${f.name}=${Date.now() - start}`);
}
console.log('NODE-OK ' + line.join(' '));
