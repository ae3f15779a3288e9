import assert from 'node:assert/strict'
import { chown, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { makeRunFolder, removeDeadRuns } from '../../tools/test/run_folder.ts'

async function parentOf(t: TestContext): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'runs-'))
  t.after(() => rm(parent, { recursive: true, force: true }))
  return parent
}

/** What a run leaves that is killed. */
async function leaveRun(parent: string): Promise<string> {
  const folder = join(parent, 'penstock-run-killed')
  await mkdir(folder)
  await writeFile(join(folder, 'lock'), '')
  return folder
}

test('what a killed run has left is removed, and nothing of one that goes on', async (t) => {
  const parent = await parentOf(t)
  await leaveRun(parent)
  await mkdir(join(parent, 'somebody'))
  const running = await makeRunFolder(parent)
  await removeDeadRuns(parent)
  assert.deepEqual((await readdir(parent)).sort(), [basename(running), 'somebody'])
})

const why_not = process.getuid?.() === 0 ? false : 'a folder of another user is made by root alone'
test("what another user's killed run has left is let be", { skip: why_not }, async (t) => {
  const parent = await parentOf(t)
  const folder = await leaveRun(parent)
  await chown(folder, 65_534, 65_534)
  await removeDeadRuns(parent)
  assert.deepEqual(await readdir(parent), [basename(folder)])
})
