// Against real servers: one of the library that the field tests with, with TLS and a login, and
// exim of Debian where it is installed.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, connect as toServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { eventually } from 'penstock-test/harness/eventually.ts'
import { type SeenLetter, startMailServer } from 'penstock-test/harness/mail_server.ts'
import { Misuse, Outage } from '../../lib/fault.ts'
import { isEmail, readSmtpUrl, smtpMailer } from './mailer.ts'

const FROM = 'penstock@example.com'
const LETTER = {
  to: 'anna@example.com',
  subject: 'Тест 测试',
  text: 'one\n.\nhttps://x.example/#a\n',
}

const local = (port: number) => readSmtpUrl(`smtp://127.0.0.1:${port}`, 'X')

test('a letter arrives whole, from and to whom it says', async (t) => {
  const { port, seen } = await startMailServer(t)
  assert.equal(await smtpMailer(local(port), FROM)(LETTER), 'sent')
  const [{ raw, ...rest }] = seen as [SeenLetter]
  assert.deepEqual(rest, { to: [LETTER.to], from: FROM, secure: false, user: undefined })
  assert.match(raw, /^auto-submitted: auto-generated\r$/im)
  assert.match(raw, /^Subject: =\?UTF-8\?/m)
  assert.match(raw, /\r\none\r\n\.\r\nhttps:\/\/x\.example\/#a\r\n/)
})

test('nobody@ is refused, and a receiver for later is an outage', async (t) => {
  const { port, seen } = await startMailServer(t)
  const send = smtpMailer(local(port), FROM)
  assert.equal(await send({ ...LETTER, to: 'nobody@example.com' }), 'refused')
  await assert.rejects(send({ ...LETTER, to: 'busy@example.com' }), Outage)
  assert.deepEqual(seen, [])
})

test('a wrong login is an outage that does not repeat it', async (t) => {
  const { port, seen } = await startMailServer(t, { needs_login: true })
  const server = { ...local(port), login: { user: 'penstock', pass: 'secret-word' } }
  await assert.rejects(smtpMailer(server, FROM)(LETTER), (thrown: Error) => {
    assert.ok(thrown instanceof Outage)
    assert.doesNotMatch(thrown.message, /secret-word/)
    return true
  })
  assert.deepEqual(seen, [])
})

test('a server elsewhere gets no letter without TLS and a valid certificate', async (t) => {
  const { port, seen } = await startMailServer(t, { needs_login: true })
  const { port: plain_port } = await startMailServer(t)
  // As if it were elsewhere: a name that is not known to be this machine.
  const elsewhere = (at: number) => ({ ...local(at), host: 'localhost.localdomain' })
  const to = (at: number) => ({ ...elsewhere(at), login: { user: 'penstock', pass: 'p@ss:word' } })
  await assert.rejects(smtpMailer(to(port), FROM)(LETTER), Outage)
  await assert.rejects(smtpMailer(elsewhere(plain_port), FROM)(LETTER), Outage)
  assert.deepEqual(seen, [])
})

test('no server, and one that says nothing we understand, are outages', async (t) => {
  const silent = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as { port: number }
  await assert.rejects(smtpMailer(local(port), FROM)(LETTER), Outage)
  await new Promise((resolve) => silent.close(resolve))
  await assert.rejects(smtpMailer(local(port), FROM)(LETTER), Outage)
  t.diagnostic('both refused')
})

test('an SMTP address is read with its password, and what is none is refused without it', () => {
  assert.deepEqual(readSmtpUrl('smtps://penstock:p%40ss%3Aword@mail.example.com', 'X'), {
    host: 'mail.example.com',
    port: 465,
    secure: true,
    login: { user: 'penstock', pass: 'p@ss:word' },
  })
  assert.deepEqual(readSmtpUrl('smtp://[::1]:2525/', 'X'), {
    host: '::1',
    port: 2525,
    secure: false,
    login: undefined,
  })
  for (const wrong of [
    'mail.example.com',
    'http://mail.example.com',
    'smtp://user@mail.example.com',
    'smtp://user:hunter2@mail.example.com/box',
    'smtp://user:hunter2@mail.example.com?tls=no',
  ])
    assert.throws(
      () => readSmtpUrl(wrong, 'X'),
      (thrown: Error) => thrown instanceof Misuse && !thrown.message.includes('hunter2'),
      wrong,
    )
})

test('addresses are those that letters can go to', () => {
  for (const right of ['a@b.io', 'first.last+tag@mail.example.co.uk', "o'neil@example.com"])
    assert.ok(isEmail(right), right)
  for (const wrong of [
    'a@b',
    '.a@b.io',
    'a..b@b.io',
    'a b@b.io',
    'a@-.',
    'а@пример.рф',
    'a@b.io\n',
  ])
    assert.ok(!isEmail(wrong), wrong)
})

const EXIM = '/usr/sbin/exim4'

test('exim takes a letter and delivers it', {
  skip: !existsSync(EXIM) && 'not run: no exim4',
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-exim-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'box'))
  for (const name of ['', 'box']) await chmod(join(folder, name), 0o777)
  const [user, group] = await deliverer()
  const port = await freePort()
  const configuration = join(folder, 'exim.conf')
  await writeFile(configuration, eximConfiguration(folder, user, group))
  const args = ['-C', configuration, '-bdf', '-oX', `127.0.0.1.${port}`]
  const exim = spawn(EXIM, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  t.after(async () => {
    exim.kill()
    if (exim.exitCode === null && exim.signalCode === null) await once(exim, 'exit')
  })
  await answering(port)
  const send = smtpMailer(local(port), FROM)
  assert.equal(await send({ ...LETTER, to: 'nobody@elsewhere.example' }), 'refused')
  assert.equal(await send(LETTER), 'sent')
  const box = join(folder, 'box', 'new')
  const file = await eventually('the letter is delivered', async () => {
    const files = await readdir(box).catch(() => [])
    return files[0]
  })
  const delivered = await readFile(join(box, file), 'utf8')
  assert.match(delivered, /^Return-path: <penstock@example\.com>$/m)
  assert.match(delivered, /^one\n\.\nhttps:\/\/x\.example\/#a$/m)
})

/** Who writes into the box: this user and group, but never root, as whom exim delivers nothing. */
async function deliverer(): Promise<[user: string, group: string]> {
  if (process.getuid?.() === 0) return ['nobody', 'nogroup']
  const name = async (of: '-un' | '-gn') => (await promisify(execFile)('id', [of])).stdout.trim()
  return [await name('-un'), await name('-gn')]
}

const eximConfiguration = (folder: string, user: string, group: string) => `
exim_user = ${user}
exim_group = ${group}
spool_directory = ${folder}/spool
log_file_path = ${folder}/%slog
primary_hostname = mail.example.com
never_users =
acl_smtp_rcpt = known
begin acl
known:
  accept domains = example.com
  deny message = relay not permitted
begin routers
box:
  driver = accept
  transport = box
begin transports
box:
  driver = appendfile
  directory = ${folder}/box
  maildir_format
  return_path_add
  user = ${user}
  group = ${group}
`

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

const answering = (port: number): Promise<boolean> =>
  eventually('exim answers', async () => {
    const socket = toServer(port, '127.0.0.1')
    const answered = await Promise.race([
      once(socket, 'data').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    return answered
  })
