// A mail server on this machine that keeps what it is sent.

import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { SMTPServer } from 'smtp-server'

export type SeenLetter = {
  to: string[]
  from: string
  secure: boolean
  user: string | undefined
  raw: string
}

/** A server that refuses mail for nobody@ for good, and for busy@ for now. */
export async function startMailServer(t: TestContext, { needs_login = false } = {}) {
  const seen: SeenLetter[] = []
  const server = new SMTPServer({
    authOptional: !needs_login,
    hideSTARTTLS: !needs_login,
    disabledCommands: needs_login ? [] : ['AUTH', 'STARTTLS'],
    onAuth: ({ username, password }, _session, done) =>
      username === 'penstock' && password === 'p@ss:word'
        ? done(null, { user: username })
        : done(new Error('wrong')),
    onRcptTo({ address }, _session, done) {
      const refuse = (message: string, responseCode: number) =>
        done(Object.assign(new Error(message), { responseCode }))
      if (address.startsWith('nobody@')) refuse('no such user', 550)
      else if (address.startsWith('busy@')) refuse('come again', 450)
      else done()
    },
    onData(stream, { envelope, secure, user }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : ''
        const to = envelope.rcptTo.map(({ address }) => address)
        seen.push({ to, from, secure, user: user as string, raw: Buffer.concat(chunks).toString() })
        done()
      })
    },
  })
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const { port } = server.server.address() as { port: number }
  return { port, seen }
}
