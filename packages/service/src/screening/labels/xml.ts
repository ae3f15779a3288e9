// Lists in XML, read as they stream by: the file is far larger than what is kept of it.

import { SaxesParser, type SaxesTagPlain } from 'saxes'
import { refusal } from '../../lib/fault.ts'

export type Tag = SaxesTagPlain

/** Who reads elements as they open and close. `text`: all that an element has between its last tag
 *  and its end. `line`: where the parser is. */
export type XmlHandler = {
  open(tag: Tag, line: number): void
  close(tag: Tag, text: string, line: number): void
}

/** Reads a document. Throws Refused, with the line, when it is broken, or its root is another. */
export async function readXml(
  bytes: AsyncIterable<Uint8Array>,
  { what, root, ...handler }: XmlHandler & { what: string; root: string },
): Promise<void> {
  const parser = new SaxesParser({ xmlns: false })
  const decoder = new TextDecoder()
  const path: Tag[] = []
  let text = ''
  let broken: Error | undefined
  const notIt = () =>
    refusal(`This is not ${what}${broken ? `: ${broken.message.replace(/\.$/, '')}` : ''}.`)
  parser.on('error', (error) => {
    broken ??= error
  })
  parser.on('opentag', (tag) => {
    if (path.length === 0 && nameOf(tag) !== root)
      broken ??= new Error(`line ${parser.line}: it begins with <${tag.name}>`)
    path.push(tag as Tag)
    text = ''
    handler.open(tag as Tag, parser.line)
  })
  parser.on('text', (more) => {
    text += more
  })
  parser.on('cdata', (more) => {
    text += more
  })
  parser.on('closetag', () => {
    const tag = path.pop()
    if (tag) handler.close(tag, text.trim(), parser.line)
    text = ''
  })
  let any = false
  for await (const chunk of bytes) {
    any ||= chunk.length > 0
    parser.write(decoder.decode(chunk, { stream: true }))
    if (broken) throw notIt()
  }
  parser.close()
  if (broken || !any) throw notIt()
}

/** Without the prefix of its namespace. */
export const nameOf = ({ name }: Pick<Tag, 'name'>): string => name.slice(name.indexOf(':') + 1)
