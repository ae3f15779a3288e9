/** The wings of the service from the ground up; wings of one floor do not know each other. The
 *  files directly in src/ are the roof. */
const FLOORS = [
  ['lib'],
  ['platform'],
  ['chain', 'ledger', 'web'],
  ['events'],
  ['people'],
  ['market', 'screening'],
  ['treasury'],
  ['health'],
  ['run'],
  ['operators'],
]
const ROOF = FLOORS.length

export const WINGS: readonly string[] = FLOORS.flat()

/** The floor, the wing and the room of a file of the service; a wing of one room has its name. */
export function floorOf(path: string): { floor: number; wing: string; room: string } {
  const [, , , wing = '', ...rest] = path.split('/')
  if (rest.length === 0) return { floor: ROOF, wing: '', room: '' }
  const room = rest.length === 1 ? wing : `${wing}/${rest[0]}`
  return { floor: FLOORS.findIndex((wings) => wings.includes(wing)), wing, room }
}
