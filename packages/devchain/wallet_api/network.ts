// The network's own description over HTTP: parameters, prices, witnesses, the node; and the lists
// that are always empty here, because the chain has no proposals, exchanges or orders.

import { addressToHex, isAddress } from 'penstock-tron/address.ts'
import type { Block } from '../chain/blocks.ts'
import type { Chain } from '../chain/chain.ts'
import { brokerageOf, candidatesOf } from '../contracts/candidates.ts'
import { rewardOf } from '../contracts/rewards.ts'
import { readHex } from '../http/messages.ts'
import { type Call, newestOf, type Route, type Routes, viewOf } from '../http/routes.ts'
import { type Json, withoutDefaults } from '../state/json.ts'
import type { Candidate } from '../state/records.ts'
import { totalsOf } from '../state/state.ts'

const PAGE_MAX = 1000

function chainParameters({ chain }: Call): Json {
  const list = Object.entries(chain.parameters).map(([key, value]) => ({
    key,
    ...withoutDefaults({ value }),
  }))
  return { chainParameter: list }
}

/** A witness's count of blocks among those that the call can see. */
type Work = { readonly blocks: number; readonly latest: Block }

function workOf(call: Call): Map<string, Work> {
  const work = new Map<string, Work>()
  const newest = newestOf(call).header.number
  for (let number = 1; number <= newest; number++) {
    const block = call.chain.block(number)!
    const { witness_address } = block.header
    work.set(witness_address, {
      blocks: (work.get(witness_address)?.blocks ?? 0) + 1,
      latest: block,
    })
  }
  return work
}

/** Witnesses with the votes that `votesOf` says. */
function printWitnesses(
  call: Call,
  list: readonly Candidate[],
  votesOf: (one: Candidate) => bigint,
): Json[] {
  const { chain, given } = call
  const work = workOf(call)
  return list.map((candidate) => {
    const { address, url } = candidate
    const { blocks = 0, latest } = work.get(address) ?? {}
    return {
      address: given.print(address),
      ...withoutDefaults({
        voteCount: votesOf(candidate),
        url,
        totalProduced: blocks,
        latestBlockNum: latest?.header.number,
        latestSlotNum: latest ? chain.calendar.slotOf(latest.header.timestamp) : 0,
        isJobs: chain.witnesses.some((witness) => witness.address === address),
      }),
    }
  })
}

function listWitnesses(call: Call): Json {
  return { witnesses: printWitnesses(call, candidatesOf(viewOf(call)), ({ votes }) => votes) }
}

/** Witnesses by the votes that they would have if they were counted now. */
function pageOfWitnesses(call: Call): Json {
  const offset = call.given.number('offset')
  const limit = Math.min(call.given.number('limit'), PAGE_MAX)
  const ranked = candidatesOf(viewOf(call)).sort(
    (a, b) => Number(b.next_votes - a.next_votes) || (a.address < b.address ? 1 : -1),
  )
  if (limit <= 0 || offset < 0 || offset >= ranked.length) return {}
  return {
    witnesses: printWitnesses(
      call,
      ranked.slice(offset, offset + limit),
      ({ next_votes }) => next_votes,
    ),
  }
}

function nodeFacts({ chain }: Call): Json {
  const name = ({ id, header }: Block) => `Num:${header.number},ID:${id}`
  return {
    beginSyncNum: chain.head_number,
    block: name(chain.head),
    solidityBlock: name(chain.solid_block),
    currentConnectCount: 0,
    activeConnectCount: 0,
    passiveConnectCount: 0,
    totalFlow: 0,
    peerList: [],
    configNodeInfo: { codeVersion: '4.8.1', p2pVersion: '11111', supportConstant: true },
    cheatWitnessInfoMap: {},
  }
}

const price = (of: (chain: Chain) => number): Route => ({
  answer: ({ chain }): Json => ({ prices: `0:${of(chain)}` }),
})

/** An address in either form, whatever `visible` says: these endpoints look at the address
 *  itself. */
function anyAddress({ given }: Call): string {
  const text = given.text('address')
  return isAddress(text) ? addressToHex(text) : readHex(text)
}

const empty: Route = { answer: () => ({}) }
const emptyNames = [
  // A node that knows no other nodes.
  'listnodes',
  'listproposals',
  'getpaginatedproposallist',
  'getproposalbyid',
  'listexchanges',
  'getpaginatedexchangelist',
  'getexchangebyid',
  'getmarketorderbyaccount',
  'getmarketorderbyid',
  'getmarketpricebypair',
  'getmarketorderlistbypair',
  'getmarketpairlist',
  // Stakes of the old kind.
  'getdelegatedresource',
  'getdelegatedresourceaccountindex',
]

export const networkRoutes: Routes = {
  getchainparameters: { answer: chainParameters },
  getenergyprices: price(({ parameters }) => parameters.getEnergyFee),
  getbandwidthprices: price(({ parameters }) => parameters.getTransactionFee),
  getmemofee: price(({ parameters }) => parameters.getMemoFee),
  getnodeinfo: { int64_as_number: true, answer: nodeFacts },
  getnextmaintenancetime: {
    answer: ({ chain }) => ({ num: chain.calendar.nextMaintenance(chain.head_time_ms) }),
  },
  getburntrx: { answer: (call) => ({ burnTrxAmount: totalsOf(viewOf(call)).burned_sun }) },
  listwitnesses: { answer: listWitnesses },
  getpaginatednowwitnesslist: { answer: pageOfWitnesses },
  getBrokerage: { answer: (call) => ({ brokerage: brokerageOf(viewOf(call), anyAddress(call)) }) },
  getReward: { answer: (call) => ({ reward: rewardOf(viewOf(call), anyAddress(call)) }) },
  ...Object.fromEntries(emptyNames.map((name) => [name, empty])),
}
