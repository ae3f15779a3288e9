/** What was typed is wrong: exit code 2. */
export class Misuse extends Error {
  override name = 'Misuse'
}
