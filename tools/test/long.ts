// Test files that walk through whole programs and pages as they are printed, install packages, or
// test the tests. Each takes half a minute and more, of which the tests of every day have few, and
// what it walks through in one go has shorter tests of its own.

export const LONG: ReadonlySet<string> = new Set([
  'packages/service/src/screening/flow/reference.test.ts',
  'packages/service/src/operators/database/backups.test.ts',
  'test/faces/console_jobs.test.ts',
  'test/faces/languages.test.ts',
  'test/harness/run.test.ts',
  'test/mutation/mutate.test.ts',
  'test/simulator/mutants.test.ts',
  'test/simulator/past_seeds.test.ts',
  'test/stories/clients/packed.test.ts',
  'test/stories/health/minutes.test.ts',
  'test/stories/operators/first_hour.test.ts',
  'test/stories/operators/main.test.ts',
])
