// Roles: named sets of scopes, and nothing else. Those of a customer's users say which endpoints
// they may call; those of the house say which operations.

import type { RoleScope, Scope } from '../../platform/wire/endpoint.ts'

export type CustomerRole = 'owner' | 'developer' | 'finance' | 'reader'
/** Auditors look, operators also change, admins do what undoes the service's own precautions. */
export type HouseRole = 'auditor' | 'operator' | 'admin'

export const CUSTOMER_ROLES: readonly CustomerRole[] = ['owner', 'developer', 'finance', 'reader']
export const HOUSE_ROLES: readonly HouseRole[] = ['auditor', 'operator', 'admin']

const KEY_SCOPES: Readonly<Record<CustomerRole, readonly Scope[]>> = {
  owner: ['read', 'buy', 'aml', 'money', 'webhooks', 'manage'],
  developer: ['read', 'buy', 'aml', 'money', 'webhooks'],
  finance: ['read', 'money'],
  reader: ['read'],
}

/** What the key has that stands for a user of the role. A role of the house has none. */
export const keyScopesOf = (role: string): readonly Scope[] =>
  KEY_SCOPES[role as CustomerRole] ?? []

const ROLE_SCOPES: Readonly<Record<CustomerRole, readonly RoleScope[]>> = {
  owner: ['own'],
  developer: ['keys', 'own'],
  finance: ['own'],
  reader: ['own'],
}

/** What a user of the role may do. */
export const scopesOfRole = (role: string): readonly RoleScope[] => [
  ...keyScopesOf(role),
  ...(ROLE_SCOPES[role as CustomerRole] ?? []),
]
