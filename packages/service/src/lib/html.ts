// Text in documents that browsers show.

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text for a document or for an attribute in quotes. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => ESCAPES[one]!)
