// The penalty of busy contracts ("dynamic energy"). A contract that used more energy between two
// maintenances than the threshold costs a fifth more afterwards, again and again up to a greatest
// factor; one that did not gets cheaper by a twentieth each time. The arithmetic is the node's own:
// doubles, rounded down.

import type { Parameters } from '../state/parameters.ts'
import type { Token } from '../state/records.ts'

const DECIMAL = 10_000
const DECREASE_DIVISION = 4

type EnergyPenalty = Pick<Token, 'factor' | 'energy_used' | 'cycle'>

/** The penalty of a contract at a cycle: its factor in ten-thousandths, and the energy it used
 *  since the last maintenance. It is kept as of the last use, so the cycles since then are made up
 *  for. */
export function penaltyAt(token: Token, cycle: number, parameters: Parameters): EnergyPenalty {
  const { held, factor, energy_used } = token
  if (token.cycle === cycle) return { factor, energy_used, cycle }
  if (held) return { factor, energy_used: 0, cycle }
  if (token.cycle > cycle || token.cycle === 0) return { factor: 0, energy_used: 0, cycle }
  const increase = parameters.getDynamicEnergyIncreaseFactor / DECIMAL
  const busy = energy_used > parameters.getDynamicEnergyThreshold
  const risen = busy
    ? Math.min(
        parameters.getDynamicEnergyMaxFactor,
        Math.trunc((factor + DECIMAL) * (1 + increase)) - DECIMAL,
      )
    : factor
  const quiet_cycles = cycle - token.cycle - (busy ? 1 : 0)
  if (quiet_cycles === 0) return { factor: risen, energy_used: 0, cycle }
  const fallen =
    Math.trunc((risen + DECIMAL) * (1 - increase / DECREASE_DIVISION) ** quiet_cycles) - DECIMAL
  return { factor: Math.max(0, fallen), energy_used: 0, cycle }
}
