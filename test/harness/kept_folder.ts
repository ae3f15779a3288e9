// A folder of index files for one test.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { KeptFolder } from 'penstock-service/screening/kept/kept_folder.ts'

/** One part of it is taken; when the test ends it is given back, and the folder removed. */
export async function temporaryKeptFolder(t: TestContext): Promise<KeptFolder> {
  const path = await mkdtemp(join(tmpdir(), 'penstock-kept-'))
  const folder = await KeptFolder.take(path)
  t.after(async () => {
    await folder.close()
    await rm(path, { recursive: true })
  })
  return folder
}
