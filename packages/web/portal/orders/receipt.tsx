// The receipt of an order: what it says, and whether its signature is right, computed here with the
// public keys of the service.

import { useSignal } from '@preact/signals'
import type { Result } from 'penstock-sdk'
import { type Jwks, verifyReceipt } from 'penstock-sdk/receipts'
import { useEffect } from 'preact/hooks'
import { useQuestion } from '../../shared/calls/question.ts'
import { saveFile } from '../../shared/files/csv.ts'
import { Answer } from '../../shared/parts/answer.tsx'
import { Shape, State } from '../../shared/parts/state.tsx'
import { Facts } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { count, say } from '../../shared/words/words.ts'

type ReceiptAnswer = Result<'/v1/receipt'>

export function ReceiptPanel({ id }: { id: string }) {
  const question = useQuestion(
    '/v1/receipt',
    { id },
    {
      patch: (known, event) =>
        'subject' in event && event.subject === `order:${id}` ? 'again' : known,
    },
  )
  return (
    <section class="panel">
      <h2>{say('receipt')}</h2>
      <Answer question={question} lines={4}>
        {(answer) => <WholeReceipt {...answer} />}
      </Answer>
    </section>
  )
}

function WholeReceipt({ receipt, jws }: ReceiptAnswer) {
  const { state, issued_at, seal, parts } = receipt
  const is_right = useSignature(jws)
  const save = () => saveFile(`receipt-${receipt.order.id}.jws`, 'application/jose', jws)
  return (
    <>
      <Facts
        facts={[
          [say('order.state'), <State key="state" state={state} />],
          [say('receipt.issued'), <Time key="issued" at={issued_at} />],
          [say('receipt.blocks'), parts.map((part) => count(part.block_number)).join(', ')],
          [say('receipt.seal'), seal ? count(seal.number) : say('receipt.not_sealed')],
          [
            say('receipt.signature'),
            <span key="signature" role="status">
              {is_right === undefined ? '' : <SignatureWords is_right={is_right} />}
            </span>,
          ],
        ]}
      />
      <p class="actions">
        <button type="button" onClick={save}>
          {say('receipt.save')}
        </button>
      </p>
    </>
  )
}

const SignatureWords = ({ is_right }: { is_right: boolean }) => (
  <>
    <Shape mark={is_right ? 'done' : 'failed'} />{' '}
    {is_right ? say('receipt.verified') : say('receipt.wrong')}
  </>
)

/** Whether one of the published keys has signed it; undefined until that is known. */
function useSignature(jws: string): boolean | undefined {
  const is_right = useSignal<boolean | undefined>(undefined)
  useEffect(() => {
    let is_wanted = true
    verified(jws).then((right) => {
      if (is_wanted) is_right.value = right
    })
    return () => {
      is_wanted = false
    }
  }, [jws])
  return is_right.value
}

async function verified(jws: string): Promise<boolean> {
  const answer = await fetch('/.well-known/jwks.json')
  const keys = (await answer.json()) as Jwks
  return verifyReceipt(jws, keys).then(
    () => true,
    () => false,
  )
}
