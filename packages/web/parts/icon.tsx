// Pictures on buttons that have no room for words. Their names are said by the buttons.

const PATHS = {
  menu: 'M4 6h16M4 12h16M4 18h16',
  search: 'M11 4a7 7 0 1 0 0 14a7 7 0 0 0 0-14M16 16l5 5',
  person: 'M12 4a4 4 0 1 0 0 8a4 4 0 0 0 0-8M4 21c0-4 3-6 8-6s8 2 8 6',
} as const

export const Icon = ({ name }: { name: keyof typeof PATHS }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
)
