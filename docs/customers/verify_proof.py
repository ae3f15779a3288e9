#!/usr/bin/env python3
"""Verifies proofs of orders of Penstock. It needs Python 3.8 and nothing else, asks no network and
shares no code with the service: docs/customers/proof.md has every field. It ends with 1 if one is
wrong."""
import argparse, base64, decimal, hashlib, itertools, json, re, sys
from datetime import datetime, timedelta

def must(holds, otherwise):
    if not holds: raise ValueError(otherwise)
def unique(pairs):
    must(len(dict(pairs)) == len(pairs), "a field is there twice")
    return dict(sorted(pairs))  # So that what is equal is printed alike.
def parse(data):
    return json.loads(data.decode(), parse_float=decimal.Decimal, object_pairs_hook=unique)
def form(what, value, numbers, others):
    must(set(value) == set((numbers + " " + others).split()), what + " has other fields")
    must(all(type(value[name]) is int for name in numbers.split()), what + " has other numbers")

# The journal. An entry is a line, a seal the sum of its entries and of the seal before.
def time_hex(text):
    must(re.fullmatch(r"(?a)[-\d]{10} [:\d]{8}(\.\d{0,5}[1-9])?\+00", text), "a time is none")
    at = datetime.strptime(text[:19] + text[20:-3].ljust(6, "0"), "%Y-%m-%d %H:%M:%S%f")
    return "%016x" % ((at - datetime(2000, 1, 1)) // timedelta(microseconds=1) % 2**64)
def entry_text(e):
    names = [e["id"], e["debit"], e["credit"], e["hold_id"]]
    lengths = [-1 if name is None else len(name) for name in names]
    parts = [e["number"], e["kind"], e["amount_sun"], time_hex(e["made_at"])]
    return " ".join(str(one) for one in parts + lengths + names if one is not None)
def field(text): return "" if text is None else text or '""'
def seal_sum(previous, s):
    text = "\n".join(map(entry_text, s["entries"])).replace("\\", "\\\\").replace('"', '""')
    parts = [field(previous), s["number"], s["first_entry"], s["last_entry"], len(s["entries"]),
             s["actions"], time_hex(s["sealed_at"]), field(s["record"]), text and '"%s"' % text]
    return hashlib.sha256(("(%s)" % ",".join(map(str, parts))).encode()).hexdigest()

def check_journal(proof, receipt, root):
    previous, last, entries = proof["previous_sha256"], None, []
    for s in proof["seals"]:
        name = "seal %s" % s["number"]
        form(name, s, "number first_entry last_entry actions", "record sealed_at sha256 entries")
        for e in s["entries"]:
            form("an entry", e, "number amount_sun", "kind made_at id debit credit hold_id")
        must(last is None or (s["number"], s["first_entry"]) ==
             (last["number"] + 1, last["last_entry"] + 1), name + " does not follow the one before")
        must(seal_sum(previous, s) == s["sha256"], name + " is not the sum of its entries")
        previous, last, entries = s["sha256"], s, entries + s["entries"]
    form("the root", proof["root"], "number last_entry", "day sha256")
    ends = {name: last[name] for name in ("number", "last_entry", "sha256")}
    must(proof["root"] == dict(ends, day=last["sealed_at"][:10]), "the root is not the last seal")
    must(root in (None, last["sha256"]), "the root is not the one that was noted")
    hold = "order:" + proof["order_id"]
    own = [(e["number"], e["id"], e["kind"], e["amount_sun"])
           for e in entries if hold in (e["id"], e["hold_id"])]
    said = [(e["number"], e["id"], e["kind"], e["amount"] * 10**6) for e in receipt["entries"]]
    must(own and own == said, "the receipt has other entries than those that were sealed")
    seals = [{"number": s["number"], "sha256": s["sha256"]} for s in proof["seals"]]
    must(receipt["seal"] in seals, "the seal of the receipt is not here")

# The transactions. Their hash is the sum of their bytes, which are protocol buffers.
def varint(data):
    value = shift = 0
    for byte in data:
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128: return value
def message(data):
    fields, data = {}, iter(data)
    for tag in iter(lambda: varint(data), None):
        must(tag & 5 == 0 and tag >> 3 not in fields, "a transaction cannot be read")
        value = varint(data)
        fields[tag >> 3] = bytes(itertools.islice(data, value)) if tag & 2 else value
    return fields
def address(text):
    digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    return sum(digits.index(c) * 58**i for i, c in enumerate(text[::-1])).to_bytes(25, "big")[:21]

def check_transactions(proof, receipt):
    to, activation = address(receipt["order"]["params"]["address"]), receipt["activation"]
    said = {part[hash]: (kind, to, part["stake_sun"], part["resource"])
            for part in receipt["parts"] for hash, kind in (("hash", 57), ("reclaim_hash", 58))}
    said.update({activation["hash"]: (0, to)} if activation else {})
    said.pop(None, None)  # What is not taken back yet.
    must(sorted(said) == sorted(t["hash"] for t in proof["transactions"]), "others are there")
    for t in proof["transactions"]:
        form("a transaction", t, "", "hash raw_data_hex")
        raw = bytes.fromhex(t["raw_data_hex"])
        must((raw.hex(), hashlib.sha256(raw).hexdigest()) == (t["raw_data_hex"], t["hash"]),
             "a transaction has other bytes")
        contract = message(message(raw)[11])
        v, kind = message(message(contract[2])[2]), contract.get(1, 0)
        does = (v[4], v[3], ("bandwidth", "energy")[v.get(2, 0)]) if kind else (v[2],)
        must((kind,) + does == said[t["hash"]], "a transaction is not what the receipt says")

# The signature: a JSON Web Signature over Ed25519 (RFC 7515, RFC 8032).
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
def point(data):
    y = int.from_bytes(data, "little") % 2**255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if (x * x - square) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    must(len(data) == 32 and y < P and (x * x - square) % P == 0, "the signature is none")
    return (x if x % 2 == data[31] >> 7 else -x % P), y
def add(a, b):
    t = D * a[0] * b[0] * a[1] * b[1]
    return ((a[0] * b[1] + a[1] * b[0]) * pow(1 + t, -1, P) % P,
            (a[1] * b[1] + a[0] * b[0]) * pow(1 - t, -1, P) % P)
def times(n, a): return add(times(n // 2, add(a, a)), a if n % 2 else (0, 1)) if n else (0, 1)
def octets(text):
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    must(base64.urlsafe_b64encode(data).decode().rstrip("=") == text, "it is no base64url")
    return data

def check_signature(proof, key):
    (head, payload, signature), (own,) = proof["jws"].split("."), proof["keys"]
    must(parse(octets(head)) == dict(alg="EdDSA", typ="penstock-receipt+json", kid=own["kid"]) and
         own == dict(kid=own["kid"], x=own["x"], kty="OKP", crv="Ed25519", use="sig", alg="EdDSA"),
         "its key is none")
    sign, public = octets(signature), octets(own["x"])
    sum = hashlib.sha512(sign[:32] + public + (head + "." + payload).encode()).digest()
    n, h = int.from_bytes(sign[32:], "little"), int.from_bytes(sum, "little") % L
    left, right = times(n, point(b"X" + b"f" * 31)), add(point(sign[:32]), times(h, point(public)))
    must(len(sign) == 64 and n < L and left == right, "the signature is wrong")
    must(key in (None, own["x"]), "another key than yours has signed it")
    return parse(octets(payload))

def verify(file, root, key):
    try:
        proof = parse(open(file, "rb").read())
        form("it", proof, "proof",
             "order_id receipt jws keys transactions previous_sha256 seals root")
        receipt = proof["receipt"]
        must((proof["proof"], receipt["order"]["id"]) == (1, proof["order_id"]), "it is another's")
        check_journal(proof, receipt, root)
        check_transactions(proof, receipt)
        must(repr(check_signature(proof, key)) == repr(receipt), "its receipt is not signed")
        said = "right: order %s is %s" % (proof["order_id"], receipt["state"])
    except Exception as wrong:  # What cannot be read is no proof either.
        said = "WRONG: %s (%s)" % (wrong, type(wrong).__name__)
    print(file + ": " + "".join(one if one.isprintable() else "?" for one in said))
    return said.startswith("right")

args = argparse.ArgumentParser(description="Verifies proofs of orders, offline.")
args.add_argument("--root", help="the sum of the root of that day, as you have noted it")
args.add_argument("--key", help="the public key of the service (x), as you have noted it")
args.add_argument("file", nargs="+",
                      help="what `penstock-admin orders prove ORDER --json` has printed")
given = args.parse_args()
right = [verify(file, given.root, given.key) for file in given.file]
print("Not looked at: whether the chain has those transactions in those blocks; ask a node."
      + (" Whether the root was noted: --root." if given.root is None else "")
      + (" Whether the key is the service's: --key." if given.key is None else ""))
sys.exit(0 if all(right) else 1)
