// Names that somebody has typed, and others see: what steers a text, hides in it, or turns what
// stands around it, is shown as a dot.

const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

export const nameText = (name: string): string => name.replace(STEERING, '·')
