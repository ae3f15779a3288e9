// TRC10 tokens over HTTP: each is printed as the message that issued it, and its id.

import { contractSchemas } from 'penstock-tron/contracts.ts'
import { assetOf, assetsOf } from '../contracts/assets.ts'
import { NodeException, printMessage, readHex, readText } from '../http/messages.ts'
import { type Call, type Routes, viewOf } from '../http/routes.ts'
import { type Json, withoutDefaults } from '../state/json.ts'
import type { Asset } from '../state/records.ts'

const PAGE_MAX = 1000
const schema = contractSchemas.AssetIssueContract!

const printAsset = ({ given }: Call, asset: Asset): Json =>
  withoutDefaults(printMessage(schema, asset, given.visible))

const printList = (call: Call, list: readonly Asset[]): Json =>
  withoutDefaults({ assetIssue: list.map((asset) => printAsset(call, asset)) })

/** The tokens that a name means, which is text when the request is visible: their own, or their
 *  id. */
function named(call: Call): Asset[] {
  const text = call.given.text('value')
  const name = call.given.visible ? readText(text) : readHex(text)
  return assetsOf(viewOf(call)).filter(
    (asset) => asset.name === name || readText(asset.id) === name,
  )
}

function byName(call: Call): Json {
  const found = named(call)
  if (found.length > 1) {
    throw new NodeException(
      'org.tron.core.exception.NonUniqueObjectException',
      'To get more than one asset, please use getAssetIssuebyid syntax',
    )
  }
  return found[0] ? printAsset(call, found[0]) : {}
}

function page(call: Call): Json {
  const offset = call.given.number('offset')
  const limit = Math.min(call.given.number('limit'), PAGE_MAX)
  return offset < 0 || limit < 0
    ? {}
    : printList(call, assetsOf(viewOf(call)).slice(offset, offset + limit))
}

export const assetRoutes: Routes = {
  getassetissuelist: { answer: (call) => printList(call, assetsOf(viewOf(call))) },
  getpaginatedassetissuelist: { answer: page },
  getassetissuelistbyname: { answer: (call) => printList(call, named(call)) },
  getassetissuebyname: { answer: byName },
  getassetissuebyid: {
    answer(call) {
      const asset = assetOf(viewOf(call), call.given.text('value'))
      return asset ? printAsset(call, asset) : {}
    },
  },
  getassetissuebyaccount: {
    answer(call) {
      const address = call.given.address('address')
      return printList(
        call,
        assetsOf(viewOf(call)).filter(({ owner_address }) => owner_address === address),
      )
    },
  },
}
