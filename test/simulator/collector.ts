// An operator who collects what lies on deposit addresses while everything else goes on: files are
// made, signed, sent in parts and again, late or never. Now and then somebody writes another
// receiver into a file before it is signed: that one must not be signed.

import { perform } from 'penstock-service/events/log/changes.ts'
import type { Clock } from 'penstock-service/lib/clock.ts'
import { Outage, Refused } from 'penstock-service/lib/fault.ts'
import {
  type Batch,
  batchOf,
  depositKeys,
  digestOf,
  expiryOf,
  type ReadTransfer,
  signBatch,
} from 'penstock-service/treasury/collecting/batch.ts'
import { insertCollection } from 'penstock-service/treasury/collecting/collections.ts'
import { prepareCollection } from 'penstock-service/treasury/collecting/making.ts'
import {
  decodeRawData,
  encodeRawData,
  encodeTransaction,
  transactionId,
} from 'penstock-tron/transaction.ts'
import type { Dice } from './dice.ts'
import type { Instance } from './instance.ts'
import { DEPOSIT_SECRET, type Scenario } from './scenario.ts'
import type { Task } from './tasks.ts'

const HOURS = 1
const REASON = 'as the die says'

export class Collector {
  private readonly dice: Dice
  private readonly scenario: Scenario
  private readonly clock: Clock
  /** Unsigned files, as they lie with the operator. */
  private readonly files: Batch[] = []
  /** Signed transfers of all files, which anybody may send at any time. */
  private readonly signed: string[] = []

  constructor({ dice, scenario, clock }: { dice: Dice; scenario: Scenario; clock: Clock }) {
    this.dice = dice
    this.scenario = scenario
    this.clock = clock
  }

  next(): Task {
    const kind = this.dice.weighted({ make: 3, sign: 3, send: 6 })
    const forged = this.dice.chance(0.3)
    const run = async (instance: Instance) => {
      const work = {
        make: () => this.make(instance),
        sign: () => this.sign(forged),
        send: async () => this.send(),
      }[kind]
      const told = await work().catch((thrown: unknown) => {
        if (thrown instanceof Refused || thrown instanceof Outage)
          return `refused ${thrown.message}`
        throw thrown
      })
      return { told, objection: undefined }
    }
    return { name: 'collect', about: kind, run }
  }

  private async make({ sql, app, node }: Instance): Promise<string> {
    const { safe } = this.scenario
    const order = {
      to: safe.address,
      min_sun: 1n,
      tokens: [],
      min_token: 1n,
      hours: HOURS,
      burn: false,
    }
    const { transfers, network } = await prepareCollection({ sql, node, tell: () => {} }, order)
    const operator = { made_by: 'simulator', reason: REASON }
    const digest = digestOf(transfers)
    const id = app.new_id()
    await perform(
      { sql, clock: this.clock },
      { operator, action: 'treasury collect' },
      async (tx, made_at) => {
        const expires_at = expiryOf(transfers)
        const made = { id, receiver: safe.address, digest, expires_at, made_at, made_by: 'sim' }
        await insertCollection(tx, made, transfers)
        const action = { subject: `collection:${id}`, before: null, after: { digest } }
        return { result: undefined, actions: [action] }
      },
    )
    const carried = transfers.map(({ index, raw, tx_id }) => ({
      index,
      raw_data: Buffer.from(raw).toString('hex'),
      tx_id,
    }))
    this.files.push(batchOf({ collection: id, network }, carried))
    return `made ${transfers.length}`
  }

  private async sign(forged: boolean): Promise<string> {
    if (this.files.length === 0) return 'nothing to sign'
    const file = this.dice.pick(this.files)
    const batch = forged ? withReceiver(file, this.scenario.payers[0]!.hex) : file
    const keyOf = await depositKeys(DEPOSIT_SECRET)
    const terms = { keyOf, collect_to: [this.scenario.safe.address], now: this.clock.now() }
    const { transfers, signed } = signBatch(batch, terms)
    const signatures = signed.parts.flatMap((part) => part.transfers.map((one) => one.signature!))
    this.signed.push(...transfers.map((one, i) => bytesOf(one, signatures[i]!)))
    return `signed ${transfers.length}`
  }

  /** Some of what was ever signed, also what is on the chain or too late. */
  private send(): string {
    const some = this.signed.filter(() => this.dice.chance(0.5))
    const taken = some.filter(
      (transaction) =>
        this.scenario.scene.post('/wallet/broadcasthex', { transaction }).result === true,
    )
    return `sent ${taken.length} of ${some.length}`
  }
}

const bytesOf = ({ raw }: ReadTransfer, signature: string) =>
  Buffer.from(encodeTransaction(raw, [signature])).toString('hex')

/** The file as a thief would have it: whole, but for the receiver. */
function withReceiver(batch: Batch, to_address: string): Batch {
  const transfers = batch.parts.flatMap((part) =>
    part.transfers.map((one) => {
      const raw = decodeRawData(Buffer.from(one.raw_data, 'hex'))
      const [contract] = raw.contract
      const value = { ...contract!.parameter.value, to_address }
      const parameter = { ...contract!.parameter, value }
      const bytes = encodeRawData({ ...raw, contract: [{ ...contract!, parameter }] })
      return { ...one, raw_data: Buffer.from(bytes).toString('hex'), tx_id: transactionId(bytes) }
    }),
  )
  return batchOf(batch, transfers)
}
