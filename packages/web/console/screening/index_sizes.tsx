// Sizes of the screening index: in the memory of each process, and in the database.

import { Answer } from '../../shared/parts/answer.tsx'
import { Facts, Table } from '../../shared/parts/table.tsx'
import { count, say } from '../../shared/words/words.ts'
import { type Reply, useRun } from '../calls/calls.ts'

type Sizes = Reply<'aml index'>

export function IndexSizes() {
  const sizes = useRun(
    'aml index',
    {},
    { patch: (known, { type }) => (type === 'tick' ? 'again' : known) },
  )
  return (
    <Answer question={sizes} lines={5}>
      {({ memory, checkpoints, log_bytes, carried_bytes }) => (
        <>
          {memory.length > 0 && <Memory memory={memory} />}
          <Facts
            facts={[
              [say('index.log'), bytesText(log_bytes)],
              [say('index.carried'), bytesText(carried_bytes)],
              [
                say('index.checkpoints'),
                bytesText(checkpoints.reduce((sum, { bytes }) => sum + bytes, 0)),
              ],
            ]}
          />
        </>
      )}
    </Answer>
  )
}

const Memory = ({ memory }: Pick<Sizes, 'memory'>) => (
  <Table
    caption={say('index.memory')}
    caption_shown
    keyOf={({ process_id, generation }) => `${process_id} ${generation}`}
    rows={memory}
    columns={[
      {
        title: say('process'),
        cell: ({ role, host }) => (
          <>
            {role} <code>{host}</code>
          </>
        ),
      },
      {
        title: say('screening.generation'),
        cell: ({ generation, in_use }) =>
          say(in_use ? 'index.in_use' : 'index.computed', { generation }),
      },
      {
        title: say('screening.last_block'),
        is_figure: true,
        cell: ({ block_number }) => count(block_number),
      },
      { title: say('index.slots'), is_figure: true, cell: ({ slots }) => count(slots) },
      {
        title: say('index.bytes'),
        is_figure: true,
        cell: ({ memory_bytes }) => bytesText(memory_bytes),
      },
    ]}
  />
)

const MEGABYTE = 1_000_000

/** `0.2 MB`, `3.1 MB`, `812 MB`. */
function bytesText(bytes: number): string {
  const size = bytes / MEGABYTE
  return say('size.mb', { size: Number(size.toFixed(size < 10 ? 1 : 0)) })
}
