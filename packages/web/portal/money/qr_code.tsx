// A text as a picture that a phone reads: dark on light in either theme, with the quiet border
// that readers need.

import { generate } from 'lean-qr'

const BORDER = 4

export function QrCode({ text, title }: { text: string; title: string }) {
  const code = generate(text)
  const side = code.size + 2 * BORDER
  const places = Array.from({ length: code.size }, (_, i) => i)
  const dark = places.flatMap((y) =>
    places.filter((x) => code.get(x, y)).map((x) => `M${x + BORDER} ${y + BORDER}h1v1h-1z`),
  )
  return (
    <svg class="qr-code" viewBox={`0 0 ${side} ${side}`} role="img" aria-label={title}>
      <rect width={side} height={side} />
      <path d={dark.join('')} shape-rendering="crispEdges" />
    </svg>
  )
}
