// Printed by `npm run print` from the kinds of events of the service; a
// test says that it is fresh.

/** What each type of event tells: its subject, as the endpoint of it answers. */
export type EventData = {
  /** Told when it is placed and its price is held */
  'order.created': {
    id: string
    external_id: string | null
    service: 'energy' | 'bandwidth' | 'resource_bundle' | 'activate_address' | (string & {})
    params: {
      address: string
      amounts?: {
        energy?: number
        bandwidth?: number
      }
      /** Hours */
      duration?: number
      activate_address: boolean
    }
    /** failed: the whole amount is given back */
    status: 'new' | 'pending' | 'success' | 'failed' | (string & {})
    /** TRX */
    amount: number
    created_at: string
    /** When completed: the transaction on the chain */
    hash?: string
  }
  /** Told when all of it is in blocks; its price is charged */
  'order.succeeded': {
    id: string
    external_id: string | null
    service: 'energy' | 'bandwidth' | 'resource_bundle' | 'activate_address' | (string & {})
    params: {
      address: string
      amounts?: {
        energy?: number
        bandwidth?: number
      }
      /** Hours */
      duration?: number
      activate_address: boolean
    }
    /** failed: the whole amount is given back */
    status: 'new' | 'pending' | 'success' | 'failed' | (string & {})
    /** TRX */
    amount: number
    created_at: string
    /** When completed: the transaction on the chain */
    hash?: string
    delegations: {
      resource: 'energy' | 'bandwidth' | (string & {})
      amount: number
      hash: string
      expires_at: string
      reclaim_hash?: string
      reclaimed_at?: string
    }[]
  }
  /** Told when it is open for five minutes; it may still be delivered */
  'order.delayed': {
    id: string
    external_id: string | null
    service: 'energy' | 'bandwidth' | 'resource_bundle' | 'activate_address' | (string & {})
    params: {
      address: string
      amounts?: {
        energy?: number
        bandwidth?: number
      }
      /** Hours */
      duration?: number
      activate_address: boolean
    }
    /** failed: the whole amount is given back */
    status: 'new' | 'pending' | 'success' | 'failed' | (string & {})
    /** TRX */
    amount: number
    created_at: string
    /** When completed: the transaction on the chain */
    hash?: string
    delegations: {
      resource: 'energy' | 'bandwidth' | (string & {})
      amount: number
      hash: string
      expires_at: string
      reclaim_hash?: string
      reclaimed_at?: string
    }[]
    /** activation: its address is being activated; room: the pool cannot deliver it now;
     *  signature: its transaction is not signed yet; block: no block has its transaction */
    waits_for: 'activation' | 'room' | 'signature' | 'block' | (string & {})
  }
  /** Told when it cannot be delivered; the whole price is given back */
  'order.failed': {
    id: string
    external_id: string | null
    service: 'energy' | 'bandwidth' | 'resource_bundle' | 'activate_address' | (string & {})
    params: {
      address: string
      amounts?: {
        energy?: number
        bandwidth?: number
      }
      /** Hours */
      duration?: number
      activate_address: boolean
    }
    /** failed: the whole amount is given back */
    status: 'new' | 'pending' | 'success' | 'failed' | (string & {})
    /** TRX */
    amount: number
    created_at: string
    /** When completed: the transaction on the chain */
    hash?: string
    delegations: {
      resource: 'energy' | 'bandwidth' | (string & {})
      amount: number
      hash: string
      expires_at: string
      reclaim_hash?: string
      reclaimed_at?: string
    }[]
  }
  /** Told when a fork of the chain took a delivered part back; it is delivered again at our cost */
  'order.reverted': {
    id: string
    external_id: string | null
    service: 'energy' | 'bandwidth' | 'resource_bundle' | 'activate_address' | (string & {})
    params: {
      address: string
      amounts?: {
        energy?: number
        bandwidth?: number
      }
      /** Hours */
      duration?: number
      activate_address: boolean
    }
    /** failed: the whole amount is given back */
    status: 'new' | 'pending' | 'success' | 'failed' | (string & {})
    /** TRX */
    amount: number
    created_at: string
    /** When completed: the transaction on the chain */
    hash?: string
    delegations: {
      resource: 'energy' | 'bandwidth' | (string & {})
      amount: number
      hash: string
      expires_at: string
      reclaim_hash?: string
      reclaimed_at?: string
    }[]
  }
  /** Told when no fork of the chain can take back any part of it */
  'order.solid': {
    id: string
    external_id: string | null
    service: 'energy' | 'bandwidth' | 'resource_bundle' | 'activate_address' | (string & {})
    params: {
      address: string
      amounts?: {
        energy?: number
        bandwidth?: number
      }
      /** Hours */
      duration?: number
      activate_address: boolean
    }
    /** failed: the whole amount is given back */
    status: 'new' | 'pending' | 'success' | 'failed' | (string & {})
    /** TRX */
    amount: number
    created_at: string
    /** When completed: the transaction on the chain */
    hash?: string
    delegations: {
      resource: 'energy' | 'bandwidth' | (string & {})
      amount: number
      hash: string
      expires_at: string
      reclaim_hash?: string
      reclaimed_at?: string
    }[]
  }
  /** Told when its hour is over in as many minutes as you have set: `ending_minutes` */
  'order.ending': {
    id: string
    external_id: string | null
    service: 'energy' | 'bandwidth' | 'resource_bundle' | 'activate_address' | (string & {})
    params: {
      address: string
      amounts?: {
        energy?: number
        bandwidth?: number
      }
      /** Hours */
      duration?: number
      activate_address: boolean
    }
    /** failed: the whole amount is given back */
    status: 'new' | 'pending' | 'success' | 'failed' | (string & {})
    /** TRX */
    amount: number
    created_at: string
    /** When completed: the transaction on the chain */
    hash?: string
    delegations: {
      resource: 'energy' | 'bandwidth' | (string & {})
      amount: number
      hash: string
      expires_at: string
      reclaim_hash?: string
      reclaimed_at?: string
    }[]
  }
  /** Told when the hour is over and the last part of it was taken back */
  'order.ended': {
    id: string
    external_id: string | null
    service: 'energy' | 'bandwidth' | 'resource_bundle' | 'activate_address' | (string & {})
    params: {
      address: string
      amounts?: {
        energy?: number
        bandwidth?: number
      }
      /** Hours */
      duration?: number
      activate_address: boolean
    }
    /** failed: the whole amount is given back */
    status: 'new' | 'pending' | 'success' | 'failed' | (string & {})
    /** TRX */
    amount: number
    created_at: string
    /** When completed: the transaction on the chain */
    hash?: string
    delegations: {
      resource: 'energy' | 'bandwidth' | (string & {})
      amount: number
      hash: string
      expires_at: string
      reclaim_hash?: string
      reclaimed_at?: string
    }[]
  }
  /** Told when its address has its first energy; the start is charged */
  'subscription.started': {
    id: string
    /** The key of the plan */
    subscription_id: string
    created_at: string
    expire_at: string | null
    address: string
    status: 'new' | 'pending' | 'error' | 'active' | 'stopped' | 'expired' | (string & {})
    external_id: string | null
    params: {
      address: string
      /** Days; 0: unlimited */
      duration: number
      /** 0: unlimited */
      transactions_limit: number
      activate_address: boolean
    }
    /** Why it has ended, when it was not the customer who ended it */
    reason?: string
    /** Only while it runs and is not supplied: `idle` until its address is used, `daily_cap`
     *  until the next day (UTC) */
    resting?: string
    /** Only after its end: TRX that is still set aside. What is not used of it is given back when
     *  its energy is taken back for certain, some two minutes later */
    held?: number
  }
  /** Told when energy is on its way to its address */
  'subscription.supplied': {
    id: string
    /** The key of the plan */
    subscription_id: string
    created_at: string
    expire_at: string | null
    address: string
    status: 'new' | 'pending' | 'error' | 'active' | 'stopped' | 'expired' | (string & {})
    external_id: string | null
    params: {
      address: string
      /** Days; 0: unlimited */
      duration: number
      /** 0: unlimited */
      transactions_limit: number
      activate_address: boolean
    }
    /** Why it has ended, when it was not the customer who ended it */
    reason?: string
    /** Only while it runs and is not supplied: `idle` until its address is used, `daily_cap`
     *  until the next day (UTC) */
    resting?: string
    /** Only after its end: TRX that is still set aside. What is not used of it is given back when
     *  its energy is taken back for certain, some two minutes later */
    held?: number
  }
  /** Told when a transaction of its address was served */
  'subscription.used': {
    id: string
    /** The key of the plan */
    subscription_id: string
    created_at: string
    expire_at: string | null
    address: string
    status: 'new' | 'pending' | 'error' | 'active' | 'stopped' | 'expired' | (string & {})
    external_id: string | null
    params: {
      address: string
      /** Days; 0: unlimited */
      duration: number
      /** 0: unlimited */
      transactions_limit: number
      activate_address: boolean
    }
    /** Why it has ended, when it was not the customer who ended it */
    reason?: string
    /** Only while it runs and is not supplied: `idle` until its address is used, `daily_cap`
     *  until the next day (UTC) */
    resting?: string
    /** Only after its end: TRX that is still set aside. What is not used of it is given back when
     *  its energy is taken back for certain, some two minutes later */
    held?: number
    use: {
      /** The transaction that was served */
      tx_id: string
      energy: number
      /** As how many it counts */
      transactions: number
      /** TRX */
      charged: number
    }
  }
  /** Told when the customer has stopped it, or we for the reason that it tells */
  'subscription.stopped': {
    id: string
    /** The key of the plan */
    subscription_id: string
    created_at: string
    expire_at: string | null
    address: string
    status: 'new' | 'pending' | 'error' | 'active' | 'stopped' | 'expired' | (string & {})
    external_id: string | null
    params: {
      address: string
      /** Days; 0: unlimited */
      duration: number
      /** 0: unlimited */
      transactions_limit: number
      activate_address: boolean
    }
    /** Why it has ended, when it was not the customer who ended it */
    reason?: string
    /** Only while it runs and is not supplied: `idle` until its address is used, `daily_cap`
     *  until the next day (UTC) */
    resting?: string
    /** Only after its end: TRX that is still set aside. What is not used of it is given back when
     *  its energy is taken back for certain, some two minutes later */
    held?: number
  }
  /** Told when its time is over, or its transactions are used up */
  'subscription.expired': {
    id: string
    /** The key of the plan */
    subscription_id: string
    created_at: string
    expire_at: string | null
    address: string
    status: 'new' | 'pending' | 'error' | 'active' | 'stopped' | 'expired' | (string & {})
    external_id: string | null
    params: {
      address: string
      /** Days; 0: unlimited */
      duration: number
      /** 0: unlimited */
      transactions_limit: number
      activate_address: boolean
    }
    /** Why it has ended, when it was not the customer who ended it */
    reason?: string
    /** Only while it runs and is not supplied: `idle` until its address is used, `daily_cap`
     *  until the next day (UTC) */
    resting?: string
    /** Only after its end: TRX that is still set aside. What is not used of it is given back when
     *  its energy is taken back for certain, some two minutes later */
    held?: number
  }
  /** Told when it could not be started; what it cost is given back */
  'subscription.failed': {
    id: string
    /** The key of the plan */
    subscription_id: string
    created_at: string
    expire_at: string | null
    address: string
    status: 'new' | 'pending' | 'error' | 'active' | 'stopped' | 'expired' | (string & {})
    external_id: string | null
    params: {
      address: string
      /** Days; 0: unlimited */
      duration: number
      /** 0: unlimited */
      transactions_limit: number
      activate_address: boolean
    }
    /** Why it has ended, when it was not the customer who ended it */
    reason?: string
    /** Only while it runs and is not supplied: `idle` until its address is used, `daily_cap`
     *  until the next day (UTC) */
    resting?: string
    /** Only after its end: TRX that is still set aside. What is not used of it is given back when
     *  its energy is taken back for certain, some two minutes later */
    held?: number
  }
  /** Told when something costs more or less from now on; what was bought or quoted stays as it
   *  was */
  'price.changed': {
    /** energy, bandwidth, activate_address, or aml_ and the type of check */
    name: string
    since: string
    /** Of energy and bandwidth: all that are in force */
    tiers?: {
      /** Hours */
      duration: number
      min_amount: number
      max_amount: number
      /** TRX for 1000 */
      price: number
    }[]
    /** TRX; where one costs the same as another */
    price?: number
  }
  /** Told when something is not sold for now; what was bought is delivered all the same */
  'service.off': {
    /** Checks are aml_ and their type */
    services: string[]
  }
  /** Told when something is sold again */
  'service.on': {
    /** Checks are aml_ and their type */
    services: string[]
  }
  /** Told when a block has it that is not irreversible yet */
  'deposit.seen': {
    tx_id: string
    /** seen: in a block that is not irreversible yet; then received, delivering, delivered; or
     *  returning, refunding, refunded; or held, for the operator to decide, and then resolved; or
     *  ignored: a token that nobody follows, or too little to send back; or gone: a fork of the
     *  chain took it back */
    state:
      | 'seen'
      | 'unproven'
      | 'credited'
      | 'received'
      | 'delivering'
      | 'delivered'
      | 'returning'
      | 'refunding'
      | 'refunded'
      | 'held'
      | 'ignored'
      | 'resolved'
      | 'gone'
      | (string & {})
    /** Why it is in this state, where that is a question */
    reason: string | null
    from_address: string
    to_address: string
    /** TRX */
    amount?: number
    /** When it is not TRX: the contract of the token, or the number of a TRC-10 asset */
    token?: string
    /** An integer, in the token's smallest unit */
    token_amount?: string
    /** What a direct recharge buys */
    energy?: number
    block_number: number
    block_time: string
    /** Whether the block is irreversible */
    solid: boolean
  }
  /** Told when it was added to the balance */
  'deposit.credited': {
    tx_id: string
    /** seen: in a block that is not irreversible yet; then received, delivering, delivered; or
     *  returning, refunding, refunded; or held, for the operator to decide, and then resolved; or
     *  ignored: a token that nobody follows, or too little to send back; or gone: a fork of the
     *  chain took it back */
    state:
      | 'seen'
      | 'unproven'
      | 'credited'
      | 'received'
      | 'delivering'
      | 'delivered'
      | 'returning'
      | 'refunding'
      | 'refunded'
      | 'held'
      | 'ignored'
      | 'resolved'
      | 'gone'
      | (string & {})
    /** Why it is in this state, where that is a question */
    reason: string | null
    from_address: string
    to_address: string
    /** TRX */
    amount?: number
    /** When it is not TRX: the contract of the token, or the number of a TRC-10 asset */
    token?: string
    /** An integer, in the token's smallest unit */
    token_amount?: string
    /** What a direct recharge buys */
    energy?: number
    block_number: number
    block_time: string
    /** Whether the block is irreversible */
    solid: boolean
  }
  /** Told when it cannot be credited without the operator */
  'deposit.held': {
    tx_id: string
    /** seen: in a block that is not irreversible yet; then received, delivering, delivered; or
     *  returning, refunding, refunded; or held, for the operator to decide, and then resolved; or
     *  ignored: a token that nobody follows, or too little to send back; or gone: a fork of the
     *  chain took it back */
    state:
      | 'seen'
      | 'unproven'
      | 'credited'
      | 'received'
      | 'delivering'
      | 'delivered'
      | 'returning'
      | 'refunding'
      | 'refunded'
      | 'held'
      | 'ignored'
      | 'resolved'
      | 'gone'
      | (string & {})
    /** Why it is in this state, where that is a question */
    reason: string | null
    from_address: string
    to_address: string
    /** TRX */
    amount?: number
    /** When it is not TRX: the contract of the token, or the number of a TRC-10 asset */
    token?: string
    /** An integer, in the token's smallest unit */
    token_amount?: string
    /** What a direct recharge buys */
    energy?: number
    block_number: number
    block_time: string
    /** Whether the block is irreversible */
    solid: boolean
  }
  /** Told when the operator has decided about one that was held */
  'deposit.resolved': {
    tx_id: string
    /** seen: in a block that is not irreversible yet; then received, delivering, delivered; or
     *  returning, refunding, refunded; or held, for the operator to decide, and then resolved; or
     *  ignored: a token that nobody follows, or too little to send back; or gone: a fork of the
     *  chain took it back */
    state:
      | 'seen'
      | 'unproven'
      | 'credited'
      | 'received'
      | 'delivering'
      | 'delivered'
      | 'returning'
      | 'refunding'
      | 'refunded'
      | 'held'
      | 'ignored'
      | 'resolved'
      | 'gone'
      | (string & {})
    /** Why it is in this state, where that is a question */
    reason: string | null
    from_address: string
    to_address: string
    /** TRX */
    amount?: number
    /** When it is not TRX: the contract of the token, or the number of a TRC-10 asset */
    token?: string
    /** An integer, in the token's smallest unit */
    token_amount?: string
    /** What a direct recharge buys */
    energy?: number
    block_number: number
    block_time: string
    /** Whether the block is irreversible */
    solid: boolean
  }
  /** Told when a fork of the chain took it back */
  'deposit.gone': {
    tx_id: string
    /** seen: in a block that is not irreversible yet; then received, delivering, delivered; or
     *  returning, refunding, refunded; or held, for the operator to decide, and then resolved; or
     *  ignored: a token that nobody follows, or too little to send back; or gone: a fork of the
     *  chain took it back */
    state:
      | 'seen'
      | 'unproven'
      | 'credited'
      | 'received'
      | 'delivering'
      | 'delivered'
      | 'returning'
      | 'refunding'
      | 'refunded'
      | 'held'
      | 'ignored'
      | 'resolved'
      | 'gone'
      | (string & {})
    /** Why it is in this state, where that is a question */
    reason: string | null
    from_address: string
    to_address: string
    /** TRX */
    amount?: number
    /** When it is not TRX: the contract of the token, or the number of a TRC-10 asset */
    token?: string
    /** An integer, in the token's smallest unit */
    token_amount?: string
    /** What a direct recharge buys */
    energy?: number
    block_number: number
    block_time: string
    /** Whether the block is irreversible */
    solid: boolean
  }
  /** Told when a month is over in which something was charged, or a credit note is issued */
  'invoice.issued': {
    number: number
    kind: 'invoice' | 'credit_note' | (string & {})
    /** The invoice that a credit note is about, or that this one replaces */
    corrects: number | null
    /** `2026-10` */
    month: string
    state: 'issued' | (string & {})
    issued_at: string
    /** TRX; of a credit note below zero */
    total: number
    /** Of its document in UTF-8 */
    sha256: string
  }
  /** Told when an address that you watch was screened again, and its level is another */
  'aml_watch.changed': {
    id: string
    type: 'address' | 'hash' | (string & {})
    address: string
    /** Of hash checks */
    hash?: string
    /** Of hash checks; null if not given */
    direction?: 'deposit' | 'withdrawal' | (string & {}) | null
    network: string
    status: 'pending' | 'processing' | 'completed' | 'failed' | (string & {})
    /** 0.0 to 100.0; null until completed */
    risk_score: string | null
    /** Null until completed */
    risk_level: 'low' | 'medium' | 'high' | (string & {}) | null
    /** The address itself is barred by an authority, its issuer, or you */
    blacklist: boolean
    /** The largest first */
    risk_factors: {
      /** Category */
      name: string
      label: string
      group: 'low' | 'medium' | 'high' | (string & {})
      /** Share of the money, 0 to 1; the shares sum to 1 */
      score: number
    }[]
    /** Of what the address sent, by where that has ended: as of the last night, under a policy
     *  that looks at it, for an address itself; else none */
    sent_factors: {
      /** Category */
      name: string
      label: string
      group: 'low' | 'medium' | 'high' | (string & {})
      /** Share of the money, 0 to 1; the shares sum to 1 */
      score: number
    }[]
    /** When the check was created */
    checked_at: string
    /** Of the answer that this one supersedes */
    level_before: string
  }
  /** Told when a rule that you gave for an address that you watch holds */
  'aml_watch.alert': {
    address: string
    /** What you call it */
    reference: string | null
    rule: 'any_incoming_usd' | 'severe_share' | 'severe_usd' | 'sent_to' | (string & {})
    /** Dollars, or a share of 1; null for `sent_to` */
    threshold: string | null
    /** The largest of its block that the rule holds for; null for shares */
    transfer: {
      tx_id: string
      block_number: number
      asset: string
      /** In the smallest unit */
      amount: string
      usd: string
      counterparty: string
      /** Of the receiver, for `sent_to` */
      category: string | null
    } | null
    /** So many of that block it holds for */
    transfers: number
    /** Of the answer before */
    before: string | null
    after: string | null
    /** The newest check */
    check_id: string | null
  }
  /** Told when the issuer of a token has frozen an address that you watch */
  'freeze.executed': {
    address: string
    /** The contract of the token */
    token: string
    block_number: number
  }
  /** Told when the issuer of a token has lifted the freeze of an address that you watch */
  'freeze.lifted': {
    address: string
    /** The contract of the token */
    token: string
    block_number: number
  }
  /** Told when it is answered and charged */
  'aml_check.completed': {
    id: string
    type: 'address' | 'hash' | (string & {})
    address: string
    /** Of hash checks */
    hash?: string
    /** Of hash checks; null if not given */
    direction?: 'deposit' | 'withdrawal' | (string & {}) | null
    network: string
    status: 'pending' | 'processing' | 'completed' | 'failed' | (string & {})
    /** 0.0 to 100.0; null until completed */
    risk_score: string | null
    /** Null until completed */
    risk_level: 'low' | 'medium' | 'high' | (string & {}) | null
    /** The address itself is barred by an authority, its issuer, or you */
    blacklist: boolean
    /** The largest first */
    risk_factors: {
      /** Category */
      name: string
      label: string
      group: 'low' | 'medium' | 'high' | (string & {})
      /** Share of the money, 0 to 1; the shares sum to 1 */
      score: number
    }[]
    /** Of what the address sent, by where that has ended: as of the last night, under a policy
     *  that looks at it, for an address itself; else none */
    sent_factors: {
      /** Category */
      name: string
      label: string
      group: 'low' | 'medium' | 'high' | (string & {})
      /** Share of the money, 0 to 1; the shares sum to 1 */
      score: number
    }[]
    /** When the check was created */
    checked_at: string
  }
  /** Told when it could not be answered; nothing is charged */
  'aml_check.failed': {
    id: string
    type: 'address' | 'hash' | (string & {})
    address: string
    /** Of hash checks */
    hash?: string
    /** Of hash checks; null if not given */
    direction?: 'deposit' | 'withdrawal' | (string & {}) | null
    network: string
    status: 'pending' | 'processing' | 'completed' | 'failed' | (string & {})
    /** 0.0 to 100.0; null until completed */
    risk_score: string | null
    /** Null until completed */
    risk_level: 'low' | 'medium' | 'high' | (string & {}) | null
    /** The address itself is barred by an authority, its issuer, or you */
    blacklist: boolean
    /** The largest first */
    risk_factors: {
      /** Category */
      name: string
      label: string
      group: 'low' | 'medium' | 'high' | (string & {})
      /** Share of the money, 0 to 1; the shares sum to 1 */
      score: number
    }[]
    /** Of what the address sent, by where that has ended: as of the last night, under a policy
     *  that looks at it, for an address itself; else none */
    sent_factors: {
      /** Category */
      name: string
      label: string
      group: 'low' | 'medium' | 'high' | (string & {})
      /** Share of the money, 0 to 1; the shares sum to 1 */
      score: number
    }[]
    /** When the check was created */
    checked_at: string
  }
  /** Told when an API key is made, by a key of yours or by the operator */
  'key.created': {
    id: string
    name: string
    scopes: string[] | null
    networks: string[] | null
    receivers: string[] | null
    daily_cap: number | null
    spent_today: number | null
    require_v2: boolean
    require_external_id: boolean
    created_at: string
    made_by: string | null
    last_used_at: string | null
    ends_at: string | null
    revoked_at: string | null
    /** Those that sign now, the newest first */
    secrets: {
      made_at: string
      until: string | null
    }[]
  }
  /** Told when an API key is revoked */
  'key.revoked': {
    id: string
    name: string
    scopes: string[] | null
    networks: string[] | null
    receivers: string[] | null
    daily_cap: number | null
    spent_today: number | null
    require_v2: boolean
    require_external_id: boolean
    created_at: string
    made_by: string | null
    last_used_at: string | null
    ends_at: string | null
    revoked_at: string | null
    /** Those that sign now, the newest first */
    secrets: {
      made_at: string
      until: string | null
    }[]
  }
  /** Told when an API key ends within seven days */
  'key.ending': {
    id: string
    name: string
    scopes: string[] | null
    networks: string[] | null
    receivers: string[] | null
    daily_cap: number | null
    spent_today: number | null
    require_v2: boolean
    require_external_id: boolean
    created_at: string
    made_by: string | null
    last_used_at: string | null
    ends_at: string | null
    revoked_at: string | null
    /** Those that sign now, the newest first */
    secrets: {
      made_at: string
      until: string | null
    }[]
  }
  /** Told when something would have cost more than an API key may still spend today; once a day */
  'key.cap_reached': {
    id: string
    name: string
    scopes: string[] | null
    networks: string[] | null
    receivers: string[] | null
    daily_cap: number | null
    spent_today: number | null
    require_v2: boolean
    require_external_id: boolean
    created_at: string
    made_by: string | null
    last_used_at: string | null
    ends_at: string | null
    revoked_at: string | null
    /** Those that sign now, the newest first */
    secrets: {
      made_at: string
      until: string | null
    }[]
  }
  /** Told when somebody is invited to sign in for you */
  'user.invited': {
    id: string
    name: string
    sign_in_name: string | null
    role: 'owner' | 'developer' | 'finance' | 'reader' | (string & {})
    daily_cap: number | null
    receivers: string[] | null
    passkeys: number
    /** There is a password with codes */
    totp: boolean
    invited_at: string
    joined_at: string | null
    ended_at: string | null
  }
  /** Told when a user has followed the link and signs in from now on */
  'user.joined': {
    id: string
    name: string
    sign_in_name: string | null
    role: 'owner' | 'developer' | 'finance' | 'reader' | (string & {})
    daily_cap: number | null
    receivers: string[] | null
    passkeys: number
    /** There is a password with codes */
    totp: boolean
    invited_at: string
    joined_at: string | null
    ended_at: string | null
  }
  /** Told when a user's name, role or cap is another, or what the user signs in with */
  'user.changed': {
    id: string
    name: string
    sign_in_name: string | null
    role: 'owner' | 'developer' | 'finance' | 'reader' | (string & {})
    daily_cap: number | null
    receivers: string[] | null
    passkeys: number
    /** There is a password with codes */
    totp: boolean
    invited_at: string
    joined_at: string | null
    ended_at: string | null
  }
  /** Told when a user may not sign in any more */
  'user.removed': {
    id: string
    name: string
    sign_in_name: string | null
    role: 'owner' | 'developer' | 'finance' | 'reader' | (string & {})
    daily_cap: number | null
    receivers: string[] | null
    passkeys: number
    /** There is a password with codes */
    totp: boolean
    invited_at: string
    joined_at: string | null
    ended_at: string | null
  }
  /** Told when a user gets a new link, has signed in by a recovery code, or has used it up */
  'user.recovered': {
    id: string
    name: string
    sign_in_name: string | null
    role: 'owner' | 'developer' | 'finance' | 'reader' | (string & {})
    daily_cap: number | null
    receivers: string[] | null
    passkeys: number
    /** There is a password with codes */
    totp: boolean
    invited_at: string
    joined_at: string | null
    ended_at: string | null
  }
  /** Told when less can be spent than you have set; again only after it was a tenth above that */
  'balance.low': {
    /** TRX: what can be spent */
    balance: number
    /** TRX: `balance_low` of your settings */
    limit: number
  }
  /** Told when it is put on again after it was disabled */
  'webhook.enabled': {
    id: string
    url: string
    description: string | null
    types: string[] | null
    /** `disabled` with the reason */
    state: 'on' | 'off' | 'disabled' | (string & {})
    reason: string | null
    failing_since: string | null
    created_at: string
  }
  /** Told when it was refused for five days, or answered 410: it is not called any more */
  'webhook.disabled': {
    id: string
    url: string
    description: string | null
    types: string[] | null
    /** `disabled` with the reason */
    state: 'on' | 'off' | 'disabled' | (string & {})
    reason: string | null
    failing_since: string | null
    created_at: string
  }
  /** Told when never: it is there to be tried */
  'webhook.test': {
    id: string
    url: string
    description: string | null
    types: string[] | null
    /** `disabled` with the reason */
    state: 'on' | 'off' | 'disabled' | (string & {})
    reason: string | null
    failing_since: string | null
    created_at: string
  }
}

export type EventType = keyof EventData

/** What has happened, told once, as one union: `type` says what `data` is. Later versions of
 *  the service may tell of more types: pass over what you do not know. */
export type Event<Type extends EventType = EventType, Hidden = never> = {
  [One in Type]: {
    type: One
    /** The same in every call that tells of this event. */
    id: string
    timestamp: string
    /** 1, 2, 3 … without gaps; of two with one subject the larger is the newer. */
    number: number
    /** `order:<id>` and so on. */
    subject: string
    /** Sent to try a receiver out: nothing has happened. */
    test: boolean
    data: EventData[One] | Hidden
  }
}[Type]
