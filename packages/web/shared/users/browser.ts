// The name of a browser and of its system, of the long line that browsers say of themselves.

/** The first that fits counts: most say that they are others, too. */
const BROWSERS: readonly [pattern: RegExp, name: string][] = [
  [/\bEdg\w*\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/(?:Chrome|CriOS|Chromium)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const SYSTEMS: readonly [pattern: RegExp, name: string][] = [
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

/** `Chrome, Linux`; the line itself where none is known. */
export function browserText(line: string): string {
  const of = (list: typeof BROWSERS) => list.find(([pattern]) => pattern.test(line))?.[1]
  const names = [of(BROWSERS), of(SYSTEMS)].filter((name) => name !== undefined)
  return names.length === 0 ? line : names.join(', ')
}
