// What a face gives to the frame: its pages, as its table lists them, and what is its own around
// them. Navigation, router and `pages.json` are made of the table.

import type { ComponentType, FunctionComponent } from 'preact'
import type { IconName } from '../icons/names.ts'
import type { Key } from '../words/words.ts'

/** What every page is drawn with. */
export type PageProps = {
  /** Of its path: `id` of `/portal/orders/:id`. */
  params: Readonly<Record<string, string>>
  /** Of the address: the filters, the open tab. */
  query: Readonly<Record<string, string>>
}

export type PageRow = {
  /** `/portal/orders/:id` */
  path: string
  /** Words for its title, and for the navigation. */
  title: Key
  /** What the one who is signed in must be able to call, or one of several; null: anybody who is
   *  signed in. */
  scope: string | readonly string[] | null
  /** Under which heading the navigation has it; `top` stands alone, null: not there at all. */
  section: 'top' | Key | null
  /** Beside its name in the navigation. */
  icon?: IconName
  /** Within reach of a thumb, on a phone. */
  is_main?: boolean
  /** For those who are not signed in too. */
  is_public?: boolean
  load(): Promise<{ default: FunctionComponent<PageProps> }>
}

export type Face = {
  pages: readonly PageRow[]
  /** Addresses that are opened without loading the document anew; left out: those below the base
   *  of the face. */
  own_links?: RegExp
  /** What stands in the header beside the search, such as a switch. */
  Header?: ComponentType
  /** Finds what was typed into the search field. */
  find: (text: string) => Promise<readonly Finding[]>
  /** The page where one signs in. */
  SignIn: FunctionComponent
}

/** Something that the search has found: where it is, and what it is. */
export type Finding = { href: string; title: string; what: string }
