// How the house presents itself on all of its pages.

import { Type } from 'typebox'
import { misuse } from '../../lib/fault.ts'
import { clearable, NOTHING, OrNull, optional, Text } from '../../platform/wire/schemas.ts'
import { changeBrand, showBrand } from '../../web/brand.ts'
import { change, look } from '../table/operation.ts'

const BrandForm = Type.Object({
  name: Text,
  accent: OrNull(Text),
  support: OrNull(Text),
  terms_url: OrNull(Text),
  explorer: OrNull(Text),
})

export const brandOperations = [
  look({
    path: '/operator/brand/show',
    summary: 'how the house presents itself on its pages',
    body: NOTHING,
    reply: BrandForm,
    handle: async ({ sql }) => ({ value: await showBrand(sql) }),
  }),
  change({
    path: '/operator/brand/set',
    careful: true,
    summary: 'the name, colour, help and terms that pages show, and where one explores the chain',
    description:
      'An empty text takes away what was set. The colour is darkened on the light ground, and ' +
      'lightened on the dark one, until it has a contrast of 4.5:1. The explorer overrides ' +
      'PENSTOCK_EXPLORER.',
    body: Type.Object({
      name: optional(clearable('NAME', 'how pages call the house; empty: Penstock')),
      accent: optional(clearable('COLOUR', 'of links and main buttons, like #0b5cad')),
      support: optional(clearable('TEXT', 'one line below every page: whom to ask, and how')),
      terms_url: optional(clearable('URL', 'where the terms are')),
      explorer: optional(
        clearable('URLS', 'https://one.example/tx/{tx_id} https://one.example/address/{address}'),
      ),
    }),
    reply: BrandForm,
    async handle({ tx, body }) {
      if (Object.values(body).every((value) => value === undefined))
        throw misuse('brand set: nothing to change is given.')
      const { result, actions } = await changeBrand(tx, body)
      const note = actions.length === 0 ? 'No change.' : 'In force within 5 s.'
      return { result: { value: result, note }, actions }
    },
  }),
]
