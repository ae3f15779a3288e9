// A call as lines for `sh`, which work as they stand. Token and secret are in variables of the
// shell and come to other programs by pipes alone: everybody on a machine sees the arguments of
// programs. So HMAC is made of SHA-256 here; openssl takes its key as an argument only.

export type ShellCall = {
  /** Of the service: `https://api.example`. */
  origin: string
  path: string
  body: unknown
  /** Left out: they are in the environment. */
  access?: KeyAccess | undefined
  /** The key or the endpoint requires the second signature. */
  second_signature?: boolean | undefined
}

export type KeyAccess = { token: string; secret: string }

/** A text as `sh` reads it, whatever is in it. */
export const shellText = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** What a program reads its key from. */
export const envText = (origin: string, { token, secret }: KeyAccess): string =>
  `PENSTOCK_URL=${origin}\nPENSTOCK_TOKEN=${token}\nPENSTOCK_SECRET=${secret}\n`

/** Lines for `sh` with everything that the call needs. */
export function shellLines({ origin, path, body, access, second_signature }: ShellCall): string {
  return [
    ...(access ? accessLines(access) : [FROM_ENVIRONMENT]),
    `BODY=${shellText(JSON.stringify(body))}`,
    HASH,
    'SIGNATURE=$(printf %s "$BODY$PENSTOCK_SECRET" | hash)',
    ...(second_signature ? secondLines(path) : []),
    `printf 'Authorization: Bearer %s\\n' "$PENSTOCK_TOKEN" |`,
    `  curl -s ${shellText(origin + path)} -H @- -H "X-Signature: $SIGNATURE" \\`,
    ...(second_signature ? SECOND_HEADERS : []),
    '    -H "Content-Type: application/json" --data-binary "$BODY"',
  ].join('\n')
}

const HASH = `hash() { openssl dgst -sha256 | sed 's/.* //'; }`
const FROM_ENVIRONMENT =
  `: "\${PENSTOCK_TOKEN:?is not set: see Keys}" ` + `"\${PENSTOCK_SECRET:?is not set: see Keys}"`
const accessLines = ({ token, secret }: KeyAccess) => [
  `PENSTOCK_TOKEN=${shellText(token)}`,
  `PENSTOCK_SECRET=${shellText(secret)}`,
]

/** `bytes HEX NUMBER` prints the bytes, each xor the number; `hmac KEY` is HMAC-SHA-256 of what it
 *  reads, by a key of 64 bytes in hexadecimal. Its key is HKDF-SHA-256 of the secret. */
const secondLines = (path: string): string[] => [
  `bytes() { for b in $(printf %s "$1" | sed 's/../& /g'); do`,
  '  printf %b "\\\\0$(printf %o $((0x$b ^ $2)))"; done; }',
  'hmac() { inner=$({ bytes "$1" 54; cat; } | hash)',
  '  { bytes "$1" 92; bytes "$inner" 0; } | hash; }',
  'ZEROS=$(printf %064d 0)',
  'KEY=$(printf %s "$PENSTOCK_SECRET" | hmac "$ZEROS$ZEROS")',
  `KEY=$(printf 'v2\\001' | hmac "$KEY$ZEROS")`,
  'TIME=$(date +%s) NONCE=$(openssl rand -hex 16)',
  `SECOND=$(printf '%s\\n%s\\nPOST\\n%s\\n%s' "$TIME" "$NONCE" ${path} \\`,
  '  "$(printf %s "$BODY" | hash)" | hmac "$KEY$ZEROS")',
]
const SECOND_HEADERS = [
  '    -H "X-Timestamp: $TIME" -H "X-Nonce: $NONCE" -H "X-Signature-V2: $SECOND" \\',
]
