// What both faces know of a customer's users: which roles there are, and what a user is now.

import type { Body } from 'penstock-sdk'

export type CustomerRole = Body<'/v1/user/invite'>['role']

/** From the one that may least, which is what is usual. An object, so that none can be missing. */
const EACH_ROLE: Readonly<Record<CustomerRole, true>> = {
  reader: true,
  finance: true,
  developer: true,
  owner: true,
}

export const CUSTOMER_ROLES = Object.keys(EACH_ROLE) as CustomerRole[]

export const USER_STATES = ['invited', 'active', 'ended'] as const
export type UserState = (typeof USER_STATES)[number]

export function userState(user: { joined_at: string | null; ended_at: string | null }): UserState {
  if (user.ended_at !== null) return 'ended'
  return user.joined_at === null ? 'invited' : 'active'
}
