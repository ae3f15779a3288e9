// Addresses, hashes and ids: shortened in the middle for the eye, whole for those who copy or hear
// them.

import { useSignal } from '@preact/signals'
import { startData } from '../calls/start_data.ts'
import { Icon } from '../icons/icon.tsx'
import { nameText } from '../words/name.ts'
import { say } from '../words/words.ts'

const SHOWN_MS = 1_500

type CopyProps = {
  text: string
  what: string
  /** With its word, where it is what one does next. */
  worded?: boolean
}

/** A button that copies a text. `what` says which, to those who hear the page. */
export function Copy({ text, what, worded = false }: CopyProps) {
  const copied = useSignal(false)
  async function copy() {
    await navigator.clipboard.writeText(text)
    copied.value = true
    setTimeout(() => {
      copied.value = false
    }, SHOWN_MS)
  }
  const name = say('copy.what', { what })
  const is_done = copied.value
  return (
    <button
      type="button"
      class={worded ? 'small' : is_done ? 'copy is-done' : 'copy'}
      onClick={copy}
      aria-label={name}
      title={name}
    >
      <Icon name={is_done ? 'check' : 'copy'} />
      {worded && (is_done ? say('copy.done') : say('copy'))}
    </button>
  )
}

const HEAD = 6
const TAIL = 6

/** The text with its middle left out. */
export const shortText = (text: string): string =>
  text.length <= HEAD + TAIL + 3 ? text : `${text.slice(0, HEAD)}…${text.slice(-TAIL)}`

export type LongTextProps = {
  text: string
  /** What it is, for the name of the button: `address`, `transaction`. */
  what: string
  /** Shown whole where there is room. */
  whole?: boolean
  /** Copy has its word. */
  worded?: boolean
  href?: string | undefined
}

/** Any long text with Copy. */
export function LongText({ text, what, whole = false, worded = false, href }: LongTextProps) {
  const shown = (
    <>
      <span class="whole-text">{text}</span>
      {!whole && (
        <span class="short-text" aria-hidden="true">
          {shortText(text)}
        </span>
      )}
    </>
  )
  const style = whole ? 'long-text is-whole' : 'long-text'
  return (
    <span class={style}>
      {href === undefined ? (
        <code title={text}>{shown}</code>
      ) : (
        <a href={href} title={text} {...outside(href)}>
          <code>{shown}</code>
        </a>
      )}
      <Copy text={text} what={what} worded={worded} />
    </span>
  )
}

/** An id that customers have made themselves, such as that of an order in their shop: any text. In
 *  a table it takes two lines at most, and is whole when one points at it. */
export const OwnId = ({ id }: { id: string }) => (
  <span class="own-id" title={id}>
    {nameText(id)}
  </span>
)

const outside = (href: string) =>
  href.startsWith('/') ? {} : { target: '_blank', rel: 'noopener noreferrer' }

/** An address of the chain. */
export function Address({ address, whole = false }: { address: string; whole?: boolean }) {
  const href = startData().explorer?.address.replace('{address}', encodeURIComponent(address))
  return <LongText text={address} what={say('copy.address')} whole={whole} href={href} />
}

/** A transaction on the chain, by its id. */
export function Hash({ tx_id, whole = false }: { tx_id: string; whole?: boolean }) {
  const href = startData().explorer?.transaction.replace('{tx_id}', encodeURIComponent(tx_id))
  return <LongText text={tx_id} what={say('copy.hash')} whole={whole} href={href} />
}
