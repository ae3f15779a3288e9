// The addresses for which alone a key or a user buys.

import { LongText } from '../../shared/parts/address.tsx'
import { say } from '../../shared/words/words.ts'

const SHOWN = 2

/** The first ones of a long list. */
export function Receivers({ addresses }: { addresses: readonly string[] }) {
  const more = addresses.length - SHOWN
  return (
    <>
      {say('key.receivers')}:{' '}
      {addresses.slice(0, SHOWN).map((address) => (
        <LongText key={address} text={address} what={say('key.receivers')} />
      ))}
      {more > 0 && ` +${more}`}
      {addresses.length === 0 && say('none')}
    </>
  )
}
