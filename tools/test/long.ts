// Test files that walk through whole programs and pages as they are printed, install packages, or
// test the tests. Each takes half a minute and more, of which the tests of every day have few.

export const LONG: ReadonlySet<string> = new Set([
  'packages/service/src/screening/flow/reference.test.ts',
  'test/harness/run.test.ts',
  'test/mutation/mutate.test.ts',
  'test/simulator/mutants.test.ts',
  'test/stories/clients/packed.test.ts',
  'test/stories/operators/first_hour.test.ts',
])
