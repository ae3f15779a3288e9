// Test files that walk through whole programs and pages as they are printed, look at pages in every
// language and width, do one job after the other, install packages, kill, send nonsense or test the
// tests. Each takes some twenty seconds and more. Of the tests of every day, faces/each_page opens
// every page once. With each commit on the main branch they run after the others.

export const LONG: ReadonlySet<string> = new Set([
  'packages/service/src/operators/database/backups.test.ts',
  'packages/service/src/screening/flow/reference.test.ts',
  'test/faces/charts.test.ts',
  'test/faces/console_jobs.test.ts',
  'test/faces/console_pages.test.ts',
  'test/faces/console_screening.test.ts',
  'test/faces/console_settings.test.ts',
  'test/faces/developers.test.ts',
  'test/faces/languages.test.ts',
  'test/faces/lists.test.ts',
  'test/faces/portal_fit.test.ts',
  'test/faces/public_pages.test.ts',
  'test/faces/reference.test.ts',
  'test/faces/supply_and_screening.test.ts',
  'test/harness/run.test.ts',
  'test/mutation/mutate.test.ts',
  'test/simulator/all_seeds.test.ts',
  'test/simulator/mutants.test.ts',
  'test/simulator/past_seeds.test.ts',
  'test/stories/clients/first_purchase.test.ts',
  'test/stories/clients/hooks.test.ts',
  'test/stories/clients/packed.test.ts',
  'test/stories/health/minutes.test.ts',
  'test/stories/operators/first_hour.test.ts',
  'test/stories/operators/main.test.ts',
  'test/stories/treasury/collecting_killed.test.ts',
  'test/torture/clock.test.ts',
  'test/torture/fuzz.test.ts',
  'test/torture/idle.test.ts',
  'test/wire/odd_bodies.test.ts',
  'test/wire/shell.test.ts',
])
