// The colour of links and of the one main button of a page, as the house has chosen it: darkened
// for the light grounds and lightened for the dark ones until it can be read on each.

/** The grounds of packages/web/shared/style/tokens.css: `page`, `panel`, `sunken`, `hover`. */
export const GROUNDS = {
  light: ['#f6f7f9', '#ffffff', '#f3f5f7', '#f2f5f9'],
  dark: ['#0f1215', '#171b20', '#12161a', '#1e242b'],
} as const
/** What WCAG 2.2 AA asks of text. */
const CONTRAST_MIN = 4.5
/** So finely it is mixed with black or white. */
const SHADES = 256

type Channels = readonly [number, number, number]

const channels = (hex: string): Channels =>
  [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Channels

const hexOf = (colour: Channels): string =>
  `#${colour.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`

/** Relative luminance, as WCAG defines it. */
function luminance(hex: string): number {
  const [red, green, blue] = channels(hex).map((part) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
}

export function contrast(one: string, other: string): number {
  const [more, less] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (more! + 0.05) / (less! + 0.05)
}

/** The colour, `#rrggbb`, as near to itself as can be read on all grounds of a theme. */
function shade(accent: string, theme: keyof typeof GROUNDS): string {
  const end = theme === 'light' ? 0 : 255
  for (let step = 0; step < SHADES; step++) {
    const mixed = hexOf(
      channels(accent).map((part) => part + ((end - part) * step) / SHADES) as unknown as Channels,
    )
    if (GROUNDS[theme].every((ground) => contrast(mixed, ground) >= CONTRAST_MIN)) return mixed
  }
  return theme === 'light' ? '#000000' : '#ffffff'
}

export const accentShades = (accent: string): { light: string; dark: string } => ({
  light: shade(accent, 'light'),
  dark: shade(accent, 'dark'),
})

/** A style sheet that comes after that of the pages. */
export function accentSheet(accent: string): string {
  const { light, dark } = accentShades(accent)
  return `:root{--accent:light-dark(${light},${dark})}\n`
}
