// Sends letters through the operator's SMTP server (docs/decisions/0046-letters.md). Nothing goes
// out in the clear but to this machine: a server elsewhere is asked for TLS, and must show a
// certificate that is valid for its name.

import { createTransport } from 'nodemailer'
import { Misuse, Outage } from '../../lib/fault.ts'
import { isLoopback } from '../../lib/networks.ts'

export type Letter = { to: string; subject: string; text: string }

/** sent: the server has taken it. refused: it never will, for there is no such receiver. Rejects
 *  with an Outage when it may take it later; whether it has is not known then. */
export type Mailer = (letter: Letter) => Promise<'sent' | 'refused'>

export type SmtpServer = {
  host: string
  port: number
  /** TLS from the first byte; otherwise it begins with STARTTLS. */
  secure: boolean
  login: { user: string; pass: string } | undefined
}

const PORTS = { 'smtp:': 587, 'smtps:': 465 } as const
const CONNECT_MS = 10_000
const SILENCE_MS = 30_000

/** `smtps://user:password@host:465`, or `smtp://…:587` for STARTTLS. Throws Misuse, which does not
 *  repeat the URL: there is a password in it. */
export function readSmtpUrl(given: string, name: string): SmtpServer {
  const url = URL.canParse(given) ? new URL(given) : undefined
  const plain = url && url.hostname !== '' && /^\/?$/.test(url.pathname) && !url.search && !url.hash
  const port = PORTS[url?.protocol as keyof typeof PORTS]
  if (!url || !plain || port === undefined || (url.username === '') !== (url.password === ''))
    throw new Misuse(`${name} is not like smtps://user:password@mail.example.com.`)
  const [user, pass] = [url.username, url.password].map(decodeURIComponent)
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? port : Number(url.port),
    secure: url.protocol === 'smtps:',
    login: user ? { user, pass: pass! } : undefined,
  }
}

const EMAIL =
  /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*@([a-z\d-]{1,63}\.)+[a-z\d-]{2,63}$/i
const EMAIL_LENGTH_MAX = 254
const LOCAL_LENGTH_MAX = 64

/** Whether it is an address that letters can go to: of a name on the network, in the letters that
 *  every server takes. */
export const isEmail = (text: string): boolean =>
  text.length <= EMAIL_LENGTH_MAX && text.indexOf('@') <= LOCAL_LENGTH_MAX && EMAIL.test(text)

export function smtpMailer({ host, port, secure, login }: SmtpServer, from: string): Mailer {
  const is_local = isLoopback(host)
  const transport = createTransport({
    host,
    port,
    secure,
    requireTLS: !secure && !is_local,
    ignoreTLS: !secure && is_local,
    ...(login && { auth: login }),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    dnsTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return async (letter) => {
    try {
      // Answered by machines with nothing: no note of an absence comes back.
      await transport.sendMail({ ...letter, from, headers: { 'auto-submitted': 'auto-generated' } })
      return 'sent'
    } catch (cause) {
      if (isNobody(cause)) return 'refused'
      throw new Outage(`the SMTP server: ${whyNot(cause)}`, { cause })
    }
  }
}

type SmtpFault = { code?: unknown; command?: unknown; responseCode?: unknown }

/** Whether the server says for good that the receiver is none. Its opinion of us may change. */
function isNobody(thrown: unknown): boolean {
  const { command, responseCode } = thrown as SmtpFault
  return command === 'RCPT TO' && Number(responseCode) >= 500
}

/** In few words, of ours: the server's may repeat what was sent. */
function whyNot(thrown: unknown): string {
  const { code, command, responseCode } = thrown as SmtpFault
  return [code ?? 'no answer', command, responseCode].filter(Boolean).join(' ')
}
