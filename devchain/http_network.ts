// What the network says of itself over HTTP: parameters, prices, witnesses, the node.

import type { Block } from './blocks.ts'
import type { Chain } from './chain.ts'
import { type Json, withoutDefaults } from './json.ts'
import { type Call, newestOf, type Routes } from './routes.ts'

const VOTES_OF_A_WITNESS = 1_000_000_000

function chainParameters({ chain }: Call): Json {
  const list = Object.entries(chain.parameters).map(([key, value]) => ({ key, ...withoutDefaults({ value }) }))
  return { chainParameter: list }
}

function witnesses(call: Call): Json[] {
  const { chain, given } = call
  return chain.witnesses.map(({ name, address }, index) => {
    const newest = newestBlockOf(chain, index, newestOf(call))
    return {
      address: given.print(address),
      voteCount: VOTES_OF_A_WITNESS - index,
      url: `http://${name.replace(' ', '-')}.invalid`,
      ...withoutDefaults({
        totalProduced: newest ? Math.ceil((newest.header.number + 1) / chain.witnesses.length) : 0,
        latestBlockNum: newest?.header.number,
        latestSlotNum: newest ? Math.floor(newest.header.timestamp / 3000) : 0,
      }),
      isJobs: true,
    }
  })
}

/** The newest block that a witness made, if it is among the last hundred. */
function newestBlockOf(chain: Chain, witness: number, newest: Block): Block | undefined {
  for (let number = newest.header.number; number >= 0 && number > newest.header.number - 100; number--) {
    const block = chain.block(number)
    if (block?.header.witness_address === chain.witnesses[witness]!.address) return block
  }
  return undefined
}

function pageOfWitnesses(call: Call): Json {
  const offset = call.given.number('offset')
  const limit = call.given.number('limit')
  return withoutDefaults({ witnesses: witnesses(call).slice(offset, offset + limit) })
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

const price = (of: (chain: Chain) => number) => ({
  answer: ({ chain }: Call): Json => ({ prices: `0:${of(chain)}` }),
})

function nextMaintenance({ chain }: Call): Json {
  const interval = chain.parameters.getMaintenanceTimeInterval
  return { num: chain.head_time_ms - ((chain.head_time_ms - chain.genesis_time_ms) % interval) + interval }
}

const empty = { answer: (): Json => ({}) }

export const networkRoutes: Routes = {
  getchainparameters: { answer: chainParameters },
  getenergyprices: price(({ parameters }) => parameters.getEnergyFee),
  getbandwidthprices: price(({ parameters }) => parameters.getTransactionFee),
  getmemofee: price(({ parameters }) => parameters.getMemoFee),
  getnodeinfo: { answer: nodeFacts },
  getnextmaintenancetime: { answer: nextMaintenance },
  listwitnesses: { answer: (call) => ({ witnesses: witnesses(call) }) },
  getpaginatednowwitnesslist: { answer: pageOfWitnesses },
  getBrokerage: { answer: () => ({ brokerage: 20 }) },
  getReward: { answer: () => ({ reward: 0 }) },
  listnodes: empty,
  listproposals: empty,
  listexchanges: empty,
  getassetissuelist: empty,
}
