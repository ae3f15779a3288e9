import type { Config } from './config.ts'
export async function demo(_config: Config): Promise<void> {}
