// What a page has asked and shows: the answer, how old it is, what went wrong. It is asked again
// when something happened that may have changed it, and when the stream is back.

import { type Signal, useSignal } from '@preact/signals'
import type { Body, Endpoints, Result } from 'penstock-sdk'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { Fault, post } from './ask.ts'
import { type LiveEvent, onEvent, onReturn } from './live.ts'

export type Question<Answer> = {
  answer: Signal<Answer | undefined>
  fault: Signal<Fault | undefined>
  /** When the answer came, in milliseconds. */
  answered_at: Signal<number>
  /** Asks again, and keeps what is shown meanwhile. */
  again(): Promise<void>
}

export type QuestionOptions<Answer> = {
  /** What an event makes of the answer: a new one, `again` when that must be asked, or the same
   *  when it has nothing to do with it. */
  patch?: (answer: Answer, event: LiveEvent) => Answer | 'again'
  /** Not asked for now. */
  off?: boolean
}

/** At most so often because of events. */
const AGAIN_MS = 500

/** Asks an endpoint of the customers, for as long as the component is there. */
export const useQuestion = <Path extends keyof Endpoints>(
  path: Path,
  body: Body<Path>,
  options: QuestionOptions<Result<Path>> = {},
): Question<Result<Path>> => usePosted<Result<Path>>(path, body, options)

type AnswerState<Answer> = Pick<Question<Answer>, 'answer' | 'fault' | 'answered_at'>

/** One question: asked, asked again, and patched by what is heard of. */
function makeQuestion<Answer>(
  { text, ...shown }: AnswerState<Answer> & { text: string },
  patchBy: () => QuestionOptions<Answer>['patch'],
) {
  const { answer, fault, answered_at } = shown
  let newest = 0
  /** Since it was asked: its answer may be older. */
  let heard: LiveEvent[] | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  const soon = () => {
    timer ??= setTimeout(() => {
      timer = undefined
      void again()
    }, AGAIN_MS)
  }
  const patched = (known: Answer, event: LiveEvent): Answer => {
    const next = patchBy()?.(known, event) ?? known
    if (next !== 'again') return next as Answer
    soon()
    return known
  }
  const again = async () => {
    const mine = ++newest
    heard = []
    const [to, what] = JSON.parse(text) as [string, unknown]
    const said = await post<Answer>(to, what).catch((thrown: unknown) => {
      if (thrown instanceof Fault) return thrown
      throw thrown
    })
    // Another question has been asked since.
    if (mine !== newest) return
    const missed = heard ?? []
    heard = undefined
    if (said instanceof Fault) {
      fault.value = said
      return
    }
    answer.value = missed.reduce(patched, said)
    fault.value = undefined
    answered_at.value = Date.now()
  }
  const hear = (event: LiveEvent) => {
    heard?.push(event)
    const known = answer.peek()
    if (known !== undefined) answer.value = patched(known, event)
  }
  const leave = () => {
    newest++
    clearTimeout(timer)
    timer = undefined
  }
  return { ...shown, again, soon, hear, leave }
}

/** Asks whatever is posted to under the face. */
export function usePosted<Answer>(
  path: string,
  body: unknown,
  { patch, off = false }: QuestionOptions<Answer> = {},
): Question<Answer> {
  const answer = useSignal<Answer | undefined>(undefined)
  const fault = useSignal<Fault | undefined>(undefined)
  const answered_at = useSignal(0)
  const text = JSON.stringify([path, body])
  const asked = useRef(text)
  const patching = useRef(patch)
  patching.current = patch
  const question = useMemo(
    () => makeQuestion({ text, answer, fault, answered_at }, () => patching.current),
    [text],
  )
  useEffect(() => {
    if (off) return
    if (asked.current !== text) {
      asked.current = text
      fault.value = undefined
    }
    void question.again()
    const leaveEvents = onEvent(question.hear)
    const leaveReturns = onReturn(question.soon)
    return () => {
      question.leave()
      leaveEvents()
      leaveReturns()
    }
  }, [question, off])
  return question
}
