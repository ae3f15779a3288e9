// Multiples of one point of secp256k1, so that multiplying it is adding up: some 40 additions of
// points and no doubling. It makes checking a signature against a key that is known four times as
// fast as finding out the key.
//
// For signatures only: what is multiplied here is public, and the time it takes tells about it.

import { normalizeZ } from '@noble/curves/abstract/curve.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'

type Point = InstanceType<typeof secp256k1.Point>

const { Fp, Fn } = secp256k1.Point
const P = Fp.ORDER
/** A sum of points: x is X / Z^2 and y is Y / Z^3, so that adding takes no division. Z 0n: nothing
 *  yet. */
export type Sum = { x: bigint; y: bigint; z: bigint }

const mod = (value: bigint): bigint => {
  const rest = value % P
  return rest < 0n ? rest + P : rest
}

export class PointTable {
  private readonly xs: bigint[] = []
  private readonly ys: bigint[] = []
  private readonly window_bits: number
  /** Digits are signed, so that half a window of multiples suffices; the last digit takes the
   *  carry. */
  private readonly digit_max: number
  private readonly digits: number

  /** A window of 6 bits takes some 14 ms to make, one of 8 bits 45 ms; adding up is then a sixth
   *  faster. */
  constructor(point: Point, window_bits: number) {
    this.window_bits = window_bits
    this.digit_max = 2 ** (window_bits - 1)
    this.digits = Math.ceil(257 / window_bits)
    const multiples: Point[] = []
    let base = point
    for (let digit = 0; digit < this.digits; digit++) {
      let multiple = base
      for (let times = 1; times <= this.digit_max; times++) {
        multiples.push(multiple)
        if (times < this.digit_max) multiple = multiple.add(base)
      }
      base = multiple.double()
    }
    for (const { x, y } of normalizeZ(secp256k1.Point, multiples)) {
      this.xs.push(x)
      this.ys.push(y)
    }
  }

  /** Adds the point `scalar` times to a sum. False when two points met that this short way of
   *  adding does not add. */
  addTo(sum: Sum, scalar: bigint): boolean {
    const window = 2 * this.digit_max
    const mask = BigInt(window - 1)
    const shift = BigInt(this.window_bits)
    let rest = scalar
    let carry = 0
    for (let digit = 0; digit < this.digits; digit++) {
      let times = Number(rest & mask) + carry
      rest >>= shift
      carry = times > this.digit_max ? 1 : 0
      if (carry) times -= window
      if (times === 0) continue
      const index = digit * this.digit_max + Math.abs(times) - 1
      const y = this.ys[index]!
      if (!addPoint(sum, this.xs[index]!, times < 0 ? P - y : y)) return false
    }
    return true
  }
}

/** Adds a point to a sum of other ones. False, and nothing is added, when it is their sum or its
 *  inverse. */
function addPoint(sum: Sum, x: bigint, y: bigint): boolean {
  const { x: x1, y: y1, z: z1 } = sum
  if (z1 === 0n) {
    sum.x = x
    sum.y = y
    sum.z = 1n
    return true
  }
  const zz = (z1 * z1) % P
  const h = (x * zz - x1) % P
  if (h === 0n) return false
  const r = (((y * z1) % P) * zz - y1) % P
  const hh = (h * h) % P
  const hhh = (h * hh) % P
  const v = (x1 * hh) % P
  sum.x = (r * r - hhh - 2n * v) % P
  sum.y = (r * (v - sum.x) - y1 * hhh) % P
  sum.z = (z1 * h) % P
  return true
}

const base = { table: undefined as PointTable | undefined }

/** Whether a signature of an id (both checked for their range) is the one that a key makes: then,
 *  and only then, is it this key that recovery finds. False also in the rare case that the short
 *  way of adding cannot tell. */
export function isSignedBy(
  key: PointTable,
  id: bigint,
  signature: { r: bigint; s: bigint; recovery: number },
): boolean {
  const { r, s, recovery } = signature
  base.table ??= new PointTable(secp256k1.Point.BASE, 8)
  const inverse = Fn.inv(s)
  const sum: Sum = { x: 0n, y: 0n, z: 0n }
  if (!base.table.addTo(sum, Fn.create(id * inverse)) || !key.addTo(sum, Fn.create(r * inverse)))
    return false
  if (sum.z === 0n) return false
  const x = recovery >= 2 ? r + Fn.ORDER : r
  if (x >= P || mod(sum.x - x * ((sum.z * sum.z) % P)) !== 0n) return false
  const y = mod(sum.y * Fp.inv(mod(sum.z ** 3n)))
  return (y & 1n) === BigInt(recovery & 1)
}
