// Pictures beside words and on buttons that have no room for words: drawings of one file, by name.
// A button with a picture says by its name what it does.

import { startData } from '../calls/start_data.ts'
import type { IconName } from './names.ts'

export const Icon = ({ name, is_large }: { name: IconName; is_large?: boolean }) => (
  <svg class={is_large ? 'icon is-large' : 'icon'} viewBox="0 0 24 24" aria-hidden="true">
    <use href={`${startData().icons}#${name}`} />
  </svg>
)
