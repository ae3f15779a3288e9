// Why a check has its score, in one sentence: the strongest reason alone. The sentences stand in
// the catalogues.

export type VerdictFacts = {
  blacklisted_by: readonly string[]
  floors: readonly { rule: string; category: string | null; points: string }[]
  screened?: { in_force: { category: string; terminal: boolean } | null } | undefined
  result: {
    base_score?: string
    raw_score?: string
    risk_score: string
    risk_factors: readonly { name: string; score: string }[]
  }
}

export type Verdict =
  | { kind: 'barred'; reason: string }
  | { kind: 'allowed'; points: string }
  | { kind: 'rule'; rule: string; category: string | null; points: string }
  | { kind: 'own'; category: string }
  | { kind: 'source'; category: string; share: string }
  | { kind: 'nothing' }

/** The strongest reason for the score. */
export function verdictOf({ blacklisted_by, floors, screened, result }: VerdictFacts): Verdict {
  const { base_score, raw_score, risk_score, risk_factors } = result
  const [reason] = blacklisted_by
  if (reason !== undefined) return { kind: 'barred', reason }
  if (raw_score !== undefined && Number(raw_score) > Number(risk_score))
    return { kind: 'allowed', points: raw_score }
  const floor = floors.toSorted((a, b) => Number(b.points) - Number(a.points))[0]
  if (floor?.rule === 'own_label' && floor.category !== null)
    return { kind: 'own', category: floor.category }
  if (floor && raw_score !== base_score) return { kind: 'rule', ...only(floor) }
  const own = screened?.in_force
  if (own?.terminal) return { kind: 'own', category: own.category }
  const most = risk_factors.toSorted((a, b) => Number(b.score) - Number(a.score))[0]
  if (!most || most.name === 'unidentified') return { kind: 'nothing' }
  return { kind: 'source', category: most.name, share: most.score }
}

const only = ({ rule, category, points }: VerdictFacts['floors'][number]) => ({
  rule,
  category,
  points,
})
