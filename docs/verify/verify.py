#!/usr/bin/env python3
"""Verifies receipts: verify.py receipt.json LOG_KEY [WITNESS_KEY...]. The log and each of these witnesses must have signed."""
import base64, functools, hashlib, json, os, sys

P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # Ed25519: RFC 8032, section 5.1
D, ROOT = -121665 * pow(121666, -1, P) % P, pow(2, (P - 1) // 4, P)
def add(a, b):
    k = D * a[0] * a[1] * b[0] * b[1] % P
    inverse = pow(1 - k * k, -1, P)
    return (a[0] * b[1] + a[1] * b[0]) * (1 - k) * inverse % P, (a[1] * b[1] + a[0] * b[0]) * (1 + k) * inverse % P
def times(n, a):
    total = (0, 1)
    while n: total, a, n = add(total, a) if n & 1 else total, add(a, a), n >> 1
    return total
def point(raw):
    y, sign = int.from_bytes(raw, 'little') % 2**255, raw[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    root = pow(square, (P + 3) // 8, P)
    x = root if root * root % P == square else root * ROOT % P
    need(y < P and x * x % P == square and (x > 0 or not sign), 'not a point of the curve')
    return x if x & 1 == sign else P - x, y
def verifies(key, message, signature):
    n, s = (int.from_bytes(b, 'little') for b in (hashlib.sha512(signature[:32] + key + message).digest(), signature[32:]))
    base = point((4 * pow(5, -1, P) % P).to_bytes(32, 'little'))
    return s < ORDER and times(s, base) == add(point(signature[:32]), times(n % ORDER, point(key)))

def need(holds, what):
    if not holds: raise ValueError(what)
sha256 = lambda *parts: hashlib.sha256(b''.join(parts)).digest()
def climb(node, at, last, path):  # RFC 9162, section 2.1.3.2
    for sibling in path:
        need(last > 0, 'the path is too long')
        left = at % 2 == 1 or at == last
        node = sha256(b'\1', sibling, node) if left else sha256(b'\1', node, sibling)
        while left and at % 2 == 0: at, last = at // 2, last // 2
        at, last = at // 2, last // 2
    return node if last == 0 else b'the path is too short'
@functools.lru_cache  # All receipts of an answer have the same checkpoint.
def signed(note, name, raw):  # C2SP signed-note; a witness signs the time too: tlog-cosignature
    text, lines = note.split('\n\n', 1)
    for signature in (base64.b64decode(line.split(' ')[2]) for line in lines.splitlines() if f' {name} ' in line):
        time = b'cosignature/v1\ntime %d\n' % int.from_bytes(signature[4:12], 'big') if raw[0] == 4 else b''
        length = 76 if raw[0] == 4 else 68
        if len(signature) == length: return verifies(raw[1:], time + text.encode() + b'\n', signature[-64:])
MEMBERS = 'record_id kind index payload payload_json salt commitment proof statement'.split()
def members(pairs):
    need(len(pairs) == len(dict(pairs)), 'a member occurs twice')
    return dict(pairs)
def number(text):  # Another form of the same number is another text, and not equal to it.
    need(text != '-0', 'a number in another form')
    return int(text) if text.lstrip('-').isdigit() else {'number': text}
read = lambda text: json.loads(text, object_pairs_hook=members, parse_float=number, parse_int=number)
def check(receipt, keys):
    need(set(receipt) <= set(MEMBERS), 'it has an unknown member')
    head, note = receipt['proof'].split('\n\n', 1)
    lines, (origin, size, root) = head.split(f'\nindex {receipt["index"]}')[1].split(), note.split('\n')[:3]
    entry = sha256(b'cstp/record/v2', bytes.fromhex(receipt['salt']), receipt['payload_json'].encode())
    node = climb(sha256(b'\0', entry), receipt['index'], int(size) - 1, map(base64.b64decode, lines))
    need(0 <= receipt['index'] < int(size) and node == base64.b64decode(root), 'payload, salt or proof was changed')
    payload = read(receipt['payload_json'])
    need(json.dumps(payload, sort_keys=True) == json.dumps(receipt['payload'], sort_keys=True), 'the log has another payload')
    need([payload[k] for k in ('record_id', 'kind')] == [receipt[k] for k in ('record_id', 'kind')], 'it is of another act')
    need(origin == keys[0].split('+')[0], 'it is of another log')
    for name, _, raw in (key.split('+', 2) for key in keys):
        need(signed(note, name, base64.b64decode(raw)), f'{name} did not sign the checkpoint')
if not os.path.isfile(sys.argv[1]) or os.path.getsize(sys.argv[1]) > 2**26: sys.exit('REFUSED: not a file of at most 64 MiB')
try: receipts = read(open(sys.argv[1], encoding='utf-8').read())['receipts']
except Exception as error: sys.exit(f'REFUSED: {error}')
for receipt in receipts:
    try: check(receipt, sys.argv[2:])
    except Exception as error: sys.exit(f'REFUSED {receipt.get("record_id")}: {error}')
    print(f'valid: entry {receipt["index"]}, {receipt["payload_json"]}')
