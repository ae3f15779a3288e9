// Printed by `npm run print` from the endpoints of the service; a test says that
// it is fresh.

/** What each endpoint takes, and what it answers. */
export type Endpoints = {
  /** Services on sale and their prices */
  '/v1/services': {
    body: Record<string, never>
    result: {
      energy: {
        /** Hours */
        duration: number
        min_amount: number
        max_amount: number
        /** @deprecated The same as min_amount */
        min_energy: number
        /** @deprecated The same as max_amount */
        max_energy: number
        /** TRX for 1000 energy */
        price: number
        /** TRX for 32,000 energy at the price of this tier */
        price_32k: number
        /** TRX for 65,000 energy at the price of this tier */
        price_65k: number
        /** TRX for 131,000 energy at the price of this tier */
        price_131k: number
      }[]
      bandwidth: {
        /** Hours */
        duration: number
        min_amount: number
        max_amount: number
        /** TRX for 1000 bandwidth */
        price: number
      }[]
      activate_address: {
        /** TRX for one activation, on sale or not */
        price: number
      }
    }
  }
  /** What a purchase would cost */
  '/v1/calculate': {
    body: {
      /** `energy` when left out */
      type?: 'energy' | 'bandwidth' | undefined
      /** Who would receive it */
      address: string
      /** Hours; only 1 */
      duration: number
      /** How much energy or bandwidth; required */
      amount?: number | undefined
      /** @deprecated The same as amount */
      energy?: number | undefined
    }
    result: {
      address: string
      type: string
      amount: number
      /** @deprecated The same as amount */
      energy?: number
      /** Hours */
      duration: number
      /** TRX */
      price: number
      /** TRX; 0 when the address is active */
      activation_fee: number
      /** TRX */
      total: number
    }
  }
  /** The energy that a transfer of a token needs, and its price */
  '/v1/estimate-energy': {
    body: {
      /** Who sends the tokens */
      from_address: string
      /** Who receives them */
      to_address: string
      /** The token's contract; USDT (TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t) when left out */
      contract_address?: string | undefined
    }
    result: {
      from_address: string
      to_address: string
      contract_address: string
      amount: number
      /** @deprecated The same as amount */
      energy: number
      /** Hours */
      duration: number
      /** TRX */
      price: number
      /** TRX; 0 when the sender is active */
      activation_fee: number
      /** TRX */
      total: number
      /** Sun: the least fee limit that lets the transfer run */
      fee_limit: number
      /** What the transfer takes beside the energy */
      bandwidth: number
    }
  }
  /** The resources and balances of an address */
  '/v1/address-info': {
    body: {
      address: string
    }
    result: {
      resources: {
        /** What can be used now */
        energy: number
        /** What can be used now, the free part included */
        bandwidth: number
      }
      balances: {
        /** As of the newest block */
        TRX: number
        /** As of the newest irreversible block, which is about a minute older */
        USDT: number
      }
    }
  }
  /** Buy energy, bandwidth, both, or the activation of an address */
  '/v1/transaction/new': {
    body: {
      service: 'energy' | 'bandwidth' | 'resource_bundle' | 'activate_address'
      params: {
        /** Who receives it */
        address: string
        /** Hours; only 1. Required except for activate_address */
        duration?: number | undefined
        /** Required, with both, for resource_bundle */
        amounts?: {
          energy?: number | undefined
          bandwidth?: number | undefined
        } | undefined
        /** For energy and bandwidth, instead of amounts */
        amount?: number | undefined
        /** @deprecated Energy, when neither of the others names it */
        energy_amount?: number | undefined
        /** Activate the address too, if it is not active */
        activate_address?: boolean | undefined
      }
      /** The caller's own id: the same id again, with the same meaning, returns the same
       *  transaction */
      external_id?: string | undefined
    }
    result: {
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
  }
  /** The state of a purchase */
  '/v1/transaction/check': {
    body: {
      id?: string | undefined
      /** @deprecated The same as id */
      transaction_id?: string | undefined
      /** Beside id, or instead of it; when both are given, both must match */
      external_id?: string | undefined
    }
    result: {
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
  }
  /** The plans on sale, by their keys; none while subscriptions are off sale */
  '/v1/subscriptions': {
    body: Record<string, never>
    result: Record<string, {
      id: number
      name: string
      /** TRX, once */
      activation_fee: number
      /** TRX, at the start */
      initial_price: number
      /** TRX for each transaction served beyond those that the initial price covers */
      price: number
      /** 0: none */
      transactions_limit: number
      /** 0: none */
      duration_days: number
    }>
  }
  /** Keep an address supplied with energy */
  '/v1/subscription/start': {
    body: {
      /** The key of the plan */
      subscription_id: string
      params: {
        /** Who is kept supplied */
        address: string
        /** Days; 0: as the plan says */
        duration?: number | undefined
        /** 0: as the plan says */
        transactions_limit?: number | undefined
        /** Activate the address too, if it is not active */
        activate_address?: boolean | undefined
      }
      external_id?: string | undefined
    }
    result: {
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
      /** Only after its end: TRX that is still set aside. What is not used of it is given back
       *  when its energy is taken back for certain, some two minutes later */
      held?: number
    }
  }
  /** The state of a subscription */
  '/v1/subscription/check': {
    body: {
      id?: string | undefined
      /** @deprecated The same as id */
      subscription_id?: string | undefined
      /** Beside id, or instead of it; when both are given, both must match */
      external_id?: string | undefined
    }
    result: {
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
      /** Only after its end: TRX that is still set aside. What is not used of it is given back
       *  when its energy is taken back for certain, some two minutes later */
      held?: number
    }
  }
  /** Stop a subscription that has no limit of transactions, also before it is active */
  '/v1/subscription/stop': {
    body: {
      id?: string | undefined
      /** @deprecated The same as id */
      subscription_id?: string | undefined
      /** Beside id, or instead of it; when both are given, both must match */
      external_id?: string | undefined
    }
    result: {
      id: string
      /** The key of the plan */
      subscription_id: string
      created_at: string
      stopped_at: string | null
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
      /** Only after its end: TRX that is still set aside. What is not used of it is given back
       *  when its energy is taken back for certain, some two minutes later */
      held?: number
    }
  }
  /** The customer's subscriptions, newest first */
  '/v1/subscriptions/history': {
    body: {
      page?: number | undefined
      per_page?: number | undefined
      status?: 'new' | 'pending' | 'error' | 'active' | 'stopped' | 'expired' | undefined
    }
    result: {
      page: number
      per_page: number
      total: number
      items: {
        id: string
        status: 'new' | 'pending' | 'error' | 'active' | 'stopped' | 'expired' | (string & {})
        /** The key of the plan */
        subscription_id: string
        address: string
        transactions_limit: number
        transactions_used: number
        energy_used: number
        /** TRX, all charges so far */
        total_price: number
        started_at: string | null
        renewed_at: string | null
        stopped_at: string | null
        expire_at: string | null
        created_at: string
        /** Why it has ended, when it was not the customer who ended it */
        reason?: string
        /** Only while it runs and is not supplied: `idle` until its address is used, `daily_cap`
         *  until the next day (UTC) */
        resting?: string
        /** Only after its end: TRX that is still set aside. What is not used of it is given back
         *  when its energy is taken back for certain, some two minutes later */
        held?: number
      }[]
    }
  }
  /** Your purchases, newest first */
  '/v1/transactions/list': {
    body: {
      status?: 'new' | 'pending' | 'success' | 'failed' | undefined
      service?: 'energy' | 'bandwidth' | 'resource_bundle' | 'activate_address' | undefined
      /** The receiver */
      address?: string | undefined
      external_id_prefix?: string | undefined
      /** Bought with this key, if it has a daily cap: only then that is noted */
      key_id?: string | undefined
      /** Placed from then on: a day in UTC, or `2026-11-01T12:00:00Z` */
      since?: string | undefined
      /** Placed before then: a day in UTC, or `2026-11-01T12:00:00Z` */
      until?: string | undefined
      /** 1 to 100; 25 when left out */
      limit?: number | undefined
      /** `next` of the page before */
      before?: string | undefined
    }
    result: {
      items: {
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
        /** When the last part of it was in a block, by the time of that block */
        delivered_at: string | null
        /** When the last of it was taken back */
        ended_at: string | null
        /** Milliseconds from its acceptance to its charge, by the clock of the service */
        delivered_ms: number | null
      }[]
      /** `before` of the next page; null at the end */
      next: string | null
    }
  }
  /** What became of a purchase, step by step, and what it waits for */
  '/v1/transaction/timeline': {
    body: {
      id?: string | undefined
      /** Beside id, or instead of it; both must match */
      external_id?: string | undefined
    }
    result: {
      transaction: {
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
      /** Where it is and why, in English */
      sentence: string
      /** What happened, in the order of cause, and then what is to come */
      steps: {
        /** accepted, held, activating, activated, planned, sent, included, charged, solid,
         *  reverted, dead, refunded, over, reclaiming or ended */
        what: string
        /** With milliseconds; null while it has not happened */
        at: string | null
        /** About when it will happen */
        expected: string | null
        resource?: 'energy' | 'bandwidth' | (string & {})
        amount?: number
        tx_id?: string
        block_number?: number
        detail?: string
      }[]
      /** How far the chain is ahead of our clock, as a development chain may be: then times of
       *  steps on the chain are by another clock than the others. 0 when it is not */
      chain_ahead_seconds: number
      /** On your account; oldest first */
      entries: {
        at: string
        id: string
        kind: 'move' | 'hold' | 'capture' | 'release' | (string & {})
        for: {
          what: 'order' | 'deposit' | 'subscription' | 'aml' | 'correction' | (string & {})
          /** Of a deposit: its transaction on the chain */
          id: string
          external_id: string | null
          /** Of an order */
          service:
            | 'energy'
            | 'bandwidth'
            | 'resource_bundle'
            | 'activate_address'
            | (string & {})
            | null
        }
        /** TRX added to the balance, or taken from it */
        amount: number
        /** TRX added to what is held, or taken from it */
        held: number
        /** TRX */
        balance: number
        /** TRX: the balance less all that is held */
        spendable: number
      }[]
      /** What your webhooks were told; newest first */
      notices: {
        webhook_id: string
        /** Of the event */
        number: number
        event_id: string
        type: string
        subject: string
        state: 'due' | 'delivered' | 'dead' | 'passed' | (string & {})
        /** Since it was last made due */
        calls: number
        due_at: string | null
        last: {
          at: string
          ms: number
          status: number | null
          error:
            | 'resolve'
            | 'address'
            | 'connect'
            | 'tls'
            | 'timeout'
            | 'reset'
            | 'too_long'
            | (string & {})
            | null
          body: string | null
        } | null
      }[]
    }
  }
  /** The transactions that a subscription has served, newest first */
  '/v1/subscription/uses': {
    body: {
      id?: string | undefined
      /** Beside id, or instead of it; when both are given, both must match */
      external_id?: string | undefined
      /** 1 to 100; 25 when left out */
      limit?: number | undefined
      /** `next` of the page before */
      before?: string | undefined
    }
    result: {
      items: {
        tx_id: string
        /** When its block was read */
        at: string
        /** What it has used of ours */
        energy: number
        /** For how many it counts */
        transactions: number
        /** TRX */
        charged: number
      }[]
      /** `before` of the next page; null at the end */
      next: string | null
    }
  }
  /** What things cost, and have cost, newest first */
  '/v1/prices/history': {
    body: {
      /** Both, and the flat prices, when left out */
      resource?: 'energy' | 'bandwidth' | undefined
      /** Prices that were in force then or later: a day in UTC, or `2026-11-01T12:00:00Z` */
      since?: string | undefined
    }
    result: {
      tiers: {
        resource: 'energy' | 'bandwidth' | (string & {})
        /** Hours */
        duration: number
        min_amount: number
        max_amount: number
        /** TRX for 1000 */
        price: number
        since: string
        /** Null: it is in force */
        until: string | null
      }[]
      fees: {
        /** activate_address, or aml_ and the type of check */
        name: string
        /** TRX */
        price: number
        since: string
        /** Null: it is in force */
        until: string | null
      }[]
    }
  }
  /** A price that binds us for a while */
  '/v1/quote/new': {
    body: {
      service?: 'energy' | 'bandwidth' | 'resource_bundle' | 'activate_address' | undefined
      params?: {
        /** Who receives it */
        address: string
        /** Hours; only 1. Required except for activate_address */
        duration?: number | undefined
        /** Required, with both, for resource_bundle */
        amounts?: {
          energy?: number | undefined
          bandwidth?: number | undefined
        } | undefined
        /** For energy and bandwidth, instead of amounts */
        amount?: number | undefined
        /** @deprecated Energy, when neither of the others names it */
        energy_amount?: number | undefined
        /** Activate the address too, if it is not active */
        activate_address?: boolean | undefined
      } | undefined
      /** The energy for a transfer of a token, instead of `service` and `params` */
      transfer?: {
        /** Who sends the tokens, and gets the energy */
        from: string
        /** Who receives them */
        to: string
        /** The token's contract; USDT when left out */
        contract?: string | undefined
      } | undefined
      /** For how long; 60 when left out */
      seconds?: number | undefined
    }
    result: {
      id: string
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
      energy: number
      bandwidth: number
      /** TRX; the most that it costs, the fee included */
      amount: number
      /** TRX; what of it is for activating the address */
      fee: number
      state: 'open' | 'used' | 'expired' | (string & {})
      expires_at: string
      transaction_id: string | null
      /** For a transfer, in sun: the least that lets it run */
      fee_limit?: number
      burning_costs: number | null
    }
  }
  /** Buys what was quoted, for no more than that; twice: the same transaction */
  '/v1/quote/accept': {
    body: {
      /** Of the quote */
      id: string
      /** The caller's own id: the same id again, with the same meaning, returns the same
       *  transaction */
      external_id?: string | undefined
    }
    result: {
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
  }
  /** What can be delivered now and in the coming hours, if nothing more is sold */
  '/v1/pool-forecast': {
    body: {
      resource: 'energy' | 'bandwidth'
      hours: number
    }
    result: {
      resource: string
      at: string
      now: {
        /** Units, rounded down to two digits, as all here */
        room: number
        largest_order: number
      }
      points: {
        at: string
        /** If all is used that is out, and open orders are delivered */
        least: number
        /** If nothing of it is, and open orders fail */
        most: number
      }[]
    }
  }
  /** What an order got on the chain, signed */
  '/v1/receipt': {
    body: {
      id?: string | undefined
      /** Beside id, or instead of it; both must match */
      external_id?: string | undefined
    }
    result: {
      receipt: {
        receipt: number
        /** solid: irreversible; ended: all of it was taken back irreversibly */
        state: 'delivered' | 'solid' | 'ended' | (string & {})
        service: string
        network: string | null
        issued_at: string
        order: {
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
          /** TRX */
          amount: number
          created_at: string
        }
        activation: {
          hash: string
          block_number: number
          block_id: string | null
          block_time: string
        } | null
        parts: {
          resource: 'energy' | 'bandwidth' | (string & {})
          amount: number
          stake_sun: number
          units_of_stake: number | null
          hash: string
          block_number: number
          block_id: string | null
          block_time: string
          expires_at: string
          reclaim_hash: string | null
          reclaim_block_number: number | null
        }[]
        entries: {
          id: string
          kind: 'move' | 'hold' | 'capture' | 'release' | (string & {})
          /** TRX */
          amount: number
          number: number
        }[]
        seal: {
          number: number
          sha256: string
        } | null
      }
      jws: string
    }
  }
  /** What can be spent, and where to send more */
  '/v1/balance': {
    body: Record<string, never>
    result: {
      /** TRX that can be spent: what open purchases hold is already taken off */
      balance: number
      /** TRX sent here is added to the balance */
      address: string
    }
  }
  /** The address to which anybody may send TRX for energy, and the rates */
  '/v1/direct-recharge-info': {
    body: Record<string, never>
    result: {
      address: string
      rates: {
        /** Hours; always 1 */
        duration: number
        min_amount: number
        max_amount: number
        min_energy: number
        max_energy: number
        /** TRX for 1000 energy */
        price: number
        /** TRX for 32,000 energy */
        price_32k: number
        /** TRX for 65,000 energy */
        price_65k: number
        /** TRX for 131,000 energy */
        price_131k: number
      }[]
    }
  }
  /** What arrived at your address, newest first */
  '/v1/deposits/list': {
    body: {
      state?:
        | 'seen'
        | 'unproven'
        | 'credited'
        | 'held'
        | 'ignored'
        | 'resolved'
        | 'gone'
        | undefined
      /** Of blocks from then on: a day in UTC, or `2026-11-01T12:00:00Z` */
      since?: string | undefined
      /** Of blocks before: a day in UTC, or `2026-11-01T12:00:00Z` */
      until?: string | undefined
      /** 1 to 100; 25 when left out */
      limit?: number | undefined
      /** `next` of the page before */
      before?: string | undefined
    }
    result: {
      items: {
        tx_id: string
        /** seen: in a block that is not irreversible yet; then received, delivering, delivered;
         *  or returning, refunding, refunded; or held, for the operator to decide, and then
         *  resolved; or ignored: a token that nobody follows, or too little to send back; or
         *  gone: a fork of the chain took it back */
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
        /** 0 when its block is irreversible */
        solid_in_blocks: number
      }[]
      /** `before` of the next page; null at the end */
      next: string | null
    }
  }
  /** What a transaction on the chain brought to your address */
  '/v1/deposit/check': {
    body: {
      tx_id: string
    }
    result: {
      tx_id: string
      /** Mostly one */
      deposits: {
        tx_id: string
        /** seen: in a block that is not irreversible yet; then received, delivering, delivered;
         *  or returning, refunding, refunded; or held, for the operator to decide, and then
         *  resolved; or ignored: a token that nobody follows, or too little to send back; or
         *  gone: a fork of the chain took it back */
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
        /** 0 when its block is irreversible */
        solid_in_blocks: number
      }[]
    }
  }
  /** Your invoices and credit notes, newest first */
  '/v1/invoices/list': {
    body: {
      /** That of what was charged, like `2026-10` (UTC) */
      month?: string | undefined
      /** 1 to 100; 25 when left out */
      limit?: number | undefined
      /** `next` of the page before */
      before?: string | undefined
    }
    result: {
      items: {
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
      }[]
      /** `before` of the next page; null at the end */
      next: string | null
    }
  }
  /** An invoice or a credit note, line by line */
  '/v1/invoice/check': {
    body: {
      number: number
    }
    result: {
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
      issuer: string | null
      /** Your own lines, as they were then */
      billing: string[]
      lines: {
        /** energy, bandwidth, resource_bundle, activate_address, subscription, aml or correction */
        service: string
        /** What one is, like `energy 65000` or `unlimited_energy, transaction`; null: kinds
         *  beyond the 500 largest */
        unit: string | null
        /** TRX for one */
        unit_price: number | null
        /** Of a credit note below zero */
        count: number
        /** TRX */
        total: number
      }[]
      /** All of it as JSON, byte for byte as it was issued */
      document: string
    }
  }
  /** Types of checks on sale and their prices */
  '/v1/aml-checks': {
    body: Record<string, never>
    result: {
      id: string
      /** address, hash */
      type: string
      /** TRX for one check */
      price: number
    }[]
  }
  /** Screen an address, or the other side of a transaction */
  '/v1/aml-checks/new': {
    body: {
      type: 'address' | 'hash'
      /** TRX; others when the operator has a provider for them */
      network: string
      /** What to screen; for a hash check, the recipient in the transaction */
      address: string
      /** Needed for a hash check: 64 hexadecimal characters */
      hash?: string | undefined
      /** For a hash check: deposit (the sender is judged by the money it sent; also when absent)
       *  or withdrawal (the recipient is) */
      direction?: string | undefined
    }
    result: {
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
  }
  /** The state and the result of a check */
  '/v1/aml-checks/check': {
    body: {
      id: string
    }
    result: {
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
  }
  /** The customer's checks, newest first */
  '/v1/aml-checks/history': {
    body: {
      page?: number | undefined
      per_page?: number | undefined
      status?: 'pending' | 'processing' | 'completed' | 'failed' | undefined
    }
    result: {
      page: number
      per_page: number
      /** Of all checks that pass the filter */
      total: number
      items: {
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
        /** Of what the address sent, by where that has ended: as of the last night, under a
         *  policy that looks at it, for an address itself; else none */
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
      }[]
    }
  }
  /** What the result of a check rests on */
  '/v1/aml-check/report': {
    body: {
      id: string
    }
    result: {
      /** JSON, as text */
      evidence: string
      /** Of the text in UTF-8 */
      sha256: string
      /** The check of a watched address that this one came after */
      supersedes: string | null
      /** The check that came after this one */
      superseded_by: string | null
      /** The scores from which the risk is medium, and high; null: not kept */
      levels: {
        medium_from: number
        high_from: number
      } | null
      /** The screened address as the other side of a transfer, for the Travel Rule: a hint, read
       *  from the evidence; null: our own engine has not looked */
      counterparty: {
        address: string
        /** service: holds assets of others; self_hosted: sends by itself, is on no list and does
         *  not deal like a service; unknown */
        kind: 'service' | 'self_hosted' | 'unknown' | (string & {})
        name: string | null
        category: string | null
      } | null
    }
  }
  /** The addresses that are screened again whenever what is known changes */
  '/v1/aml-watches/list': {
    body: {
      address?: string | undefined
      /** Of the newest check */
      level?: 'low' | 'medium' | 'high' | undefined
      /** 1 to 100; 25 when left out */
      limit?: number | undefined
      /** `next` of the page before */
      before?: string | undefined
    }
    result: {
      items: {
        address: string
        since: string
        /** The newest; null until the first is placed */
        check: {
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
          /** Of what the address sent, by where that has ended: as of the last night, under a
           *  policy that looks at it, for an address itself; else none */
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
        } | null
        /** The level of the answer that the newest one supersedes */
        level_before: string | null
        /** What you call it */
        reference: string | null
        rules: {
          any_incoming_usd: number | null
          severe_share_bp: number | null
          severe_usd: number | null
          sent_to: boolean
        }
      }[]
      /** `before` of the next page; null at the end */
      next: string | null
    }
  }
  /** Watch an address: it is screened now, and again whenever what is known changes */
  '/v1/aml-watch/new': {
    body: {
      address: string
      /** What you call it */
      reference?: string | undefined
      /** When you are told (`aml_watch.alert`), beside the level; those that are left out are
       *  none */
      rules?: {
        /** A transfer to it of so many dollars or more */
        any_incoming_usd?: number | undefined
        /** What it received of severe categories, in hundredths of a percent of all */
        severe_share_bp?: number | undefined
        /** The same in dollars */
        severe_usd?: number | undefined
        /** It sent money to a severe category, or to who is barred */
        sent_to?: boolean | undefined
      } | undefined
    }
    result: {
      address: string
      since: string
      /** The newest; null until the first is placed */
      check: {
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
        /** Of what the address sent, by where that has ended: as of the last night, under a
         *  policy that looks at it, for an address itself; else none */
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
      } | null
      /** The level of the answer that the newest one supersedes */
      level_before: string | null
      /** What you call it */
      reference: string | null
      rules: {
        any_incoming_usd: number | null
        severe_share_bp: number | null
        severe_usd: number | null
        sent_to: boolean
      }
    }
  }
  /** Watch an address no longer; its checks stay */
  '/v1/aml-watch/remove': {
    body: {
      address: string
    }
    result: {
      address: string
    }
  }
  /** Every entry of your account, newest first */
  '/v1/statement': {
    body: {
      /** Entries from then on: a day in UTC, or `2026-11-01T12:00:00Z` */
      since?: string | undefined
      /** Entries before then: a day in UTC, or `2026-11-01T12:00:00Z` */
      until?: string | undefined
      /** 1 to 1000; 25 when left out */
      limit?: number | undefined
      /** `next` of the page before */
      before?: string | undefined
    }
    result: {
      opening: {
        /** TRX */
        balance: number
        /** TRX: the balance less all that is held */
        spendable: number
      }
      closing: {
        /** TRX */
        balance: number
        /** TRX: the balance less all that is held */
        spendable: number
      }
      items: {
        at: string
        id: string
        kind: 'move' | 'hold' | 'capture' | 'release' | (string & {})
        for: {
          what: 'order' | 'deposit' | 'subscription' | 'aml' | 'correction' | (string & {})
          /** Of a deposit: its transaction on the chain */
          id: string
          external_id: string | null
          /** Of an order */
          service:
            | 'energy'
            | 'bandwidth'
            | 'resource_bundle'
            | 'activate_address'
            | (string & {})
            | null
        }
        /** TRX added to the balance, or taken from it */
        amount: number
        /** TRX added to what is held, or taken from it */
        held: number
        /** TRX */
        balance: number
        /** TRX: the balance less all that is held */
        spendable: number
      }[]
      /** `before` of the next page; null at the end */
      next: string | null
    }
  }
  /** What happened on your account, hour by hour or day by day */
  '/v1/summary': {
    body: {
      /** The first hour or day is the one that this is in; 30 days ago: a day in UTC, or
       *  `2026-11-01T12:00:00Z` */
      since?: string | undefined
      /** Hours or days that begin before then; now: a day in UTC, or `2026-11-01T12:00:00Z` */
      until?: string | undefined
      /** `day` when left out: 400 days at most; `hour`: 31 days at most */
      bucket?: 'hour' | 'day' | undefined
    }
    result: {
      buckets: {
        /** When it begins; hours and days are those of UTC */
        at: string
        /** Placed */
        orders: number
        /** Delivered and charged */
        succeeded: number
        /** Given back */
        failed: number
        /** Of the orders that succeeded */
        energy: number
        /** Of the orders that succeeded */
        bandwidth: number
        /** TRX, for whatever it was */
        spent: number
        /** TRX */
        deposited: number
        /** TRX, at the end */
        balance: number
        /** In which half of the orders that succeeded were delivered */
        p50_ms: number | null
        p95_ms: number | null
      }[]
    }
  }
  /** Whose key this is, what it may do, and who answers */
  '/v1/whoami': {
    body: Record<string, never>
    result: {
      customer: {
        id: string
        name: string
      }
      key: {
        id: string
        name: string
        scopes: string[]
        networks: string[] | null
        receivers: string[] | null
        daily_cap: number | null
        spent_today: number | null
        ends_at: string | null
      }
      service: {
        version: string
        network: string | null
        /** By the clock of the service */
        time: string
        head_time: string | null
        public_url: string | null
      }
    }
  }
  /** What you have set for yourself */
  '/v1/settings': {
    body: Record<string, never>
    result: {
      /** TRX: `balance.low` is told when less can be spent; null: never */
      balance_low: number | null
      /** How long before its hour is over `order.ending` is told; null: never */
      ending_minutes: number | null
      /** Lines of your own on your invoices */
      billing: string[]
    }
  }
  /** Set what is given, and leave the rest as it is */
  '/v1/settings/change': {
    body: {
      /** 1 to 55; 0: never */
      ending_minutes?: number | undefined
      /** At most 8 lines of 100 characters; `[]`: none */
      billing?: string[] | undefined
      /** TRX; 0: never */
      balance_low?: number | undefined
    }
    result: {
      /** TRX: `balance.low` is told when less can be spent; null: never */
      balance_low: number | null
      /** How long before its hour is over `order.ending` is told; null: never */
      ending_minutes: number | null
      /** Lines of your own on your invoices */
      billing: string[]
    }
  }
  /** What your calls were refused for in the last seven days, newest first */
  '/v1/refusals/list': {
    body: {
      /** Refused from then on: a day in UTC, or `2026-11-01T12:00:00Z` */
      since?: string | undefined
      code?: number | undefined
      /** 1 to 100; 25 when left out */
      limit?: number | undefined
      /** `next` of the page before */
      before?: string | undefined
    }
    result: {
      items: {
        at: string
        path: string
        code: number
        /** Of the refusal: what was answered */
        key: string
        request_id: string
        key_id: string
        ip: string
        ms: number
        /** For the codes 2, 10, 11, 12 and 50, of endpoints that take nothing secret: the first
         *  1,024 characters, with the values that the endpoint asks for */
        body: string | null
        /** `second_signature`: the first signature was right, and the key or the endpoint
         *  requires `X-Signature-V2` as well. An object: the signature was wrong */
        hint:
          | string
          | {
          /** How many bytes the body had */
          hashed_bytes: number
          body_sha256: string
          /** The signature is right for another body: `empty`, `{}`, `no_final_newline` (without
           *  the line feed at its end) or `reprinted` (the same JSON without blanks) */
          right_for: string
          | null
        }
          | null
      }[]
      /** `before` of the next page; null at the end */
      next: string | null
      /** How many of these days are not listed */
      left_out: number
    }
  }
  /** Your API keys, newest first, revoked ones too */
  '/v1/keys/list': {
    body: {
      state?: 'active' | 'ended' | 'revoked' | undefined
      /** 1 to 100; 25 when left out */
      limit?: number | undefined
      /** `next` of the page before */
      before?: string | undefined
    }
    result: {
      items: {
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
      }[]
      /** `before` of the next page; null at the end */
      next: string | null
    }
  }
  /** A new API key, no wider than the one that asks */
  '/v1/key/new': {
    body: {
      /** What to call it */
      name: string
      /** What it may do */
      scopes: ('read' | 'buy' | 'aml' | 'money' | 'webhooks' | 'manage')[]
      /** Where it may be used from: addresses and networks, or `any` alone */
      networks?: string[] | undefined
      /** The addresses that may receive what it buys, or `any` alone */
      receivers?: string[] | undefined
      /** The most that it may spend in a day (UTC), in TRX, or `none` */
      daily_cap?: number | string | undefined
      /** It refuses requests without the second signature, which the SDK and the command line
       *  send; clients that know the first alone do not work with it */
      require_v2?: boolean | undefined
      /** It begins nothing without an `external_id` or an `Idempotency-Key`: what the first
       *  signature alone leaves open, that a body is sent again, then buys nothing twice */
      require_external_id?: boolean | undefined
      /** A time that is still to come, from which on it is refused, or `never` */
      ends_at?: string | undefined
    }
    result: {
      key: {
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
      /** Names it; shown this once */
      token: string
      /** Signs; shown this once */
      secret: string
    }
  }
  /** Puts other limits on a key; what is left out stays as it is */
  '/v1/key/change': {
    body: {
      id: string
      /** What to call it */
      name?: string | undefined
      /** What it may do */
      scopes?: ('read' | 'buy' | 'aml' | 'money' | 'webhooks' | 'manage')[] | undefined
      /** Where it may be used from: addresses and networks, or `any` alone */
      networks?: string[] | undefined
      /** The addresses that may receive what it buys, or `any` alone */
      receivers?: string[] | undefined
      /** The most that it may spend in a day (UTC), in TRX, or `none` */
      daily_cap?: number | string | undefined
      /** It refuses requests without the second signature, which the SDK and the command line
       *  send; clients that know the first alone do not work with it */
      require_v2?: boolean | undefined
      /** It begins nothing without an `external_id` or an `Idempotency-Key`: what the first
       *  signature alone leaves open, that a body is sent again, then buys nothing twice */
      require_external_id?: boolean | undefined
      /** A time that is still to come, from which on it is refused, or `never` */
      ends_at?: string | undefined
    }
    result: {
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
  }
  /** A new secret for a key; the one before signs for a while */
  '/v1/key/rotate': {
    body: {
      id: string
      /** 24 when left out; 0 ends those before at once */
      overlap_hours?: number | undefined
    }
    result: {
      key: {
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
      /** Shown this once */
      secret: string
    }
  }
  /** Ends a key for good, whichever of yours: the one that asks, too */
  '/v1/key/revoke': {
    body: {
      id: string
      /** The subscriptions that it has started go on */
      keep_subscriptions?: boolean | undefined
      /** What it has made ends, too, and what that has made */
      with_made?: boolean | undefined
    }
    result: {
      key: {
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
      ended_subscriptions: number
      made: {
        keys: {
          id: string
          /** Of a webhook: the host that it calls */
          name: string
          /** The key or the user, whose key has the same id */
          made_by: string
          /** Whether this call has ended it */
          ended: boolean
        }[]
        users: {
          id: string
          /** Of a webhook: the host that it calls */
          name: string
          /** The key or the user, whose key has the same id */
          made_by: string
          /** Whether this call has ended it */
          ended: boolean
        }[]
        webhooks: {
          id: string
          /** Of a webhook: the host that it calls */
          name: string
          /** The key or the user, whose key has the same id */
          made_by: string
          /** Whether this call has ended it */
          ended: boolean
        }[]
      }
    }
  }
  /** What a key or a user has made: keys, users and webhooks, and what those have made */
  '/v1/made/check': {
    body: {
      id: string
    }
    result: {
      keys: {
        id: string
        /** Of a webhook: the host that it calls */
        name: string
        /** The key or the user, whose key has the same id */
        made_by: string
        /** Whether this call has ended it */
        ended: boolean
      }[]
      users: {
        id: string
        /** Of a webhook: the host that it calls */
        name: string
        /** The key or the user, whose key has the same id */
        made_by: string
        /** Whether this call has ended it */
        ended: boolean
      }[]
      webhooks: {
        id: string
        /** Of a webhook: the host that it calls */
        name: string
        /** The key or the user, whose key has the same id */
        made_by: string
        /** Whether this call has ended it */
        ended: boolean
      }[]
    }
  }
  /** A program asks for a key of its own: a code for the user, a secret for the program */
  '/v1/pairing/new': {
    body: {
      /** What the program is called, and where it runs; 1 to 100 characters */
      name: string
      /** What the program would like to do; left out: the user chooses */
      scopes?: ('read' | 'buy' | 'aml' | 'money' | 'webhooks' | 'manage')[] | undefined
    }
    result: {
      /** Eight letters, in two groups */
      code: string
      url: string | null
      /** Keep it: it takes the key */
      poll_secret: string
      poll_seconds: number
      ends_at: string
    }
  }
  /** Which program waits with this code */
  '/v1/pairing/check': {
    body: {
      /** What the program shows; blanks, hyphens and small letters make no difference */
      code: string
    }
    result: {
      /** What the program calls itself: nobody has checked it */
      name: string
      /** Where it asked from */
      ip: string
      scopes: string[] | null
      made_at: string
      /** The code is worth nothing from then on */
      ends_at: string
    }
  }
  /** Gives the program that waits with this code a key, no wider than the one that asks */
  '/v1/pairing/approve': {
    body: {
      /** What the program shows; blanks, hyphens and small letters make no difference */
      code: string
      /** What to call it */
      name?: string | undefined
      /** What it may do */
      scopes: ('read' | 'buy' | 'aml' | 'money' | 'webhooks' | 'manage')[]
      /** Where it may be used from: addresses and networks, or `any` alone */
      networks?: string[] | undefined
      /** The addresses that may receive what it buys, or `any` alone */
      receivers?: string[] | undefined
      /** The most that it may spend in a day (UTC), in TRX, or `none` */
      daily_cap?: number | string | undefined
      /** It refuses requests without the second signature, which the SDK and the command line
       *  send; clients that know the first alone do not work with it */
      require_v2?: boolean | undefined
      /** It begins nothing without an `external_id` or an `Idempotency-Key`: what the first
       *  signature alone leaves open, that a body is sent again, then buys nothing twice */
      require_external_id?: boolean | undefined
      /** A time that is still to come, from which on it is refused, or `never` */
      ends_at?: string | undefined
    }
    result: {
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
  }
  /** The key of a program that was approved, once; until then, how it stands */
  '/v1/pairing/take': {
    body: {
      poll_secret: string
    }
    result: {
      state: 'open' | 'approved' | 'refused' | (string & {})
      key: {
        id: string
        /** Names it; shown this once */
        token: string
        /** Signs; shown this once */
        secret: string
      } | null
    }
  }
  /** Gives the program that waits with this code no key */
  '/v1/pairing/refuse': {
    body: {
      /** What the program shows; blanks, hyphens and small letters make no difference */
      code: string
    }
    result: {
      /** Of the program */
      name: string
    }
  }
  /** The people who sign in for you, newest first, removed ones too */
  '/v1/users/list': {
    body: {
      /** What the person may do */
      role?: 'owner' | 'developer' | 'finance' | 'reader' | undefined
      state?: 'invited' | 'active' | 'ended' | undefined
      /** 1 to 100; 25 when left out */
      limit?: number | undefined
      /** `next` of the page before */
      before?: string | undefined
    }
    result: {
      items: {
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
      }[]
      /** `before` of the next page; null at the end */
      next: string | null
    }
  }
  /** Lets somebody sign in for you: a link that works once, for 72 hours */
  '/v1/user/invite': {
    body: {
      /** What to call the person */
      name: string
      /** What the person may do */
      role: 'owner' | 'developer' | 'finance' | 'reader'
      /** The most that the user may spend in a day (UTC), in TRX, or `none` */
      daily_cap?: number | string | undefined
      /** The addresses that may receive what it buys, or `any` alone */
      receivers?: string[] | undefined
    }
    result: {
      user: {
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
      /** For the person alone; works once; shown this once */
      link: string
      link_ends_at: string
    }
  }
  /** One of your users */
  '/v1/user/check': {
    body: {
      id: string
    }
    result: {
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
  }
  /** Changes a user; what is left out stays as it is */
  '/v1/user/change': {
    body: {
      id: string
      /** What to call the person */
      name?: string | undefined
      /** What the person may do */
      role?: 'owner' | 'developer' | 'finance' | 'reader' | undefined
      /** The most that the user may spend in a day (UTC), in TRX, or `none` */
      daily_cap?: number | string | undefined
      /** The addresses that may receive what it buys, or `any` alone */
      receivers?: string[] | undefined
    }
    result: {
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
  }
  /** A new link for a user who has lost everything, or never came */
  '/v1/user/recover': {
    body: {
      id: string
    }
    result: {
      user: {
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
      /** For the person alone; works once; shown this once */
      link: string
      link_ends_at: string
    }
  }
  /** Takes a user out for good, with all sessions */
  '/v1/user/remove': {
    body: {
      id: string
      /** What it has made ends, too, and what that has made */
      with_made?: boolean | undefined
    }
    result: {
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
      made: {
        keys: {
          id: string
          /** Of a webhook: the host that it calls */
          name: string
          /** The key or the user, whose key has the same id */
          made_by: string
          /** Whether this call has ended it */
          ended: boolean
        }[]
        users: {
          id: string
          /** Of a webhook: the host that it calls */
          name: string
          /** The key or the user, whose key has the same id */
          made_by: string
          /** Whether this call has ended it */
          ended: boolean
        }[]
        webhooks: {
          id: string
          /** Of a webhook: the host that it calls */
          name: string
          /** The key or the user, whose key has the same id */
          made_by: string
          /** Whether this call has ended it */
          ended: boolean
        }[]
      }
    }
  }
  /** Who is signed in for you, newest first */
  '/v1/sessions/list': {
    body: {
      /** A part of the user's name; capital Latin letters are as small ones */
      name?: string | undefined
      /** 1 to 100; 25 when left out */
      limit?: number | undefined
      /** `next` of the page before */
      before?: string | undefined
    }
    result: {
      items: {
        id: string
        user: {
          id: string
          name: string
        }
        /** From where the user has signed in */
        ip: string
        /** What it says that it is */
        browser: string
        created_at: string
        /** To the minute */
        last_used_at: string
        /** Then it is over, however much it is used */
        ends_at: string
        /** It is the one that asks */
        current: boolean
      }[]
      /** `before` of the next page; null at the end */
      next: string | null
    }
  }
  /** Signs somebody out */
  '/v1/session/end': {
    body: {
      id: string
    }
    result: {
      ended: boolean
    }
  }
  /** What your users and keys have changed, newest first */
  '/v1/actions/list': {
    body: {
      /** What this user has changed */
      user_id?: string | undefined
      /** What this key has changed; not beside `user_id` */
      key_id?: string | undefined
      /** Such as `key/new` */
      action?: string | undefined
      /** Such as `key:…`, or `key` for all keys */
      subject?: string | undefined
      /** Changed from then on: a day in UTC, or `2026-11-01T12:00:00Z` */
      since?: string | undefined
      /** Changed before then: a day in UTC, or `2026-11-01T12:00:00Z` */
      until?: string | undefined
      /** 1 to 100; 25 when left out */
      limit?: number | undefined
      /** `next` of the page before */
      before?: string | undefined
    }
    result: {
      items: {
        /** 1, 2, 3 and so on, without gaps */
        number: number
        at: string
        by: {
          user_id: string | null
          key_id: string | null
          /** What the user or the key is called now */
          name: string
        }
        /** The endpoint, without `/v1/`: `key/new` */
        action: string
        /** What was changed: `key:…`, `user:…`, `settings` */
        subject: string
        before: unknown
        after: unknown
        ip: string | null
      }[]
      /** `before` of the next page; null at the end */
      next: string | null
    }
  }
  /** What happened, newest first; with `after` from there on, oldest first */
  '/v1/events/list': {
    body: {
      after?: number | undefined
      /** 1 to 100; 25 when left out */
      limit?: number | undefined
      /** `next` of the page before */
      before?: string | undefined
      types?: string[] | undefined
      subject?: string | undefined
    }
    result: {
      items: {
        type: string
        /** When it happened */
        timestamp: string
        /** The same wherever, and however often, it is told */
        id: string
        /** 1, 2, 3, … for each customer, without gaps */
        number: number
        /** What it is about: `order:…`, `deposit:…` */
        subject: string
        /** Nothing happened: somebody tries a webhook */
        test: boolean
        /** What the endpoint of the subject answered at that moment; null without its scope, and
         *  when that is more than 20,000 characters */
        data: unknown
      }[]
      /** `before` of the next page; null at the end */
      next: string | null
    }
  }
  /** One event */
  '/v1/event/check': {
    body: {
      number: number
    }
    result: {
      type: string
      /** When it happened */
      timestamp: string
      /** The same wherever, and however often, it is told */
      id: string
      /** 1, 2, 3, … for each customer, without gaps */
      number: number
      /** What it is about: `order:…`, `deposit:…` */
      subject: string
      /** Nothing happened: somebody tries a webhook */
      test: boolean
      /** What the endpoint of the subject answered at that moment; null without its scope, and
       *  when that is more than 20,000 characters */
      data: unknown
    }
  }
  /** A new webhook, which is told of what happens from now on */
  '/v1/webhook/new': {
    body: {
      /** https, of a public host */
      url: string
      description?: string | undefined
      /** Every type that the key may read when it is empty or left out */
      types?: string[] | undefined
      at_once?: number | undefined
      /** Calls a second at most; 0: as fast as it answers */
      per_second?: number | undefined
    }
    result: {
      webhook: {
        id: string
        url: string
        description: string | null
        types: string[] | null
        /** `disabled` with the reason */
        state: 'on' | 'off' | 'disabled' | (string & {})
        reason: string | null
        /** Calls under way at the same time, at most */
        at_once: number
        per_second: number | null
        /** The number of the last event that was looked at */
        cursor: number
        /** Events after that */
        waiting: number
        /** Notices that are still to be delivered */
        due: number
        /** Notices that were given up */
        dead: number
        failing_since: string | null
        created_at: string
        secrets: {
          made_at: string
          until: string | null
        }[]
      }
      /** Shown this once */
      secret: string
    }
  }
  /** Your webhooks, newest first */
  '/v1/webhooks/list': {
    body: {
      state?: 'on' | 'off' | 'disabled' | undefined
      /** 1 to 100; 25 when left out */
      limit?: number | undefined
      /** `next` of the page before */
      before?: string | undefined
    }
    result: {
      items: {
        id: string
        url: string
        description: string | null
        types: string[] | null
        /** `disabled` with the reason */
        state: 'on' | 'off' | 'disabled' | (string & {})
        reason: string | null
        /** Calls under way at the same time, at most */
        at_once: number
        per_second: number | null
        /** The number of the last event that was looked at */
        cursor: number
        /** Events after that */
        waiting: number
        /** Notices that are still to be delivered */
        due: number
        /** Notices that were given up */
        dead: number
        failing_since: string | null
        created_at: string
        secrets: {
          made_at: string
          until: string | null
        }[]
      }[]
      /** `before` of the next page; null at the end */
      next: string | null
    }
  }
  /** One of your webhooks */
  '/v1/webhook/check': {
    body: {
      id: string
    }
    result: {
      id: string
      url: string
      description: string | null
      types: string[] | null
      /** `disabled` with the reason */
      state: 'on' | 'off' | 'disabled' | (string & {})
      reason: string | null
      /** Calls under way at the same time, at most */
      at_once: number
      per_second: number | null
      /** The number of the last event that was looked at */
      cursor: number
      /** Events after that */
      waiting: number
      /** Notices that are still to be delivered */
      due: number
      /** Notices that were given up */
      dead: number
      failing_since: string | null
      created_at: string
      secrets: {
        made_at: string
        until: string | null
      }[]
    }
  }
  /** Changes a webhook; what is left out stays as it is */
  '/v1/webhook/change': {
    body: {
      id: string
      /** https, of a public host */
      url?: string | undefined
      description?: string | undefined
      /** Every type that the key may read when it is empty or left out */
      types?: string[] | undefined
      at_once?: number | undefined
      /** Calls a second at most; 0: as fast as it answers */
      per_second?: number | undefined
      state?: 'on' | 'off' | undefined
      /** Put on again, it goes on from now and not where it stopped */
      from_now?: boolean | undefined
    }
    result: {
      id: string
      url: string
      description: string | null
      types: string[] | null
      /** `disabled` with the reason */
      state: 'on' | 'off' | 'disabled' | (string & {})
      reason: string | null
      /** Calls under way at the same time, at most */
      at_once: number
      per_second: number | null
      /** The number of the last event that was looked at */
      cursor: number
      /** Events after that */
      waiting: number
      /** Notices that are still to be delivered */
      due: number
      /** Notices that were given up */
      dead: number
      failing_since: string | null
      created_at: string
      secrets: {
        made_at: string
        until: string | null
      }[]
    }
  }
  /** A new secret; the one before stays valid for a while */
  '/v1/webhook/rotate': {
    body: {
      id: string
      /** 24 when left out; 0 ends those before at once */
      overlap_hours?: number | undefined
    }
    result: {
      webhook: {
        id: string
        url: string
        description: string | null
        types: string[] | null
        /** `disabled` with the reason */
        state: 'on' | 'off' | 'disabled' | (string & {})
        reason: string | null
        /** Calls under way at the same time, at most */
        at_once: number
        per_second: number | null
        /** The number of the last event that was looked at */
        cursor: number
        /** Events after that */
        waiting: number
        /** Notices that are still to be delivered */
        due: number
        /** Notices that were given up */
        dead: number
        failing_since: string | null
        created_at: string
        secrets: {
          made_at: string
          until: string | null
        }[]
      }
      /** Shown this once */
      secret: string
    }
  }
  /** Calls a webhook once with a sample, and says what it answered */
  '/v1/webhook/test': {
    body: {
      id: string
      type: string
    }
    result: {
      event: {
        type: string
        /** When it happened */
        timestamp: string
        /** The same wherever, and however often, it is told */
        id: string
        /** 1, 2, 3, … for each customer, without gaps */
        number: number
        /** What it is about: `order:…`, `deposit:…` */
        subject: string
        /** Nothing happened: somebody tries a webhook */
        test: boolean
        /** What the endpoint of the subject answered at that moment; null without its scope, and
         *  when that is more than 20,000 characters */
        data: unknown
      }
      call: {
        at: string
        ms: number
        status: number | null
        error:
          | 'resolve'
          | 'address'
          | 'connect'
          | 'tls'
          | 'timeout'
          | 'reset'
          | 'too_long'
          | (string & {})
          | null
        body: string | null
      }
    }
  }
  /** An event that did not happen, for those who stream with `tests` */
  '/v1/event/trigger': {
    body: {
      type: string
      webhook_id?: string | undefined
    }
    result: {
      type: string
      /** When it happened */
      timestamp: string
      /** The same wherever, and however often, it is told */
      id: string
      /** 1, 2, 3, … for each customer, without gaps */
      number: number
      /** What it is about: `order:…`, `deposit:…` */
      subject: string
      /** Nothing happened: somebody tries a webhook */
      test: boolean
      /** What the endpoint of the subject answered at that moment; null without its scope, and
       *  when that is more than 20,000 characters */
      data: unknown
    }
  }
  /** Tells a webhook once more what it was told, or should have been */
  '/v1/webhook/replay': {
    body: {
      id: string
      /** From the event after this number on */
      after?: number | undefined
      /** What happened at this time or later; either this or `after` */
      since?: string | undefined
      /** What happened until then; until now when left out */
      until?: string | undefined
      /** Every type that the key may read when it is empty or left out */
      types?: string[] | undefined
      /** Only what was not delivered (when left out), or all */
      which?: 'dead' | 'all' | undefined
    }
    result: {
      /** How many are due again: 100000 at most, the oldest */
      notices: number
    }
  }
  /** What your webhooks were told, or are to be told, newest event first */
  '/v1/notices/list': {
    body: {
      webhook_id?: string | undefined
      state?: 'due' | 'delivered' | 'dead' | 'passed' | undefined
      /** The number of an event */
      event?: number | undefined
      /** 1 to 100; 25 when left out */
      limit?: number | undefined
      /** `next` of the page before */
      before?: string | undefined
    }
    result: {
      items: {
        webhook_id: string
        /** Of the event */
        number: number
        event_id: string
        type: string
        subject: string
        state: 'due' | 'delivered' | 'dead' | 'passed' | (string & {})
        /** Since it was last made due */
        calls: number
        due_at: string | null
        last: {
          at: string
          ms: number
          status: number | null
          error:
            | 'resolve'
            | 'address'
            | 'connect'
            | 'tls'
            | 'timeout'
            | 'reset'
            | 'too_long'
            | (string & {})
            | null
          body: string | null
        } | null
      }[]
      /** `before` of the next page; null at the end */
      next: string | null
    }
  }
  /** One notice with all of its calls, newest first */
  '/v1/notice/check': {
    body: {
      webhook_id: string
      /** Of the event */
      number: number
    }
    result: {
      notice: {
        webhook_id: string
        /** Of the event */
        number: number
        event_id: string
        type: string
        subject: string
        state: 'due' | 'delivered' | 'dead' | 'passed' | (string & {})
        /** Since it was last made due */
        calls: number
        due_at: string | null
        last: {
          at: string
          ms: number
          status: number | null
          error:
            | 'resolve'
            | 'address'
            | 'connect'
            | 'tls'
            | 'timeout'
            | 'reset'
            | 'too_long'
            | (string & {})
            | null
          body: string | null
        } | null
      }
      calls: {
        at: string
        ms: number
        status: number | null
        error:
          | 'resolve'
          | 'address'
          | 'connect'
          | 'tls'
          | 'timeout'
          | 'reset'
          | 'too_long'
          | (string & {})
          | null
        body: string | null
      }[]
    }
  }
  /** Tells a webhook once more of one event */
  '/v1/notice/retry': {
    body: {
      webhook_id: string
      /** Of the event */
      number: number
    }
    result: {
      webhook_id: string
      /** Of the event */
      number: number
      event_id: string
      type: string
      subject: string
      state: 'due' | 'delivered' | 'dead' | 'passed' | (string & {})
      /** Since it was last made due */
      calls: number
      due_at: string | null
      last: {
        at: string
        ms: number
        status: number | null
        error:
          | 'resolve'
          | 'address'
          | 'connect'
          | 'tls'
          | 'timeout'
          | 'reset'
          | 'too_long'
          | (string & {})
          | null
        body: string | null
      } | null
    }
  }
  /** Removes a webhook; it is told of nothing more */
  '/v1/webhook/remove': {
    body: {
      id: string
    }
    result: {
      removed: boolean
    }
  }
}

/** What is answered as long as somebody reads: each event on lines of its own. */
export type Streams = {
  /** Events as they are numbered, over one answer that stays open */
  '/v1/events/stream': {
    body: {
      after?: number | undefined
      types?: string[] | undefined
      subject?: string | undefined
      /** Also events that did not happen */
      tests?: boolean | undefined
    }
  }
}

/** What is read with GET, without credentials. */
export type Pages = {
  /** The public keys that verify receipts, as a JSON Web Key Set */
  '/.well-known/jwks.json': {
    result: {
      keys: {
        kty: string
        crv: string
        x: string
        kid: string
        use: string
        alg: string
      }[]
    }
  }
  /** What a transaction on the chain brought to the published address, and what became of it */
  '/deposits/{tx_id}': {
    result: {
      tx_id: string
      deposits: {
        /** seen: in a block that is not irreversible yet; then received, delivering, delivered;
         *  or returning, refunding, refunded; or held, for the operator to decide, and then
         *  resolved; or ignored: a token that nobody follows, or too little to send back; or
         *  gone: a fork of the chain took it back */
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
      }[]
    }
  }
  /** What an address has sent to the published address lately, and what became of it */
  '/deposits/from/{address}': {
    result: {
      address: string
      /** Of the last 24 hours, the newest first, 10 at most */
      deposits: {
        tx_id: string
        /** seen: in a block that is not irreversible yet; then received, delivering, delivered;
         *  or returning, refunding, refunded; or held, for the operator to decide, and then
         *  resolved; or ignored: a token that nobody follows, or too little to send back; or
         *  gone: a fork of the chain took it back */
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
      }[]
    }
  }
  /** How each part of the service does and did, and how long things take */
  '/status.json': {
    result: {
      at: string
      /** Nothing is known of the time before */
      begun_at: string | null
      network: string | null
      parts: {
        part: 'buying' | 'delivering' | 'deposits' | 'screening' | 'events' | (string & {})
        state: 'up' | 'slow' | 'down' | (string & {})
        slow_from_ms: number
        waits_ms_max: number | null
        days: {
          /** In UTC */
          day: string
          /** Minutes */
          up: number
          slow: number
          down: number
        }[]
      }[]
      latencies: {
        latency:
          | 'purchase'
          | 'order_sent'
          | 'order_in_block'
          | 'order_irreversible'
          | 'deposit_credited'
          | 'check_ended'
          | 'event_called'
          | (string & {})
        days: {
          /** In UTC */
          day: string
          samples: number
          /** Of them; later than every other */
          failed: number
          /** The bound below which so many lie; null when there are none, or beyond an hour */
          p50_ms: number | null
          /** The bound below which so many lie; null when there are none, or beyond an hour */
          p95_ms: number | null
          /** The bound below which so many lie; null when there are none, or beyond an hour */
          p99_ms: number | null
        }[]
        today: {
          samples: number
          /** Of them; later than every other */
          failed: number
          /** The bound below which so many lie; null when there are none, or beyond an hour */
          p50_ms: number | null
          /** The bound below which so many lie; null when there are none, or beyond an hour */
          p95_ms: number | null
          /** The bound below which so many lie; null when there are none, or beyond an hour */
          p99_ms: number | null
          /** Samples of today below each bound of `bounds_ms`, beyond them, and failed */
          buckets: number[]
        }
      }[]
      bounds_ms: number[]
      /** Null: the operator does not show it */
      pool: {
        resource: string
        /** Delivered now; rounded down to two digits */
        largest_order: number
      }[] | null
      /** Rates of direct recharge; null when it is off sale or they are not shown */
      recharge: {
        min_energy: number
        max_energy: number
        /** TRX for 1000 energy */
        price: number
      }[] | null
      /** What the chain burns instead, by one who has no energy; null when it has not said, or
       *  prices are not shown */
      burning: number | null
      incidents: {
        id: string
        title: string
        what: string
        parts: string[]
        began_at: string
        closed_at: string | null
        outcome: string | null
      }[]
    }
  }
}

/** The endpoints that change something, and what makes a second call the
 *  same one: a field of the body, or a header. `nothing`: the second call is another one. */
export const REPETITION: {
  readonly [path: string]: 'external_id' | 'idempotency_key' | 'nothing' | undefined
} = {
  '/v1/transaction/new': 'external_id',
  '/v1/subscription/start': 'external_id',
  '/v1/subscription/stop': 'nothing',
  '/v1/quote/new': 'nothing',
  '/v1/quote/accept': 'external_id',
  '/v1/aml-checks/new': 'idempotency_key',
  '/v1/aml-watch/new': 'nothing',
  '/v1/aml-watch/remove': 'nothing',
  '/v1/settings/change': 'nothing',
  '/v1/key/new': 'nothing',
  '/v1/key/change': 'nothing',
  '/v1/key/rotate': 'nothing',
  '/v1/key/revoke': 'nothing',
  '/v1/pairing/new': 'nothing',
  '/v1/pairing/approve': 'nothing',
  '/v1/pairing/take': 'nothing',
  '/v1/pairing/refuse': 'nothing',
  '/v1/user/invite': 'nothing',
  '/v1/user/change': 'nothing',
  '/v1/user/recover': 'nothing',
  '/v1/user/remove': 'nothing',
  '/v1/session/end': 'nothing',
  '/v1/webhook/new': 'nothing',
  '/v1/webhook/change': 'nothing',
  '/v1/webhook/rotate': 'nothing',
  '/v1/webhook/test': 'nothing',
  '/v1/event/trigger': 'nothing',
  '/v1/webhook/replay': 'nothing',
  '/v1/notice/retry': 'nothing',
  '/v1/webhook/remove': 'nothing',
}
