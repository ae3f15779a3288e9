// Chainalysis' free sanctions service: whether an address itself is sanctioned, and nothing else.
// An empty list is no match and no score. Without a key the edge answers 403 in HTML.

import { askJson, type Outside, type Provider, ProviderFailure } from './provider.ts'

export type ChainalysisOptions = { api_key: string; url?: string }

const URL_OF_SERVICE = 'https://public.chainalysis.com'

export function chainalysis(
  { http }: Outside,
  { api_key, url = URL_OF_SERVICE }: ChainalysisOptions,
): Provider {
  return {
    name: 'chainalysis',
    covers: ({ type }) => type === 'address',
    async screen({ address }, signal) {
      const { fields, body } = await askJson(http, {
        method: 'GET',
        url: `${url}/api/v1/address/${encodeURIComponent(address)}`,
        headers: { 'X-API-Key': api_key, accept: 'application/json' },
        signal,
      })
      const { identifications } = fields
      if (!Array.isArray(identifications))
        throw new ProviderFailure('permanent', 'no list of identifications', { body })
      const sanctioned = identifications.length > 0
      return {
        score: sanctioned ? 100 : undefined,
        level: sanctioned ? 'high' : undefined,
        blacklist: sanctioned,
        shares: sanctioned ? [{ category: 'sanctions', share: 1 }] : [],
        reference: address,
        body,
      }
    },
  }
}
