#!/usr/bin/env python3
"""Verifies receipts with Python's standard library alone: verify.py receipt.json LOG_KEY [N WITNESS_KEY...]"""
import base64, hashlib, json, sys

def need(holds, what):
    if not holds: raise ValueError(what)

P, Q = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # Ed25519: RFC 8032, section 5.1
D, ROOT = -121665 * pow(121666, -1, P) % P, pow(2, (P - 1) // 4, P)
def add(a, b):
    m, n = (a[1] - a[0]) * (b[1] - b[0]), (a[1] + a[0]) * (b[1] + b[0])
    c, d = 2 * a[3] * b[3] * D, 2 * a[2] * b[2]
    e, f, g, h = n - m, d - c, d + c, n + m
    return e * f % P, g * h % P, f * g % P, e * h % P
def times(n, a):
    sum = (0, 1, 1, 0)
    while n: sum, a, n = add(sum, a) if n & 1 else sum, add(a, a), n >> 1
    return sum
def point(raw):
    y, sign = int.from_bytes(raw, 'little') % 2**255, raw[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square: x = x * ROOT % P
    need(y < P and x * x % P == square and not (x == 0 and sign), 'not a point of the curve')
    return ((x, P - x)[x & 1 != sign], y, 1, (x, P - x)[x & 1 != sign] * y % P)
def signed(key, message, signature):
    n, s = (int.from_bytes(part, 'little') for part in (hashlib.sha512(signature[:32] + key + message).digest(), signature[32:]))
    left = times(s, point((4 * pow(5, -1, P) % P).to_bytes(32, 'little')))
    right = add(point(signature[:32]), times(n % Q, point(key)))
    return s < Q and all((left[i] * right[2] - right[i] * left[2]) % P == 0 for i in (0, 1))

sha256 = lambda *parts: hashlib.sha256(b''.join(parts)).digest()
class Number(str): pass  # as it is written, which is canonical
def canonical(v):  # RFC 8785
    if isinstance(v, dict):
        return '{' + ','.join(canonical(k) + ':' + canonical(v[k]) for k in sorted(v, key=lambda k: k.encode('utf-16-be'))) + '}'
    if isinstance(v, list): return '[' + ','.join(map(canonical, v)) + ']'
    return v if isinstance(v, Number) else json.dumps(v, ensure_ascii=False)
def climb(node, at, last, path):  # RFC 9162, section 2.1.3.2
    for sibling in path:
        need(last > 0, 'the path is too long')
        left = at % 2 == 1 or at == last
        node = sha256(b'\1', sibling, node) if left else sha256(b'\1', node, sibling)
        while left and at % 2 == 0: at, last = at // 2, last // 2
        at, last = at // 2, last // 2
    need(last == 0, 'the path is too short')
    return node
def signers(note, keys):  # C2SP signed-note, tlog-cosignature
    text, lines = note.rsplit('\n\n', 1)
    for name, id, raw in ((*key.split('+', 2)[:2], base64.b64decode(key.split('+', 2)[2])) for key in keys):
        need(id == sha256(name.encode(), b'\n', raw).hex()[:8], 'a key has the wrong hash')
        for line in (line.split(' ') for line in lines.splitlines()):
            signature = base64.b64decode(line[2])
            if line[1] != name or signature[:4].hex() != id: continue
            need(len(signature) == (76 if raw[0] == 4 else 68), f'the signature of {name} is malformed')
            time = b'cosignature/v1\ntime %d\n' % int.from_bytes(signature[4:12], 'big') if raw[0] == 4 else b''
            need(signed(raw[1:], time + text.encode() + b'\n', signature[-64:]), f'the signature of {name} is wrong')
            yield name
def check(receipt, log, needed, witnesses):
    head, note = receipt['proof'].split('\n\n', 1)
    lines, (origin, size, root) = [line for line in head.split('\n') if not line.startswith('extra ')], note.split('\n')[:3]
    need([receipt['payload'][k] for k in ('record_id', 'kind')] == [receipt['record_id'], receipt['kind']], 'it is of another act')
    entry = sha256(b'cstp/record/v2', bytes.fromhex(receipt['salt']), canonical(receipt['payload']).encode())
    need(lines[:2] == ['c2sp.org/tlog-proof@v1', f'index {receipt["index"]}'], 'this is not a proof of that entry')
    node = climb(sha256(b'\0', entry), receipt['index'], int(size) - 1, map(base64.b64decode, lines[2:]))
    need(0 <= receipt['index'] < int(size) and node == base64.b64decode(root), 'payload or proof was changed')
    need(origin == log.split('+')[0] and list(signers(note, [log])), 'the log did not sign the checkpoint')
    need(len(set(signers(note, witnesses))) >= needed, 'too few witnesses cosigned the checkpoint')

file = json.load(open(sys.argv[1]), parse_float=Number)
for receipt in file.get('receipts', [file]):
    try: check(receipt, sys.argv[2], int((sys.argv + ['0'])[3]) if len(sys.argv) > 3 else 0, sys.argv[4:])
    except Exception as error: sys.exit(f'REFUSED {receipt.get("record_id")}: {error}')
    print(f'valid: entry {receipt["index"]}, {receipt["payload"]["kind"]} {receipt["payload"]["record_id"]}')
