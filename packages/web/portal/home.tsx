// The first page: what is left, and what was bought last.

import { useQuestion } from '../calls/question.ts'
import { Title } from '../frame/title.tsx'
import { Answer } from '../parts/answer.tsx'
import { Money } from '../parts/money.tsx'
import { say } from '../words/words.ts'

export default function Home() {
  const balance = useQuestion('/v1/balance', {}, { patch: () => 'again' })
  return (
    <>
      <Title title={say('home')} />
      <Answer question={balance} lines={1}>
        {({ balance }) => (
          <p class="headline">
            <Money trx={balance} />
          </p>
        )}
      </Answer>
    </>
  )
}
